"""
Who runs the body, and how long is it waited for? Recheck and execute, one right after the other, in one thread or task.

In comes a call that every earlier step let go on; out comes what stopped it, or None. A body with a deadline gets a
thread of its own: one that hangs holds up nothing else.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from gatewright.middleware.call import Call
from gatewright.middleware.drive import in_thread, run_awaitable, walk, walk_async
from gatewright.middleware.execute import timeout_of
from gatewright.middleware.failures import Stopped
from gatewright.middleware.gate import Gate, Late
from gatewright.middleware.outcome import FailedCode
from gatewright.middleware.results import FailedResult, Result, Unknown

__all__ = ["enter", "enter_async", "given_up"]


def enter(call: Call) -> Stopped | None:
    """Run the body from a thread."""
    if call.tool.flavour != "sync":
        return run_awaitable(enter_async(call))
    timeout = timeout_of(call)
    if timeout is None:
        return walk(call, call.runtime.chain.entering)
    call.gate = Gate()
    running = _in_thread(call)
    try:
        return running.result(timeout)
    except TimeoutError:
        return _timed_out(call) if _expired(call) else running.result()


async def enter_async(call: Call) -> Stopped | None:
    """Run the body from a task: an async one in it, another one in a thread."""
    call.gate = Gate()
    try:
        if call.tool.flavour != "sync":
            return await walk_async(call, call.runtime.chain.entering)
        return await _joined(call)
    except asyncio.CancelledError:
        call.gate.expire()
        raise


async def _joined(call: Call) -> Stopped | None:
    running = asyncio.wrap_future(_in_thread(call))
    try:
        return await asyncio.wait_for(asyncio.shield(running), timeout_of(call))
    except TimeoutError:
        return _timed_out(call) if _expired(call) else await running


def given_up(call: Call, code: FailedCode) -> Result:
    """Return what is to be said of a call given up now: of a write that was entered, or runs, nobody knows."""
    gate = call.gate
    entered = call.entered or (gate is not None and gate.was_entered)
    if gate is not None and gate.operation is not None:
        call.operation = gate.operation
    unresolved = call.operation if entered else None
    awaited = call.awaited
    if unresolved is None and awaited is not None:
        state = awaited.state
        call.trail.add("execution_finished", effect="none", operation=awaited.id, outcome="unresolved", stored=state)
        return Unknown(awaited.id)
    call.trail.add(
        "execution_finished",
        effect="none" if unresolved is None else "unknown",
        operation=None if call.operation is None else call.operation.id,
        outcome="timed_out" if code == "timeout" else code,
        **call.noted,
    )
    call.entered = entered
    return FailedResult(code) if unresolved is None else Unknown(unresolved.id)


def _timed_out(call: Call) -> Stopped:
    return call.stop(given_up(call, "timeout"))


def _expired(call: Call) -> bool:
    return call.gate is not None and call.gate.expire()


def _in_thread(call: Call) -> Future[Stopped | None]:
    """Walk recheck and execute in a thread of their own, which ends with the process at the latest."""

    def run() -> Stopped | None:
        try:
            return walk(call, call.runtime.chain.entering)
        except Late:
            return None  # nobody waits any more

    return in_thread(run)
