"""
Commands about stores: what is in one, bring it to this version, copy it, and forget what may be forgotten.

In come places of stores; out come counts. Nothing unresolved is forgotten.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from sqlalchemy import Engine

from gatewright.middleware.keeping import DAY, copy_store, describe_store, forget
from gatewright.middleware.stores import open_store, read_store
from gatewright.policy.errors import Misuse

__all__ = ["app", "backup", "info", "migrate", "retention"]

app: typer.Typer = typer.Typer(help="Stores of operations, events and revocations.", no_args_is_help=True)

_Store = Annotated[str, typer.Argument(help="The store: a path, sqlite:///… or postgresql+psycopg://…")]
_Days = Annotated[float | None, typer.Option(help="Days; not forgotten unless said.")]


@app.command()
def info(store: _Store) -> None:
    """Say which version a store is of, and how much is in it; changes nothing."""
    with _closing(read_store(store, "store")) as engine:
        _tell(describe_store(engine))


@app.command()
def migrate(store: _Store) -> None:
    """Bring a store to the version of this Gatewright; a new one is made."""
    with _closing(open_store(store, "store")) as engine:
        _tell(describe_store(engine))


@app.command()
def backup(
    store: _Store, target: Annotated[str, typer.Argument(help="A store that is not there yet, or empty.")]
) -> None:
    """
    Copy a store as it is at this moment, while it is in use; the copy may be of the other kind.

    To restore, copy back into a new store.
    """
    with _closing(read_store(store, "store")) as source, _closing(open_store(target, "copy")) as copy:
        _tell(copy_store(source, copy))


@app.command()
def retention(
    store: _Store,
    operations: Annotated[float, typer.Option(help="Days for which an operation that ended is kept.")] = 1.0,
    events: _Days = None,
    spending: _Days = None,
    approvals: _Days = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count.")] = False,
) -> None:
    """
    Forget operations that ended, revocations that expired, and what else is said to be old enough.

    What was spent must outlive the longest window of a budget. A chain of events whose beginning is forgotten begins
    later, which a verifier sees.
    """
    if min(operations, events or 1.0, spending or 1.0, approvals or 1.0) < 0:
        raise Misuse("days are not negative", "--operations 30")
    named = {"operation": operations, "event_line": events, "spending": spending, "approval": approvals}
    keep = {name: days * DAY for name, days in named.items() if days is not None}
    read_store(store, "store").dispose()
    with _closing(open_store(store, "store")) as engine:
        _tell(forget(engine, time.time(), keep, dry=dry_run))


@contextmanager
def _closing(engine: Engine) -> Iterator[Engine]:
    try:
        yield engine
    finally:
        engine.dispose()


def _tell(counts: dict[str, int]) -> None:
    for name, count in counts.items():
        print(f"{name:<13} {count}")
