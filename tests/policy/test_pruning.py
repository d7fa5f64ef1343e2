"""Taking arguments out of a schema leaves what others share whole."""

from __future__ import annotations

from typing import Any

from gatewright.policy.model import Schema
from gatewright.policy.pruning import children, prune

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
