"""
Does the process that started this write still count? It renews a lease while it lives, where machines share a store.

In come operations; out comes whether their process is gone. On PostgreSQL alone: a file is shared by processes of one
machine, which see each other. A process that was paused past its lease enters no body that it had not entered before.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select, update

from gatewright.middleware.operations import Operation
from gatewright.middleware.owners import is_alive, is_here, this_process
from gatewright.middleware.recovery import is_left
from gatewright.middleware.stores import StoreUnavailable
from gatewright.middleware.tables import lease
from gatewright.middleware.transactions import Transaction, Transactions

__all__ = ["TERM", "Leases"]

TERM: Final = 15.0
"""Seconds for which a process counts after it was last heard of."""

_FORGET: Final = 86_400.0
_LOCK: Final = "lease"
_NOW: Final = func.extract("epoch", func.clock_timestamp())
_log = logging.getLogger("gatewright.ledger")


class Leases:
    """The lease of this process, and those of others, in one store."""

    def __init__(self, store: Transactions, term: float = TERM) -> None:
        self._store = store
        self._term = term
        self._is_shared = store.engine.dialect.name == "postgresql"
        self.begin()

    def begin(self) -> None:
        """Begin anew, as in a forked child: it has no lease yet."""
        self._fence = 0
        self._held_until = 0.0
        self._lock = threading.Lock()
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def is_held(self) -> bool:
        """Whether this process counts, for all that it knows."""
        return not self._is_shared or _monotonic() < self._held_until

    def keep(self) -> None:
        """
        Have a lease, and renew it from now on.

        Raises:
            StoreUnavailable: there is none to be had.
        """
        if self.is_held:
            return
        with self._lock:
            if not self.is_held:
                self.renew()
            if self._stop is None:
                self._stop = threading.Event()
                told = (weakref.ref(self), self._stop, self._term / 3)
                self._thread = threading.Thread(target=_renew_on, args=told, name="gatewright-lease", daemon=True)
                self._thread.start()

    def renew(self) -> None:
        """Renew the lease now; one that has run out is claimed anew, with the next fence."""
        asked = _monotonic()
        self._fence = self._store.write(self._renewed, locks=(_LOCK,))
        self._held_until = asked + self._term

    def close(self) -> None:
        """Renew no more; what is still under way has the rest of the term."""
        stop, thread, self._stop, self._thread = self._stop, self._thread, None, None
        if stop is not None and thread is not None:
            stop.set()
            if thread is not threading.current_thread():
                thread.join(self._term)

    def has_lost(self, operation: Operation, connection: Connection | None = None) -> bool:
        """
        Whether nobody will finish a started *operation*: its process is gone, paused past its lease, or done with it.

        Inside a transaction it is asked on that *connection*.
        """
        owner = operation.owner
        if not self._is_shared or owner == this_process() or (is_here(owner) and not is_alive(owner)):
            return is_left(operation)
        if connection is not None:
            holds = _holds(connection, owner)
        else:
            holds = self._store.read(lambda reading: _holds(reading, owner))
        return is_left(operation) if holds is None else not holds

    def may_be_inside(self, operation: Operation) -> bool:
        """Whether another process that owns *operation* may still be in its body: it is seen, or has its lease."""
        return is_alive(operation.owner) or (self._is_shared and not self.has_lost(operation))

    def _renewed(self, transaction: Transaction) -> int:
        connection, owner = transaction.connection, this_process()
        mine = lease.c.owner == owner
        held = mine & (lease.c.fence == self._fence) & (lease.c.until > _NOW)
        if connection.execute(update(lease).where(held).values(until=_NOW + self._term)).rowcount:
            return self._fence
        fence = int(connection.execute(select(func.coalesce(func.max(lease.c.fence), 0))).scalar() or 0) + 1
        connection.execute(delete(lease).where(mine | (lease.c.until < _NOW - _FORGET)))
        connection.execute(insert(lease).values(owner=owner, fence=fence, until=_NOW + self._term))
        return fence


def _holds(connection: Connection, owner: str) -> bool | None:
    """Whether *owner* has its lease by the server's clock; None where it never had one."""
    found: Any = connection.execute(select(lease.c.until > _NOW).where(lease.c.owner == owner)).scalar()
    return None if found is None else bool(found)


def _renew_on(owner: weakref.ref[Leases], stop: threading.Event, seconds: float) -> None:
    """Renew again and again, until *owner* is closed or gone."""
    while not stop.wait(seconds):
        leases = owner()
        if leases is None:
            return
        try:
            leases.renew()
        except StoreUnavailable as error:
            _log.warning("the lease of this process could not be renewed: %s", error)
        del leases


def _monotonic() -> float:
    """Seconds that go on while the machine sleeps, where it can tell."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)
