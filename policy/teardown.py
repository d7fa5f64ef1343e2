"""
How does a big value go without anybody noticing? In pieces, on the thread that replaced it.

In comes a value that nothing points at any more but calls under way; out comes nothing. What it holds is held here as
well, so that whoever lets go of it last frees little, and is then let go of piece by piece. Changes nothing in it.
"""

from __future__ import annotations

import gc
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from time import monotonic
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Final

from gatewright.policy.pacing import breathe, unhurried

__all__ = ["Teardown"]

_PIECE: Final = 64
"""Elements that are let go of together; containers with fewer go with what holds them."""

_HUGE: Final = 50_000
_OURS: Final = "gatewright."
_CONTAINERS: Final = (dict, list, tuple, set, frozenset, MappingProxyType)
_LET_BE: Final = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, str, bytes, int, float)


class Teardown:
    """
    Lets go of one value.

    *value* must be handed over: the caller keeps no reference of its own.
    """

    def __init__(self, value: object) -> None:
        self._pieces: deque[list[object]] = deque()
        self._watched: list[weakref.ref[object]] = []
        with unhurried():
            self._take_aside(value)

    @property
    def is_unused(self) -> bool:
        """Whether no call under way holds the value any more."""
        return all(watched() is None for watched in self._watched)

    def wait(self, pause: Callable[[float], object], most_s: float) -> None:
        """Wait until no call under way holds the value, at most *most_s* seconds; *pause* waits for some seconds."""
        until = monotonic() + most_s
        while not self.is_unused and monotonic() < until:
            pause(0.02)

    def finish(self) -> None:
        """Let go of every piece."""
        with unhurried():
            while self._pieces:
                self._pieces.popleft()
                breathe()

    def _take_aside(self, value: object) -> None:
        seen: set[int] = set()
        waiting = [value]
        while waiting:
            each = waiting.pop()
            if id(each) in seen or isinstance(each, _LET_BE):
                continue
            seen.add(id(each))
            if type(each).__module__.startswith(_OURS) and hasattr(each, "__weakref__"):
                self._watched.append(weakref.ref(each))
            waiting += self._parts(each)
            breathe()

    def _parts(self, each: object) -> list[object]:
        """What *each* holds and is to be looked into; its elements are taken aside where they are many."""
        if not _is_walked(each):
            return []
        parts: list[object] = []
        for piece in _pieces_of(each):
            if len(piece) == _PIECE:
                self._pieces.append(piece)
            parts += (
                piece
                if len(piece) < _PIECE
                else [part for part in piece if isinstance(part, dict | list) and len(part) >= _PIECE]
            )
            breathe()
        return parts


def _is_walked(each: object) -> bool:
    kind = type(each)
    return isinstance(each, _CONTAINERS) or kind.__module__.startswith((_OURS, "cachetools"))


def _pieces_of(each: object) -> Iterator[list[object]]:
    """What *each* holds, in pieces; a dict that somebody changes meanwhile may end early."""
    held: object = each
    if not isinstance(each, dict | list | tuple) or len(each) < _HUGE:
        held = gc.get_referents(each)
    elements = iter(held.values() if isinstance(held, dict) else held)  # type: ignore[call-overload]
    try:
        while piece := list(islice(elements, _PIECE)):
            yield piece
    except RuntimeError:
        return
