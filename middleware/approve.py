"""
Must a person agree first? A duty of approval parks the call; it never passes by itself.

In comes a decided call; it goes on where no duty asks, or ends in `approval_required`. The same call, made again while
it waits, gets the same id.
"""

from __future__ import annotations

import json
from typing import Final

from gatewright.middleware.call import Call
from gatewright.middleware.failures import Stopped
from gatewright.middleware.operations import canonical_arguments
from gatewright.middleware.record import stamp
from gatewright.middleware.results import ApprovalRequired

__all__ = ["approve"]

_ID_LENGTH: Final = 32


def approve(call: Call) -> Stopped | None:
    """Stop the call where a duty asks for an approval: nobody can have given one yet."""
    approvals = call.verdict.duties.approvals
    if not approvals:
        return None
    expires_at = stamp(call.now + min(each.within for each in approvals))
    approval = _approval_id(call)
    call.trail.add(
        "approval_requested",
        approval=approval,
        count=max(each.count for each in approvals),
        expires_at=expires_at,
        operation=call.operation_name,
        outcome="requested",
        roles=sorted({role for each in approvals for role in each.by}),
        view=call.view.digest,
    )
    return call.stop(ApprovalRequired(approval, expires_at))


def _approval_id(call: Call) -> str:
    """A keyed digest of everything that an approval is bound to: another call never has the same id."""
    caller = call.caller
    actor = None if caller.actor is None else caller.actor.id
    bound = [caller.issuer, caller.subject, actor, call.tool_name, call.view.digest, call.operation_name]
    filled = canonical_arguments(call.verdict.filled or {})
    digest = call.runtime.keys.digest(
        caller.tenant, "arguments", b"approval\0" + json.dumps(bound).encode() + b"\0" + filled
    )
    return digest.rpartition(".")[2][:_ID_LENGTH]
