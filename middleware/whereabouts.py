"""
Where did an exception come from? A file, a line and a class, for logs and events: never its text or a value.
"""

from __future__ import annotations

from pathlib import PurePath

__all__ = ["place_of"]


def place_of(error: BaseException) -> str:
    """Return the class of *error* and the innermost place that it came through, as `ValueError at app.py:42`."""
    trace = error.__traceback__
    if trace is None:
        return type(error).__name__
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{type(error).__name__} at {PurePath(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
