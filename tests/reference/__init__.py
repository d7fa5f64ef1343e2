"""
The second opinion: a decider written from the policy format's description alone.

Standard library and a YAML parser only; nothing of gatewright is imported, and speed is no concern.
"""
