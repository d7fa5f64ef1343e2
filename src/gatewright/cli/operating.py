"""
Commands about writes whose outcome nobody knows: list and show them, have their tools asked, settle one by hand.

In come a ledger's place, or the name of a guard; what is settled is an event with the reason that was given.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gatewright.cli.policies import find_guard
from gatewright.middleware.history import call_events, tell_call
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.operations import Operation, State
from gatewright.middleware.record import stamp
from gatewright.middleware.recovery import Ending
from gatewright.middleware.results import FailedResult
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.stores import read_store, storable
from gatewright.policy.errors import Misuse

__all__ = ["app", "list_operations", "reconcile", "settle", "show"]

app: typer.Typer = typer.Typer(help="Writes whose outcome nobody knows.", no_args_is_help=True)

_DEFAULT = ".gatewright/ledger.db"
_LONGEST_REASON = 500
_Store = Annotated[str, typer.Option("--store", help="The ledger's place: a path or URL.")]
_Id = Annotated[str, typer.Argument(help="The operation's id, as callers are told it.")]


class Shown(StrEnum):
    """Which operations to list."""

    UNKNOWN = "unknown"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class Outcome(StrEnum):
    """What became of a write."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did-not-happen"


@app.command("list")
def list_operations(
    store: _Store = _DEFAULT,
    state: Annotated[Shown, typer.Option(help="In which state.")] = Shown.UNKNOWN,
) -> None:
    """List operations, oldest first: id, when it started, state, attempt, tool, tenant, subject, name."""
    with _opened(store) as ledger:
        for each in ledger.operations(state.value):
            print(_line(each))


@app.command()
def show(id: _Id, store: _Store = _DEFAULT) -> None:
    """Show one operation, and what happened to the call that started it last."""
    with _opened(store) as ledger:
        found = _found(ledger, id)
        print(_line(found))
        print(
            f"key {found.key}  interaction {_safe(found.interaction)}  reconcile {'no' if not found.sealed else 'yes'}"
        )
        print()
        print(tell_call(call_events(found.call, ledger)))


@app.command()
def reconcile(
    guard: Annotated[str, typer.Argument(help="Where the guard is, as module:name; a function is called for it.")],
    id: Annotated[str | None, typer.Argument(help="Only this operation.")] = None,
) -> None:
    """
    Ask the tools what became of unknown operations, each after it is authorized again; settle what they know.

    Ends with 1 where something stays unknown.
    """
    with find_guard(guard) as found:
        recovered = found.recover(id)
    for each in recovered:
        print(f"{each.operation_id} {each.state:<9} {each.finding:<14} {_safe(each.tool)} call {each.call_id or '-'}")
    if id is not None and not recovered:
        raise Misuse("no such operation is unknown", "gatewright operations list")
    if any(each.state == "unknown" for each in recovered):
        raise typer.Exit(1)


@app.command()
def settle(
    id: _Id,
    outcome: Annotated[Outcome, typer.Argument(help="What became of it.")],
    reason: Annotated[str, typer.Option(help="How you know; it is kept in the events.")],
    store: _Store = _DEFAULT,
) -> None:
    """
    Settle an unknown operation by hand. What did not happen may be tried again under its name.

    Look at the backend first: an operation whose process still runs may take effect yet.
    """
    if not reason.strip() or len(reason) > _LONGEST_REASON:
        raise Misuse("a reason is needed, of 500 characters at most", "--reason 'order 7 is refunded, receipt 12'")
    with _opened(store) as ledger:
        found = _found(ledger, id)
        if not ledger.resolve(_ending(ledger, found, outcome), "by_hand", storable(reason.strip())):
            raise Misuse(f"the operation is {found.state}", "only an unknown one can be settled")
        print(_line(_found(ledger, id)))


def _ending(ledger: Ledger, operation: Operation, outcome: Outcome) -> Ending:
    happened = outcome is Outcome.HAPPENED
    state: State = "succeeded" if happened else "failed"
    told = FailedResult("invalid_result", "done").to_bytes() if happened else None
    return Ending(operation, state, time.time(), ledger.expiry(), told, retryable=not happened)


@contextmanager
def _opened(store: str) -> Iterator[Ledger]:
    """Open a ledger that is there; what dead processes left started is unknown from then on."""
    if "://" not in store and not Path(store).is_file():
        raise Misuse("there is no ledger here", "say --store with the place that the guard has")
    read_store(store, "ledger").dispose()
    ledger = Ledger(store, KeyRing([os.urandom(32)], is_lasting=False))
    try:
        yield ledger
    finally:
        ledger.close()


def _found(ledger: Ledger, id: str) -> Operation:
    found = ledger.operation(storable(id))
    if found is None:
        raise Misuse("there is no such operation", "gatewright operations list")
    return found


def _line(each: Operation) -> str:
    named = [each.tool, each.tenant, each.subject, *([] if each.name is None else [each.name])]
    started = stamp(each.started_at)[:19]
    return f"{each.id} {started}Z {each.state:<9} {each.attempt} {' '.join(map(_safe, named))}"


def _safe(text: str) -> str:
    """Show text of others harmless to a terminal."""
    return "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in text)
