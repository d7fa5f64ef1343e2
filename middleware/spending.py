"""
How much of a budget is used? Executed calls, counted in the ledger's store for each holder.

In come charges; out comes what was spent within their windows. A charge is taken in the transaction that starts what it
pays for, so that calls at the same moment never spend the same money. Decides nothing: `policy.settlement` does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, bindparam, delete, func, insert, select

from gatewright.middleware.tables import spending
from gatewright.policy.caller import Caller
from gatewright.policy.settlement import Spent
from gatewright.policy.toolfile import Budget

__all__ = ["Charge", "budget_locks", "charge_of", "fits", "give_back", "spend", "spent"]

_SPEND: Final = insert(spending)
_GIVE_BACK: Final = delete(spending).where(spending.c.operation == bindparam("this"))
_SPENT: Final = select(func.count(), func.coalesce(func.sum(spending.c.amount), 0.0)).where(
    spending.c.budget == bindparam("this"),
    spending.c.holder == bindparam("whose"),
    spending.c.at > bindparam("since"),
)
_OTHERS: Final = _SPENT.where(func.coalesce(spending.c.operation, "") != bindparam("but"))


@dataclass(frozen=True, slots=True)
class Charge:
    """One call's part of a budget. *holder* names tenant and whose it is; *amount* is 0 where only calls count."""

    budget: Budget
    holder: str
    amount: float = 0.0


def charge_of(budget: Budget, caller: Caller, amount: float | None) -> Charge:
    """Return the charge that a call of *caller* makes; holders of different tenants or kinds never meet."""
    actor = "" if caller.actor is None else caller.actor.id
    whose = {"tenant": "", "subject": caller.subject, "actor": actor}[budget.per]
    return Charge(budget, "\n".join((caller.tenant, budget.per, whose)), amount or 0.0)


def budget_locks(charges: Iterable[Charge]) -> list[str]:
    """Return the names that a transaction locks which reads what is spent and spends more."""
    return [f"{charge.budget.id}\n{charge.holder}" for charge in charges]


def spent(connection: Connection, charges: Sequence[Charge], now: float, but: str | None = None) -> tuple[Spent, ...]:
    """Return what is spent of each charge's budget within its window, in order; not by the operation *but*."""
    found = []
    for charge in charges:
        values = {"this": charge.budget.id, "whose": charge.holder, "since": now - charge.budget.window}
        statement, more = (_SPENT, {}) if but is None else (_OTHERS, {"but": but})
        calls, total = connection.execute(statement, values | more).one()
        found.append(Spent(calls, total))
    return tuple(found)


def fits(charges: Iterable[Charge], used: Iterable[Spent]) -> bool:
    """Whether every charge still fits into its budget."""
    for charge, so_far in zip(charges, used, strict=True):
        budget = charge.budget
        if budget.calls is not None and so_far.calls + 1 > budget.calls:
            return False
        if budget.sum is not None and budget.maximum is not None and so_far.total + charge.amount > budget.maximum:
            return False
    return True


def spend(connection: Connection, charges: Sequence[Charge], now: float, operation: str | None) -> None:
    """Write *charges*; those of an *operation* can be given back."""
    for charge in charges:
        values = {"budget": charge.budget.id, "holder": charge.holder, "at": now, "amount": charge.amount}
        connection.execute(_SPEND, {**values, "operation": operation})


def give_back(connection: Connection, operation: str) -> None:
    """Take back the charges of an operation that had no effect."""
    connection.execute(_GIVE_BACK, {"this": operation})
