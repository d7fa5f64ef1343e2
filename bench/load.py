"""
What does it cost to load policies, and what do readers notice of it?

Loads a hundred thousand rows, checks in, and five hundred tools; measures memory a row; and times decisions that are
due at fixed moments while the same folder is loaded again and again. Prints medians, and one JSON line last.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import json
import statistics
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from _policies import folder_texts, tool_texts
from _timing import reference_us

from gatewright.policy.caller import Caller
from gatewright.policy.folder import load_policies
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import Source
from gatewright.policy.store import Store

EVERY_S = 0.0005
"""Seconds between the moments at which a decision is due."""


def build(source: Source) -> Snapshot:
    """One snapshot, as a store builds it."""
    return compile_snapshot(load_policies(source))


def load_seconds(source: Source, runs: int) -> list[float]:
    """CPU seconds of each of *runs* loads, by the thread's own clock: other processes do not count."""
    found = []
    for _ in range(runs):
        gc.collect()
        began = time.thread_time()
        built = Store(lambda: build(source))
        found.append(time.thread_time() - began)
        del built
    return found


def memory(source: Source, rules: int) -> dict[str, float]:
    """Bytes a row that a snapshot keeps, and that building it takes at most, over what was there before."""
    build(source)
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    built = build(source)
    peak = tracemalloc.get_traced_memory()[1]
    gc.collect()
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert built.revision
    return {"bytes_per_rule": (kept - before) / rules, "peak_bytes_per_rule": (peak - before) / rules}


class Reader:
    """Decides at fixed moments, and notes how long after each its answer was there."""

    def __init__(self, store: Store[Snapshot]) -> None:
        self.store = store
        self.delays: list[float] = []
        self.wrong = 0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self) -> None:
        """Until told to stop. A moment that is missed is not left out: its delay counts from when it was due."""
        caller = Caller("ann", "t0", frozenset({"role0"}), key=b"ann")
        today = dt.date(2026, 12, 1)
        due = time.perf_counter()
        while not self.done.is_set():
            due += EVERY_S
            wait = due - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            engine = self.store.current.engine
            if not engine.decide(engine.standing(caller, today), "record:0", "read").allowed:
                self.wrong += 1
            self.delays.append(time.perf_counter() - due)

    def stop(self) -> list[float]:
        """The delays, in milliseconds."""
        self.done.set()
        self.thread.join()
        return [each * 1000 for each in self.delays]


def read_while(store: Store[Snapshot], work: Callable[[], Any]) -> list[float]:
    """The delays of one reader while *work* is done."""
    reader = Reader(store)
    reader.thread.start()
    work()
    delays = reader.stop()
    assert reader.wrong == 0
    return delays


def p999(delays: list[float]) -> float:
    """The delay that one in a thousand is over."""
    return sorted(delays)[int(len(delays) * 0.999)]


def reader_delays(source: Source, rounds: int, reloads: int) -> dict[str, float]:
    """Readers' p99.9 while idle and while loading, in milliseconds; the median over rounds that take turns."""
    store = Store(lambda: build(source))
    idle, busy = [], []
    for _ in range(rounds):

        def load() -> None:
            for _ in range(reloads):
                assert store.reload() is not None

        began = time.perf_counter()
        busy.append(p999(read_while(store, load)))
        taken = time.perf_counter() - began
        idle.append(p999(read_while(store, lambda seconds=taken: time.sleep(seconds))))  # type: ignore[misc]
    over = statistics.median(one - other for one, other in zip(busy, idle, strict=True))
    return {
        "reader_delay_p999_ms": over,
        "reader_idle_p999_ms": statistics.median(idle),
        "reader_busy_p999_ms": statistics.median(busy),
    }


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 30 s")
    quick = parser.parse_args().quick
    rules = 100_000
    texts = folder_texts(rules)
    source = Source.from_texts(texts)
    loads = load_seconds(source, 3 if quick else 7)
    tools = Source.from_texts(tool_texts(500))
    figures = {
        "load_100k_s": statistics.median(loads),
        **memory(source, rules),
        **reader_delays(source, 2 if quick else 5, 2 if quick else 6),
        "load_500_tools_s": statistics.median(load_seconds(tools, 3 if quick else 7)),
        "reference_us": statistics.median(reference_us() for _ in range(2000)),
    }
    budgets = {
        "load_100k_s": 1.5,
        "bytes_per_rule": 256,
        "peak_bytes_per_rule": 1024,
        "reader_delay_p999_ms": 5,
        "load_500_tools_s": 1,
    }
    for name, value in figures.items():
        print(f"{name:>24} {value:10.3f}" + (f"  (budget {budgets[name]})" if name in budgets else ""))
    print(json.dumps({"bench": "load", "figures": {name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
