"""
What does a guarded call cost beside the bare function?

One read with four arguments, one entry, no resource, the caller's token cached, events to SQLite; and the refusal of a
hidden and of a made-up tool. From one thread, four threads and tasks, as fast as it goes and paced; drained calls are
counted. Prints medians, ratios, what each step costs, and one JSON line last.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from _timing import reference, timed

from gatewright import Guard, Page
from gatewright.middleware.chain import Chain, Step
from gatewright.middleware.journal import StoreJournal
from gatewright.testing import FakeIssuer

POLICIES = {
    "names.yaml": "roles: { reader: {}, writer: {} }\nactors: []\ntenants: { acme: {} }\ntypes: {}\ndelegate: {}\n",
    "policy.csv": "p, reader, *, lines.read, call, allow\np, writer, *, lines.drop, call, allow\n",
    "tools/lines.yaml": (
        "tool: lines.read\nallow: [ { id: all, roles: [reader], arguments: { limit: { maximum: 100 } } } ]\n"
        "---\ntool: lines.drop\nallow: [ { id: all, roles: [writer], arguments: {} } ]\n"
    ),
}
ARGUMENTS = '{"service":"inventory","start":"2026-11-30T10:00:00Z","end":"2026-11-30T11:00:00Z","limit":20}'
PACE = 0.001
THREADS = 4


def read_lines(service: str, start: str, end: str, limit: int) -> Page[str]:
    """Return lines."""
    return Page(items=[service])


async def await_lines(service: str, start: str, end: str, limit: int) -> Page[str]:
    """Return lines."""
    return Page(items=[service])


def drop_lines(service: str) -> None:
    """Drop lines."""


def open_guard(issuer: FakeIssuer, journal: StoreJournal | None = None, *, is_async: bool = False) -> Guard:
    """Return a guard with one readable and one hidden tool."""
    profile = json.dumps({"issuers": [issuer.profile(["acme"])]})
    guard = Guard({**POLICIES, "identity.yaml": profile}, journal=journal)
    words = {"use_when": "you need it", "not_for": "anything else"}
    guard.tool("lines.read", kind="read", **words)(await_lines if is_async else read_lines)
    guard.tool("lines.drop", kind="write", **words)(drop_lines)
    return guard


def compared(call: Callable[[str], Any], count: int) -> dict[str, list[float]]:
    """Microseconds of reference, bare function, read and both refusals, in turns."""
    decoded = json.loads(ARGUMENTS)
    runs = {
        "reference": reference,
        "bare": lambda: read_lines(**decoded),
        "call": lambda: call("lines.read"),
        "hidden": lambda: call("lines.drop"),
        "made_up": lambda: call("lines.melt"),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for work in runs.values():
        timed(work, 200)
    for _ in range(20):
        for name, work in runs.items():
            times[name] += timed(work, count // 20)
    return times


def saturated(call: Callable[[str], Any], count: int, threads: int) -> list[float]:
    """Microseconds of *count* calls in all, made by *threads* as fast as they can."""
    found: list[list[float]] = [[] for _ in range(threads)]

    def work(mine: list[float]) -> None:
        mine += timed(lambda: call("lines.read"), count // threads)

    workers = [threading.Thread(target=work, args=(mine,)) for mine in found]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return [one for mine in found for one in mine]


def paced(call: Callable[[str], Any], count: int) -> list[float]:
    """Microseconds of calls that begin a millisecond apart."""
    found, due = [], time.perf_counter()
    for _ in range(count):
        due += PACE
        time.sleep(max(0.0, due - time.perf_counter()))
        found += timed(lambda: call("lines.read"), 1)
    return found


async def awaited(guard: Guard, token: str, count: int) -> list[float]:
    """Microseconds of calls of an async tool, one after the other in one task."""
    found = []
    for _ in range(count):
        began = time.perf_counter_ns()
        await guard.acall("lines.read", ARGUMENTS, token=token)
        found.append((time.perf_counter_ns() - began) / 1000)
    return found


def per_step(guard: Guard, call: Callable[[str], Any], count: int) -> dict[str, float]:
    """Median microseconds of each step of a read; what is left is opening, ending and the record."""
    taken: dict[str, list[float]] = {step.name: [] for step in guard.chain}

    def clocked(step: Step) -> Step:
        def run(found: Any) -> Any:
            began = time.perf_counter_ns()
            outcome = step.run(found)
            taken[step.name].append((time.perf_counter_ns() - began) / 1000)
            return outcome

        return replace(step, run=run)

    runtime, chain = guard._runtime, guard.chain
    runtime.chain = Chain([clocked(step) for step in chain])
    whole = statistics.median(timed(lambda: call("lines.read"), count))
    runtime.chain = chain
    costs = {name: statistics.median(found) for name, found in taken.items()}
    return {**costs, "open, end, record": whole - sum(costs.values())}


def growth(call: Callable[[str], Any], journal: StoreJournal, count: int) -> float:
    """MiB that *count* calls leave behind, a million of them."""

    def held() -> int:
        journal.flush()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    for _ in range(2_000):
        call("lines.read")
    tracemalloc.start()
    before = held()
    for _ in range(count):
        call("lines.read")
    grown = held() - before
    tracemalloc.stop()
    return grown / 2**20 * 1_000_000 / count


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 30 s")
    count = 20_000 if parser.parse_args().quick else 200_000
    issuer = FakeIssuer()
    token = issuer.token(sub="amy", tenant="acme", roles=["reader"])
    with tempfile.TemporaryDirectory() as folder:
        journal = StoreJournal(Path(folder, "events.db"))
        with open_guard(issuer, journal) as guard, open_guard(issuer, journal, is_async=True) as tasks:

            def call(name: str) -> Any:
                return guard.call(name, ARGUMENTS, token=token)

            times = compared(call, count)
            journal.flush()
            runs: dict[str, list[float]] = {}
            drained, began, before = {}, time.perf_counter(), journal.drained
            for name, threads in (("1 thread", 1), ("4 threads", THREADS)):
                began, before = time.perf_counter(), journal.drained
                runs[name] = saturated(call, count, threads)
                journal.flush()
                drained[name] = (journal.drained - before) / (time.perf_counter() - began)
            runs["async"] = asyncio.run(awaited(tasks, token, count // 2))
            journal.flush()
            runs["paced"] = paced(call, count // 10)
            steps = per_step(guard, call, count // 4)
            grown = growth(call, journal, count // 4)
            journal.flush()
            report(
                times, runs, drained, steps, {"backlog_end": journal.backlog, "memory_growth_mib_per_million": grown}
            )
        journal.close()


def high(found: list[float], of: int = 100) -> float:
    """The 99th percentile, or the 99.9th *of* 1000."""
    return statistics.quantiles(found, n=of)[of - 2]


def report(
    times: dict[str, list[float]],
    runs: dict[str, list[float]],
    drained: dict[str, float],
    steps: dict[str, float],
    ends: dict[str, float],
) -> None:
    """Print tables and the JSON line."""
    median = {name: statistics.median(found) for name, found in times.items()}
    for name, found in times.items():
        over = median[name] / median["reference"]
        print(f"{name:>20}: p50 {median[name]:8.2f} us  p99 {high(found):9.2f} us  {over:7.2f} × the reference loop")
    for name, found in runs.items():
        rate = f"  {drained[name]:9,.0f} calls/s drained" if name in drained else ""
        middle = statistics.median(found)
        print(f"{name:>20}: p50 {middle:8.2f} us  p99 {high(found):9.2f} us  p99.9 {high(found, 1000):9.2f} us{rate}")
    for name, cost in steps.items():
        print(f"{name:>20}: {cost:8.2f} us")
    figures = {
        "call_p50_us": median["call"],
        "call_p99_us": high(times["call"]),
        "calls_per_s_drained": drained["1 thread"],
        "calls_4_threads_per_s_drained": drained["4 threads"],
        "call_saturated_p999_ms": high(runs["1 thread"], 1000) / 1000,
        "call_4_threads_p999_ms": high(runs["4 threads"], 1000) / 1000,
        "call_paced_p999_ms": high(runs["paced"], 1000) / 1000,
        "acall_p50_us": statistics.median(runs["async"]),
        "bare_p50_us": median["bare"],
        "refusal_p50_us": median["hidden"],
        "refusal_hidden_over_made_up": median["hidden"] / median["made_up"],
        **ends,
        "reference_us": median["reference"],
    }
    print(json.dumps({"bench": "call", "figures": {name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
