"""
What does the ledger know? Operations, their events and what was spent, read beside its transactions.

In come ids, states and charges; out come operations and lines. Writes nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from gatewright.middleware import statements
from gatewright.middleware.lease import Leases
from gatewright.middleware.operations import Operation, State
from gatewright.middleware.spending import Charge, spent
from gatewright.middleware.transactions import Transactions
from gatewright.policy.settlement import Spent

__all__ = ["OperationReader"]

_POLL: Final = 0.05


class OperationReader:
    """
    What can be read of a ledger.

    Attributes:
        store: what else belongs into the same transactions is written and read here. leases: which processes count.
    """

    def __init__(self, store: Transactions, clock: Callable[[], float]) -> None:
        self.store: Transactions = store
        self.leases: Leases = Leases(store)
        self._clock = clock
        self._finished = threading.Condition()

    def spent(self, charges: Sequence[Charge], but: str | None = None) -> tuple[Spent, ...]:
        """Return what is spent of the budget of each of *charges*, in order; the operation *but* is left out of it."""
        return self.store.read(lambda connection: spent(connection, charges, self._clock(), but))

    def wait(self, operation: Operation, seconds: float) -> Operation:
        """Return *operation* as it is once it no longer runs, or after *seconds*: then it may still be `started`."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.operation(operation.id) or operation
            left = deadline - time.monotonic()
            if found.state != "started" or left <= 0:
                return found
            with self._finished:
                self._finished.wait(min(_POLL, left))

    def operation(self, id: str) -> Operation | None:
        """Return the operation that callers know as *id*; one that nobody will finish reads as `unknown`."""
        found = self._row(id)
        if found is None or found.state != "started" or not self.leases.has_lost(found):
            return found
        again = self._row(id)  # it may have ended between the first look and the question whether it still runs
        return found if again is None else replace(again, state="unknown") if again == found else again

    def _row(self, id: str) -> Operation | None:
        row = self.store.read(lambda connection: connection.execute(statements.BY_ID, {"id": id}).mappings().first())
        return None if row is None else Operation(**row)

    def named(self, key: str) -> Operation | None:
        """Return the operation with this *key*."""
        row = self.store.read(lambda connection: connection.execute(statements.BY_KEY, {"key": key}).mappings().first())
        return None if row is None else Operation(**row)

    def operations(self, state: State) -> tuple[Operation, ...]:
        """Return every operation in *state*, oldest first."""
        asked = {"state": state}
        rows = self.store.read(lambda connection: connection.execute(statements.BY_STATE, asked).mappings().all())
        return tuple(Operation(**row) for row in rows)

    def iter_lines(self, *, call: str | None = None, interaction: str | None = None) -> Iterator[bytes]:
        """Give the lines of effects, oldest first: all, those of one call, or those of one interaction."""
        return self.store.lines(call, interaction)
