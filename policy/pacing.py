"""
May somebody else run now? Long work on policies is cut into slices, so that threads that decide hardly wait for it.

`unhurried` says that this thread's work may be interrupted, `breathe` is where; without the one the other does nothing.
Holds nothing, decides nothing.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from time import perf_counter, sleep
from typing import Final, TypeVar

__all__ = ["breathe", "in_slices", "uncollected", "unhurried"]

_SLICE_S: Final = 0.0015
"""Seconds of work between rests: below the interpreter's own 5 ms, after which it takes the turn away by force."""

_REST_S: Final = 0.0002
"""Seconds of rest: long enough that a thread which waits gets its turn, which yielding alone does not ensure."""

_PIECE: Final = 128
_T = TypeVar("_T")


class _Pace(threading.local):
    """When this thread rests next; None where it need not."""

    due: float | None = None


_pace: Final = _Pace()


@contextmanager
def unhurried() -> Iterator[None]:
    """While this lasts, the thread rests wherever it calls `breathe` and has worked for a slice."""
    before, _pace.due = _pace.due, perf_counter() + _SLICE_S
    try:
        yield
    finally:
        _pace.due = before


def breathe() -> None:
    """Let another thread run, where this one is unhurried and has worked for a slice."""
    due = _pace.due
    if due is not None and perf_counter() >= due:
        sleep(_REST_S)
        _pace.due = perf_counter() + _SLICE_S


def in_slices(items: Iterable[_T]) -> Iterable[_T]:
    """Return *items*, with breath taken between pieces of them where this thread is unhurried."""
    return items if _pace.due is None else _sliced(items)


def _sliced(items: Iterable[_T]) -> Iterator[_T]:
    waiting = iter(items)
    while piece := list(islice(waiting, _PIECE)):
        yield from piece
        breathe()


@contextmanager
def uncollected() -> Iterator[None]:
    """
    Keep the collector from walking what is being built, which is none of it garbage, now and right afterwards.

    All that is young then counts as old at once, by a freeze that is taken back: the next quick collection would walk
    every row, and hold up every thread meanwhile. Where the application has frozen objects itself, that is left alone.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if gc.get_freeze_count() == 0:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
