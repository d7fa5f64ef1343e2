"""The demo and the contract example run from top to bottom and show what they say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(script: str) -> str:
    """What a script of examples/ prints."""
    command = [sys.executable, ROOT / "examples" / script]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, env={"COLUMNS": "200"})
    return " ".join(answer.stdout.split())


def test_the_demo_shows_every_part_of_its_walk() -> None:
    """Schemas, calls, equal refusals, what changes while a call waits, and the events of one call."""
    shown = run("log_query/demo.py")
    assert "120,000 lines in all" in shown
    assert "all four equal: True" in shown
    assert '"reason":"must_follow_start"' in shown
    assert '"reason":"token_expired"' in shown
    assert 'the grant is withdrawn while the call waits {"status":"forbidden","retryable":false}' in shown
    assert "answered ok" in shown


def test_the_contract_runs_without_a_backend() -> None:
    """One good call, and a message for each way of being wrong."""
    shown = run("query_contract.py")
    assert shown.count("→ ok") == 1
    assert shown.count("→ invalid_arguments: ") == 8


def test_the_row_scope_example_filters_in_the_database() -> None:
    """Full pages, totals of the caller's own rows, and a cursor that is nobody else's."""
    shown = run("row_scope.py")
    assert "north: [1, 2, 4], 8 in all, filtered: True" in shown
    assert "south: [3, 6, 9], 4 in all, filtered: True" in shown
    assert "north, next page: [5, 7, 8]" in shown
    assert "south with north's cursor: invalid_arguments, cursor_invalid" in shown
