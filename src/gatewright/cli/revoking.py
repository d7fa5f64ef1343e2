"""
Commands that revoke: a token, a session, the tokens of a subject or of an agent; and what is revoked.

In come ids and the place of the ledger; what is written counts for every process that shares it.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gatewright.middleware.places import LEDGER
from gatewright.middleware.revocation import Revocation, Revocations
from gatewright.middleware.stores import read_store
from gatewright.middleware.transactions import Transactions
from gatewright.policy.errors import Misuse

__all__ = ["actor", "app", "list_revocations", "session", "subject", "token"]

app: typer.Typer = typer.Typer(help="Revoke tokens, sessions, subjects and agents.", no_args_is_help=True)

_DEFAULT = str(LEDGER)
_Store = Annotated[str, typer.Option("--store", help="The ledger's place: a path or URL.")]
_Issuer = Annotated[str, typer.Option(help="Only what this issuer issued.")]
_Tenant = Annotated[str, typer.Option(help="Only in this tenant.")]
_Reason = Annotated[str, typer.Option(help="Why; kept with it.")]
_Until = Annotated[dt.datetime | None, typer.Option(help="Tokens issued until then, UTC; now unless said.")]


@app.command()
def token(
    id: Annotated[str, typer.Argument(help="The token's id, its jti.")],
    store: _Store = _DEFAULT,
    issuer: _Issuer = "",
    tenant: _Tenant = "",
    reason: _Reason = "",
) -> None:
    """Revoke one token."""
    _revoke(store, lambda it: it.revoke_token(id, issuer=issuer, tenant=tenant, reason=reason))


@app.command()
def session(
    id: Annotated[str, typer.Argument(help="The session's id, the tokens' sid.")],
    store: _Store = _DEFAULT,
    issuer: _Issuer = "",
    tenant: _Tenant = "",
    reason: _Reason = "",
) -> None:
    """Revoke every token of a session."""
    _revoke(store, lambda it: it.revoke_session(id, issuer=issuer, tenant=tenant, reason=reason))


@app.command()
def subject(
    id: Annotated[str, typer.Argument(help="The subject, as callers have it.")],
    store: _Store = _DEFAULT,
    until: _Until = None,
    issuer: _Issuer = "",
    tenant: _Tenant = "",
    reason: _Reason = "",
) -> None:
    """Revoke the tokens that a subject has now; a new login counts again."""
    at = _seconds(until)
    _revoke(store, lambda it: it.revoke_subject(id, until=at, issuer=issuer, tenant=tenant, reason=reason))


@app.command()
def actor(
    id: Annotated[str, typer.Argument(help="The agent, as callers have it.")],
    store: _Store = _DEFAULT,
    until: _Until = None,
    issuer: _Issuer = "",
    tenant: _Tenant = "",
    reason: _Reason = "",
) -> None:
    """Revoke the tokens that an agent acts with now, for whomever."""
    at = _seconds(until)
    _revoke(store, lambda it: it.revoke_actor(id, until=at, issuer=issuer, tenant=tenant, reason=reason))


@app.command("list")
def list_revocations(store: _Store = _DEFAULT) -> None:
    """Say what is revoked and not yet forgotten, oldest first."""
    with _opened(store) as revocations:
        for each in revocations.listed():
            print(_line(each))


def _revoke(store: str, revoke: Callable[[Revocations], Revocation]) -> None:
    with _opened(store) as revocations:
        print(_line(revoke(revocations)))


@contextmanager
def _opened(store: str) -> Iterator[Revocations]:
    """Open a ledger that is there: a revocation in a new store would count for nobody."""
    if "://" not in store and not Path(store).is_file():
        raise Misuse("there is no ledger here", "say --store with the place that the guard has")
    read_store(store, "ledger").dispose()
    transactions = Transactions(store)
    try:
        yield Revocations(transactions, time.time)
    finally:
        transactions.close()


def _seconds(until: dt.datetime | None) -> float | None:
    return None if until is None else until.replace(tzinfo=dt.UTC).timestamp()


def _line(each: Revocation) -> str:
    at = dt.datetime.fromtimestamp(each.at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    scope = " ".join(f"{name}={value}" for name, value in (("issuer", each.issuer), ("tenant", each.tenant)) if value)
    return " ".join(filter(None, (at, each.kind, each.value, scope, each.reason)))
