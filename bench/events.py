"""
What do events cost, and how fast is it seen that nobody changed them?

A line of a read (eleven events) rendered and taken by a SQLite journal and by a file of JSON lines; lines drained a
second; and `gatewright events verify`'s work, with an anchor, beside the verifier that shares no code. Prints medians,
and one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from _timing import reference_us, timed

from gatewright.middleware.anchor import FileAnchor
from gatewright.middleware.attest import attest, linked_rows, linked_texts, read_checkpoints
from gatewright.middleware.checkpoint import Checkpoints
from gatewright.middleware.journal import JournalFull, JsonLinesJournal, StoreJournal, open_journal
from gatewright.middleware.record import Trail
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.stores import read_store

KEYS = KeyRing.from_secret("a secret of thirty-two bytes, or more")
TOOL = Path(__file__).parents[1] / "tools" / "verify_events.py"


def a_trail() -> Trail:
    """The events of one read, with ids and digests of their usual length."""
    trail = Trail(time.time())
    digest = trail.call * 2
    trail.add("request_received", adapter=None, locale="en", raw=True, size=94, tool="lines.read")
    trail.add("identity_resolved", caller=digest, issuer="https://login.example", roles=["reader"], subject="amy")
    trail.add("tool_selected", kind="read", outcome="admitted", revision=digest, tool="lines.read", tool_digest=digest)
    trail.add("arguments_generated", raw=True, raw_digest=digest)
    trail.add("schema_validated", entries=["all"], outcome="accepted", schema_digest=digest)
    trail.add("permission_decided", entry="all", outcome="ok", revision=digest, rows=["policy.csv:1"], view=digest)
    trail.add("permission_rechecked", changed=False, outcome="passed", revision=digest)
    trail.add("execution_started", resources=None, timeout_ms=None)
    trail.add("execution_finished", duration_us=12, outcome="returned")
    trail.add("result_validated", filtered=False, items=1, outcome="released", parts=[], truncated=False)
    trail.answer("ok")
    return trail


def fill(place: Path, anchor: Path, count: int) -> tuple[float, float]:
    """Write *count* lines with their checkpoints; return microseconds an append and lines drained a second."""
    journal = open_journal(place)
    if not isinstance(journal, StoreJournal | JsonLinesJournal):
        raise SystemExit("not a journal with a chain")
    checkpoints = Checkpoints(KEYS, FileAnchor(anchor), time.time)
    journal.listen(checkpoints.heed)
    lines = [a_trail().line() for _ in range(1_000)]
    taken: list[float] = []
    began = time.perf_counter()
    for number in range(count):
        line, before = lines[number % 1_000], time.perf_counter_ns()
        while True:
            try:
                journal.append(line)
                break
            except JournalFull:
                time.sleep(0.002)
                before = time.perf_counter_ns()
        taken.append((time.perf_counter_ns() - before) / 1_000)
    journal.flush()
    drained = count / (time.perf_counter() - began)
    journal.close()
    checkpoints.close(closing=True)
    return statistics.median(taken), drained


def verified(place: Path, anchor: Path) -> float:
    """Events verified a second."""
    began = time.perf_counter()
    checkpoints = read_checkpoints(anchor, KEYS.is_signed)
    lines = linked_texts(place) if place.suffix == ".jsonl" else linked_rows(read_store(place, "store"), "store")
    found = attest(lines, checkpoints)
    if found.flaws or found.unproven:
        raise SystemExit(f"flaws where nobody changed anything: {found.flaws[:3]}")
    return found.events / (time.perf_counter() - began)


def verified_apart(place: Path, anchor: Path, events: int) -> float:
    """Events a second of the verifier that shares no code, its start included."""
    keys = [part for name, key in KEYS.public_keys().items() for part in ("--key", f"{name}={key.hex()}")]
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, str(TOOL), "--anchor", str(anchor), *keys, str(place)], check=True, stdout=subprocess.DEVNULL
    )
    return events / (time.perf_counter() - began)


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 30 s")
    count = 20_000 if parser.parse_args().quick else 200_000
    rendered = statistics.median(timed(a_trail().line, 5_000))
    figures = {"render_p50_us": rendered, "reference_us": statistics.median(reference_us() for _ in range(500))}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("events.db", "events.jsonl"):
            place, anchor = Path(folder, name), Path(folder, f"{name}.anchor")
            append, drained = fill(place, anchor, count)
            kind = "" if name == "events.db" else "jsonl_"
            figures[f"{kind}append_p50_us"] = append
            figures[f"{kind}lines_per_s_drained"] = drained
            figures[f"{kind}verify_per_s"] = verified(place, anchor)
            figures[f"{kind}verify_apart_per_s"] = verified_apart(place, anchor, count * 11)
    for figure, value in figures.items():
        print(f"{figure:>28}: {value:14,.2f}")
    print(json.dumps({"bench": "events", "figures": {name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
