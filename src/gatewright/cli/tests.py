"""
The command that runs policy tests: does the folder decide as its tests/ say?

In come a folder and, for facts and business rules, the place of a guard; out come what differs, case by case.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from gatewright.cli.policies import find_guard
from gatewright.middleware.live import cataloguing
from gatewright.policy.cases import Report, run_tests
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.screening import Supply
from gatewright.policy.snapshot import compile_snapshot
from gatewright.policy.source import read_folder

__all__ = ["run_policy_tests"]


def run_policy_tests(
    policies: Annotated[Path, typer.Argument(metavar="FOLDER", help="The policies folder.")] = Path("policies"),
    app: Annotated[
        str | None, typer.Option(help="Where the guard is, as module:name: its facts and rules are asked.")
    ] = None,
    format: Annotated[Literal["text", "json"], typer.Option(help="How to tell.")] = "text",
) -> None:
    """Run the tests of a policies folder: 0 all as expected, 1 some are not, 2 could not run."""
    try:
        snapshot = compile_snapshot(load_policies(read_folder(policies)))
    except PolicyInvalid as error:
        print(f"{error}\nThe policies do not load, so no test ran.", file=sys.stderr)
        raise typer.Exit(2) from None
    report = run_tests(snapshot, supplies_of(app))
    print(as_json(report) if format == "json" else as_text(report))
    if report.failures:
        raise typer.Exit(1)


def supplies_of(app: str | None) -> Mapping[str, Supply]:
    """Return the functions of each tool of the guard at *app*; none where there is none."""
    if app is None:
        return {}
    with cataloguing():
        guard = find_guard(app)
        found = guard.supplies()
        guard.close()
    return found


def as_text(report: Report) -> str:
    """Return what differs, a case a paragraph, and the counts last."""
    counts = f"{report.cases} cases in {report.files} files: {len(report.failures)} not as expected"
    return "\n".join([*map(str, report.failures), counts])


def as_json(report: Report) -> str:
    """Return the report as one JSON object."""
    failures = [
        {
            "file": failed.file,
            "case": failed.case,
            "differences": [
                {"what": each.what, "expected": each.expected, "got": each.got} for each in failed.mismatches
            ],
        }
        for failed in report.failures
    ]
    return json.dumps({"files": report.files, "cases": report.cases, "failures": failures}, default=list, indent=2)
