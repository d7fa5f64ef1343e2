"""
Is everything still so, at the last moment before the body? The same caller, policies, tool, verdict and arguments.

In comes a decided call; it goes on, or ends in what it would be told if it came now. Passes at once where nothing has
changed; else it is judged again from admission. A write starts in the transaction that this is asked in.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Generator, Sequence
from typing import Any, Final, cast

from gatewright.middleware.admit import context_of
from gatewright.middleware.approve import bound_of
from gatewright.middleware.call import Call, Outcome, Wait
from gatewright.middleware.consult import Undecided, screen_bounded, settle_call
from gatewright.middleware.failures import Stopped
from gatewright.middleware.gate import Late
from gatewright.middleware.operations import Operation, canonical_arguments
from gatewright.middleware.parked import use_approval
from gatewright.middleware.refuse import verdict_result
from gatewright.middleware.reserve import answer_found
from gatewright.middleware.results import FORBIDDEN, ConflictResult, FailedResult, Result, Unauthenticated
from gatewright.middleware.spending import Charge, charge_of
from gatewright.middleware.starts import Found, KeyReused, Overspent, Started, Unapproved, Use
from gatewright.middleware.stores import StoreUnavailable
from gatewright.middleware.unverified import Unverified
from gatewright.policy.calendars import calendars_at
from gatewright.policy.verdict import Verdict, admit, settle

__all__ = ["is_unchanged", "recheck", "recheck_again", "resource_names"]

_MOST_ROUNDS: Final = 3
_DAY: Final = 86_400


def recheck(call: Call) -> Outcome:
    """Let the call enter the body where it would be decided alike now; start its operation where it is a write."""
    if call.tool.spec.kind == "write":
        return _start(call)
    if call.runtime.notices.forbid_reads:
        return _refuse(call, "revocations: not seen for too long", FailedResult("unavailable"))
    duties = call.verdict.duties
    if is_unchanged(call) and not duties.budgets and not duties.approvals:
        outdated = call.runtime.live.is_outdated or None
        call.trail.add(
            "permission_rechecked",
            changed=False,
            outcome="passed",
            outdated=outdated,
            revision=call.snapshot.revision,
        )
        return None
    return _recheck_read(call)


def is_unchanged(call: Call) -> bool:
    """Whether the token still holds, and policies, revocations, tool, day, calendars and `called` are the same."""
    runtime = call.runtime
    now = runtime.clock.time()
    return (
        runtime.live.snapshot is call.snapshot
        and runtime.revocations.epoch == call.epoch
        and now < call.caller.expires_at
        and runtime.tools.get(call.tool_name) is call.tool
        and now // _DAY == call.now // _DAY
        and _is_context_alike(call, now)
    )


def _is_context_alike(call: Call, now: float) -> bool:
    calendars, context, progress = call.snapshot.policies.names.calendars, call.context, call.progress
    if progress is not None and progress.calls != len(cast("Sequence[str]", context["called"])):
        return False
    return not calendars or calendars_at(calendars, dt.datetime.fromtimestamp(now, dt.UTC)) == context["calendar"]


def recheck_again(call: Call) -> Generator[Wait, Any, Stopped | None]:
    """Judge the call again from admission, until nothing changes meanwhile; call and verdict are then of the newest."""
    for _ in range(_MOST_ROUNDS):
        stopped = yield from _judge_again(call)
        if stopped is not None or is_unchanged(call):
            return stopped
    return _refuse(call, "policies: they change without end", FORBIDDEN)


def _recheck_read(call: Call) -> Generator[Wait, Any, Stopped | None]:
    changed = not is_unchanged(call)
    stopped = (yield from recheck_again(call)) if changed else None
    if stopped is None and (call.verdict.duties.budgets or call.verdict.duties.approvals):
        stopped = yield from _charge(call)
        if stopped is None and not is_unchanged(call):
            changed, stopped = True, (yield from recheck_again(call))
    if stopped is None:
        _note_passed(call, changed=changed)
    return stopped


def _charge(call: Call) -> Generator[Wait, Any, Stopped | None]:
    """Take what a read costs of its budgets and its approval; a call at the same moment may have taken them."""
    try:
        lacking = yield Wait(call.runtime.ledger.charge, _charges(call), _use_of(call))
    except StoreUnavailable:
        return _refuse(call, "budget: the ledger is unavailable", FailedResult("unavailable"))
    if lacking is not None:
        return _refuse_start(call, lacking)
    _note_use(call)
    return None


def _refuse_start(call: Call, lacking: object) -> Stopped | None:
    """Return the refusal of a start for which something was not there; None for what is nothing of the kind."""
    if isinstance(lacking, Overspent):
        return _refuse(call, "budget: spent meanwhile", FailedResult("rate_limited"))
    if isinstance(lacking, Unapproved):
        return _refuse(call, "approval: used, expired, withdrawn or of another call", FORBIDDEN)
    if isinstance(lacking, KeyReused):
        return _refuse(call, "operation: its name was used for other arguments", ConflictResult("key_reused"))
    return None


def _use_of(call: Call) -> Use | None:
    """Return what uses the call's approval up, for the call as it is judged now; None where no duty asks for one."""
    if not call.verdict.duties.approvals:
        return None
    id, bound, clock = call.approval, bound_of(call), call.runtime.clock
    return lambda connection: id is not None and use_approval(connection, id, bound, clock.time(), call.id)


def _charges(call: Call) -> tuple[Charge, ...]:
    verdict = call.verdict
    amounts = verdict.amounts(call.tool.supply)
    return tuple(
        charge_of(budget, call.caller, amount) for budget, amount in zip(verdict.duties.budgets, amounts, strict=True)
    )


