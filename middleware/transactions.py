"""
How is the ledger's store written? One transaction at a time in a process, synced in full, with its chain of events.

In come statements and lines; they are durable together when a transaction ends, or none of them is there. A forked
child opens the store anew and never touches its parent's connection.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DatabaseError

from gatewright.middleware.journal import insert_lines, stored_lines
from gatewright.middleware.linking import Chain
from gatewright.middleware.stores import StoreUnavailable, abandon, is_in_memory, open_store

__all__ = ["Transactions"]


class Transactions:
    """The ledger's store and its chain of effects; opened at once, and again after a fork."""

    def __init__(self, place: str | Path) -> None:
        self._place = place
        self._begin()
        self._open()
        _all.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._chain = Chain("effects")
        self._engine: Engine | None = None
        self._connection: Connection | None = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """
        Give the connection inside a transaction that nothing else writes beside.

        Raises:
            StoreUnavailable: it could not be begun, carried out or committed; nothing of it is there.
        """
        with self._lock:
            chain = (self._chain.position, self._chain.prev)
            try:
                connection = self._open().execution_options(reading=False)
                with connection.begin():
                    yield connection
            except BaseException as error:
                self._chain.position, self._chain.prev = chain
                if not isinstance(error, DatabaseError):
                    raise
                self._drop()
                raise StoreUnavailable("ledger") from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give the connection inside a transaction that only reads."""
        with self._lock:
            try:
                connection = self._open().execution_options(reading=True)
                with connection.begin():
                    yield connection
            except DatabaseError as error:
                self._drop()
                raise StoreUnavailable("ledger") from error

    def write_line(self, connection: Connection, line: bytes) -> None:
        """Write *line* at the end of the chain, within the transaction of *connection*."""
        insert_lines(connection.exec_driver_sql, self._chain, [line])

    def lines(self, call: str | None, interaction: str | None) -> Iterator[bytes]:
        """Give the lines that are committed, oldest first."""
        with self._lock:
            self._open()
            engine = self._engine
            if engine is None:
                raise StoreUnavailable("ledger")
            if is_in_memory(engine):
                return iter(tuple(stored_lines(engine, "ledger", call, interaction)))
        return stored_lines(engine, "ledger", call, interaction)

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            self._drop(for_good=True)

    def _open(self) -> Connection:
        if self._engine is None:
            self._engine = open_store(self._place, "ledger", "full")
        if self._connection is None:
            self._connection = self._engine.connect()
        return self._connection

    def _drop(self, for_good: bool = False) -> None:
        """Close the connection, which may be of no more use; a store in memory lives as long as its engine."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        if for_good and self._engine is not None:
            self._engine.dispose()
            self._engine = None

    def forked(self) -> None:
        """Begin anew in a forked child."""
        abandon(self._engine, self._connection)
        self._begin()


_all: Final[weakref.WeakSet[Transactions]] = weakref.WeakSet()


def _forked() -> None:
    for each in _all:
        each.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
