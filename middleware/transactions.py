"""
How is the ledger's store written? In transactions that several callers share, synced in full, with a chain of events.

In comes work that reads and writes through a connection; it is durable when `write` returns, or nothing of it is there.
A forked child opens connections of its own and never touches its parent's.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

from sqlalchemy import ClauseElement, Connection, Engine
from sqlalchemy.exc import DatabaseError

from gatewright.middleware.combine import Combiner, Job
from gatewright.middleware.journal import insert_lines, select_lines, stored_lines
from gatewright.middleware.linking import Chain, Listener
from gatewright.middleware.statements import in_words_of
from gatewright.middleware.stores import StoreUnavailable, abandon, is_in_memory, lock_names, open_store

__all__ = ["Transaction", "Transactions"]

T = TypeVar("T")


class Transaction:
    """
    What one caller does inside a transaction.

    Attributes:
        connection: reads what is committed, and what was written here before.
        lines: what goes to the end of the chain of effects when the transaction commits.
    """

    __slots__ = ("_driver", "connection", "lines")

    def __init__(self, connection: Connection) -> None:
        self.connection: Connection = connection
        self.lines: list[bytes] = []
        self._driver: Any = _driver_of(connection)

    def run(self, statement: ClauseElement, values: Mapping[str, Any]) -> Any:
        """
        Execute a statement that is built once, by the driver itself; return the driver's cursor.

        A fifth of what `connection.execute` costs. Values and rows are the driver's: of SQLite, booleans are 0 and 1.
        """
        text, names = in_words_of(self.connection.dialect.name, statement)
        return self._driver.execute(text, values if names is None else tuple([values[name] for name in names]))

    def write_line(self, line: bytes) -> None:
        """Write *line* to the chain of effects."""
        self.lines.append(line)


Work: TypeAlias = Callable[[Transaction], Any]


class Transactions:
    """
    The ledger's store and its chain of effects; opened at once, and anew after a fork.

    Attributes:
        engine: for reading beside the transactions. place: where the store is.
    """

    def __init__(self, place: str | Path) -> None:
        self.place: str | Path = place
        self.engine: Engine = open_store(place, "ledger", "full")
        self._listener: Listener | None = None
        self._closed = False
        self._failures: tuple[type[BaseException], ...] = (DatabaseError, *_driver_errors(self.engine))
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._chain = Chain("effects", self._listener)
        self._connection: Connection | None = None
        self._alone = threading.Lock()
        self._combiner: Combiner[Work] = Combiner(self._run)

    def write(
        self,
        work: Callable[[Transaction], T],
        *,
        locks: Sequence[str] = (),
        shared: Sequence[str] = (),
        alone: bool = False,
    ) -> T:
        """
        Do *work* inside a transaction, and return what it returned once that is committed and synced.

        Other callers' work may be in the same transaction, before it or after it; what *work* raises undoes its own
        writes alone. It may run in another caller's thread, must be quick, and asks for no transaction itself.

        On PostgreSQL transactions of several processes overlap. No other one that names one of *locks* is under way at
        the same time, nor one that names it *shared*; on SQLite none is anyway. Work that others must not see before
        it is committed has a transaction *alone*.

        Raises:
            StoreUnavailable: it could not be begun, carried out or committed. Only where the database was lost in
                the middle of the commit may it be there all the same.
        """
        job: Job[Work] = Job(work, locks, shared, alone=alone)
        self._combiner.carry_out(job)
        if job.error is not None:
            raise job.error
        return cast("T", job.answer)

    def listen(self, listener: Listener) -> None:
        """Let *listener* hear how far the chain of effects is written, from now on."""
        self._listener = self._chain.listener = listener

    def read(self, work: Callable[[Connection], T]) -> T:
        """
        Do *work* inside a transaction that only reads, beside those that write.

        Raises:
            StoreUnavailable: the store cannot be read.
        """
        if is_in_memory(self.engine):
            return self.write(lambda transaction: work(transaction.connection))
        try:
            try:
                return self._read(work)
            except DatabaseError as error:
                if not error.connection_invalidated:
                    raise
                return self._read(work)  # the server was restarted, and every connection of the pool is gone
        except DatabaseError as error:
            raise StoreUnavailable("ledger") from error

    def lines(self, call: str | None, interaction: str | None) -> Iterator[bytes]:
        """Give the lines that are committed, oldest first."""
        if is_in_memory(self.engine):
            return iter(self.read(lambda connection: tuple(select_lines(connection, call, interaction))))
        return stored_lines(self.engine, "ledger", call, interaction)

    def close(self) -> None:
        """Let go of the store. It is opened again for what is still written to it; one in memory is gone for good."""
        with self._alone:
            self._closed = True
            self._drop()
            self.engine.dispose()

    def _read(self, work: Callable[[Connection], T]) -> T:
        with self.engine.connect().execution_options(reading=True) as connection, connection.begin():
            return work(connection)

    def _run(self, batch: Sequence[Job[Work]]) -> None:
        """Carry out *batch*; an interruption is told to the first, whose thread it is."""
        together = [job for job in batch if not job.alone]
        for part in (together, *([job] for job in batch if job.alone)):
            failure = self._run_together(part) if part else None
            if failure is not None and not isinstance(failure, Exception):
                batch[0].error = failure

    def _run_together(self, batch: Sequence[Job[Work]]) -> BaseException | None:
        """Carry out *batch* in one transaction; where that fails, which is returned, nobody's work was done."""
        chain = (self._chain.position, self._chain.prev)
        try:
            with self._alone:
                self._carry_out(batch)
                self._chain.settle()
        except BaseException as error:  # noqa: BLE001 - it is raised by whom it concerns
            self._chain.position, self._chain.prev = chain
            self._drop()
            for job in batch:
                job.error = job.error or (self._told(error) if len(batch) == 1 else _lost(error))
            return error
        return None

    def _carry_out(self, batch: Sequence[Job[Work]]) -> None:
        connection = self._begun(batch)
        driver = _driver_of(connection)
        lines: list[bytes] = []
        for job in batch:
            lines += self._done(job, Transaction(connection), driver.execute, nested=len(batch) > 1)
        if lines:
            insert_lines(driver.execute, self._chain, lines, connection.dialect.name)
        driver.commit()
        if connection.in_transaction():
            connection.commit()

    def _done(self, job: Job[Work], transaction: Transaction, execute: Any, *, nested: bool) -> list[bytes]:
        """Do one job, whose failure undoes its own writes alone; return its lines."""
        if not nested:
            job.answer = job.work(transaction)
            return transaction.lines
        execute("SAVEPOINT job")
        try:
            job.answer = job.work(transaction)
        except Exception as error:  # noqa: BLE001 - its caller raises it
            job.error = self._told(error)
            execute("ROLLBACK TO SAVEPOINT job")
            transaction.lines.clear()
        execute("RELEASE SAVEPOINT job")
        return transaction.lines

    def _begun(self, batch: Sequence[Job[Work]]) -> Connection:
        """Return the connection in a transaction that holds every lock of *batch*."""
        is_old = self._connection is not None
        try:
            return self._locked(batch)
        except self._failures:
            is_closed = self._connection is not None and getattr(_driver_of(self._connection), "closed", False)
            self._drop()
            if not is_old or not is_closed:
                raise
            return self._locked(batch)  # nothing has been done yet, and the server may have been restarted

    def _locked(self, batch: Sequence[Job[Work]]) -> Connection:
        if self._connection is None:
            if self._closed and is_in_memory(self.engine):
                raise StoreUnavailable("ledger")
            self._connection = self.engine.connect().execution_options(begun=True)
        dialect, execute = self._connection.dialect.name, _driver_of(self._connection).execute
        execute("BEGIN IMMEDIATE" if dialect == "sqlite" else "BEGIN")
        names = {name for job in batch for name in job.locks}
        lock_names(execute, dialect, names, {name for job in batch for name in job.shared} - names)
        return self._connection

    def _told(self, error: BaseException) -> BaseException:
        """Return what whoever asked for the work is told."""
        return _lost(error) if isinstance(error, self._failures) else error

    def _drop(self) -> None:
        """Close the connection, which may be of no more use; a store in memory lives as long as its engine."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                _driver_of(connection).rollback()
                connection.close()
            except self._failures:
                connection.invalidate()
                connection.close()

    def forked(self) -> None:
        """Begin anew in a forked child."""
        if is_in_memory(self.engine):
            abandon(None, self._connection, self.engine)
            self.engine = open_store(self.place, "ledger", "full")
        else:
            abandon(self.engine, self._connection)
        self._begin()


def _driver_of(connection: Connection) -> Any:
    return connection.connection.driver_connection


def _driver_errors(engine: Engine) -> tuple[type[BaseException], ...]:
    driver: Any = engine.dialect.loaded_dbapi
    return (driver.Error,)


def _lost(cause: BaseException) -> StoreUnavailable:
    lost = StoreUnavailable("ledger")
    lost.__cause__ = cause
    return lost


_all: Final[weakref.WeakSet[Transactions]] = weakref.WeakSet()


def _forked() -> None:
    for each in _all:
        each.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
