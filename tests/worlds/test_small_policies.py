"""
Small policies over which the judge and the reference once differed, one each: presence, defaults, pins, null.
"""

# ruff: noqa: E501

from __future__ import annotations

import json
from typing import Any

import pytest

from worlds.invented_texts import IDENTITY, MODEL, NAMES, NOW
from worlds.neighbours import Situation
from worlds.reader import World, closed
from worlds.test_agreement import disagreements

TEXT = {"type": "string"}
OPTIONS = {"type": "object", "properties": {"mode": {"enum": ["a", "b"]}, "level": {"type": "integer", "default": 1}}}
RECORD = {
    "type": "object",
    "properties": {"tenant": TEXT, "owner": {"type": ["string", "null"]}},
    "required": ["tenant"],
}
ROWS = "p, r1, *, t.one, call, allow\np, r1, *, doc:*, use, allow\np, r1, *, box:*, use, allow\n"
THINGS = {"doc:d1": {"tenant": "x", "owner": None}, "box:b1": {"tenant": "x", "owner": None}}
POLICIES: list[tuple[str, dict[str, Any]]] = [
    ("a member of a narrowed object is absent",
     {"arguments": {"o": OPTIONS}, "allow": {"o": {"properties": {"mode": {"const": "a"}}}}, "call": {"o": {}}}),
    ("a shown default that is not the caller's",
     {"arguments": {"s": {**TEXT, "default": "b"}}, "allow": {"s": {"const": {"$identity": "team"}}}, "call": {}}),
    ("a default that is granted",
     {"arguments": {"doc": {**TEXT, "default": "d1"}}, "allow": {"doc": {"$granted": {"type": "doc", "action": "use"}}}, "call": {}}),
    ("a default whose member passes",
     {"arguments": {"o": {**OPTIONS, "default": {"mode": "a"}}}, "allow": {"o": {}, "/o/mode": {"const": "a"}}, "call": {}}),
    ("two different pins",
     {"arguments": {"s": TEXT}, "allow": {"s": {"pin": "z"}}, "limit": {"arguments": {"s": {"pin": "q"}}}, "call": {}}),
    ("a pin below a parent that is absent",
     {"arguments": {"o": OPTIONS}, "allow": {"o": {}, "/o/mode": {"pin": "a"}}, "call": {}}),
    ("a condition on what is not named beside an absent record",
     {"arguments": {"doc": TEXT, "box": TEXT}, "allow": {"doc": {}, "box": {}}, "call": {"doc": "d9"},
      "limit": {"resource": {"box": {"owner": {"const": {"$identity": "subject"}}}}}}),
    ("a claim that is null",
     {"arguments": {"s": TEXT}, "allow": {"s": {"const": {"$identity": "team"}}}, "claims": {"team": None}, "call": {"s": "x"}}),
    ("an attribute that is null",
     {"arguments": {"doc": TEXT, "box": TEXT}, "allow": {"doc": {}, "box": {}}, "call": {"doc": "d1", "box": "b1"},
      "limit": {"state": {"doc": {"owner": {"const": {"$resource": "box.owner"}}}}}}),
    ("elements of another type below not",
     {"arguments": {"s": TEXT}, "allow": {}, "limit": {"facts": {"many": {"not": {"contains": {"minimum": 1}}}}}, "call": {}, "fact": ["a"]}),
]  # fmt: skip


def world_of(case: dict[str, Any]) -> World:
    """A world with one tool, one entry and at most one limit."""
    kinds = [kind for kind in ("doc", "box") if kind in case["arguments"]]
    spec = {
        "name": "t.one", "kind": "write", "action": "use", "description": "A tool.", "use_when": "Use it.", "not_for": "Nothing.",
        "schema": closed({"type": "object", "properties": case["arguments"], "required": []}), "result": None,
        "facts": {"many": {"field": ""}}, "flags": {}, "rules": [], "checks": [], "reasons": [], "context": {},
        "resources": {kind: {"type": kind, "at": f"/{kind}", "scope": "tenant", "attributes": closed(RECORD)} for kind in kinds},
    }  # fmt: skip
    limits = [{"id": "l", **case["limit"]}] if "limit" in case else []
    tool = {"tool": "t.one", "limits": limits, "allow": [{"id": "e", "roles": ["r1"], "arguments": case["allow"]}]}
    texts = {"model.conf": MODEL, "names.yaml": NAMES, "identity.yaml": IDENTITY, "policy.csv": ROWS}
    texts["tools/t.one.yaml"] = json.dumps(tool)
    facts = {"many": lambda arguments: case.get("fact", 0)}
    return World("small", {"t.one": spec}, texts, {}, THINGS, NOW, (), (), facts)


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in POLICIES])
def test_both_decide_a_small_policy_alike(case: dict[str, Any]) -> None:
    """One call under one small policy."""
    world = world_of(case)
    claims = case.get("claims", {"team": "red"})
    caller = {"subject": "ann", "tenant": "x", "roles": ["r1"], "claims": claims, "actor": None}
    situation = Situation(world, "ann", caller, "t.one", case["call"], NOW, things=THINGS)
    assert not list(disagreements(world, [situation]))
