"""
Who was first, the body or the deadline? The one place where running a body and giving it up exclude each other.

A worker enters and leaves, whoever waits for it may let it expire; each is told whether it came in time. Runs nothing.
"""

from __future__ import annotations

from threading import Lock

__all__ = ["Gate"]


class Gate:
    """
    A body is entered, then left; or it expires, before or after it was entered, and then it counts no more.

    *was_entered* is certain once the gate has expired.
    """

    __slots__ = ("_lock", "_state", "was_entered")

    def __init__(self) -> None:
        self._lock = Lock()
        self._state = "open"
        self.was_entered: bool = False

    def enter(self) -> bool:
        """Return whether the body may be entered."""
        return self._move("open", "entered")

    def leave(self) -> bool:
        """Return whether what the body did still counts."""
        return self._move("entered", "left")

    def expire(self) -> bool:
        """Return whether the body is given up; False where it was left already, and its outcome is there."""
        return self._move("open", "expired") or self._move("entered", "expired")

    def _move(self, before: str, after: str) -> bool:
        with self._lock:
            if self._state != before:
                return False
            self._state = after
            self.was_entered = self.was_entered or after == "entered"
            return True
