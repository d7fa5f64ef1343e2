"""Conditions: every name must be present, every keyword implies its type, also below `not`."""

from __future__ import annotations

from typing import cast

import pytest

from gatewright.policy.conditions import ConditionSet, Unmet
from gatewright.policy.model import Json, JsonObject, Schema
from gatewright.policy.references import MISSING, Missing


def nothing(_kind: str, _path: str) -> Json | Missing:
    return MISSING


def holds(schema: Json, data: JsonObject) -> bool:
    return ConditionSet({"x": cast("Schema", schema)}).unmet(data, nothing) == ()


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"maximum": 5}, 5),
        ({"const": "a"}, "a"),
        ({"not": {"const": "amy"}}, ""),
        ({"not": {"contains": {"const": "freeze"}}}, ["desk"]),
        ({"contains": {"const": "desk"}}, ["desk", "night"]),
        ({"properties": {"card": {"maximum": 1}}}, {"card": 1, "other": 7}),
        ({"enum": ["economy", "business"]}, "economy"),
        ({"anyOf": [{"const": 1}, {"minLength": 2}]}, "ab"),
        ({}, None),
    ],
)
def test_a_condition_holds(schema: Json, value: Json) -> None:
    """What fits, fits."""
    assert holds(schema, {"x": value})


@pytest.mark.promise("P1")
@pytest.mark.parametrize(
    ("schema", "data"),
    [
        ({}, {}),
        ({"maximum": 5}, {}),
        ({"maximum": 5}, {"x": "3"}),
        ({"maximum": 5}, {"x": None}),
        ({"maximum": 5}, {"x": True}),
        ({"maxLength": 5}, {"x": 3}),
        ({"not": {"const": "amy"}}, {"x": None}),
        ({"not": {"const": "amy"}}, {}),
        ({"not": {"contains": {"const": "freeze"}}}, {"x": "desk"}),
        ({"not": {"maximum": 5}}, {"x": "9"}),
        ({"not": {"properties": {"a": {"const": 1}}}}, {"x": {}}),
        ({"not": {"not": {"const": "a"}}}, {"x": "b"}),
        ({"properties": {"card": {"maximum": 1}}}, {"x": {}}),
        ({"properties": {"a": {"properties": {"b": {"const": 1}}}}}, {"x": {"a": {}}}),
        ({"items": {"properties": {"b": {"const": 1}}}}, {"x": [{}]}),
        ({"const": 1}, {"x": 1.0}),
        ({"const": 1}, {"x": True}),
        ({"minimum": 1, "maxLength": 3}, {"x": 2}),
    ],
)
def test_what_is_absent_or_of_another_type_never_satisfies(schema: Json, data: JsonObject) -> None:
    """Absence at any depth, and every wrong type, also below `not`."""
    assert not holds(schema, data)


def test_on_violation_forbids() -> None:
    """`on_violation: forbidden` beside keywords says how the violation is answered."""
    condition = ConditionSet({"x": {"const": False, "on_violation": "forbidden"}, "y": {"const": 1}})
    assert condition.unmet({"x": True, "y": 2}, nothing) == (Unmet("x", forbidden=True), Unmet("y"))
    assert condition.unmet({"x": False, "y": 1}, nothing) == ()


def test_late_references_are_filled_for_each_call() -> None:
    """`$argument` is what this call says; one that cannot be filled forbids."""
    condition = ConditionSet({"left": {"minimum": {"$argument": "amount"}}})

    def paying(amount: Json | Missing) -> tuple[Unmet, ...]:
        return condition.unmet({"left": 100}, lambda kind, path: amount if path == "amount" else MISSING)

    assert paying(100) == ()
    assert paying(101) == (Unmet("left"),)
    assert paying(MISSING) == (Unmet("left", forbidden=True),)
    assert paying("100") == (Unmet("left", forbidden=True),)


def test_the_references_of_a_set_are_listed() -> None:
    """Whoever loads data can see which records a condition needs."""
    condition = ConditionSet({"user": {"const": {"$resource": "reservation.user"}}, "n": {"const": {"$fact": "n"}}})
    assert list(condition.references("$resource")) == ["reservation.user"]


def test_what_is_kept_compiled_is_kept_by_type() -> None:
    """1, 1.0 and true are three constants, whichever was asked for first; large integers are as good as any."""
    condition = ConditionSet({"x": {"const": {"$argument": "x"}}})
    for filled in (1, True, 1.0, 2**70, 2**70 + 1):
        for value in (1, True, 1.0, 2**70, 2**70 + 1):
            holds = not condition.unmet({"x": value}, lambda kind, path, filled=filled: filled)  # type: ignore[misc]
            same = type(value) is type(filled) and value == filled
            assert holds == (
                same or (filled == 1.0 and isinstance(filled, float) and type(value) is int and value == 1)
            )
