"""
How is a chain walked? Decided once, driven twice: by a thread, and by a task that awaits.

In come a call and the steps; out comes what stopped it, or None. Knows nothing of what the steps decide.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeVar

from gatewright.middleware.call import Call, Wait
from gatewright.middleware.chain import Step
from gatewright.middleware.failures import Stopped

__all__ = ["answer_waits", "answer_waits_async", "run_awaitable", "walk", "walk_async"]

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
                value = wait.function(*wait.arguments)
                if isawaitable(value):
                    value = run_awaitable(value)
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
                value = await _perform(wait)
            except Exception as error:  # noqa: BLE001 - whoever asked decides what an exception means
                wait = waiting.throw(error)
            else:
                wait = waiting.send(value)
    except StopIteration as done:
        result: _T = done.value
        return result


async def _perform(wait: Wait) -> Any:
    if iscoroutinefunction(wait.function):
        return await wait.function(*wait.arguments)
    value = await asyncio.to_thread(wait.function, *wait.arguments)
    return await value if isawaitable(value) else value


def run_awaitable(awaitable: Awaitable[_T]) -> _T:
    """Run *awaitable* to its end from a thread: in an event loop of its own, beside one that may be running here."""

    async def awaited() -> _T:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    return _in_thread(awaited)


def _in_thread(coroutine_function: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    outcome: Future[_T] = Future()
    context = copy_context()

    def run() -> None:
        try:
            outcome.set_result(asyncio.run(coroutine_function()))
        except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
            outcome.set_exception(error)

    threading.Thread(target=context.run, args=(run,), name="gatewright-loop", daemon=True).start()
    return outcome.result()
