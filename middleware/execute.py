"""
What does the tool do? Its function runs once, with the judged arguments.

In comes a rechecked call; it goes on with what the function returned, or ends in what its exception means. Nothing of
an exception's text or value leaves. Deadlines are `enter`'s.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, aclosing, nullcontext
from time import monotonic
from typing import Any, Final

from gatewright.middleware.answer import answer_exception
from gatewright.middleware.call import Call, Outcome, Wait
from gatewright.middleware.contain import STRAYING, Strayed
from gatewright.middleware.current import CurrentCall, Inside
from gatewright.middleware.failures import Stopped
from gatewright.middleware.gate import Late
from gatewright.middleware.operations import Operation, RunningOperation, running
from gatewright.middleware.recheck import is_unchanged, recheck_again, resource_names
from gatewright.middleware.refuse import may_tell_absence, with_refusal
from gatewright.middleware.release import row_scope
from gatewright.middleware.results import FailedResult
from gatewright.middleware.session import body_session
from gatewright.middleware.supply import copy_arguments, copy_value
from gatewright.middleware.whereabouts import place_of

__all__ = ["execute", "timeout_of"]

_NOTHING: Final = nullcontext()
_RECHECK_ITEMS: Final = 100
_RECHECK_SECONDS: Final = 1.0
_log = logging.getLogger("gatewright")
_notices = logging.getLogger("gatewright.notify")
"""Where the duty to notify goes: an application hands it on with a handler of its own."""


def execute(call: Call) -> Outcome:
    """Run the tool's function, unless a stored result answers the call."""
    if call.stored is not None:
        return None
    if call.operation is not None and not call.runtime.ledger.leases.is_held:
        return _stale(call, call.operation)
    return _run(call) if is_unchanged(call) else _recheck_and_run(call)


def _stale(call: Call, operation: Operation) -> Stopped:
    """The process was paused past its lease since it started the write: others may have taken it over."""
    call.trail.add("execution_finished", effect="none", operation=operation.id, outcome="not_started", reason="lease")
    return call.stop(FailedResult("unavailable"))


def _recheck_and_run(call: Call) -> Generator[Wait, Any, Stopped | None]:
    """Something changed between the two steps, or since the start was committed: what it means comes first."""
    stopped = yield from recheck_again(call)
    if stopped is not None:
        return stopped
    outcome = _run(call)
    return (yield from outcome) if isinstance(outcome, Generator) else outcome


def _run(call: Call) -> Outcome:
    arguments = bound_arguments(call)
    _note_start(call)
    began = call.trail.elapsed()
    if call.tool.flavour != "sync":
        return _execute_async(call, arguments, began)
    try:
        _pass(call)
        with Inside(call), body_session(call), _operating(call):
            value = call.tool.function(**arguments)
    except Late:
        raise
    except (Exception, *STRAYING) as error:  # noqa: BLE001 - whatever it is has a result
        return _raised(call, error, began)
    return _returned(call, value, began)


def timeout_of(call: Call) -> float | None:
    """Return the seconds that the body has: the tool's own, or fewer where a duty says so."""
    own, duty = call.tool.timeout, call.verdict.duties.timeout
    return own if duty is None else duty if own is None else min(own, duty)


def bound_arguments(call: Call) -> dict[str, Any]:
    """Return the keyword arguments of the function; what is JSON is copied, so that the judged value stays as it is."""
    given = call.verdict.arguments or {}
    bound: dict[str, Any] = copy_arguments(given) if call.tool.signature.takes_rest else {}
    for each in call.tool.signature.parameters:
        if each.source == "argument":
            if each.name in given:
                bound[each.name] = copy_value(given[each.name])
        elif each.source == "record":
            record = copy.deepcopy(_record(call, each.name))
            bound[each.name] = record if each.coerce is None else each.coerce(record)
        elif each.source == "caller":
            bound[each.name] = call.caller
        elif each.source == "scope":
            bound[each.name] = row_scope(call)
        elif each.name in call.injected:
            bound[each.name] = call.injected[each.name]
    cursor = call.cursors.get(call.verdict.entry or "")
    if cursor is not None and call.tool.cursor is not None:
        bound[call.tool.cursor] = cursor
    return bound


def _record(call: Call, argument: str) -> Any:
    names = [name for name, spec in call.tool.spec.resources.items() if spec.at.lstrip("/") == argument]
    return next((record for (name, _), record in call.records.items() if name in names), None)


