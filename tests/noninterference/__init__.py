"""
The non-interference suite: worlds that differ only outside a caller's view, and everything that the caller can see.

What is outside the view says the reference decider (tests/reference), never the product.
"""
