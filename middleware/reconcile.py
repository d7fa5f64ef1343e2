"""
What became of the writes whose outcome nobody knows? Each is authorized again, then its tool is asked.

In come a guard's runtime and the operations that its ledger holds as `unknown`; out comes what was found out. Enters no
body and runs nothing again: a `reconcile` function is asked only where its call would still be allowed.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Final, Literal, TypeAlias, cast

from gatewright.middleware.call import Call, Wait
from gatewright.middleware.conclude import broken, conclude
from gatewright.middleware.consult import Undecided, settle_call
from gatewright.middleware.failures import Stopped
from gatewright.middleware.lease import Leases
from gatewright.middleware.operations import INSIDE, Operation, State, canonical_arguments
from gatewright.middleware.owners import this_process
from gatewright.middleware.recovery import Ending
from gatewright.middleware.refuse import forbid, note_decision, stop_verdict
from gatewright.middleware.registration import Tool
from gatewright.middleware.release import release
from gatewright.middleware.remember import recall
from gatewright.middleware.results import FORBIDDEN, FailedResult, Ok, Result, Unauthenticated
from gatewright.middleware.runtime import Runtime
from gatewright.middleware.seal import SealBroken
from gatewright.middleware.supply import copy_arguments
from gatewright.middleware.unresolved import NOTHING, CannotTell, DidNotHappen, Happened, UnresolvedOperation
from gatewright.middleware.whereabouts import place_of
from gatewright.policy.verdict import Verdict, settle

__all__ = ["Finding", "Recovered", "recover"]

Finding: TypeAlias = Literal[
    "happened", "did_not_happen", "cannot_tell", "still_running", "not_allowed", "no_reconcile", "not_kept", "settled"
]
"""What recovery found; `settled` is an operation that somebody else settled meanwhile."""

_ASKED: Final = ("admit", "validate", "authorize")
_SPENT: Final = ("conflict", "rate_limited")
_NO_VALUE: Final = FailedResult("invalid_result", "done")
_log = logging.getLogger("gatewright.recovery")

_Asking: TypeAlias = "Generator[Wait, Any, Stopped | None]"


@dataclass(frozen=True, slots=True)
class Recovered:
    """
    What recovery found out about one operation, and its state now.

    *call_id* is the recovery's own call, whose events say why; None where the tool could not be asked at all.
    """

    operation_id: str
    tool: str
    finding: Finding
    state: State
    call_id: str | None = None


def recover(runtime: Runtime, only: str | None = None) -> Generator[Wait, Any, tuple[Recovered, ...]]:
    """
    Ask the tools about every unknown operation, or about the one whose id is *only*.

    Raises:
        StoreUnavailable: the ledger cannot be used.
    """
    yield Wait(runtime.ledger.recover_stale)
    found = yield Wait(runtime.ledger.operations, "unknown")
    recovered: list[Recovered] = []
    for operation in found:
        if only in (None, operation.id):
            recovered.append((yield from _recover(runtime, operation)))
    return tuple(recovered)


def _recover(runtime: Runtime, operation: Operation) -> Generator[Wait, Any, Recovered]:
    if runtime.live.is_stale:
        runtime.live.complete()
    tool = runtime.tools.get(operation.tool)
    if tool is None or tool.reconcile is None:
        return Recovered(operation.id, operation.tool, "no_reconcile", "unknown")
    call = runtime.open_call(operation.tool, {}, token=None, parent=operation.call, adapter="recovery")
    call.own = operation.id
    inquiry = _Inquiry(operation)
    try:
        stopped = yield from _ask(call, operation, inquiry)
        result = inquiry.told() if stopped is None else stopped.result
    except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing is known now that was not known before
        result = broken(call, error)
    conclude(call, result)
    return Recovered(operation.id, operation.tool, inquiry.finding, inquiry.state, call.id)


class _Inquiry:
    """What is known so far of one operation."""

    __slots__ = ("finding", "operation", "state")

    def __init__(self, operation: Operation) -> None:
        self.operation = operation
        self.finding: Finding = "not_allowed"
        self.state: State = "unknown"

    def told(self) -> Result:
        return Ok({"finding": self.finding, "operation_id": self.operation.id, "state": self.state})


def _ask(call: Call, operation: Operation, inquiry: _Inquiry) -> _Asking:
    stopped = (yield from _remembered(call, operation, inquiry)) or (yield from _authorized(call))
    if stopped is not None:
        return stopped
    filled = canonical_arguments(call.verdict.filled or {})
    if not call.runtime.keys.matches(operation.digest, operation.tenant, "arguments", filled):
        return _refuse(call, "arguments: others under the policies of now")
    answer = yield from _answered(call, operation)
    inquiry.finding = yield Wait(_finding, operation, answer, call.runtime.ledger.leases)
    if isinstance(answer, Happened):
        yield from _settle(call, inquiry, "succeeded", _outcome(call, answer))
    elif inquiry.finding == "did_not_happen":
        yield from _settle(call, inquiry, "failed", None)
    return None


def _remembered(call: Call, operation: Operation, inquiry: _Inquiry) -> _Asking:
    """Make the call that of the one who made the write; the token is gone, what revokes it and its issuer count."""
    runtime = call.runtime
    try:
        kept = recall(runtime.keys.unseal(operation.tenant, "operation", operation.sealed or "", operation.id.encode()))
    except (SealBroken, KeyError, TypeError, ValueError):
        inquiry.finding = "not_kept"
        return call.stop(FORBIDDEN)
    yield Wait(runtime.revocations.refresh)
    call.snapshot, tokens = runtime.live.current
    call.now, call.epoch, caller = runtime.clock.time(), runtime.revocations.epoch, kept.caller
    profile = tokens.verifier.profiles.by_issuer.get(caller.issuer)
    if profile is None or not profile.tenants.admits(caller.tenant):
        return _unidentified(call, "token_invalid", "issuer")
    if runtime.revocations.is_revoked(caller):
        return _unidentified(call, "token_revoked", "revoked since")
    call.caller, call.decoded, call.given_context = caller, kept.decoded, kept.context
    call.trail.tenant = caller.tenant
    call.trail.add(
        "identity_resolved",
        outcome="remembered",
        roles=sorted(caller.roles),
        subject=caller.subject,
        tenant=caller.tenant,
        token_id=caller.token_id,
    )
    return None


def _authorized(call: Call) -> _Asking:
    """Walk the steps that decide, those of the application included."""
    if call.runtime.live.is_outdated:
        return _refuse(call, "policies: older than their maximum age")
    for step in call.runtime.chain.deciding:
        if step.name in _ASKED or step.own:
            call.step = step.name
            outcome = _authorize(call) if step.name == "authorize" else step.run(call)
            stopped = outcome if outcome is None or isinstance(outcome, Stopped) else (yield from outcome)
            if stopped is not None:
                return stopped
    return None


def _authorize(call: Call) -> _Asking:
    """
    Settle the call. That its effect could not be had a second time, by the record's state or a budget, is no reason not
    to ask whether it was had; the tool's own checks, which are about running it, are left out.
    """
    call.records = {}
    try:
        verdict = yield from settle_call(call, settle(call.screened, call.tool.supply, call.context))
    except Undecided as error:
        return forbid(call, error.why, error.stage)
    if verdict.status not in ("ok", *_SPENT):
        return stop_verdict(call, verdict)
    note_decision(call, verdict)
    call.verdict = verdict if verdict.status == "ok" else _of_entry(call, verdict)
    return None


def _of_entry(call: Call, verdict: Verdict) -> Verdict:
    """Return what *verdict* would be if its entry, which came furthest, had passed."""
    candidate = next(each for each in call.screened.candidates if each.entry.id == verdict.entry)
    filled, arguments, cuts = candidate.filled, candidate.arguments, candidate.entry.cuts
    return replace(verdict, filled=filled, arguments=arguments, cuts=cuts, candidate=candidate)


def _answered(call: Call, operation: Operation) -> Generator[Wait, Any, object]:
    """Ask the tool, under its timeout. What it raises tells nothing."""
    reconcile = cast("Any", call.tool.reconcile)
    asked = UnresolvedOperation.of(operation, call.caller, copy_arguments(call.verdict.arguments or {}))
    try:
        return (yield Wait(reconcile, asked, deadline=_deadline(call.tool)))
    except Exception as error:  # noqa: BLE001 - whatever it is, nobody can tell
        _log.warning("reconcile of %s raised %s (call %s)", operation.tool, place_of(error), call.id)
        return CannotTell()


def _deadline(tool: Tool) -> float | None:
    return None if tool.timeout is None else monotonic() + tool.timeout


def _finding(operation: Operation, answer: object, leases: Leases) -> Finding:
    """What an answer comes to: while a body may still be inside, nobody can say that it will not happen."""
    if isinstance(answer, Happened):
        return "happened"
    if not isinstance(answer, DidNotHappen):
        return "cannot_tell"
    return "still_running" if _may_be_inside(operation, leases) else "did_not_happen"


def _may_be_inside(operation: Operation, leases: Leases) -> bool:
    if operation.owner == this_process():
        return (operation.id, operation.attempt) in INSIDE
    return leases.may_be_inside(operation)


def _outcome(call: Call, answer: Happened) -> bytes:
    """Return the result of what happened, as it is released: what `release` withholds was done all the same."""
    if answer.value is NOTHING:
        return _NO_VALUE.to_bytes()
    call.value, call.step = answer.value, "release"
    stopped = release(call)
    result = call.result if stopped is None else _NO_VALUE
    return result.to_bytes()


def _settle(call: Call, inquiry: _Inquiry, state: State, outcome: bytes | None) -> Generator[Wait, Any, None]:
    ledger, operation = call.runtime.ledger, inquiry.operation
    ending = Ending(operation, state, call.runtime.clock.time(), ledger.expiry(), outcome, state == "failed")
    if (yield Wait(ledger.resolve, ending, "reconciled")):
        inquiry.state = state
    else:
        inquiry.finding = "settled"


def _unidentified(call: Call, reason: str, detail: str) -> Stopped:
    call.trail.add("identity_resolved", outcome=reason, reason=detail)
    return call.stop(Unauthenticated(reason))


def _refuse(call: Call, reason: str) -> Stopped:
    call.trail.add("permission_decided", outcome="forbidden", reason=reason, revision=call.snapshot.revision)
    return call.stop(FORBIDDEN)
