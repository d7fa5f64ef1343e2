"""
Who says yes to what waits? Approvers list, approve, reject and withdraw, each with a verified token of their own.

In come an approver's token and an approval's id; out come what waits for that person, or a result of the closed union.
An approval runs nothing: it lets one identical call through, made later by whoever asked.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

from sqlalchemy import Connection

from gatewright.middleware.authenticate import authenticate
from gatewright.middleware.call import Call
from gatewright.middleware.conclude import broken
from gatewright.middleware.drive import answer_waits
from gatewright.middleware.failures import Stopped
from gatewright.middleware.kinds import Field
from gatewright.middleware.parked import (
    Parked,
    ParkedState,
    cast_vote,
    move_parked,
    parked_by_id,
    take_vote_back,
    votes_of,
    waiting_in,
)
from gatewright.middleware.perform import end
from gatewright.middleware.record import event_line, stamp
from gatewright.middleware.results import FORBIDDEN, FailedResult, Ok, Result
from gatewright.middleware.runtime import Runtime
from gatewright.middleware.seal import SealBroken
from gatewright.middleware.stores import StoreUnavailable, storable
from gatewright.middleware.transactions import Transaction
from gatewright.policy.approver import Standby, is_approved, weigh_approver
from gatewright.policy.model import JsonObject
from gatewright.policy.pointers import parse_pointer

__all__ = ["Approvals", "WaitingCall"]

Answer: TypeAlias = Literal["approved", "rejected", "withdrawn"]


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """
    A call that waits, as an approver sees it.

    *arguments* are those that would run, None where their key is gone; values that the catalog marks `secret` are
    `"***"`. *missing* is how many approvers are still needed. Times are UTC, RFC 3339.
    """

    id: str
    tool: str
    subject: str
    actor: str | None
    roles: tuple[str, ...]
    state: ParkedState
    missing: int
    requested_at: str
    expires_at: str
    arguments: JsonObject | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Decision:
    """What one answer made of an approval; *reason* is the true one of a refusal, for the event log."""

    state: ParkedState = "pending"
    missing: int = 0
    reason: str = ""


class Approvals:
    """The approvals of one guard. Blocks on the ledger: from a task, call it in a worker thread."""

    __slots__ = ("_runtime",)

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def waiting(self, token: str | None) -> tuple[WaitingCall, ...]:
        """
        Return the calls that wait for the token's caller, oldest first.

        Raises:
            CallUnauthenticated: nobody is asking.
            StoreUnavailable: the ledger cannot be read.
        """
        call = self._open(token)
        stopped = _authenticated(call)
        if stopped is not None:
            stopped.throw()
        return self._runtime.ledger.store.read(lambda connection: tuple(self._seen(connection, call)))

    def approve(self, id: str, token: str | None) -> Result:
        """Say yes, as one approver. The answer is `ok` with the approval's state and how many are still missing."""
        return self._answer(id, token, "approved")

    def reject(self, id: str, token: str | None) -> Result:
        """Say no: one approver is enough. The call may be made, and asked for, again."""
        return self._answer(id, token, "rejected")

    def withdraw(self, id: str, token: str | None) -> Result:
        """Take back what one said before it was used; whoever asked withdraws the whole request."""
        return self._answer(id, token, "withdrawn")

    def _open(self, token: str | None) -> Call:
        return self._runtime.open_call("", "", token=token)

    def _answer(self, id: str, token: str | None, answer: Answer) -> Result:
        call = self._open(token)
        try:
            stopped = _authenticated(call)
            result = stopped.result if stopped is not None else self._decided(call, storable(str(id)), answer)
        except StoreUnavailable:
            result = FailedResult("unavailable")
        except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing was agreed to
            result = broken(call, error)
        return end(call, result)

    def _decided(self, call: Call, id: str, answer: Answer) -> Result:
        """Decide and record in one transaction: an answer that is not in the event log does not count."""

        def work(transaction: Transaction) -> _Decision:
            decision = self._decide(transaction.connection, call, id, answer)
            if not decision.reason:
                told = "granted" if answer == "approved" and decision.state == "granted" else answer
                fields = self._fields(call, told, decision)
                transaction.write_line(event_line("approval_decided", call.now, _ids(call), approval=id, **fields))
            return decision

        decision = self._runtime.ledger.store.write(work, locks=(f"approval\n{id}",))
        if decision.reason:
            call.trail.add("approval_decided", **self._fields(call, "refused", decision))
            return FORBIDDEN
        return Ok({"approval_id": id, "state": decision.state, "missing": decision.missing})

    def _decide(self, connection: Connection, call: Call, id: str, answer: Answer) -> _Decision:
        parked = parked_by_id(connection, id)
        if parked is None or parked.tenant != call.caller.tenant:
            return _Decision(reason="no such approval in this tenant")
        if not parked.is_open(call.now):
            return _Decision(reason=f"it is over: {parked.state}")
        if answer == "withdrawn":
            return self._withdraw(connection, call, parked)
        weight = self._weigh(call, parked)
        if not weight.counts:
            return _Decision(reason=weight.reason)
        if answer == "rejected":
            move_parked(connection, id, "rejected")
            return _Decision("rejected")
        cast_vote(connection, id, call.caller.subject, weight.counts, call.now)
        return _stand(connection, parked)

    def _withdraw(self, connection: Connection, call: Call, parked: Parked) -> _Decision:
        if call.caller.subject == parked.subject:
            move_parked(connection, parked.id, "withdrawn")
            return _Decision("withdrawn")
        if take_vote_back(connection, parked.id, call.caller.subject):
            return _stand(connection, parked)
        return _Decision(reason="nothing to withdraw")

    def _weigh(self, call: Call, parked: Parked) -> Standby:
        today = dt.datetime.fromtimestamp(call.now, dt.UTC).date()
        return weigh_approver(self._runtime.live.snapshot, call.caller, parked.asked, today)

    def _seen(self, connection: Connection, call: Call) -> Iterator[WaitingCall]:
        for parked in waiting_in(connection, call.caller.tenant, call.now):
            if self._weigh(call, parked).counts:
                yield self._shown(connection, parked)

    def _shown(self, connection: Connection, parked: Parked) -> WaitingCall:
        return WaitingCall(
            id=parked.id,
            tool=parked.tool,
            subject=parked.subject,
            actor=parked.actor,
            roles=tuple(sorted({role for duty in parked.duties for role in duty.by})),
            state=parked.state,
            missing=_missing(connection, parked),
            requested_at=stamp(parked.requested_at),
            expires_at=stamp(parked.expires_at),
            arguments=self._arguments(parked),
        )

    def _arguments(self, parked: Parked) -> JsonObject | None:
        spec = self._runtime.live.snapshot.policies.catalog.get(parked.tool)
        if spec is None:
            return None
        try:
            opened = self._runtime.keys.unseal(parked.tenant, "approval", parked.sealed, parked.id.encode())
        except SealBroken:
            return None
        arguments = cast("JsonObject", json.loads(opened.removeprefix(b"big:")))
        secret = {parse_pointer(pointer)[0] for pointer, flags in spec.flags.items() if "secret" in flags}
        return {name: "***" if name in secret else value for name, value in arguments.items()}

    def _fields(self, call: Call, outcome: str, decision: _Decision) -> dict[str, Field]:
        return {
            "approver": call.caller.subject,
            "approver_roles": sorted(call.caller.roles),
            "missing": decision.missing,
            "outcome": outcome,
            "reason": decision.reason or None,
            "revision": self._runtime.live.snapshot.revision,
        }


def _stand(connection: Connection, parked: Parked) -> _Decision:
    """Grant what has enough approvers, or take the grant back from what has not any more."""
    votes = votes_of(connection, parked.id)
    state: ParkedState = "granted" if is_approved(parked.duties, votes) else "pending"
    move_parked(connection, parked.id, state)
    return _Decision(state, _missing(connection, parked))


def _missing(connection: Connection, parked: Parked) -> int:
    votes = votes_of(connection, parked.id).values()
    return max(max(0, duty.count - sum(at in counts for counts in votes)) for at, duty in enumerate(parked.duties))


def _ids(call: Call) -> dict[str, str]:
    return {"id": call.trail.call, "interaction": call.trail.interaction, "trace": call.trail.trace}


def _authenticated(call: Call) -> Stopped | None:
    outcome = authenticate(call)
    return outcome if outcome is None or isinstance(outcome, Stopped) else answer_waits(outcome)
