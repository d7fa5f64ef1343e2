"""What does one run of something take? Microseconds, beside a loop that tells how fast this machine is just now."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

__all__ = ["reference", "reference_us", "timed"]


def reference() -> int:
    """A loop that has nothing to do with us: how fast is this machine now?"""
    total = 0
    for number in range(1000):
        total += number % 7
    return total


def reference_us() -> float:
    """Microseconds of the reference loop, once."""
    return timed(reference, 1)[0]


def timed(work: Callable[[], Any], count: int) -> list[float]:
    """Microseconds of each of *count* runs."""
    clock = time.perf_counter_ns
    found = []
    for _ in range(count):
        began = clock()
        work()
        found.append((clock() - began) / 1000)
    return found
