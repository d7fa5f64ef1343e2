"""
Do facts, context, the named resources, their state and budgets allow the call? Then the tool's own checks.

In come the entries that accept the arguments; the verdict goes on, or a refusal. POLICY's stages (d) to (h); the pure
part is `policy.settlement`, which asks for records by yielding.
"""

from __future__ import annotations

import copy
from collections.abc import Generator
from typing import Any

from gatewright.middleware.answer import answer_failure
from gatewright.middleware.call import Call, Outcome, Wait
from gatewright.middleware.consult import Undecided, is_bounded, settle_call
from gatewright.middleware.failures import Conflict, Failed, NotFound, Stopped
from gatewright.middleware.refuse import forbid, may_tell_absence, note_decision, stop_verdict, with_refusal
from gatewright.policy.settlement import Need
from gatewright.policy.verdict import Settling, Verdict, advance, settle

__all__ = ["authorize"]


def authorize(call: Call) -> Outcome:
    """Settle the call; it goes on with the verdict of the first entry that passes."""
    call.records = {}
    settling = settle(call.screened, call.tool.supply, call.context)
    if is_bounded(call):
        return _authorize(call, settling)
    reached = advance(settling)
    if not isinstance(reached, Verdict):
        return _authorize(call, settling, reached)
    if reached.status == "ok" and not call.tool.checks:
        _accept(call, reached)
        return None
    return _finish(call, reached)


def _authorize(call: Call, settling: Settling, reached: Need | None = None) -> Generator[Wait, Any, Stopped | None]:
    try:
        verdict = yield from settle_call(call, settling, reached)
    except Undecided as error:
        return forbid(call, error.why, error.stage)
    return (yield from _finish(call, verdict))


def _finish(call: Call, verdict: Verdict) -> Generator[Wait, Any, Stopped | None]:
    if verdict.status not in ("ok", "invalid_arguments", "forbidden") and call.progress is not None:
        call.progress.accept(call.tool_name)
    if verdict.status != "ok":
        return stop_verdict(call, verdict)
    _accept(call, verdict)
    for check in call.tool.checks:
        stopped = yield from _check(call, check)
        if stopped is not None:
            return stopped
    return None


def _accept(call: Call, verdict: Verdict) -> None:
    """Go on with *verdict*: these arguments were valid, so the repairs of this tool begin anew."""
    call.verdict = verdict
    note_decision(call, verdict)
    if call.progress is not None:
        call.progress.accept(call.tool_name)


def _check(call: Call, check: Any) -> Generator[Wait, Any, Stopped | None]:
    """Ask one of the tool's checks; it gets copies, and whatever it raises or answers refuses; only None goes on."""
    resources = {name: copy.deepcopy(record) for (name, _), record in call.records.items()}
    name = getattr(check, "__name__", type(check).__name__)
    call.touched = True
    try:
        answer = yield Wait(check, copy.deepcopy(dict(call.verdict.arguments or {})), resources, deadline=call.deadline)
    except (Conflict, NotFound, Failed) as failure:
        result = answer_failure(
            failure,
            reasons=call.tool.spec.reasons,
            schema=call.view.schema,
            may_tell_absence=may_tell_absence(call),
        )
        outcome, reason = result.status, f"check {name}: {failure.code}"
    except Exception as error:  # noqa: BLE001 - a check that raises is a refusal, whatever it raises
        return forbid(call, f"check {name}: {type(error).__name__}", "state")
    else:
        return None if answer is None else forbid(call, f"check {name}: answered {type(answer).__name__}", "state")
    call.trail.add("permission_decided", outcome=outcome, reason=reason, revision=call.snapshot.revision, stage="state")
    return call.stop(with_refusal(call, result))
