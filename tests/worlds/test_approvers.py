"""Who may approve what waits in the worlds: the expected answers, and every other person beside the reference."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from gatewright.policy.approver import Approvable, is_approved, weigh_approver
from gatewright.policy.snapshot import Snapshot
from gatewright.policy.verdict import Verdict
from reference.approve import may_approve
from worlds.neighbours import Situation, situation_of
from worlds.opinion import reference_of
from worlds.product import caller_of, snapshot_of, verdict_of
from worlds.reader import ApprovalCase, Case, World
from worlds.shelf import worlds

APPROVALS = [
    pytest.param(world, case, id=f"{world.name}: {case.name}") for world in worlds() for case in world.approvals
]
WAITING = [
    pytest.param(world, case, id=f"{world.name}: {case.name}")
    for world in worlds()
    for case in world.cases
    if case.status == "approval_required"
]


def waiting(world: World, case: Case | ApprovalCase) -> Situation:
    """The call that waits."""
    plain = case if isinstance(case, Case) else Case(case.name, case.person, case.tool, case.arguments, "")
    return situation_of(world, plain)


def allowed(snapshot: Snapshot, situation: Situation, verdict: Verdict, approver: str) -> bool:
    """Whether the word of one person counts for every approval that the call waits for."""
    caller = caller_of(situation.caller)
    actor = None if caller.actor is None else caller.actor.id
    asked = Approvable(caller.tenant, caller.subject, actor, situation.tool, verdict.duties.approvals)
    today = situation.now.astimezone(dt.UTC).date()
    weight = weigh_approver(snapshot, caller_of(situation.world.callers[approver]), asked, today)
    assert bool(weight.counts) != bool(weight.reason)
    return is_approved([replace(duty, count=1) for duty in asked.duties], {approver: weight.counts})


@pytest.mark.parametrize(("world", "case"), APPROVALS)
def test_an_approver_of_the_worlds_is_weighed_as_expected(world: World, case: ApprovalCase) -> None:
    """The worlds' own answers."""
    snapshot, situation = snapshot_of(world), waiting(world, case)
    verdict = verdict_of(snapshot, situation)
    assert verdict.outcome == "approval_required"
    assert ("ok" if allowed(snapshot, situation, verdict, case.approver) else "forbidden") == case.status


@pytest.mark.parametrize(("world", "case"), WAITING)
def test_everybody_in_the_worlds_is_weighed_as_the_reference_does(world: World, case: Case) -> None:
    """Every person of the world as the approver of every call that waits, the requester and foreigners included."""
    snapshot, situation = snapshot_of(world), waiting(world, case)
    verdict, answer = verdict_of(snapshot, situation), reference_of(situation)
    assert len(verdict.duties.approvals) == len(answer["approvals"]) > 0
    for name, person in world.callers.items():
        expected = all(may_approve(answer["attempt"], duty, person, situation.now) for duty in answer["approvals"])
        assert allowed(snapshot, situation, verdict, name) == expected, name
