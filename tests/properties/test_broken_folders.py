"""Folders that are cut off or changed anywhere: nothing newly allowed, no crash, and what loads is understood."""

from __future__ import annotations

import pytest

from broken_folders import FOLDERS, Tally, judge_all
from parallel import spread

pytestmark = pytest.mark.promise("P10")


def judged(kind: str, count: int = 0) -> Tally:
    """All folders, broken in ways of one kind, *count* ways each."""
    found = spread(judge_all, [(kind, number, count) for number in range(FOLDERS)])
    return sum(found, Tally())


@pytest.mark.case(6)
def test_a_folder_that_is_cut_off_at_a_line_end_never_goes_live() -> None:
    """Each of twenty at every line end and a byte beside it; with its own EFFECTIVE.txt it decides as the reference."""
    tally = judged("lines")
    assert not tally.faults, f"{len(tally.faults)} of {tally.tried}, the first:\n{tally.faults[0]}"
    assert tally.tried > 4000
    assert tally.loaded > 1000
    assert tally.allowed > 20


@pytest.mark.case(6)
def test_a_folder_that_is_cut_off_anywhere_never_goes_live() -> None:
    """Two thousand places."""
    tally = judged("cuts", 2000 // FOLDERS)
    assert not tally.faults, f"{len(tally.faults)} of {tally.tried}, the first:\n{tally.faults[0]}"
    assert tally.tried == 2000


def test_a_folder_with_a_byte_or_a_line_changed_never_goes_live() -> None:
    """Two thousand changes."""
    tally = judged("mutations", 2000 // FOLDERS)
    assert not tally.faults, f"{len(tally.faults)} of {tally.tried}, the first:\n{tally.faults[0]}"
    assert tally.tried > 1900
    assert tally.loaded > 100


@pytest.mark.long
@pytest.mark.parametrize(("kind", "count"), [("bytes", 0), ("mutations", 500)])
def test_the_same_at_length(kind: str, count: int) -> None:
    """Every byte of every file, and ten thousand changes."""
    tally = judged(kind, count)
    assert not tally.faults, f"{len(tally.faults)} of {tally.tried}, the first:\n{tally.faults[0]}"
