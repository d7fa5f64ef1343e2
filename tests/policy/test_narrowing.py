"""Narrowing and unions of role schemas: the flat forms, what goes through `allOf`, and shared definitions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.policy.dialect import compile_schema
from gatewright.policy.narrowing import MOST_ALTERNATIVES, TooManyAlternatives, any_of, imply_types, narrow

IMPOSSIBLE = {"not": {}}

FLAT = {
    "bounds": (
        {"type": "integer", "minimum": 1, "maximum": 200},
        {"maximum": 50},
        {"type": "integer", "minimum": 1, "maximum": 50},
    ),
    "a looser bound": ({"type": "integer", "maximum": 200}, {"maximum": 500}, {"type": "integer", "maximum": 200}),
    "exclusive and inclusive": (
        {"type": "number", "minimum": 0},
        {"exclusiveMinimum": 0},
        {"type": "number", "exclusiveMinimum": 0},
    ),
    "inclusive over exclusive": (
        {"type": "number", "exclusiveMaximum": 9},
        {"maximum": 5},
        {"type": "number", "maximum": 5},
    ),
    "types": ({"type": ["integer", "string", "null"]}, {"type": ["number", "null"]}, {"type": ["integer", "null"]}),
    "a number that must be an integer": ({"type": "number"}, {"type": "integer"}, {"type": "integer"}),
    "types apart": ({"type": "string"}, {"type": "integer"}, IMPOSSIBLE),
    "an implied type": ({"type": ["integer", "null"]}, {"maximum": 5}, {"type": "integer", "maximum": 5}),
    "enums": ({"enum": ["a", "b", "c"]}, {"enum": ["c", "a"]}, {"enum": ["a", "c"]}),
    "enum and const": ({"type": "string", "enum": ["a", "b"]}, {"const": "b"}, {"type": "string", "const": "b"}),
    "enum and pattern": (
        {"type": "string", "enum": ["aa", "bb"]},
        {"pattern": "^a"},
        {"type": "string", "pattern": "^a", "enum": ["aa"]},
    ),
    "enum and bound": ({"enum": [1, 5, 9]}, {"maximum": 5}, {"type": "number", "maximum": 5, "enum": [1, 5]}),
    "nothing in common": ({"enum": ["a"]}, {"enum": ["b"]}, IMPOSSIBLE),
    "true is not 1": ({"const": 1}, {"const": True}, IMPOSSIBLE),
    "1.0 and 1": ({"enum": [1.0, 2]}, {"enum": [1]}, {"enum": [1]}),
    "lengths": (
        {"type": "string", "minLength": 1, "maxLength": 9},
        {"minLength": 3},
        {"type": "string", "minLength": 3, "maxLength": 9},
    ),
    "lengths apart": ({"type": "string", "maxLength": 2}, {"minLength": 3}, IMPOSSIBLE),
    "multiples": ({"type": "integer", "multipleOf": 4}, {"multipleOf": 6}, {"type": "integer", "multipleOf": 12}),
    "the same pattern": ({"type": "string", "pattern": "^a"}, {"pattern": "^a"}, {"type": "string", "pattern": "^a"}),
    "an optional value": (
        {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None, "title": "Note"},
        {"maxLength": 5},
        {"title": "Note", "type": "string", "maxLength": 5},
    ),
    "an optional value stays one": (
        {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        {"anyOf": [{"type": "integer", "maximum": 5}, {"type": "null"}]},
        {"anyOf": [{"type": "integer", "maximum": 5}, {"type": "null"}]},
    ),
    "items": (
        {"type": "array", "items": {"type": "string"}},
        {"items": {"enum": ["a"]}, "maxItems": 2},
        {"type": "array", "maxItems": 2, "items": {"type": "string", "enum": ["a"]}},
    ),
    "places": (
        {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        {"items": {"type": ["string", "integer"]}},
        {"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
    ),
    "a closed object": (
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "additionalProperties": False},
        {"properties": {"a": {"maximum": 5}}, "required": ["a"]},
        {
            "type": "object",
            "required": ["a"],
            "additionalProperties": False,
            "properties": {"a": {"type": "integer", "maximum": 5}, "b": {}},
        },
    ),
    "a name that the base does not have": (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        {"properties": {"b": {"type": "string"}}},
        {"type": "object", "additionalProperties": False, "properties": {"a": {}}},
    ),
    "a map": (
        {"type": "object", "additionalProperties": {"type": "integer"}},
        {"properties": {"a": {"maximum": 5}}, "additionalProperties": {"maximum": 9}},
        {
            "type": "object",
            "additionalProperties": {"type": "integer", "maximum": 9},
            "properties": {"a": {"type": "integer", "maximum": 5}},
        },
    ),
    "a required name that is impossible": (
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False},
        {"properties": {"a": {"type": "integer"}}},
        IMPOSSIBLE,
    ),
    "a default that no longer passes": (
        {"type": "integer", "default": 100, "examples": [10, 60]},
        {"maximum": 50},
        {"type": "integer", "maximum": 50, "examples": [10]},
    ),
    "a description": (
        {"type": "integer", "description": "old"},
        {"maximum": 5, "description": "new"},
        {"type": "integer", "maximum": 5, "description": "new"},
    ),
    "nothing taken away": (
        {"type": "integer", "maximum": 5, "default": 9},
        {},
        {"type": "integer", "maximum": 5, "default": 9},
    ),
}

THROUGH_ALL_OF = {
    "patterns": ({"type": "string", "pattern": "^a"}, {"pattern": "b$"}, [{"pattern": "b$"}]),
    "formats": ({"type": "string", "format": "uri"}, {"format": "uuid"}, [{"format": "uuid"}]),
    "fractions": ({"type": "number", "multipleOf": 0.5}, {"multipleOf": 0.3}, [{"multipleOf": 0.3}]),
    "multiples beyond exact floats": (
        {"type": "integer", "multipleOf": 2**40},
        {"multipleOf": 3**30},
        [{"multipleOf": 3**30}],
    ),
    "refusals": ({"not": {"const": 1}}, {"not": {"const": 2}}, [{"not": {"const": 2}}]),
}


@pytest.mark.parametrize("name", FLAT)
def test_a_flat_form_is_used_where_it_is_exact(name: str) -> None:
    """The role schema that a person reads says the outcome, not how it came about."""
    base, overlay, expected = FLAT[name]
    assert json.dumps(narrow(base, overlay), sort_keys=True) == json.dumps(expected, sort_keys=True)


@pytest.mark.parametrize("name", THROUGH_ALL_OF)
def test_what_has_no_flat_form_goes_through_all_of(name: str) -> None:
    """The base's keyword stays in its place and the overlay's is added as a conjunct."""
    base, overlay, conjuncts = THROUGH_ALL_OF[name]
    assert narrow(base, overlay) == {**base, "allOf": conjuncts}


EXACT: dict[str, tuple[Any, Any, list[Any]]] = {
    "a name that the other side's pattern speaks of": (
        {"type": "object", "patternProperties": {"^a": {"type": "integer"}}, "additionalProperties": False},
        {"type": "object", "properties": {"a": {"type": "integer", "maximum": 5}}},
        [{"a": 3}, {"a": 9}, {"ab": 9}, {"b": 1}],
    ),
    "an impossible name that a pattern would let in": (
        {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "patternProperties": {"^a": {}},
            "additionalProperties": False,
        },
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        [{"a": 1}, {"a": "x"}, {"ab": 1}, {}],
    ),
    "patterns on one side of a closed object": (
        {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
        {"type": "object", "patternProperties": {"^[ab]$": {"type": "integer"}}},
        [{"a": 1}, {"a": "x"}, {"b": 1}],
    ),
    "what siblings evaluate": (
        {"type": "object", "properties": {"a": {}}, "unevaluatedProperties": False},
        {"type": "object", "properties": {"b": {}}},
        [{"a": 1}, {"b": 1}, {"a": 1, "b": 1}],
    ),
    "a float member under integers": ({"type": "integer"}, {"const": 1.0}, [1, 1.0, 2]),
    "alternatives that become equal": ({"oneOf": [{"enum": [1, 2]}, {"enum": [1, 3]}]}, {"const": 1}, [1, 2, 3]),
    "bounds apart beside another type": (
        {"type": ["integer", "null"], "minimum": 5},
        {"type": ["integer", "null"], "maximum": 3},
        [None, 4, 9],
    ),
    "definitions of one name": (
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer"}}},
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "number", "maximum": 5}}},
        [1, 9, 0.5],
    ),
    "contains on both sides": (
        {"type": "array", "contains": {"const": 1}, "minContains": 2},
        {"type": "array", "contains": {"const": 2}},
        [[1, 1, 2], [1, 2], [1, 1]],
    ),
}


@pytest.mark.promise("P3")
@pytest.mark.parametrize("name", EXACT)
def test_the_conjunction_is_exact_where_merging_is_tempting(name: str) -> None:
    """Cases in which merging keyword by keyword would accept or refuse more than the two together."""
    base, overlay, samples = EXACT[name]
    narrowed, first, second = (compile_schema(schema) for schema in (narrow(base, overlay), base, overlay))
    answers = [narrowed.accepts(value) for value in samples]
    assert answers == [first.accepts(value) and second.accepts(value) for value in samples]
    swapped = compile_schema(narrow(overlay, base))
    assert answers == [swapped.accepts(value) for value in samples]


def test_references_out_of_step_do_not_lead_on_for_ever() -> None:
    """Two recursive definitions that never meet at the same place are followed eight times and then kept."""
    definitions = {
        "A": {"type": "object", "properties": {"c": {"type": "object", "properties": {"c": {"$ref": "#/$defs/A"}}}}},
        "B": {"type": "object", "properties": {"c": {"type": "object", "properties": {"c": {"$ref": "#/$defs/B"}}}}},
    }
    base = {"type": "object", "properties": {"c": {"$ref": "#/$defs/A"}}, "$defs": definitions}
    accepts = compile_schema(narrow(base, {"$ref": "#/$defs/B", "$defs": definitions})).accepts
    assert accepts({"c": {"c": {"c": {}}}})
    assert not accepts({"c": {"c": {"c": 1}}})


def test_a_reference_that_is_narrowed_is_put_in_place_and_the_others_stay() -> None:
    """Narrowing one use of a definition leaves the definition and its other uses whole."""
    point = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False}
    base = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/P"}, "b": {"$ref": "#/$defs/P"}},
        "$defs": {"P": point},
    }
    narrowed = narrow(base, {"properties": {"a": {"properties": {"x": {"maximum": 5}}}}})
    properties: Any = narrowed["properties"]
    assert properties["a"]["properties"]["x"] == {"type": "integer", "maximum": 5}
    assert (properties["b"], narrowed["$defs"]) == ({"$ref": "#/$defs/P"}, {"P": point})


def test_narrowing_a_recursive_schema_ends() -> None:
    """References that lead back to themselves are followed a few steps and then kept."""
    tree = {"type": "object", "properties": {"n": {"$ref": "#/$defs/T"}, "v": {"type": "integer"}}}
    base = {"$ref": "#/$defs/T", "$defs": {"T": tree}}
    other = {
        "properties": {"n": {"properties": {"n": {"$ref": "#/$defs/U"}}}},
        "$defs": {"U": {"properties": {"n": {"$ref": "#/$defs/U"}, "v": {"maximum": 3}}}},
    }
    accepts = compile_schema(narrow(base, other)).accepts
    assert accepts({"n": {"n": {"v": 3}, "v": 9}})
    assert not accepts({"n": {"n": {"n": {"v": 4}}}})


def test_types_are_implied_at_every_depth_but_not_below_not() -> None:
    """`maximum` asks for a number wherever the overlay narrows; a refusal is not weakened by a type."""
    overlay = {"properties": {"a": {"items": {"maximum": 1}}, "b": {"not": {"maximum": 1}}}}
    assert imply_types(overlay) == {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {"type": "number", "maximum": 1}},
            "b": {"not": {"maximum": 1}},
        },
    }
    assert narrow({}, {"maximum": 1, "minLength": 1})["allOf"] == [{"type": "number"}, {"type": "string"}]


def entry(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


def test_a_single_schema_is_returned_as_it_is_and_equal_ones_are_merged() -> None:
    """One alternative needs no union, and neither do two that are alike."""
    first = entry(a={"type": "integer"})
    assert any_of([first]) is first
    assert any_of([first, entry(a={"type": "integer"})]) == first
    assert any_of([entry(a={"const": 1}), entry(a={"const": True})])["anyOf"] == [
        entry(a={"const": 1}),
        entry(a={"const": True}),
    ]


def test_an_alternative_that_nothing_satisfies_is_left_out() -> None:
    """An impossible entry does not show; if all are, the union is impossible too."""
    first = entry(a={"type": "integer"})
    assert any_of([IMPOSSIBLE, first]) == first
    assert any_of([IMPOSSIBLE, IMPOSSIBLE]) == IMPOSSIBLE
    assert any_of([]) == IMPOSSIBLE


def test_definitions_are_hoisted_shared_renamed_and_pruned() -> None:
    """One table at the root: equal definitions once, clashing ones under another name, unused ones not at all."""
    leaf, other = {"type": "integer"}, {"type": "string"}
    first = {**entry(x={"$ref": "#/$defs/A"}), "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": leaf, "gone": {}}}
    second = {**entry(y={"$ref": "#/$defs/A"}), "$defs": {"A": {"items": {"$ref": "#/$defs/B"}}, "B": other}}
    third = {**entry(z={"$ref": "#/$defs/B"}), "$defs": {"B": leaf}}
    union = any_of([first, second, third])
    assert union["$defs"] == {
        "A": {"items": {"$ref": "#/$defs/B"}},
        "A_2": {"items": {"$ref": "#/$defs/B_2"}},
        "B": leaf,
        "B_2": other,
    }
    alternatives: Any = union["anyOf"]
    assert [next(iter(each["properties"].values())) for each in alternatives] == [
        {"$ref": "#/$defs/A"},
        {"$ref": "#/$defs/A_2"},
        {"$ref": "#/$defs/B"},
    ]


def test_at_most_eight_alternatives() -> None:
    """More entries that differ are a mistake in the policy, not something to show to a model."""
    entries = [entry(a={"const": number}) for number in range(MOST_ALTERNATIVES + 1)]
    assert len(any_of(entries[:-1])["anyOf"]) == MOST_ALTERNATIVES  # type: ignore[arg-type]
    with pytest.raises(TooManyAlternatives, match="9 alternatives, at most 8"):
        any_of(entries)
