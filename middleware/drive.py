"""
How is a chain walked? Decided once, driven twice: by a thread, and by a task that awaits.

In come a call and the steps; out comes what stopped it, or None. Knows nothing of what the steps decide.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from time import monotonic
from typing import Any, TypeVar

from gatewright.middleware.call import Call, Wait
from gatewright.middleware.chain import Step
from gatewright.middleware.contain import contain, contain_awaitable
from gatewright.middleware.failures import Stopped

__all__ = ["answer_waits", "answer_waits_async", "in_thread", "run_awaitable", "walk", "walk_async"]

_T = TypeVar("_T")


def walk(call: Call, steps: Sequence[Step]) -> Stopped | None:
    """Walk *steps* in this thread."""
    for step in steps:
        call.step = step.name
        outcome = step.run(call)
        if outcome is not None:
            stopped = outcome if isinstance(outcome, Stopped) else answer_waits(outcome)
            if stopped is not None:
                return stopped
    return None


async def walk_async(call: Call, steps: Sequence[Step]) -> Stopped | None:
    """Walk *steps* in this task; what blocks goes to a worker thread."""
    for step in steps:
        call.step = step.name
        outcome = step.run(call)
        if outcome is not None:
            stopped = outcome if isinstance(outcome, Stopped) else await answer_waits_async(outcome)
            if stopped is not None:
                return stopped
    return None


def answer_waits(waiting: Generator[Wait, Any, _T]) -> _T:
    """Do what *waiting* asks for, in this thread; return its value."""
    try:
        wait = next(waiting)
        while True:
            try:
                value = _perform(wait)
            except Exception as error:  # noqa: BLE001 - whoever asked decides what an exception means
                wait = waiting.throw(error)
            else:
                wait = waiting.send(value)
    except StopIteration as done:
        result: _T = done.value
        return result


async def answer_waits_async(waiting: Generator[Wait, Any, _T]) -> _T:
    """Do what *waiting* asks for, awaiting it or in a worker thread; return its value."""
    try:
        wait = next(waiting)
        while True:
            try:
                value = await _perform_async(wait)
            except Exception as error:  # noqa: BLE001 - whoever asked decides what an exception means
                wait = waiting.throw(error)
            else:
                wait = waiting.send(value)
    except StopIteration as done:
        result: _T = done.value
        return result


def in_thread(function: Callable[[], _T]) -> Future[_T]:
    """Run *function* in a thread of its own, which holds up nothing else and ends with the process at the latest."""
    outcome: Future[_T] = Future()
    outcome.set_running_or_notify_cancel()
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(context.run(contain, function))
        except BaseException as error:  # noqa: BLE001 - it is raised again where the outcome is asked for
            outcome.set_exception(error)

    threading.Thread(target=run, name="gatewright", daemon=True).start()
    return outcome


def _perform(wait: Wait) -> Any:
    if wait.deadline is not None:
        return in_thread(partial(_do, wait)).result(max(0.0, wait.deadline - monotonic()))
    return _do(wait)


def _do(wait: Wait) -> Any:
    value = contain(wait.function, *wait.arguments)
    return run_awaitable(contain_awaitable(value)) if isawaitable(value) else value


async def _perform_async(wait: Wait) -> Any:
    if wait.deadline is None:
        return await _do_async(wait)
    async with asyncio.timeout(max(0.0, wait.deadline - monotonic())):
        return await _do_async(wait)


async def _do_async(wait: Wait) -> Any:
    if iscoroutinefunction(wait.function):
        return await contain_awaitable(wait.function(*wait.arguments))
    if wait.deadline is None:
        value = await asyncio.to_thread(contain, wait.function, *wait.arguments)
    else:
        value = await asyncio.wrap_future(in_thread(partial(wait.function, *wait.arguments)))
    return await contain_awaitable(value) if isawaitable(value) else value


def run_awaitable(awaitable: Awaitable[_T]) -> _T:
    """Run *awaitable* to its end from a thread: in an event loop of its own, beside one that may be running here."""

    async def awaited() -> _T:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    return in_thread(lambda: asyncio.run(awaited())).result()
