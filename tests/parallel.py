"""Runs a function over many items on two processes, for comparisons that are long and independent of one another."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

WORKERS = 2


def spread(function: Callable[[Item], Answer], items: Iterable[Item]) -> list[Answer]:
    """The answers in the order of *items*; *function* stands in a module of its own name, so that it can be found."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        return list(pool.map(function, items, chunksize=1))
