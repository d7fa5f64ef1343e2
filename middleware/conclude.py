"""
How does a call end? With one terminal event, its line in the journal or the ledger, and the result that is told.

In comes a call and its result; out comes the result, or a poorer one where it could not be recorded. Every call ends
here, whatever happened to it.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from dataclasses import replace
from typing import Any, Final

from gatewright.middleware.call import Call, Wait
from gatewright.middleware.interaction import MOST_FAILURES
from gatewright.middleware.operations import Operation, State
from gatewright.middleware.refuse import schema_changed, with_refusal
from gatewright.middleware.results import FORBIDDEN, FailedResult, Ok, OkPage, Result, Unknown
from gatewright.middleware.whereabouts import place_of
from gatewright.policy.errors import GatewrightError

__all__ = ["broken", "conclude", "conclude_write"]

_UNRECORDED: Final = FailedResult("unavailable")
_log = logging.getLogger("gatewright")


def conclude(call: Call, result: Result) -> Result:
    """End a call that has started no operation: its line goes to the journal, and what is not recorded is not told."""
    result = _counted(call, result)
    _answer(call, result)
    try:
        call.runtime.journal.append(call.trail.line())
    except GatewrightError as error:
        _log.error("call %s could not be recorded: %s", call.id, error.code)
        return _UNRECORDED
    return result


def conclude_write(call: Call, result: Result) -> Generator[Wait, Any, Result]:
    """End a call that has started an operation: outcome and events are one transaction of the ledger."""
    operation = call.operation
    if operation is None:
        return conclude(call, result)
    result = _counted(call, result)
    state = _state(result)
    _answer(call, result)
    retryable = state == "failed" and (not call.entered or (isinstance(result, FailedResult) and result.retryable))
    outcome = result.to_bytes() if state == "succeeded" or (state == "failed" and call.entered) else None
    try:
        stands = yield Wait(_finish, call, operation, state, outcome, retryable)
    except GatewrightError as error:
        _log.error("the outcome of operation %s could not be recorded: %s", operation.id, error.code)
        return Unknown(operation.id)
    return result if stands else Unknown(operation.id)


def broken(call: Call, error: Exception) -> Result:
    """
    Return what is told when something went wrong inside: a refusal, for nothing was allowed; of a write whose body was
    entered, that nobody knows.
    """
    where = place_of(error)
    _log.error("step %s of call %s: %s", call.step, call.id, where)
    call.cause = where
    if call.operation is not None and call.entered:
        return Unknown(call.operation.id)
    return with_refusal(call, FORBIDDEN)


def _finish(call: Call, operation: Operation, state: State, outcome: bytes | None, retryable: bool) -> bool:
    return call.runtime.ledger.finish(operation, state, call.trail.line(), outcome=outcome, retryable=retryable)


def _state(result: Result) -> State:
    """Of an operation that was started: a body that was not entered had no effect, whatever is told."""
    if result.status == "unknown":
        return "unknown"
    if result.status == "ok" or (isinstance(result, FailedResult) and result.effect == "done"):
        return "succeeded"
    return "failed"


def _counted(call: Call, result: Result) -> Result:
    """Take `retryable` away from a failure that has come too often in one interaction; mark a changed schema."""
    progress = call.progress
    if progress is None:
        return result
    if result.status == "forbidden":
        progress.count_denied(call.now)
    elif isinstance(result, (Ok, OkPage)):
        progress.succeed(call.tool_name)
        return replace(result, schema_changed=True) if schema_changed(call) else result
    elif (
        isinstance(result, FailedResult) and result.retryable and progress.count_failure(call.tool_name) > MOST_FAILURES
    ):
        return replace(result, repeatable=False)
    return result


def _answer(call: Call, result: Result) -> None:
    """Add the terminal event: what was told, and the true cause of what is a constant."""
    if result.status == "ok":
        call.trail.answer("ok")
        return
    shown = result.to_json()
    told = {field: shown[name] for field, name in _TOLD.items() if name in shown}
    call.trail.answer(result.status, **told, cause=call.cause, step=call.step)  # type: ignore[arg-type]


_TOLD: Final = {
    "approval": "approval_id",
    "attempt": "attempt",
    "attempts_left": "attempts_left",
    "code": "code",
    "effect": "effect",
    "next": "next",
    "operation": "operation_id",
    "reason": "reason",
    "retryable": "retryable",
}