def _start(call: Call) -> Generator[Wait, Any, Stopped | None]:
    """Start a write: its records are loaded again, and the rest is asked inside the ledger's transaction."""
    ledger = call.runtime.ledger
    if call.runtime.live.is_outdated:
        return _refuse(call, "policies: older than their maximum age", FailedResult("unavailable"))
    changed = not is_unchanged(call)
    for _ in range(_MOST_ROUNDS):
        if changed or call.records:
            stopped = yield from recheck_again(call)
            if stopped is not None:
                return stopped
        try:
            charges = _charges(call)
            use = _use_of(call)
            answer = yield Wait(
                ledger.start, call.proposal, lambda: _changed(call), lambda it: _start_line(call, it), charges, use
            )
        except StoreUnavailable:
            call.operation = None
            call.trail.add("execution_finished", effect="none", outcome="not_started", reason="ledger")
            return call.stop(FailedResult("unavailable"))
        if isinstance(answer, Started):
            return (yield from _started(call))
        if isinstance(answer, Found):
            return (yield from answer_found(call, answer))
        stopped = _refuse_start(call, answer)
        if stopped is not None:
            return stopped
        changed = True
    return _refuse(call, "policies: they change without end", FORBIDDEN)


def _started(call: Call) -> Generator[Wait, Any, Stopped | None]:
    """The operation is ours. What changed since the commit, while a task waited for it, still counts."""
    call.trail.mark()
    return None if is_unchanged(call) else (yield from recheck_again(call))


def _changed(call: Call) -> str | None:
    return None if is_unchanged(call) else "changed"


def _start_line(call: Call, operation: Operation) -> bytes:
    """Return the line of the events so far; the start is one of them before it happens. Past it nobody gives it up."""
    if call.gate is not None and not call.gate.enter(operation):
        raise Late
    call.operation, call.own = operation, operation.id
    _note_use(call)
    _note_passed(call, changed=False)
    timeout = call.tool.timeout
    call.trail.add(
        "execution_started",
        arguments_digest=operation.digest,
        attempt=operation.attempt,
        key=operation.key,
        operation=operation.id,
        resources=resource_names(call),
        timeout_ms=None if timeout is None else int(timeout * 1000),
    )
    return call.trail.line()


def resource_names(call: Call) -> list[str] | None:
    """Return the records that the call touches, as `type:id`."""
    specs = call.tool.spec.resources
    return [f"{specs[name].type}:{identity}" for name, identity in call.records] or None


def _judge_again(call: Call) -> Generator[Wait, Any, Stopped | None]:
    """Judge by what counts now, with records loaded afresh; entry, filled arguments and duties must be the same."""
    runtime, earlier = call.runtime, call.verdict
    snapshot, tokens = runtime.live.current
    call.snapshot, call.now, call.epoch = snapshot, runtime.clock.time(), runtime.revocations.epoch
    if call.now >= call.caller.expires_at:
        return _refuse(call, "token: expired", Unauthenticated("token_expired"))
    try:
        caller = yield Wait(tokens.resolve, call.token, call.now)
    except Unverified as error:
        return _refuse(call, f"token: {error.reason}", Unauthenticated(error.reason))
    if runtime.revocations.is_revoked(caller):
        return _refuse(call, "token: token_revoked", Unauthenticated("token_revoked"))
    call.context = context_of(call, snapshot)
    view = admit(snapshot, caller, call.tool_name, call.context)
    if caller.key != call.caller.key:
        return _refuse(call, "caller: another one now", FORBIDDEN)
    registered = runtime.tools.get(call.tool_name) is call.tool
    if view is None or not registered or view.spec.digest != call.tool.spec.digest:
        return _refuse(call, "admission: closed", FORBIDDEN)
    call.view, call.records = view, {}
    verdict = yield from _settled(call)
    if verdict.status != "ok":
        return _refuse(call, f"{verdict.stage}: {verdict.reason}", verdict_result(verdict), verdict)
    if not _is_alike(verdict, earlier):
        return _refuse(call, "verdict: entry, arguments or duties differ", FORBIDDEN, verdict)
    call.verdict = verdict
    return None


def _settled(call: Call) -> Generator[Wait, Any, Verdict]:
    try:
        screened = yield from screen_bounded(call)
        return (yield from settle_call(call, settle(screened, call.tool.supply, call.context)))
    except Undecided as error:
        return Verdict("forbidden", call.snapshot.revision, stage=error.stage, reason=error.why)


def _is_alike(verdict: Verdict, earlier: Verdict) -> bool:
    return (
        verdict.entry == earlier.entry
        and verdict.duties == earlier.duties
        and canonical_arguments(verdict.filled or {}) == canonical_arguments(earlier.filled or {})
    )


def _note_use(call: Call) -> None:
    if call.approval is not None:
        call.trail.add("approval_decided", approval=call.approval, outcome="used", revision=call.snapshot.revision)


def _note_passed(call: Call, *, changed: bool) -> None:
    call.trail.add(
        "permission_rechecked",
        changed=changed,
        entry=call.verdict.entry,
        outcome="passed",
        outdated=call.runtime.live.is_outdated or None,
        revision=call.snapshot.revision,
        rows=call.verdict.rows,
    )


def _refuse(call: Call, reason: str, result: Result, verdict: Verdict | None = None) -> Stopped:
    call.trail.add(
        "permission_rechecked",
        changed=True,
        entry=None if verdict is None else verdict.entry,
        outcome=result.status,
        reason=reason,
        revision=call.snapshot.revision,
    )
    return call.stop(result)
