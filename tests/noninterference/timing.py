"""
Do two kinds of calls take the same time? Welch's t over many croppings of what was measured, as dudect does it.

In come two functions; out comes the largest |t|. Measured interleaved at random, with the collector off. It says that
no difference was found in so many samples, and never that there is none.
"""

from __future__ import annotations

import gc
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from math import sqrt
from random import Random
from time import perf_counter_ns

PASS, FAIL = 4.5, 10.0
"""Below the first no difference was found; from the second on there is one."""
CROPPINGS = 100
_FEW = 500


def largest_t(one: Callable[[], object], other: Callable[[], object], count: int, seed: int = 1) -> float:
    """The largest |t| over 100 croppings, of *count* calls of each."""
    rng = Random(seed)
    order = [0, 1] * count
    rng.shuffle(order)
    calls, taken = (one, other), ([], [])  # type: tuple[Callable[[], object], ...], tuple[list[int], list[int]]
    with _quiet():
        for which in order:
            call = calls[which]
            began = perf_counter_ns()
            call()
            taken[which].append(perf_counter_ns() - began)
    return max(croppings(*taken))


def croppings(one: Sequence[int], other: Sequence[int]) -> Iterator[float]:
    """|t| of what is below each of 100 thresholds, and of everything."""
    left, right = _Sums(one), _Sums(other)
    every = sorted((*one, *other))
    for number in range(1, CROPPINGS):
        place = int(len(every) * (1 - 0.5 ** (10 * number / CROPPINGS)))
        yield _welch(left.below(every[place]), right.below(every[place]))
    yield _welch(left.below(every[-1]), right.below(every[-1]))


class _Sums:
    """Sorted values with their running sums."""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = sorted(values)
        middle = self._values[len(values) // 2]
        centred = [value - middle for value in self._values]
        self._middle = middle
        self._sums = [0, *accumulate(centred)]
        self._squares = [0, *accumulate(value * value for value in centred)]

    def below(self, threshold: int) -> tuple[int, float, float]:
        """Number, mean and variance of the values up to *threshold*."""
        count = bisect_right(self._values, threshold)
        if count < _FEW:
            return count, 0.0, 0.0
        mean = self._sums[count] / count
        variance = (self._squares[count] - count * mean * mean) / (count - 1)
        return count, self._middle + mean, variance


def _welch(one: tuple[int, float, float], other: tuple[int, float, float]) -> float:
    (n, mean, variance), (m, mean2, variance2) = one, other
    if n < _FEW or m < _FEW or variance + variance2 == 0:
        return 0.0
    return abs(mean - mean2) / sqrt(variance / n + variance2 / m)


@contextmanager
def _quiet() -> Iterator[None]:
    """One core, and no collector."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if cores:
        os.sched_setaffinity(0, {min(cores)})
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        if cores:
            os.sched_setaffinity(0, cores)
