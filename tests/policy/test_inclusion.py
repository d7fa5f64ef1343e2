"""Inclusion: what is proved, what is shown by a witness, and what is honestly not known."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gatewright.policy.dialect import compile_schema
from gatewright.policy.inclusion import CannotTell, No, Yes, is_narrower
from gatewright.policy.narrowing import any_of, narrow


def closed(required: tuple[str, ...] = (), /, **properties: Any) -> dict[str, Any]:
    """A flat role schema."""
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


INT: Any = {"type": "integer"}
TREE: dict[str, Any] = {"T": {"type": "object", "properties": {"n": INT, "t": {"$ref": "#/$defs/T"}}}}
SMALL_TREE: dict[str, Any] = {
    "T": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}, "t": {"$ref": "#/$defs/T"}}}
}

INSIDE: dict[str, tuple[Any, Any]] = {
    "itself": (closed(a=INT), closed(a=INT)),
    "a nearer bound": ({"type": "integer", "maximum": 50}, {"type": "integer", "maximum": 200}),
    "an exclusive bound of integers": ({"type": "integer", "exclusiveMinimum": 0}, {"minimum": 1}),
    "a multiple's bound": ({"type": "integer", "minimum": 1, "multipleOf": 5}, {"minimum": 5}),
    "an integer among numbers": (INT, {"type": "number"}),
    "fewer options": ({"enum": ["a", "b"]}, {"enum": ["c", "b", "a"]}),
    "options within bounds": ({"enum": [1, 7]}, {"type": "integer", "maximum": 7}),
    "few integers among options": ({"type": "integer", "minimum": 1, "maximum": 3}, {"enum": [0, 1, 2, 3]}),
    "both booleans": ({"type": "boolean"}, {"enum": [True, False, None]}),
    "one of two types": ({"type": "string"}, {"type": ["string", "null"]}),
    "types as alternatives": ({"type": ["integer", "null"]}, {"anyOf": [INT, {"type": "null"}]}),
    "nearer lengths": ({"type": "string", "minLength": 2, "maxLength": 3}, {"minLength": 1, "maxLength": 3}),
    "a pattern in conjunction": (
        {"type": "string", "allOf": [{"pattern": "^a"}, {"pattern": "b$"}]},
        {"type": "string", "pattern": "b$"},
    ),
    "an argument less": (closed(a=INT), closed(a=INT, b=INT)),
    "one more that is required": (closed(("a",), a=INT), closed(a=INT)),
    "an argument that cannot be": (closed(a=INT, b=False), closed(a=INT)),
    "arrays without elements": (
        {"type": "array", "items": {"type": "string"}, "maxItems": 0},
        {"type": "array", "items": INT},
    ),
    "a tuple": (
        {"type": "array", "prefixItems": [INT], "items": False},
        {"type": "array", "items": INT, "maxItems": 1},
    ),
    "nothing at all": ({"type": "integer", "minimum": 5, "maximum": 4}, {"type": "string"}),
    "what needs the impossible": (closed(("a",), a={"enum": []}), {"type": "string"}),
    "a map of fewer": (
        {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
        {"type": "object", "additionalProperties": INT},
    ),
    "alternatives, each inside": (
        any_of([closed(a={"const": 1}), closed(a={"const": 2})]),
        closed(a={"type": "integer", "minimum": 1, "maximum": 2}),
    ),
    "a tree in a tree": (
        {**closed(t={"$ref": "#/$defs/T"}), "$defs": SMALL_TREE},
        {**closed(t={"$ref": "#/$defs/T"}), "$defs": TREE},
    ),
    "not what it never was": ({"type": "string"}, {"not": INT}),
    "a conjunct of what is composed": (
        narrow({"allOf": [{"properties": {"a": INT}}], "unevaluatedProperties": False}, {"required": ["a"]}),
        {"allOf": [{"properties": {"a": INT}}], "unevaluatedProperties": False},
    ),
}

OUTSIDE: dict[str, tuple[Any, Any, tuple[Any, ...], str]] = {
    "a wider bound": (
        closed(limit={**INT, "maximum": 200}),
        closed(limit={**INT, "maximum": 50}),
        ("limit",),
        "maximum",
    ),
    "a number among integers": (closed(n={"type": "number"}), closed(n=INT), ("n",), "type"),
    "an option more": (closed(n={"enum": ["a", "b"]}), closed(n={"enum": ["a"]}), ("n",), "enum"),
    "a float beside its integer": ({"enum": [1.0]}, INT, (), "type"),
    "an argument more": (closed(a=INT, b=INT), closed(a=INT), (), "additionalProperties"),
    "one that is required no more": (closed(a=INT), closed(("a",), a=INT), (), "required"),
    "longer texts": (
        closed(s={"type": "string", "maxLength": 900}),
        closed(s={"type": "string", "maxLength": 80}),
        ("s",),
        "maxLength",
    ),
    "more elements": (
        closed(x={"type": "array", "items": INT, "maxItems": 9}),
        closed(x={"type": "array", "items": INT, "maxItems": 8}),
        ("x",),
        "maxItems",
    ),
    "deep down": (
        closed(("o",), o=closed(("x",), x={"type": "array", "items": closed(n={**INT, "minimum": -1})})),
        closed(("o",), o=closed(("x",), x={"type": "array", "items": closed(n={**INT, "minimum": 0})})),
        ("o", "x", 0, "n"),
        "minimum",
    ),
    "another pattern": (
        closed(id={"type": "string", "pattern": "^ord-[0-9]{4}$"}),
        closed(id={"type": "string", "pattern": "^ord-1"}),
        ("id",),
        "pattern",
    ),
    "no pattern": (
        closed(id={"type": "string"}),
        closed(id={"type": "string", "pattern": "^ord-"}),
        ("id",),
        "pattern",
    ),
    "no format": (closed(d={"type": "string"}), closed(d={"type": "string", "format": "date"}), ("d",), "format"),
    "a tree in a smaller tree": (
        {**closed(t={"$ref": "#/$defs/T"}), "$defs": TREE},
        {**closed(t={"$ref": "#/$defs/T"}), "$defs": SMALL_TREE},
        ("t", "n"),
        "minimum",
    ),
    "a third alternative": (
        any_of([closed(("a",), a={"const": 1}), closed(("a",), a={"const": 2}), closed(("b",), b=INT)]),
        any_of([closed(("a",), a={"const": 1}), closed(("a",), a={"const": 2})]),
        (),
        "additionalProperties",
    ),
}


@pytest.mark.promise("P3")
@pytest.mark.parametrize("name", INSIDE)
def test_what_is_inside_is_proved(name: str) -> None:
    """Nothing is compared but the schemas, and the answer is certain."""
    inner, outer = INSIDE[name]
    assert is_narrower(inner, outer) == Yes()


@pytest.mark.promise("P3")
@pytest.mark.parametrize("name", OUTSIDE)
def test_what_is_outside_is_shown_by_a_value(name: str) -> None:
    """The first accepts it, the second does not, and what the second says tells the place and the keyword."""
    inner, outer, path, keyword = OUTSIDE[name]
    answer = is_narrower(inner, outer)
    assert isinstance(answer, No)
    assert compile_schema(inner).accepts(answer.witness)
    assert not compile_schema(outer).accepts(answer.witness)
    assert (path, keyword) in {(error.path, error.keyword) for error in answer.errors}


@pytest.mark.parametrize("name", INSIDE)
def test_the_other_way_round_is_never_wrong(name: str) -> None:
    """Whatever is answered of a pair turned round can be checked too."""
    outer, inner = INSIDE[name]
    answer = is_narrower(inner, outer)
    if isinstance(answer, No):
        assert compile_schema(inner).accepts(answer.witness)
        assert not compile_schema(outer).accepts(answer.witness)


def test_what_is_not_known_is_said_so() -> None:
    """Two patterns that mean the same are beyond it, and it does not guess."""
    assert is_narrower({"type": "string", "pattern": "^aa*$"}, {"type": "string", "pattern": "^a+$"}) == CannotTell()


def test_a_limit_that_moved_can_be_told_in_words() -> None:
    """The witness lies just beyond the bound, and the error holds the bound: "limit: at most 50, was 200"."""
    answer = is_narrower(closed(limit={**INT, "maximum": 200}), closed(limit={**INT, "maximum": 50}))
    assert isinstance(answer, No)
    assert answer.witness == {"limit": 51}
    assert answer.errors[0].expected == 50


def test_fifty_fields_and_nested_arrays_are_answered_soon() -> None:
    """The search is bounded: a wide schema whose last field differs still has its witness in well under a second."""
    fields: dict[str, Any] = {f"f{n}": {"type": "string", "maxLength": 40} for n in range(50)}
    items = {"type": "array", "items": closed(**fields), "maxItems": 50}
    wide = closed(**{**fields, "items": items})
    other = closed(
        **{**fields, "items": {**items, "items": closed(**{**fields, "f49": {"type": "string", "maxLength": 39}})}}
    )
    started = time.perf_counter()
    assert is_narrower(other, wide) == Yes()
    assert isinstance(is_narrower(wide, other), No)
    assert time.perf_counter() - started < 5
