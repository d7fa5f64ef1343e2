"""
What becomes of operations whose process did not live, or could not write, to tell their end? They become `unknown`.

In come operations that are still `started`; out go their state and the end of their call's events, so that every call
that began an effect has its terminal event. Never runs anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection

from gatewright.middleware import statements
from gatewright.middleware.kinds import Field, Kind
from gatewright.middleware.operations import Operation, State
from gatewright.middleware.owners import is_alive, this_process
from gatewright.middleware.record import continue_line, expand
from gatewright.middleware.spending import give_back
from gatewright.middleware.transactions import Transaction

__all__ = ["RUNNING", "Ending", "Why", "closing_line", "is_left", "settle"]

RUNNING: Final[set[tuple[str, int]]] = set()
"""Operation ids and attempts whose body this process is in, whatever their ledger. A forked child is in none."""

Why: TypeAlias = Literal["process_gone", "outcome_not_written", "after_recovery", "reconciled", "by_hand"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How an operation ended. *expires_at* is when it may be forgotten, None for one that is unresolved."""

    operation: Operation
    state: State
    at: float
    expires_at: float | None = None
    outcome: bytes | None = None
    retryable: bool = False


def is_left(operation: Operation) -> bool:
    """Return whether nobody will finish a started *operation*: its process is gone, or no longer in its body."""
    if operation.owner == this_process():
        return (operation.id, operation.attempt) not in RUNNING
    return not is_alive(operation.owner)


def settle(transaction: Transaction, ending: Ending, state: State = "started") -> bool:
    """Write *ending* of an operation that is in *state*; False where it is not, or was started again meanwhile."""
    values = {
        "this": ending.operation.id,
        "this_state": state,
        "this_attempt": ending.operation.attempt,
        "new_state": ending.state,
        "new_finished_at": ending.at,
        "new_expires_at": ending.expires_at,
        "new_retryable": ending.retryable,
        "new_outcome": ending.outcome,
        "new_sealed": ending.operation.sealed if ending.state == "unknown" else None,
    }
    settled: bool = transaction.run(statements.SETTLE, values).rowcount == 1
    if settled and ending.state == "failed":
        give_back(transaction.connection, ending.operation.id)
    return settled


def closing_line(connection: Connection, ending: Ending, why: Why, note: str | None = None) -> bytes | None:
    """
    Return what is left to tell of the call that *ending* is of; None where there is nothing to tell it after.

    Its terminal event is part of it where the call has none yet. *note* is the reason that a person gave.
    """
    operation = ending.operation
    lines = connection.execute(statements.CALL_LINES, {"call": operation.call}).scalars().all()
    if not lines:
        return None
    effect = {"succeeded": "done", "failed": "none"}.get(ending.state, "unknown")
    finished: dict[str, Field] = {"effect": effect, "operation": operation.id, "outcome": "unknown", "reason": why}
    if why in ("reconciled", "by_hand"):
        finished |= {"note": note, "outcome": "resolved", "stored": ending.state}
    happened: list[tuple[Kind, dict[str, Field]]] = [("execution_finished", finished)]
    if not any(event.kind == "call_answered" for line in lines for event in expand(line)):
        terminal: dict[str, Field] = {"next": "ask_human", "operation": operation.id, "recovered": True}
        happened.append(("call_answered", {**terminal, "status": "unknown"}))
    return continue_line(lines, ending.at, happened)
