"""
What does a call answer? The whole way of it, from the first step to its end, in a thread or in a task.

In comes a call that has just been opened; out comes its result, always. Nothing that a caller, a model, a tool or a
policy does raises here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager

from gatewright.middleware.bounds import pause_of
from gatewright.middleware.call import Call
from gatewright.middleware.conclude import broken, conclude, conclude_write
from gatewright.middleware.drive import answer_waits, answer_waits_async, walk, walk_async
from gatewright.middleware.enter import enter, enter_async, given_up
from gatewright.middleware.failures import Stopped
from gatewright.middleware.results import Result
from gatewright.middleware.session import OpenCall, left_open

__all__ = ["decide", "decide_async", "end", "finish", "finish_async", "opened", "perform", "perform_async"]


def perform(call: Call) -> Result:
    """Take *call* all the way in this thread."""
    return decide(call) or finish(call)


async def perform_async(call: Call) -> Result:
    """Take *call* all the way in this task."""
    return await decide_async(call) or await finish_async(call)


def decide(call: Call) -> Result | None:
    """Walk every step before recheck; None where the call may go on, else its answer, and then it has ended."""
    try:
        stopped = walk(call, call.runtime.chain.deciding)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing was allowed
        return end(call, broken(call, error))
    except BaseException:
        end(call, given_up(call, "cancelled"))
        raise
    return None if stopped is None else end(call, stopped.result)


async def decide_async(call: Call) -> Result | None:
    """Walk every step before recheck, in a task."""
    try:
        stopped = await walk_async(call, call.runtime.chain.deciding)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing was allowed
        return await _end_async(call, broken(call, error))
    except BaseException:
        end(call, given_up(call, "cancelled"))
        raise
    return None if stopped is None else await _end_async(call, stopped.result)


@contextmanager
def opened(call: Call) -> Iterator[OpenCall]:
    """Decide *call*, and leave it open inside the block for its function to continue once; then end it."""
    left = OpenCall(call, decide(call))
    try:
        with left_open(left):
            yield left
    finally:
        if not left.taken:
            left.taken = True
            left.result = end(call, given_up(call, "cancelled"))


def finish(call: Call) -> Result:
    """Recheck, run the body and release its result."""
    try:
        stopped = enter(call) or walk(call, call.runtime.chain.leaving)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the answer says no more than it knows
        return end(call, broken(call, error))
    except BaseException:
        end(call, given_up(call, "cancelled"))
        raise
    return end(call, _result(call, stopped))


async def finish_async(call: Call) -> Result:
    """Recheck, run the body and release its result, in a task."""
    try:
        stopped = await enter_async(call) or await walk_async(call, call.runtime.chain.leaving)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, the answer says no more than it knows
        return await _end_async(call, broken(call, error))
    except BaseException:
        end(call, given_up(call, "cancelled"))
        raise
    return await _end_async(call, _result(call, stopped))


def _result(call: Call, stopped: Stopped | None) -> Result:
    return call.result if stopped is None else stopped.result


def end(call: Call, result: Result) -> Result:
    """End *call* with *result*, in this thread."""
    told = conclude(call, result) if call.operation is None else answer_waits(conclude_write(call, result))
    if call.runtime.bounds.refusal_grid:
        time.sleep(_pause(call, told))
    return told


async def _end_async(call: Call, result: Result) -> Result:
    if call.operation is None:
        told = conclude(call, result)
    else:
        told = await answer_waits_async(conclude_write(call, result))
    if call.runtime.bounds.refusal_grid:
        await asyncio.sleep(_pause(call, told))
    return told


def _pause(call: Call, result: Result) -> float:
    """The seconds to hold back a refusal that had to touch data."""
    touched = call.touched or call.entered
    return pause_of(result, call.trail.elapsed() / 1e6, call.runtime.bounds.refusal_grid) if touched else 0.0
