"""
Is this token, session, subject or agent revoked? What was, in the ledger's store, and this process's view of it.

In come revocations by whoever may make them; out comes whether a caller still counts. A write asks inside its start
transaction, where none can slip in between; a read asks the view. Never un-revokes: a new login has another token.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import Connection, bindparam, delete, insert, select

from gatewright.middleware.stores import storable
from gatewright.middleware.tables import revocation
from gatewright.middleware.transactions import Transaction, Transactions
from gatewright.policy.caller import Caller
from gatewright.policy.errors import Misuse

__all__ = ["CHANNEL", "LONGEST", "REVOCATIONS", "Revocation", "RevocationKind", "Revocations"]

RevocationKind: TypeAlias = Literal["token", "session", "subject", "actor"]

LONGEST: Final = 367 * 86_400.0
"""Seconds for which a revocation is kept: longer than any profile lets a token live."""

REVOCATIONS: Final = "revocations"
"""What a transaction locks that revokes, and shares that starts a write."""

CHANNEL: Final = "gatewright_revocation"
"""Where PostgreSQL tells whoever listens that there is a new one."""

_MOST_TEXT: Final = 320  # the longest id of a token, behind the longest alias and a slash
_FORGET_S: Final = 600.0
_COLUMNS: Final = tuple(revocation.columns.keys())[1:]
_ADD: Final = insert(revocation)
_NEWER: Final = (
    select(revocation)
    .where(revocation.c.id > bindparam("seen"), revocation.c.expires_at > bindparam("now"))
    .order_by(revocation.c.id)
)
_EXPIRED: Final = delete(revocation).where(revocation.c.expires_at <= bindparam("now"))


@dataclass(frozen=True, slots=True)
class Revocation:
    """
    What no longer counts.

    *value* is a token's `jti`, a session's `sid`, or the id of a subject or actor as callers have it. *issuer* and
    *tenant* are "" where it does not matter whose it is. Of a subject or actor, tokens issued at *until* or before are
    meant. Times are in seconds since the epoch; past *expires_at* it is forgotten.
    """

    kind: RevocationKind
    value: str
    at: float
    expires_at: float
    issuer: str = ""
    tenant: str = ""
    until: float | None = None
    reason: str = ""

    def covers(self, caller: Caller, now: float) -> bool:
        """Whether a caller with that value is revoked."""
        return (
            self.issuer in ("", caller.issuer)
            and self.tenant in ("", caller.tenant)
            and (self.until is None or caller.issued_at <= self.until)
            and now < self.expires_at
        )


class Revocations:
    """
    The revocations in one store. Any number of threads and processes.

    Attributes:
        epoch: how new this process's view is; it grows with each revocation seen. Equal epochs, equal answers.
    """

    def __init__(self, store: Transactions, clock: Callable[[], float]) -> None:
        self.store: Transactions = store
        self.epoch: int = 0
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], tuple[Revocation, ...]] = {}
        self._looked_at = time.monotonic()
        self._forgot_at = self._looked_at
        self.refresh()

    def revoke_token(self, token_id: str, *, issuer: str = "", tenant: str = "", reason: str = "") -> Revocation:
        """
        Revoke one token by its id (`jti`). Ids are an issuer's own: name the *issuer* where there are several.

        Returns once it counts: no write starts any more whose token it is.

        Raises:
            StoreUnavailable: it may not be there. Misuse: the id is no id.
        """
        return self.revoke(self._new("token", token_id, issuer, tenant, reason))

    def revoke_session(self, session: str, *, issuer: str = "", tenant: str = "", reason: str = "") -> Revocation:
        """Revoke every token of a session (`sid`), whenever it was issued; as `revoke_token`."""
        return self.revoke(self._new("session", session, issuer, tenant, reason))

    def revoke_subject(
        self, subject: str, *, until: float | None = None, issuer: str = "", tenant: str = "", reason: str = ""
    ) -> Revocation:
        """
        Revoke the tokens of a subject that were issued at *until* or before, by default until now.

        *subject* is as callers have it, with the issuer's alias in front in a tenant that several issuers share. A
        token that is issued in the same second is revoked too, since tokens say whole seconds. Else as `revoke_token`.
        """
        return self.revoke(self._new("subject", subject, issuer, tenant, reason, until))

    def revoke_actor(
        self, actor: str, *, until: float | None = None, issuer: str = "", tenant: str = "", reason: str = ""
    ) -> Revocation:
        """Revoke the tokens that an agent acts with, for whomever; as `revoke_subject`."""
        return self.revoke(self._new("actor", actor, issuer, tenant, reason, until))

    def revoke(self, *revocations: Revocation) -> Revocation:
        """Write *revocations*, together or not at all; return the first. Writes that start meanwhile wait."""

        def work(transaction: Transaction) -> None:
            for each in revocations:
                transaction.connection.execute(_ADD, asdict(each))
            if transaction.connection.dialect.name == "postgresql":
                transaction.connection.exec_driver_sql(f"SELECT pg_notify('{CHANNEL}', '')")

        self.store.write(work, locks=(REVOCATIONS,), alone=True)
        self.refresh()
        return revocations[0]

    def listed(self) -> tuple[Revocation, ...]:
        """Return what is revoked and not yet forgotten, oldest first."""
        values = {"seen": 0, "now": self._clock()}
        rows = self.store.read(lambda connection: connection.execute(_NEWER, values).all())
        return tuple(map(_read, rows))

    def is_revoked(self, caller: Caller) -> bool:
        """Whether *caller* is revoked by what this process has seen."""
        known = self._known
        if not known:
            return False
        actor = None if caller.actor is None else caller.actor.id
        named = (("token", caller.token_id), ("session", caller.session), ("subject", caller.subject), ("actor", actor))
        return any(
            each.covers(caller, self._clock())
            for kind, value in named
            if value
            for each in known.get((kind, value), ())
        )

    def look(self, connection: Connection) -> None:
        """Learn what is new to *connection*."""
        self._learn(connection.execute(_NEWER, {"seen": self.epoch, "now": self._clock()}).all())

    def look_within(self, transaction: Transaction) -> None:
        """Learn what is new, in a transaction that shares `REVOCATIONS`: there is no newer one until it ends."""
        self._learn(transaction.run(_NEWER, {"seen": self.epoch, "now": self._clock()}).fetchall())

    def _learn(self, rows: Sequence[Sequence[Any]]) -> None:
        self._looked_at = time.monotonic()
        if not rows:
            return
        new = defaultdict(list)
        for found_here in map(_read, rows):
            new[found_here.kind, found_here.value].append(found_here)
        with self._lock:
            known = dict(self._known)
            for named, found in new.items():
                known[named] = tuple(dict.fromkeys((*known.get(named, ()), *found)))
            self._known = known
            self.epoch = max(self.epoch, rows[-1][0])

    def refresh(self) -> None:
        """Learn what is new, now. Raises StoreUnavailable."""
        self.store.read(self.look)
        if time.monotonic() - self._forgot_at > _FORGET_S:
            self._forget()

    def unseen_for(self) -> float:
        """Return the seconds since this process last saw the store."""
        return time.monotonic() - self._looked_at

    def purge(self) -> int:
        """Delete what has expired from the store; return how many."""
        now = self._clock()
        return self.store.write(lambda it: it.connection.execute(_EXPIRED, {"now": now}).rowcount)

    def _forget(self) -> None:
        """Drop what has expired from the view."""
        now = self._clock()
        with self._lock:
            left = {named: tuple(each for each in all_ if each.expires_at > now) for named, all_ in self._known.items()}
            self._known = {named: all_ for named, all_ in left.items() if all_}
            self._forgot_at = time.monotonic()

    def _new(
        self, kind: RevocationKind, value: str, issuer: str, tenant: str, reason: str, until: float | None = None
    ) -> Revocation:
        now = self._clock()
        if kind in ("subject", "actor") and until is None:
            until = now
        return Revocation(
            kind,
            _id(value),
            now,
            now + LONGEST,
            _id(issuer, optional=True),
            _id(tenant, optional=True),
            until,
            _text(reason),
        )


def _id(value: str, *, optional: bool = False) -> str:
    if isinstance(value, str) and len(value) <= _MOST_TEXT and value.isprintable() and (value or optional):
        return value
    raise Misuse("no id to revoke", f"1 to {_MOST_TEXT} printable characters, as the token says them")


def _text(reason: str) -> str:
    return storable(reason)[:_MOST_TEXT]


def _read(row: Sequence[Any]) -> Revocation:
    return Revocation(**dict(zip(_COLUMNS, row[1:], strict=True)))
