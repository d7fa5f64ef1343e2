"""
One revision of the policies, compiled: what every decision is made against.

In comes a `PolicySet`; out comes an immutable snapshot that any number of threads may ask. Holds a bounded cache of
views, never shared between callers that could be decided differently.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable
from threading import Lock
from typing import TypeVar, cast

from cachetools import LRUCache

from gatewright.policy.caller import Caller
from gatewright.policy.engine import Engine, compile_engine
from gatewright.policy.forking import renew_after_fork
from gatewright.policy.policyset import PolicySet
from gatewright.policy.view import View, caller_key, open_view

__all__ = ["Snapshot", "compile_snapshot"]

_MOST_VIEWS = 8192
_MOST_CLOSED = 8192
_MOST_RECENT = 1024
_MOST_LISTINGS = 1024
_LONGEST_NAME = 128

T = TypeVar("T")


class Snapshot:
    """A compiled policy set. `revision` names it in every decision and event."""

    __slots__ = (
        "__weakref__",
        "_closed",
        "_listings",
        "_lock",
        "_recent",
        "_shut",
        "_views",
        "engine",
        "policies",
        "revision",
    )

    def __init__(self, policies: PolicySet, engine: Engine) -> None:
        self.policies: PolicySet = policies
        self.engine: Engine = engine
        self.revision: str = policies.revision
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin with empty caches and a free lock, also in a process that was forked off."""
        self._recent: dict[tuple[str, bytes, dt.date], View] = {}
        self._shut: set[tuple[str, bytes, dt.date]] = set()
        self._views: LRUCache[tuple[str, bytes, dt.date], View] = LRUCache(maxsize=_MOST_VIEWS)
        self._closed: LRUCache[tuple[str, bytes, dt.date], None] = LRUCache(maxsize=_MOST_CLOSED)
        self._listings: LRUCache[tuple[bytes, Hashable], object] = LRUCache(maxsize=_MOST_LISTINGS)
        self._lock = Lock()

    def listing(self, caller: Caller, key: Hashable, make: Callable[[], T]) -> T:
        """
        Return what *make* returned for *caller* and *key* before, or returns now.

        The key of a caller names its tenant and all that can change a decision, so nothing is shared beyond that.
        """
        whole = (caller_key(caller), key)
        with self._lock:
            found = self._listings.get(whole)
        if found is None:
            found = make()
            with self._lock:
                self._listings[whole] = found
        return cast("T", found)

    def view(self, caller: Caller, tool: str, today: dt.date) -> View | None:
        """
        Return what *caller* has of *tool* on the day *today* (UTC), or None.

        Cached; names that are not open, hidden or made up alike, in a cache of their own, so that guessing does
        not push out what is in use. A fault of a cache means asking afresh, never an answer.
        """
        key = (tool, caller.key or caller_key(caller), today)
        recent = self._recent.get(key)
        if recent is not None:
            return recent
        if key in self._shut:
            return None
        view = self._view(key, caller)
        if view is None and len(tool) <= _LONGEST_NAME:
            self._keep_shut(key)
        return view

    def find(self, caller: Caller, tool: str, today: dt.date) -> View | None:
        """Return what `view` does, on one way for what is open and what is not: for those who say no."""
        return self._view((tool, caller.key or caller_key(caller), today), caller)

    def _view(self, key: tuple[str, bytes, dt.date], caller: Caller) -> View | None:
        tool, _, today = key
        if len(tool) > _LONGEST_NAME:
            return None
        with self._lock:
            view, is_closed = self._views.get(key), key in self._closed
        if view is not None or is_closed:
            return view
        view = open_view(self.policies, self.engine, caller, tool, today)
        with self._lock:
            if view is None:
                self._closed[key] = None
            else:
                self._views[key] = view
                self._keep_recent(key, view)
        return view

    def _keep_recent(self, key: tuple[str, bytes, dt.date], view: View) -> None:
        """Hold *view* where it is found without a lock; what was recent is let go of all at once, and found again."""
        if len(self._recent) >= _MOST_RECENT:
            self._recent = {}
        self._recent[key] = view

    def _keep_shut(self, key: tuple[str, bytes, dt.date]) -> None:
        """Hold a name that is not open as `_keep_recent` holds one that is."""
        if len(self._shut) >= _MOST_RECENT:
            self._shut = set()
        self._shut.add(key)


def compile_snapshot(policies: PolicySet) -> Snapshot:
    """Compile *policies*; raises `PolicyInvalid` where the model does not compile."""
    return Snapshot(policies, compile_engine(policies))
