"""
Which calls wait for an approval, and who has given one? The rows of approvals, inside a transaction of the ledger.

In come parked calls and votes; out comes how they stand. A granted approval is used by exactly one call. Decides
nothing about who may vote: `policy.approver` does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection, RowMapping, bindparam, delete, func, insert, select, update

from gatewright.middleware.tables import approval, approval_vote
from gatewright.policy.approver import Approvable
from gatewright.policy.toolfile import Approval

__all__ = [
    "Parked",
    "ParkedState",
    "cast_vote",
    "count_waiting",
    "find_parked",
    "move_parked",
    "park",
    "parked_by_id",
    "take_vote_back",
    "use_approval",
    "votes_of",
    "waiting_in",
]

ParkedState: TypeAlias = Literal["pending", "granted", "rejected", "withdrawn", "used"]

_OPEN: Final = ("pending", "granted")


@dataclass(frozen=True, slots=True)
class Parked:
    """
    One call that waits, or waited, for an approval.

    *bound* is the keyed digest of all that the approval is for; *sealed* the call's arguments, readable with the
    tenant's key; *duties* what its approvers must fulfil. Times are seconds since the epoch.
    """

    id: str
    bound: str
    tenant: str
    issuer: str
    subject: str
    actor: str | None
    tool: str
    operation: str | None
    interaction: str
    call: str
    view: str
    sealed: str
    duties: tuple[Approval, ...]
    requested_at: float
    expires_at: float
    state: ParkedState = "pending"
    used_by: str | None = None

    @property
    def asked(self) -> Approvable:
        """What an approver is weighed against."""
        return Approvable(self.tenant, self.subject, self.actor, self.tool, self.duties)

    def is_open(self, now: float) -> bool:
        """Whether it may still be decided or used at *now*."""
        return self.state in _OPEN and now < self.expires_at


_INSERT: Final = insert(approval)
_BY_ID: Final = select(approval).where(approval.c.id == bindparam("this"))
_LIVE: Final = (approval.c.state.in_(_OPEN), approval.c.expires_at > bindparam("now"))
_BY_BOUND: Final = select(approval).where(approval.c.bound == bindparam("this"), *_LIVE)
_WAITING: Final = (
    select(approval)
    .where(approval.c.tenant == bindparam("whose"), *_LIVE)
    .order_by(approval.c.requested_at, approval.c.id)
)
_COUNT: Final = (
    select(func.count())
    .select_from(approval)
    .where(approval.c.tenant == bindparam("whose"), approval.c.subject == bindparam("who"), *_LIVE)
)
_MOVE: Final = (
    update(approval)
    .where(approval.c.id == bindparam("this"), approval.c.state.in_(_OPEN))
    .values(state=bindparam("new_state"))
)
_USE: Final = (
    update(approval)
    .where(
        approval.c.id == bindparam("this"),
        approval.c.bound == bindparam("for_this"),
        approval.c.state == "granted",
        approval.c.expires_at > bindparam("now"),
    )
    .values(state="used", used_by=bindparam("new_used_by"))
)
_VOTE: Final = insert(approval_vote)
_UNVOTE: Final = delete(approval_vote).where(
    approval_vote.c.approval == bindparam("this"), approval_vote.c.approver == bindparam("who")
)
_VOTES: Final = select(approval_vote.c.approver, approval_vote.c.counts).where(
    approval_vote.c.approval == bindparam("this")
)


def park(connection: Connection, parked: Parked) -> None:
    """Write a call that is to wait."""
    row = {each.name: getattr(parked, each.name) for each in fields(parked)}
    connection.execute(_INSERT, {**row, "duties": _packed(parked.duties)})


def find_parked(connection: Connection, bound: str, now: float) -> Parked | None:
    """Return the open approval of exactly this call."""
    return _one(connection.execute(_BY_BOUND, {"this": bound, "now": now}).mappings().first())


def parked_by_id(connection: Connection, id: str) -> Parked | None:
    """Return the approval *id*, whatever its state."""
    return _one(connection.execute(_BY_ID, {"this": id}).mappings().first())


def waiting_in(connection: Connection, tenant: str, now: float) -> tuple[Parked, ...]:
    """Return the open approvals of *tenant*, oldest first."""
    rows = connection.execute(_WAITING, {"whose": tenant, "now": now}).mappings().all()
    return tuple(_parked(row) for row in rows)


def count_waiting(connection: Connection, tenant: str, subject: str, now: float) -> int:
    """Return how many calls of *subject* wait."""
    return int(connection.execute(_COUNT, {"whose": tenant, "who": subject, "now": now}).scalar_one())


def move_parked(connection: Connection, id: str, state: ParkedState) -> None:
    """Take an open approval to *state*; what is used or over stays as it is."""
    connection.execute(_MOVE, {"this": id, "new_state": state})


def use_approval(connection: Connection, id: str, bound: str, now: float, call: str) -> bool:
    """Use the granted approval *id* of the very call that *bound* says; False where it cannot be used any more."""
    values = {"this": id, "for_this": bound, "now": now, "new_used_by": call}
    return connection.execute(_USE, values).rowcount == 1


def cast_vote(connection: Connection, id: str, approver: str, counts: Iterable[int], now: float) -> None:
    """Write that *approver* agrees, for the duties at *counts*; agreeing again changes nothing else."""
    take_vote_back(connection, id, approver)
    connection.execute(_VOTE, {"approval": id, "approver": approver, "counts": json.dumps(sorted(counts)), "at": now})


def take_vote_back(connection: Connection, id: str, approver: str) -> bool:
    """Forget that *approver* agreed; return whether there was anything to forget."""
    return connection.execute(_UNVOTE, {"this": id, "who": approver}).rowcount > 0


def votes_of(connection: Connection, id: str) -> dict[str, tuple[int, ...]]:
    """Return approver → the duties that the approver's word counts for."""
    return {row.approver: tuple(json.loads(row.counts)) for row in connection.execute(_VOTES, {"this": id})}


def _one(row: RowMapping | None) -> Parked | None:
    return None if row is None else _parked(row)


def _parked(row: RowMapping) -> Parked:
    return Parked(**{**dict(row), "duties": _unpacked(row["duties"])})


def _packed(duties: tuple[Approval, ...]) -> bytes:
    plain = [{each.name: getattr(duty, each.name) for each in fields(duty)} for duty in duties]
    return json.dumps(plain, sort_keys=True, default=dict).encode()


def _unpacked(packed: bytes) -> tuple[Approval, ...]:
    return tuple(Approval(**{**duty, "by": tuple(duty["by"])}) for duty in json.loads(packed))
