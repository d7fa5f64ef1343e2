"""
When does this process hear of revocations that others made? At once where the database tells, else at the next look.

In comes the ledger's revocations; a thread of its own keeps the view of them new, from the first call on. PostgreSQL
notifies, and is asked every two seconds all the same, for a notification may get lost; SQLite is asked twice a second.
"""

from __future__ import annotations

import logging
import os
import select
import socket
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from gatewright.middleware.revocation import CHANNEL, Revocations
from gatewright.middleware.stores import is_in_memory
from gatewright.policy.errors import Finding, GatewrightError, Place
from gatewright.policy.store import Health

__all__ = ["LIMIT", "Notices", "StaleReads"]

StaleReads: TypeAlias = Literal["run", "refuse"]
"""What becomes of reads while revocations cannot be seen for longer than the limit."""

LIMIT: Final = 5.0
"""Seconds after which a view of revocations counts as stale."""

_POLL_S: Final = {"sqlite": 0.5, "postgresql": 2.0}
_STALE: Final = Finding(
    Place(""), "revocations_stale", "revocations cannot be seen", "is the ledger's store reachable?"
)
_log = logging.getLogger("gatewright.revocations")


class Notices:
    """
    Keeps a view of revocations new.

    Attributes:
        are_asleep: nobody looks yet, in this process; `wake` before the view is asked.
    """

    def __init__(self, revocations: Revocations, stale_reads: StaleReads = "run") -> None:
        self._revocations = revocations
        self._refuses = stale_reads == "refuse"
        self._is_alone = is_in_memory(revocations.store.engine)
        self._closed = False
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._bell: socket.socket | None = None
        self.are_asleep: bool = not self._is_alone and not self._closed
        self.failing: bool = False

    def wake(self) -> None:
        """Look now and go on looking; where the store cannot be read, the view stays as it is and grows stale."""
        with self._lock:
            if not self.are_asleep:
                return
            bell, self._bell = socket.socketpair()
            threading.Thread(
                target=_watch, args=(weakref.ref(self), self._stop, bell), name="gatewright-revocations", daemon=True
            ).start()
            self.look()
            self.are_asleep = False

    def look(self) -> None:
        """Look now; a failure is logged once, until it is over."""
        try:
            self._revocations.refresh()
        except GatewrightError as error:
            if not self.failing:
                _log.error("revocations cannot be seen: %s", error)
            self.failing = True
        else:
            self.failing = False

    @property
    def are_stale(self) -> bool:
        """Whether the view is older than the limit: writes are refused then, as their own look will fail."""
        return not self._is_alone and not self._closed and self._revocations.unseen_for() > LIMIT

    @property
    def forbid_reads(self) -> bool:
        """Whether reads are to be refused now."""
        return self._refuses and self.are_stale

    def close(self) -> None:
        """Look no more."""
        with self._lock:
            self._closed, self.are_asleep = True, False
            self._ring()

    def health(self, policies: Health) -> Health:
        """Return how the guard is, whose policies are as *policies* says."""
        if not self.are_stale:
            return policies
        return replace(policies, degraded=True, findings=(*policies.findings, _STALE))

    def _ring(self) -> None:
        self._stop.set()
        bell, self._bell = self._bell, None
        if bell is not None:
            with bell, suppress(OSError):
                bell.send(b"!")

    def _forked(self) -> None:
        if self._bell is not None:
            self._bell.close()
        self._begin()

    def __del__(self) -> None:
        self._ring()


def _watch(owner: weakref.ref[Notices], stop: threading.Event, bell: socket.socket) -> None:
    """Look again and again, until *owner* is closed or gone."""
    with bell:
        while not stop.is_set():
            notices = owner()
            if notices is None:
                return
            store = notices._revocations.store
            del notices
            try:
                with _listening(store.engine) as listener:
                    del store
                    _look_on(owner, stop, bell, listener)
            except Exception as error:  # noqa: BLE001 - whatever a driver raises, looking goes on
                _log.warning("revocations are not heard of at once at present: %s", type(error).__name__)
                _wait(bell, None, 1.0)
                if (notices := owner()) is not None:
                    notices.look()


def _look_on(owner: weakref.ref[Notices], stop: threading.Event, bell: socket.socket, listener: Any) -> None:
    seconds = _POLL_S["sqlite" if listener is None else "postgresql"]
    while not stop.is_set():
        notices = owner()
        if notices is None:
            return
        notices.look()
        del notices
        _wait(bell, listener, seconds)


@contextmanager
def _listening(engine: Any) -> Iterator[Any]:
    """Give the driver's connection that hears of revocations, None where the database tells nobody."""
    if engine.dialect.name != "postgresql":
        yield None
        return
    connection = engine.raw_connection()
    try:
        connection.driver_connection.execute(f"LISTEN {CHANNEL}")
        yield connection.driver_connection
    finally:
        connection.invalidate()


def _wait(bell: socket.socket, listener: Any, seconds: float) -> None:
    """Wait until something was told, the bell's other end is closed, or *seconds* have passed."""
    if listener is None:
        select.select([bell], [], [], seconds)
        return
    heard, _, _ = select.select([bell, listener], [], [], seconds)
    if listener in heard:
        for _ in listener.notifies(timeout=0):
            pass


_all: Final[weakref.WeakSet[Notices]] = weakref.WeakSet()


def _forked() -> None:
    for notices in _all:
        notices._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
