"""The comparison of judge and reference is worth its name: it notices every hand-made fault of the judge."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mutants.faults import FAULTS


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, str]]:
    """What the worker says of every fault, by name."""
    worker = Path(__file__).with_name("worker.py")
    run = subprocess.run([sys.executable, "-P", str(worker)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return {answer["name"]: answer for answer in map(json.loads, run.stdout.splitlines())}


def test_the_unharmed_judge_is_not_noticed(answers: dict[str, dict[str, str]]) -> None:
    """What the comparison notices below is the fault and nothing else."""
    assert answers[""]["noticed"] == ""


@pytest.mark.parametrize("name", [fault.name for fault in FAULTS])
def test_a_fault_is_noticed(name: str, answers: dict[str, dict[str, str]]) -> None:
    """The reference decides at least one situation otherwise; a fault whose text is gone fails loudly."""
    answer = answers[name]
    assert answer["wrong"] == ""
    assert answer["noticed"], f"no situation told the fault apart: {name}"
    assert not answer["noticed"].startswith("raised"), answer["noticed"]
