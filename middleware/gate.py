"""
Who was first, the body or the deadline? The one place where running a body and giving it up exclude each other.

A worker enters and leaves, whoever waits for it may let it expire; each is told whether it came in time. Runs nothing.
"""

from __future__ import annotations

from threading import Lock

from gatewright.middleware.operations import Operation

__all__ = ["Gate", "Late"]


class Late(Exception):
    """The body was given up: it must not be entered, or what it did does not count any more."""


class Gate:
    """
    A body is entered, then left; or it expires, before or after it was entered, and then it counts no more.

    A write enters with its operation when its start is committed, not later: from then on it may have had an effect.
    *was_entered* and *operation* are certain once the gate has expired.
    """

    __slots__ = ("_lock", "_state", "operation", "was_entered")

    def __init__(self) -> None:
        self._lock = Lock()
        self._state = "open"
        self.was_entered: bool = False
        self.operation: Operation | None = None

    def enter(self, operation: Operation | None = None) -> bool:
        """Return whether the body may be entered, as that of *operation* where it is a write."""
        return self._move("open", "entered", operation)

    @property
    def is_entered(self) -> bool:
        """Whether the body is inside, and still counts."""
        return self._state == "entered"

    def leave(self) -> bool:
        """Return whether what the body did still counts."""
        return self._move("entered", "left")

    def expire(self) -> bool:
        """Return whether the body is given up; False where it was left already, and its outcome is there."""
        return self._move("open", "expired") or self._move("entered", "expired")

    def _move(self, before: str, after: str, operation: Operation | None = None) -> bool:
        with self._lock:
            if self._state != before:
                return False
            self._state = after
            self.was_entered = self.was_entered or after == "entered"
            self.operation = operation or self.operation
            return True
