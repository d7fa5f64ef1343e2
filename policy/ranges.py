"""
Between which numbers, or which sizes, must a value lie? Bounds of one schema as an interval that can be compared.

In comes a schema; out comes a `Range`. Integers are tightened to the nearest that fits, also to a multiple. Pure.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, cast

from gatewright.policy.model import Schema

__all__ = ["Range", "numbers_of", "sizes_of"]

_SIZES: Final = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}


@dataclass(frozen=True, slots=True)
class Range:
    """From *low* to *high*, each excluded where it is *open*; only multiples of *step* where *whole*."""

    low: float
    high: float
    low_open: bool = False
    high_open: bool = False
    whole: bool = False
    step: int = 1

    @property
    def is_empty(self) -> bool:
        """Whether no number lies in it."""
        return self.low > self.high or (self.low == self.high and (self.low_open or self.high_open))

    def within(self, other: Range) -> bool:
        """Whether all of it lies between the bounds of *other*."""
        above = self.low > other.low or (self.low == other.low and (self.low_open or not other.low_open))
        below = self.high < other.high or (self.high == other.high and (self.high_open or not other.high_open))
        return above and below

    def listed(self, most: int) -> tuple[int, ...] | None:
        """Its integers, where it holds nothing but integers and at most *most* of them; else None."""
        if not self.whole or math.isinf(self.low) or math.isinf(self.high):
            return None
        if (int(self.high) - int(self.low)) // self.step >= most:
            return None
        return tuple(range(int(self.low), int(self.high) + 1, self.step))


def numbers_of(schema: Schema, *, whole: bool) -> Range:
    """Return what *schema* asks of a number, or of an integer where *whole*."""
    low, low_open = _nearer(schema, "minimum", "exclusiveMinimum", -math.inf, 1)
    high, high_open = _nearer(schema, "maximum", "exclusiveMaximum", math.inf, -1)
    if not whole:
        return Range(low, high, low_open, high_open)
    multiple = schema.get("multipleOf", 1)
    step = multiple if isinstance(multiple, int) and not isinstance(multiple, bool) else 1
    if not math.isinf(low):
        low = _next(low, step, is_open=low_open)
    if not math.isinf(high):
        high = -_next(-high, step, is_open=high_open)
    return Range(low, high, whole=True, step=step)


def sizes_of(schema: Schema, kind: str) -> Range:
    """Return how many characters, elements or members *schema* asks for."""
    least, most = _SIZES[kind]
    low, high = cast("float", schema.get(least, 0)), cast("float", schema.get(most, math.inf))
    return Range(low, high, whole=True)


def _nearer(schema: Schema, closed: str, opened: str, default: float, sign: int) -> tuple[float, bool]:
    """Return the tighter of an inclusive and an exclusive bound, and whether it is the exclusive one."""
    inclusive = cast("float", schema.get(closed, default))
    exclusive = cast("float", schema.get(opened, default))
    is_open = opened in schema and sign * exclusive >= sign * inclusive
    return (exclusive if is_open else inclusive), is_open


def _next(bound: float, step: int, *, is_open: bool) -> int:
    """Return the smallest multiple of *step* from *bound* on, or above it where it is open."""
    nearest = math.ceil(bound)
    if is_open and nearest == bound:
        nearest += 1
    return -(-nearest // step) * step
