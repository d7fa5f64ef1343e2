"""
What may come of a write that is proposed, and which operations may it be? Answers of the ledger, and how it looks.

In come proposals and a connection; out come candidates. Starts nothing and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeAlias, TypeVar

from sqlalchemy import Connection

from gatewright.middleware import statements
from gatewright.middleware.operations import Operation, Proposal, operation_key
from gatewright.middleware.spending import Charge, budget_locks
from gatewright.middleware.tables import operation
from gatewright.middleware.transactions import Transaction

__all__ = ["Found", "KeyReused", "Overspent", "Refused", "Started", "Unapproved", "Use", "candidates", "lock_names_of"]

T = TypeVar("T")
_COLUMNS: Final = tuple(operation.columns.keys())

Use: TypeAlias = "Callable[[Connection], bool]"
"""Uses up what a start needs, such as an approval, inside its transaction; False where it is not there any more."""


@dataclass(frozen=True, slots=True)
class Started:
    """The operation is yours: run the body now, then `finish` it whatever happens."""

    operation: Operation


@dataclass(frozen=True, slots=True)
class Found:
    """
    The operation exists, with these arguments.

    *operation*'s state says what to do: `succeeded` or `failed` – release its stored outcome; `started` – `wait` for
    it; `unknown` – say so.
    """

    operation: Operation


@dataclass(frozen=True, slots=True)
class KeyReused:
    """The name was used for other arguments. Holds nothing of the first use."""


@dataclass(frozen=True, slots=True)
class Overspent:
    """A budget that had room when the call was judged has none now; nothing was written."""


@dataclass(frozen=True, slots=True)
class Unapproved:
    """The approval that the call had is used, expired, withdrawn or of another call; nothing was written."""


@dataclass(frozen=True, slots=True)
class Refused(Generic[T]):
    """The checks inside the transaction refused; nothing was written."""

    answer: T


def lock_names_of(proposal: Proposal, charges: Sequence[Charge]) -> list[str]:
    """Return what no two transactions may look up and write at once: what the write may turn out to be, and budgets."""
    names = budget_locks(charges)
    if proposal.name is not None:
        return [operation_key(proposal), *names]
    return ["\n".join((proposal.tenant, proposal.subject, proposal.tool, proposal.interaction)), *names]


def candidates(transaction: Transaction, proposal: Proposal) -> Iterator[Operation]:
    """Give the operations that the proposed write may be: the one of its name, or unresolved ones beside it."""
    if proposal.name is not None:
        rows = transaction.run(statements.BY_KEY, {"key": operation_key(proposal)})
    else:
        scope = {"tenant": proposal.tenant, "subject": proposal.subject, "tool": proposal.tool}
        rows = transaction.run(statements.UNRESOLVED, {**scope, "interaction": proposal.interaction})
    return (_read(row) for row in rows.fetchall())


def _read(row: Sequence[Any]) -> Operation:
    named = dict(zip(_COLUMNS, row, strict=True))
    return Operation(**{**named, "retryable": bool(named["retryable"])})
