"""
What must be made anew in a process that was forked off? Locks that another thread held, and threads that are gone.

In come objects with a `renew` method; each is renewed in a child before anything else runs there. Keeps none alive.
"""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet

__all__ = ["Renewed", "renew_after_fork"]


class Renewed(Protocol):
    """Holds locks or threads."""

    def renew(self) -> None:
        """Make locks anew, and what another thread may have left half changed; start threads that ran."""
        ...


_waiting: Final[WeakSet[Renewed]] = WeakSet()


def renew_after_fork(each: Renewed) -> None:
    """Renew *each* in every process that is forked off from now on, for as long as it lives."""
    _waiting.add(each)


def _renew_all() -> None:
    for each in tuple(_waiting):
        each.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
