"""
Must a person agree first? A duty of approval parks the call, until an approval of this very call has been granted.

In comes a decided call; it goes on where no duty asks or an approval is there to be used, or ends in
`approval_required`. The same call, made again while it waits, gets the same id. Nothing is used here: that is part of
the start (`recheck`).
"""

from __future__ import annotations

import json
import logging
from collections.abc import Generator
from typing import Any, Final

from sqlalchemy import Connection

from gatewright.middleware.call import Call, Outcome, Wait
from gatewright.middleware.failures import Stopped
from gatewright.middleware.identifiers import new_id
from gatewright.middleware.operations import canonical_arguments
from gatewright.middleware.parked import Parked, count_waiting, find_parked, park
from gatewright.middleware.record import stamp
from gatewright.middleware.refuse import forbid
from gatewright.middleware.reserve import proposal_of
from gatewright.middleware.results import ApprovalRequired, FailedResult
from gatewright.middleware.stores import StoreUnavailable, storable

__all__ = ["MOST_WAITING", "approve", "bound_of"]

MOST_WAITING: Final = 50
"""How many calls of one subject may wait at a time; what goes beyond is refused, so that nobody floods approvers."""

_waiting = logging.getLogger("gatewright.approvals")
"""Where it is told that a call waits: an application hands it on to approvers with a handler of its own."""


def approve(call: Call) -> Outcome:
    """Stop the call where a duty asks for an approval that is not there yet."""
    return _approve(call) if call.verdict.duties.approvals else None


def bound_of(call: Call) -> str:
    """Return the keyed digest of everything that an approval is for: another call never has the same."""
    caller = call.caller
    actor = None if caller.actor is None else caller.actor.id
    parts = [caller.issuer, caller.subject, actor, call.tool_name, call.view.digest, call.operation_name]
    filled = canonical_arguments(call.verdict.filled or {})
    return call.runtime.keys.digest(caller.tenant, "approval", json.dumps(parts).encode() + b"\0" + filled)


def _approve(call: Call) -> Generator[Wait, Any, Stopped | None]:
    ledger, bound = call.runtime.ledger, bound_of(call)
    try:
        if call.tool.spec.kind == "write" and (yield Wait(ledger.knows, proposal_of(call))):
            return None  # it has been done, or nobody knows: it will not run, so there is nothing to agree to
        waiting = yield Wait(_park, call, bound)
    except StoreUnavailable:
        call.trail.add("approval_requested", outcome="refused", reason="ledger")
        return call.stop(FailedResult("unavailable"))
    if waiting is None:
        return forbid(call, "approval: too many wait", "call")
    parked, is_new = waiting
    _note(call, parked, is_new=is_new)
    if parked.state == "granted":
        call.approval = parked.id
        return None
    return call.stop(ApprovalRequired(parked.id, stamp(parked.expires_at)))


def _park(call: Call, bound: str) -> tuple[Parked, bool] | None:
    """Return the open approval of this call, or a new one and True; None where the caller has too many."""
    store, whose = call.runtime.ledger.store, f"{call.caller.tenant}\n{call.caller.subject}"
    return store.write(lambda it: _parked(call, bound, it.connection), locks=(f"approvals\n{whose}",))


def _parked(call: Call, bound: str, connection: Connection) -> tuple[Parked, bool] | None:
    caller = call.caller
    found = find_parked(connection, bound, call.now)
    if found is not None:
        return found, False
    if count_waiting(connection, caller.tenant, caller.subject, call.now) >= MOST_WAITING:
        return None
    parked = _new(call, bound)
    park(connection, parked)
    return parked, True


def _new(call: Call, bound: str) -> Parked:
    caller, duties, id = call.caller, call.verdict.duties.approvals, new_id()
    shown = canonical_arguments(call.verdict.filled or {})
    return Parked(
        id=id,
        bound=bound,
        tenant=caller.tenant,
        issuer=caller.issuer,
        subject=caller.subject,
        actor=None if caller.actor is None else caller.actor.id,
        tool=call.tool_name,
        operation=None if call.operation_name is None else storable(call.operation_name),
        interaction=storable(call.trail.interaction),
        call=call.id,
        view=call.view.digest,
        sealed=call.runtime.keys.seal(caller.tenant, "approval", shown, id.encode()),
        duties=duties,
        requested_at=call.now,
        expires_at=call.now + min(each.within for each in duties),
    )


def _note(call: Call, parked: Parked, *, is_new: bool) -> None:
    roles = sorted({role for each in parked.duties for role in each.by})
    call.trail.add(
        "approval_requested",
        approval=parked.id,
        count=max(each.count for each in parked.duties),
        expires_at=stamp(parked.expires_at),
        operation=call.operation_name,
        outcome="requested" if is_new else "granted" if parked.state == "granted" else "repeated",
        roles=roles,
        view=call.view.digest,
    )
    if is_new:
        _waiting.info("approval %s asked of %s: %s, call %s", parked.id, ", ".join(roles), parked.tool, call.id)
        _tell(call, parked, roles)


def _tell(call: Call, parked: Parked, roles: list[str]) -> None:
    """Tell approvers by the webhook, where there is one: ids and names, none of the arguments."""
    webhook = call.runtime.webhook
    if webhook is not None:
        told = {"approval_id": parked.id, "call_id": call.id, "expires_at": stamp(parked.expires_at), "roles": roles}
        webhook.tell("approval.requested", {**told, "tenant": parked.tenant, "tool": parked.tool})
