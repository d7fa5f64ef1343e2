"""
What does a guarded call cost beside the bare function?

One read with four arguments, one entry, no resource, the caller's token cached, events on; and the refusal of a hidden
and of a made-up tool. Prints medians and ratios, and one JSON line last.
"""

from __future__ import annotations

import argparse
import json
import statistics

from _timing import reference, timed

from gatewright import Guard, Page
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


def read_lines(service: str, start: str, end: str, limit: int) -> Page[str]:
    """Return lines."""
    return Page(items=[service])


def drop_lines(service: str) -> None:
    """Drop lines."""


def open_guard(issuer: FakeIssuer) -> Guard:
    """Return a guard with one readable and one hidden tool."""
    guard = Guard({**POLICIES, "identity.yaml": json.dumps({"issuers": [issuer.profile(["acme"])]})})
    words = {"use_when": "you need it", "not_for": "anything else"}
    guard.tool("lines.read", kind="read", **words)(read_lines)
    guard.tool("lines.drop", kind="write", **words)(drop_lines)
    return guard


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under 30 s")
    count = 20_000 if parser.parse_args().quick else 200_000
    issuer = FakeIssuer()
    token = issuer.token(sub="amy", tenant="acme", roles=["reader"])
    decoded = json.loads(ARGUMENTS)
    with open_guard(issuer) as guard:
        runs = {
            "reference": reference,
            "bare": lambda: read_lines(**decoded),
            "call": lambda: guard.call("lines.read", ARGUMENTS, token=token),
            "hidden": lambda: guard.call("lines.drop", ARGUMENTS, token=token),
            "made_up": lambda: guard.call("lines.melt", ARGUMENTS, token=token),
        }
        for work in runs.values():
            timed(work, 200)
        times: dict[str, list[float]] = {name: [] for name in runs}
        for _ in range(10):
            for name, work in runs.items():
                times[name] += timed(work, count // 10)
    report(times)


def report(times: dict[str, list[float]]) -> None:
    """Print a table and the JSON line."""
    median = {name: statistics.median(found) for name, found in times.items()}
    for name, found in times.items():
        p99 = statistics.quantiles(found, n=100)[98]
        over = median[name] / median["reference"]
        print(f"{name:>10}: p50 {median[name]:8.2f} us  p99 {p99:8.2f} us  {over:7.2f} × the reference loop")
    figures = {
        "call_p50_us": median["call"],
        "call_p99_us": statistics.quantiles(times["call"], n=100)[98],
        "bare_p50_us": median["bare"],
        "refusal_p50_us": median["hidden"],
        "refusal_hidden_over_made_up": median["hidden"] / median["made_up"],
        "reference_us": median["reference"],
    }
    print(json.dumps({"bench": "call", "figures": {name: round(value, 3) for name, value in figures.items()}}))


if __name__ == "__main__":
    main()
