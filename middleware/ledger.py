"""
Has this write been done, and may it start now? Operations and their events, in transactions that are synced to disk.

In come proposals, and outcomes of operations that started; out comes what to do: run, replay, wait, refuse, or say
that nobody knows. Never starts what may already have happened, and forgets nothing that is unresolved.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from gatewright.middleware import statements
from gatewright.middleware.identifiers import new_id
from gatewright.middleware.operations import Operation, Proposal, State, operation_key
from gatewright.middleware.owners import this_process
from gatewright.middleware.reading import OperationReader
from gatewright.middleware.recovery import RUNNING, Ending, Why, closing_line, settle
from gatewright.middleware.revocation import REVOCATIONS, Revocations
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.spending import Charge, budget_locks, fits, give_back, spend, spent
from gatewright.middleware.starts import (
    Found,
    KeyReused,
    Overspent,
    Refused,
    Started,
    Unapproved,
    Use,
    candidates,
    lock_names_of,
)
from gatewright.middleware.stores import StoreUnavailable
from gatewright.middleware.transactions import Transaction, Transactions

__all__ = ["Ledger"]

_RETENTION: Final = 86_400.0
_log = logging.getLogger("gatewright.ledger")

T = TypeVar("T")


class Ledger(OperationReader):
    """
    Operations and the chain of their events, in SQLite or PostgreSQL, synced in full. Any number of threads and
    processes.

    *keys* digest arguments; *clock* tells seconds since the epoch; a finished operation is kept for *retention*
    seconds, an unresolved one until somebody resolves it. Opening it takes care of what dead processes left behind.

    Attributes:
        store: what else belongs into the same transactions is written and read here. revocations: what it asks before
            a write starts.
    """

    def __init__(
        self,
        place: str | Path,
        keys: KeyRing,
        *,
        clock: Callable[[], float] = time.time,
        retention: float = _RETENTION,
    ) -> None:
        super().__init__(Transactions(place), clock)
        self._keys = keys
        self._retention = retention
        self._closed = False
        self._begin()
        self.revocations: Revocations = Revocations(self.store, clock)
        _ledgers.add(self)
        self.recover_stale()

    def _begin(self) -> None:
        self._finished = threading.Condition()
        self._unwritten: dict[str, Ending] = {}
        self._unstarted: dict[str, Ending] = {}

    def start(
        self,
        proposal: Proposal,
        checks: Callable[[], T | None],
        line: Callable[[Operation], bytes],
        charges: Sequence[Charge] = (),
        use: Use | None = None,
    ) -> Started | Found | KeyReused | Overspent | Unapproved | Refused[T]:
        """
        Start the proposed write, or say why not, in one transaction.

        *charges* are what it takes of budgets, *use* takes the approval that it needs; where one does not fit any
        more, or the other is not there, nothing is written.

        *checks* run inside it, once `revocations` knows every revocation committed before, whatever else there is to
        say: what they return refuses. *line* gives the events so
        far once the operation is known, and is written with it. An exception of either undoes everything.

        Raises:
            StoreUnavailable: nothing was started, and nothing may run.
        """
        self._write_endings()
        begun: list[Operation] = []

        def work(transaction: Transaction) -> Started | Found | KeyReused | Overspent | Unapproved | Refused[T]:
            self.revocations.look_within(transaction)
            refusal = checks()
            if refusal is not None:
                return Refused(refusal)
            found = self._find(transaction, proposal)
            if isinstance(found, Found | KeyReused):
                return found
            if not self._spend(transaction, charges, None if found is None else found.id):
                return Overspent()
            if use is not None and not use(transaction.connection):
                return Unapproved()
            operation = self._begun(proposal, found)
            begun.append(operation)
            RUNNING.add((operation.id, operation.attempt))
            self._write_start(transaction, operation, found)
            spend(transaction.connection, charges, operation.started_at, operation.id)
            transaction.write_line(line(operation))
            return Started(operation)

        try:
            store = self._open_store()
            self.leases.keep()
            return store.write(work, locks=lock_names_of(proposal, charges), shared=(REVOCATIONS,))
        except BaseException as error:
            self._take_back(begun, error)
            raise

    def knows(self, proposal: Proposal) -> bool:
        """Whether the proposed write would not run: it has, nobody knows, or its name stands for another one."""
        locks = lock_names_of(proposal, ())
        found = self._open_store().write(lambda transaction: self._find(transaction, proposal), locks=locks)
        return isinstance(found, Found | KeyReused)

    def charge(self, charges: Sequence[Charge], use: Use | None = None) -> Overspent | Unapproved | None:
        """Take *charges* and the approval for a read that is about to run; or say what is lacking, and take nothing."""

        def work(transaction: Transaction) -> Overspent | Unapproved | None:
            if not self._spend(transaction, charges):
                return Overspent()
            if use is not None and not use(transaction.connection):
                return Unapproved()
            spend(transaction.connection, charges, self._clock(), None)
            return None

        return self._open_store().write(work, locks=budget_locks(charges))

    def finish(
        self, operation: Operation, state: State, line: bytes, *, outcome: bytes | None = None, retryable: bool = False
    ) -> bool:
        """
        Write how *operation* ended, with the rest of its call's events, in one transaction.

        *outcome* is the result as released; *retryable* says that a failed one may be started again under its name.
        Where it was given up for unknown meanwhile, this settles it after all, and *line* gives way to what is left
        to tell. Returns False where it was resolved otherwise, which stands.

        Raises:
            StoreUnavailable: it could not be written: answer `unknown` and record nothing more. It is tried again.
        """
        now = self._clock()
        expires_at = now + self._retention if state in ("succeeded", "failed") else None
        ending = Ending(operation, state, now, expires_at, outcome, retryable)

        def work(transaction: Transaction) -> bool:
            if settle(transaction, ending):
                transaction.write_line(line)
                return True
            return self._end(transaction, ending, "after_recovery", "unknown")

        try:
            return self.store.write(work)
        except StoreUnavailable:
            self._unwritten[operation.id] = ending
            raise
        finally:
            RUNNING.discard((operation.id, operation.attempt))
            with self._finished:
                self._finished.notify_all()

    def resolve(self, ending: Ending, why: Why, note: str | None = None) -> bool:
        """
        Write how an `unknown` operation ended after all, with what is left to tell of its call; False where it is not
        unknown any more, or was started again meanwhile. *note* is the reason that a person gives.
        """

        def work(transaction: Transaction) -> bool:
            if not settle(transaction, ending, "unknown"):
                return False
            line = closing_line(transaction.connection, ending, why, note)
            if line is not None:
                transaction.write_line(line)
            return True

        return self._open_store().write(work)

    def expiry(self) -> float:
        """Return until when an operation that ends now is kept, in seconds since the epoch."""
        return self._clock() + self._retention

    def recover_stale(self) -> tuple[Operation, ...]:
        """Make `unknown` what dead processes left started, write the end of those calls, and return them."""
        self._write_endings()
        found = self.operations("started")
        left = [
            each
            for each in found
            if self.leases.has_lost(each) and self.store.write(partial(self._give_up, operation=each))
        ]
        if left:
            _log.warning("%d operations of processes that are gone are unknown now", len(left))
        return tuple(replace(each, state="unknown") for each in left)

    def purge(self) -> int:
        """Forget finished operations past their retention; return how many. Events and unresolved ones stay."""
        now = self._clock()
        return self.store.write(lambda it: it.connection.execute(statements.PURGE, {"now": now}).rowcount)

    def append(self, line: bytes, /) -> None:
        """Write one more line of an effect, such as a late `business_committed`, at once."""
        self.store.write(lambda transaction: transaction.write_line(line))

    def flush(self) -> None:
        """Do nothing: every line is on the disk when its transaction ends."""

    def close(self) -> None:
        """Let go of the store. Nothing starts any more; what runs may finish, for which the store is opened again."""
        self._closed = True
        self.leases.close()
        self.store.close()

    def _open_store(self) -> Transactions:
        if self._closed:
            raise StoreUnavailable("ledger, which is closed,")
        return self.store

    def _take_back(self, begun: Sequence[Operation], error: BaseException) -> None:
        """Nothing runs; where the database was lost in the midst of the commit, the start may be there all the same."""
        for operation in begun:
            if isinstance(error, StoreUnavailable):
                self._unstarted[operation.id] = Ending(operation, "failed", self._clock(), self._clock(), None, True)
            RUNNING.discard((operation.id, operation.attempt))

    def _find(self, transaction: Transaction, proposal: Proposal) -> Found | KeyReused | Operation | None:
        """Return what is to be answered; or an operation that may start again; or None where there is none."""
        for found in candidates(transaction, proposal):
            if found.expires_at is not None and found.expires_at <= self._clock():
                transaction.connection.execute(statements.FORGET, {"this": found.id})
                continue
            matching = self._keys.matches(found.digest, found.tenant, "arguments", proposal.arguments)
            if matching is None and found.state in ("started", "unknown"):
                matching = True  # the key is gone: nobody can say that these are other arguments
            if matching:
                return self._answer(transaction, found, idempotent=proposal.idempotent)
            if proposal.name is not None:
                return KeyReused()
        return None

    def _answer(self, transaction: Transaction, found: Operation, *, idempotent: bool) -> Found | Operation:
        if found.state == "failed" and found.retryable:
            return found
        if found.state == "started" and self.leases.has_lost(found, transaction.connection):
            self._give_up(transaction, found)
            found = replace(found, state="unknown")
        return found if found.state == "unknown" and idempotent else Found(found)

    def _spend(self, transaction: Transaction, charges: Sequence[Charge], but: str | None = None) -> bool:
        return not charges or fits(charges, spent(transaction.connection, charges, self._clock(), but))

    def _begun(self, proposal: Proposal, earlier: Operation | None) -> Operation:
        id = earlier.id if earlier else new_id()
        kept, keys = proposal.kept, self._keys
        return Operation(
            id=id,
            key=earlier.key if earlier else operation_key(proposal),
            tenant=proposal.tenant,
            subject=proposal.subject,
            tool=proposal.tool,
            name=proposal.name,
            interaction=proposal.interaction,
            digest=keys.digest(proposal.tenant, "arguments", proposal.arguments),
            state="started",
            attempt=earlier.attempt + 1 if earlier else 1,
            call=proposal.call,
            trace=proposal.trace,
            view=proposal.view,
            owner=this_process(),
            started_at=self._clock(),
            sealed=None if kept is None else keys.seal(proposal.tenant, "operation", kept, id.encode()),
        )

    def _write_start(self, transaction: Transaction, operation: Operation, earlier: Operation | None) -> None:
        if earlier is not None:
            transaction.run(statements.FORGET, {"this": earlier.id})
            give_back(transaction.connection, earlier.id)
        transaction.run(statements.INSERT, {name: getattr(operation, name) for name in Operation.__slots__})

    def _give_up(self, transaction: Transaction, operation: Operation) -> bool:
        return self._end(transaction, Ending(operation, "unknown", self._clock()), "process_gone")

    def _end(self, transaction: Transaction, ending: Ending, why: Why, state: State = "started") -> bool:
        settled = settle(transaction, ending, state)
        line = closing_line(transaction.connection, ending, why)
        if line is not None:
            transaction.write_line(line)
        return settled

    def _write_endings(self) -> None:
        """Try again what `finish` could not write, and take back what may have been started."""
        for id, ending in tuple(self._unstarted.items()):
            self.store.write(lambda it, ending=ending: settle(it, ending))  # type: ignore[misc]
            self._unstarted.pop(id, None)
        for id, ending in tuple(self._unwritten.items()):
            self.store.write(partial(self._end, ending=ending, why="outcome_not_written"))
            self._unwritten.pop(id, None)

    def _forked(self) -> None:
        RUNNING.clear()
        self.leases.begin()
        self._begin()


_ledgers: Final[weakref.WeakSet[Ledger]] = weakref.WeakSet()


def _forked() -> None:
    for ledger in _ledgers:
        ledger._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