def _execute_async(call: Call, arguments: Mapping[str, Any], began: int) -> Generator[Wait, Any, Stopped | None]:
    run = _collect if call.tool.flavour == "stream" else _await
    try:
        value = yield Wait(run, call, arguments)
    except Strayed as strayed:
        return _raised(call, strayed.original, began)
    except Exception as error:  # noqa: BLE001 - whatever it is has a result
        return _raised(call, error, began)
    return _returned(call, value, began)


async def _await(call: Call, arguments: Mapping[str, Any]) -> Any:
    async with asyncio.timeout(timeout_of(call)):
        _pass(call)
        with Inside(call), body_session(call), _operating(call):
            return await call.tool.function(**arguments)


async def _collect(call: Call, arguments: Mapping[str, Any]) -> list[Any]:
    """Gather a stream; every so often it is asked whether the caller may still have it."""
    items: list[Any] = []
    asked = monotonic()
    async with asyncio.timeout(timeout_of(call)):
        _pass(call)
        with Inside(call), body_session(call), _operating(call):
            async with aclosing(call.tool.function(**arguments)) as stream:
                async for item in stream:
                    items.append(item)
                    if len(items) % _RECHECK_ITEMS == 0 or monotonic() - asked > _RECHECK_SECONDS:
                        if not await CurrentCall(call).astill_allowed():
                            break
                        asked = monotonic()
    return items


def _pass(call: Call) -> None:
    """Pass the gate, right before the body: from here on it may have had an effect."""
    gate = call.gate
    if gate is not None and not (gate.enter() if call.operation is None else gate.is_entered):
        raise Late
    call.entered = True
    if call.progress is not None:
        call.progress.enter(call.tool_name)
    notify = call.verdict.duties.notify
    if notify:
        _notices.info("notify %s: %s, call %s", ", ".join(notify), call.tool_name, call.id)
        if call.runtime.webhook is not None:
            told = {"call_id": call.id, "notify": list(notify), "tenant": call.caller.tenant, "tool": call.tool_name}
            call.runtime.webhook.tell("call.notify", told)


def _operating(call: Call) -> AbstractContextManager[None]:
    """While the body of a write runs, its operation is the current one."""
    if call.operation is None:
        return _NOTHING
    ledger, clock = call.runtime.ledger, call.runtime.clock
    return running(RunningOperation(call.operation, call.trail, ledger.append, clock.time))


def _note_start(call: Call) -> None:
    """A write's start was noted in the transaction that started it."""
    if call.operation is not None:
        return
    timeout = timeout_of(call)
    call.trail.add(
        "execution_started",
        resources=resource_names(call) if call.records else None,
        timeout_ms=None if timeout is None else int(timeout * 1000),
    )


def _returned(call: Call, value: object, began: int) -> Stopped | None:
    """Go on with *value*; a read that was told in the midst of it that it is not allowed any more ends in that."""
    _leave(call)
    call.value = value
    duration = call.trail.elapsed() - began
    if call.operation is None:
        call.trail.add("execution_finished", duration_us=duration, outcome="returned", **call.noted)
        return call.withdrawn
    call.trail.add(
        "execution_finished",
        duration_us=duration,
        effect="done",
        operation=call.operation.id,
        outcome="returned",
        **call.noted,
    )
    return None


def _raised(call: Call, error: BaseException, began: int) -> Stopped:
    _leave(call)
    spec, operation = call.tool.spec, call.operation
    result = answer_exception(
        error,
        kind=spec.kind,
        operation_id="" if operation is None else operation.id,
        reasons=spec.reasons,
        schema=call.view.schema,
        may_tell_absence=may_tell_absence(call),
    )
    where = place_of(error)
    _log.warning("tool %s raised %s (call %s)", spec.name, where, call.id)
    call.trail.add(
        "execution_finished",
        duration_us=call.trail.elapsed() - began,
        effect="unknown" if result.status == "unknown" else "none",
        error=where,
        operation=None if operation is None else operation.id,
        outcome="raised",
        **call.noted,
    )
    if operation is None and call.withdrawn is not None:
        return call.withdrawn
    return call.stop(with_refusal(call, result))


def _leave(call: Call) -> None:
    if call.gate is not None and not call.gate.leave():
        raise Late
