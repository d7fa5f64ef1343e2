"""The worlds' cases, written as a policy test file and run as `gatewright test` runs one."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.policy.casebook import Casebook
from gatewright.policy.mismatches import answer, mismatches
from worlds.product import Functions, snapshot_of
from worlds.reader import Case, World
from worlds.shelf import worlds

WORLDS = [pytest.param(world, id=world.name) for world in worlds()]
STATED = ("now", "context", "things", "used")


def document(world: World) -> dict[str, Any]:
    """The world's persons, things and cases as a test file states them."""
    expect: dict[str, dict[str, Any]] = {}
    for case in world.cases:
        expect.setdefault(case.person, {})[case.name] = expectation(case)
    return {
        "identities": world.callers,
        "things": world.things,
        "calls": {case.name: call(case) for case in world.cases},
        "expect": expect,
    }


def call(case: Case) -> dict[str, Any]:
    """A case's call, with what is true meanwhile."""
    stated: dict[str, Any] = {"tool": case.tool, "arguments": case.arguments}
    stated |= {name: case.extra[name] for name in STATED if name in case.extra}
    return stated | ({"result": case.extra["result_in"]} if "result_in" in case.extra else {})


def expectation(case: Case) -> dict[str, Any]:
    """What a case expects; a result's data as it leaves. A refusal that names no field is told of none here."""
    left_out = {*STATED, "result_in", "result_out", *({"field"} if case.status == "forbidden" else ())}
    expected = {name: each for name, each in case.extra.items() if name not in left_out}
    expected["status"] = case.status
    return expected | ({"result": case.extra["result_out"]} if "result_out" in case.extra else {})


@pytest.mark.parametrize("world", WORLDS)
def test_every_case_of_a_world_comes_out_as_its_test_file_expects(world: World) -> None:
    """Status, entry, stage, field, approvers, and the data that may leave."""
    book, snapshot = Casebook(world.name, document(world), world.now), snapshot_of(world)
    supplies = dict.fromkeys(world.catalog, Functions(world))
    found = {}
    for case in world.cases:
        situation = book.situation(case.person, case.name, supplies)
        answered = answer(snapshot, situation, book.returned(case.name))
        found[case.name] = [str(each) for each in mismatches(book.expected(case.person, case.name), answered)]
    assert {name: texts for name, texts in found.items() if texts} == {}
