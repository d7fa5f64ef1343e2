"""
What if a developer's function raises what is no ordinary exception? Then that is an ordinary failure of the call.

In comes a function, or something to await; out comes its value, or `Strayed` for a SystemExit or CancelledError that
the function raised of its own accord. KeyboardInterrupt and a cancellation that somebody asked for pass through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

__all__ = ["STRAYING", "Strayed", "contain", "contain_awaitable"]

_T = TypeVar("_T")

STRAYING: Final = (SystemExit, GeneratorExit, asyncio.CancelledError)
"""What would end the process, a generator or a task around the call."""


class Strayed(Exception):
    """A function raised *original*, which no call may be ended by."""

    def __init__(self, original: BaseException) -> None:
        self.original: BaseException = original
        super().__init__(type(original).__name__)


def contain(function: Callable[..., _T], *arguments: object) -> _T:
    """
    Call *function* with *arguments*.

    Raises:
        Strayed: it raised SystemExit, GeneratorExit or CancelledError, or StopIteration, which no future can hold.
    """
    try:
        return function(*arguments)
    except (*STRAYING, StopIteration) as error:
        strayed = Strayed(error)
    raise strayed


async def contain_awaitable(awaitable: Awaitable[_T]) -> _T:
    """
    Await *awaitable*.

    Raises:
        Strayed: it raised SystemExit, or CancelledError where nobody asked this task to stop.
    """
    try:
        return await awaitable
    except SystemExit as error:
        strayed = Strayed(error)
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        strayed = Strayed(error)
    raise strayed
