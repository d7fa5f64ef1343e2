"""
How does a step say no? Verdicts and complaints become results, events and counted attempts.

In comes a call with what was found; out comes its `Stopped`. What the event log learns here, no caller does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Final

from gatewright.middleware.call import Call
from gatewright.middleware.failures import Stopped
from gatewright.middleware.repairs import invalid_arguments
from gatewright.middleware.results import FORBIDDEN, NOT_FOUND, ConflictResult, FailedResult, Forbidden, Result
from gatewright.policy.complaints import Complaint
from gatewright.policy.quoting import Quote, quote_from
from gatewright.policy.screening import Failure
from gatewright.policy.settlement import may_say_not_found
from gatewright.policy.verdict import Verdict

__all__ = [
    "forbid",
    "may_tell_absence",
    "note_decision",
    "refuse_arguments",
    "schema_changed",
    "stop_verdict",
    "told_failures",
    "verdict_result",
    "with_refusal",
]

_DUTIES: Final = ("approval", "reason", "budget", "notify", "timeout")


def refuse_arguments(call: Call, complaints: Sequence[Complaint], reason: str = "") -> Stopped:
    """Return the refusal of arguments with everything that is wrong with them; it counts as an attempt."""
    digest = _schema_digest(call)
    attempt = 1 if call.progress is None else call.progress.count_refused(call.tool_name, digest)
    result = invalid_arguments(
        complaints,
        attempt=attempt,
        repairs=call.runtime.bounds.repairs,
        locale=call.locale,
        schema_changed=schema_changed(call),
        quote=quotes(call),
    )
    first = complaints[0] if complaints else None
    call.trail.add(
        "schema_validated",
        attempt=attempt,
        attempts_left=result.attempts_left,
        errors=[{"field": each.field, "layer": each.layer, "reason": each.reason} for each in complaints],
        layer=None if first is None else first.layer,
        outcome="refused",
        reason=reason or None,
        schema_changed=result.schema_changed or None,
        schema_digest=digest,
    )
    return call.stop(result)


def stop_verdict(call: Call, verdict: Verdict) -> Stopped:
    """Return the refusal that *verdict* says, its true reason on the trail."""
    note_decision(call, verdict)
    if verdict.status == "invalid_arguments":
        return refuse_arguments(call, verdict.errors, verdict.reason)
    return call.stop(verdict_result(verdict))


def forbid(call: Call, reason: str, stage: str | None = None) -> Stopped:
    """Return the constant refusal of something that went wrong while deciding; *reason* is for the event log."""
    call.trail.add(
        "permission_decided", outcome="forbidden", reason=reason, revision=call.snapshot.revision, stage=stage
    )
    return call.stop(with_refusal(call, FORBIDDEN))


def with_refusal(call: Call, result: Result) -> Result:
    """Return *result* with the tool file's sentence where it is the refusal of an admitted caller, whoever refused."""
    decided = getattr(call, "verdict", None) or getattr(call, "view", None)
    sentence = None if decided is None else decided.refusal
    return Forbidden(sentence) if result is FORBIDDEN and sentence is not None else result


def may_tell_absence(call: Call) -> bool:
    """Whether a tool's own `NotFound` may be told: by the rule of loaders, and where no row is kept from the caller."""
    verdict = call.verdict
    candidate = verdict.candidate
    return candidate is not None and not verdict.cuts.keep and may_say_not_found(call.view, candidate)


def note_decision(call: Call, verdict: Verdict) -> None:
    """Put the decision on the trail: who settled it, and how the entries that did not pass had stopped."""
    duties = verdict.duties
    there = (duties.approvals, duties.reason, duties.budgets, duties.notify, duties.timeout is not None)
    named = list(compress(_DUTIES, there))
    call.trail.add(
        "permission_decided",
        duties=named or None,
        entry=verdict.entry,
        failures=told_failures(verdict.failures) if verdict.failures else None,
        outcome=verdict.status,
        reason=verdict.reason or None,
        revision=verdict.revision,
        rows=verdict.rows,
        stage=verdict.stage,
        view=call.view.digest,
    )


def told_failures(failures: Sequence[Failure]) -> list[dict[str, str]]:
    """Return how each entry stopped, as the event log holds it."""
    return [
        {"entry": each.entry, "reason": each.reason, "stage": each.stage, "status": each.status} for each in failures
    ]


def schema_changed(call: Call) -> bool:
    """Whether the caller was last shown another schema of this tool than the one that is enforced."""
    digest = _schema_digest(call)
    return digest is not None and call.progress is not None and call.progress.has_changed(call.tool_name, digest)


def quotes(call: Call) -> Quote:
    """Return what says how a complaint's place may be quoted to the model that wrote it."""
    decoded = getattr(call, "decoded", None)
    return quote_from(call.view.spec.flags, None if decoded is None else decoded.value)


def _schema_digest(call: Call) -> str | None:
    view = getattr(call, "view", None)
    return None if view is None else str(view.schema_digest)


def verdict_result(verdict: Verdict) -> Result:
    """Return what is told of a *verdict* that is neither ok nor about arguments: constants, and a constant sentence."""
    if verdict.status == "not_found":
        return NOT_FOUND
    if verdict.status == "conflict":
        return ConflictResult("resource_state")
    if verdict.status == "rate_limited":
        return FailedResult("rate_limited")
    return FORBIDDEN if verdict.refusal is None else Forbidden(verdict.refusal)
