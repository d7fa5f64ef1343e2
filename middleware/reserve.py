"""
Which logical write is this, and has it already run? Reads pass; a write gets its proposal for the ledger.

In comes a decided call; it goes on with a proposal. What the ledger then finds of an earlier run becomes the answer
here: a stored result, or `unknown`. Runs nothing.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any, Final

from gatewright.middleware.call import Call, Wait
from gatewright.middleware.failures import Stopped
from gatewright.middleware.operations import Operation, Proposal, canonical_arguments
from gatewright.middleware.remember import remember
from gatewright.middleware.restore import restore_result
from gatewright.middleware.results import Ok, OkPage, Unknown
from gatewright.middleware.starts import Found

__all__ = ["answer_found", "proposal_of", "reserve"]

_LONGEST_WAIT: Final = 30.0


def reserve(call: Call) -> Stopped | None:
    """Propose the write; the ledger takes it in the transaction that also starts it."""
    if call.tool.spec.kind == "write":
        call.proposal = proposal_of(call)
    return None


def proposal_of(call: Call) -> Proposal:
    """Return the write that *call* asks for, as it is decided."""
    caller, trail = call.caller, call.trail
    return Proposal(
        tenant=caller.tenant,
        subject=caller.subject,
        tool=call.tool_name,
        arguments=canonical_arguments(call.verdict.filled or {}),
        interaction=trail.interaction,
        call=trail.call,
        trace=trail.trace,
        view=call.view.digest,
        name=call.operation_name,
        idempotent=call.tool.idempotent,
        kept=None if call.tool.reconcile is None else remember(call),
    )


def answer_found(call: Call, found: Found) -> Generator[Wait, Any, Stopped | None]:
    """Return None with the stored result on the call, or what is to be said of a write that has been started before."""
    operation = found.operation
    if operation.state == "started":
        call.awaited = operation
        timeout = call.tool.timeout or _LONGEST_WAIT
        operation = yield Wait(call.runtime.ledger.wait, operation, timeout)
    if operation.state in ("started", "unknown") or operation.outcome is None:
        return _unresolved(call, operation)
    result = restore_result(json.loads(operation.outcome))
    call.trail.add(
        "execution_finished", effect="none", operation=operation.id, outcome="replayed", stored=operation.state
    )
    if not isinstance(result, Ok | OkPage):
        return call.stop(result)
    call.stored = result
    return None


def _unresolved(call: Call, operation: Operation) -> Stopped:
    call.trail.add(
        "execution_finished", effect="none", operation=operation.id, outcome="unresolved", stored=operation.state
    )
    return call.stop(Unknown(operation.id))
