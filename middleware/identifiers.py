"""
Which id does a new call, interaction or operation get? Random, of fixed length, never seen before.

Drawn from the system's randomness in blocks, because one draw a call would cost more than the rest of its record.
A forked child starts a block of its own.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Final

__all__ = ["ID_LENGTH", "new_id"]

ID_LENGTH: Final = 32
_BLOCK: Final = 256
_drawn: deque[str] = deque()


def new_id() -> str:
    """Return 128 random bits as 32 lower-case hexadecimal digits (the form of a W3C trace id)."""
    try:
        return _drawn.popleft()
    except IndexError:
        text = os.urandom(16 * _BLOCK).hex()
        _drawn.extend(text[start : start + ID_LENGTH] for start in range(0, len(text) - ID_LENGTH, ID_LENGTH))
        return text[-ID_LENGTH:]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_drawn.clear)
