"""Taking arguments out of a schema leaves what others share whole."""

from __future__ import annotations

from typing import Any

from gatewright.policy.model import Schema
from gatewright.policy.pruning import children, optional_names, prune
from gatewright.policy.validator import compile_schema

ADDRESS: Schema = {
    "type": "object",
    "properties": {"street": {"type": "string"}, "code": {"type": "string"}},
    "required": ["street", "code"],
    "additionalProperties": False,
}
BASE: Schema = {
    "type": "object",
    "properties": {
        "home": {"$ref": "#/$defs/address"},
        "work": {"anyOf": [{"$ref": "#/$defs/address"}, {"type": "null"}]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"tax": {}, "net": {}}}},
        "by_day": {"type": "object", "additionalProperties": {"type": "object", "properties": {"tax": {}, "net": {}}}},
    },
    "required": ["home"],
    "$defs": {"address": ADDRESS},
}


def names(pointer: tuple[str, ...], schema: Schema) -> list[list[str]]:
    return [sorted(place.get("properties", {})) for place in children(schema, pointer, schema)]  # type: ignore[arg-type]


def test_a_top_level_argument_goes_with_its_requirement() -> None:
    """What is gone is not required."""
    pruned = prune(BASE, ("home",))
    assert "home" not in pruned["properties"]  # type: ignore[operator]
    assert pruned["required"] == []


def test_a_shared_definition_stays_whole_for_others() -> None:
    """A reference on the way is put in place, so only this argument changes."""
    pruned = prune(BASE, ("home", "code"))
    assert names(("home",), pruned) == [["street"]]
    assert [found for found in names(("work",), pruned) if found] == [["code", "street"]]
    assert pruned["$defs"] == BASE["$defs"]


def test_a_pointer_leads_through_unions_arrays_and_maps() -> None:
    """Every place it names loses the property."""
    assert names(("work",), prune(BASE, ("work", "code"))) == [["street"], [], []]
    assert names(("lines", "*"), prune(BASE, ("lines", "*", "tax"))) == [["net"]]
    assert names(("by_day", "*"), prune(BASE, ("by_day", "*", "tax"))) == [["net"]]


def test_pruning_what_is_not_there_changes_nothing() -> None:
    """A pointer that names nothing takes nothing away."""
    assert prune(BASE, ("home", "nothing"))["properties"]["home"]["required"] == ["street", "code"]  # type: ignore[index,call-overload]


def test_boolean_branches_and_definitions_are_walked_over() -> None:
    """`true` says nothing and `false` offers nothing; neither stands in the way of the others."""
    schema: Any = {
        "type": "object",
        "properties": {
            "x": {"anyOf": [True, False, {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}}]},
            "y": {"$ref": "#/$defs/any"},
            "z": {"$ref": "#/$defs/none"},
        },
        "$defs": {"any": True, "none": False},
    }
    assert list(children(schema, ("x", "a"), schema)) == [{"type": "integer"}]
    assert list(children(schema, ("y",), schema)) == [{}]
    assert list(children(schema, ("z",), schema)) == [{"not": {}}]
    pruned: Any = prune(schema, ("x", "a"))
    assert pruned["properties"]["x"]["anyOf"] == [True, False, {"type": "object", "properties": {"b": {}}}]


def test_a_name_that_a_pattern_takes_is_refused_once_it_is_hidden() -> None:
    """Taken out of the properties alone, it would still be accepted as one of the others."""
    others: Schema = {"type": "object", "patternProperties": {"^a": {"type": "string"}}, "additionalProperties": False}
    constrained: Schema = {"type": "object", "additionalProperties": {"type": "string"}}
    for schema in (others, constrained):
        assert compile_schema(schema).accepts({"admin": "x"})
        left = compile_schema(prune(schema, ("admin",)))
        assert not left.accepts({"admin": "x"})
        assert left.accepts({"about": "x"})


def test_the_names_of_a_union_are_optional_arguments_too() -> None:
    """An entry that does not name them hides them, wherever in the schema they are declared."""
    schema: Schema = {
        "type": "object",
        "properties": {"a": {}, "b": {}},
        "required": ["a"],
        "anyOf": [{"properties": {"c": {}}, "required": ["c"]}, {"properties": {"d": {}}}],
    }
    assert optional_names(schema, schema) == {"b", "d"}
