"""The reference decider gives every expected decision of the worlds."""

from __future__ import annotations

from typing import Any

import pytest

from reference.approve import may_approve
from reference.references import fill
from reference.result import cut
from shared_data import shared
from worlds.neighbours import situation_of
from worlds.opinion import reference_of
from worlds.reader import ApprovalCase, Case, World
from worlds.shelf import SHARED, worlds

CASES = [pytest.param(world, case, id=f"{world.name}: {case.name}") for world in worlds() for case in world.cases]
APPROVALS = [
    pytest.param(world, case, id=f"{world.name}: {case.name}") for world in worlds() for case in world.approvals
]


def judged(world: World, case: Case | ApprovalCase) -> dict[str, Any]:
    """The reference's decision of *case*."""
    plain = case if isinstance(case, Case) else Case(case.name, case.person, case.tool, case.arguments, "")
    return reference_of(situation_of(world, plain))


def test_the_shared_worlds_are_read() -> None:
    """All three shared worlds and their cases are there, or the test says what is missing."""
    shared("worlds")
    found = {world.name: len(world.cases) for world in worlds() if world.name in SHARED}
    assert found == {"obs": 28, "software": 29, "airline": 29}


@pytest.mark.parametrize(("world", "case"), CASES)
def test_the_reference_gives_the_expected_decision(world: World, case: Case) -> None:
    """Status, and the entry, stage, field and approvers where the case names them."""
    answer = judged(world, case)
    assert answer["status"] == case.status, answer
    for name in ("entry", "stage"):
        assert answer[name] == case.extra.get(name, answer[name])
    if "field" in case.extra:
        assert case.extra["field"] in answer["fields"]
    if "by" in case.extra:
        assert [case.extra["by"]] == answer["approvals"][0]["by"]
    if "count" in case.extra:
        assert case.extra["count"] == answer["approvals"][0].get("count", 1)


RESULTS = [param for param in CASES if "result_in" in param.values[1].extra]


@pytest.mark.parametrize(("world", "case"), RESULTS)
def test_the_reference_cuts_a_result_as_expected(world: World, case: Case) -> None:
    """What may leave of what the tool returned."""
    answer = judged(world, case)
    cuts = fill(answer["result"], answer["attempt"].sources)
    assert cut(case.extra["result_in"], cuts)["data"] == case.extra["result_out"]


@pytest.mark.parametrize(("world", "case"), APPROVALS)
def test_the_reference_gives_the_expected_approval(world: World, case: ApprovalCase) -> None:
    """Whether that person may approve."""
    answer = judged(world, case)
    assert answer["status"] == "approval_required"
    approver = world.callers[case.approver]
    allowed = all(may_approve(answer["attempt"], duty, approver, world.now) for duty in answer["approvals"])
    assert ("ok" if allowed else "forbidden") == case.status
