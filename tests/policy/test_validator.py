"""The compiled validator: strict integers, asserted formats, linear patterns, all errors, no network."""

from __future__ import annotations

import time
from types import MappingProxyType
from typing import Any

import pytest

from gatewright.policy.dialect import SchemaInvalid, compile_schema
from gatewright.policy.validator import MOST_ERRORS


def accepts(schema: Any, value: Any) -> bool:
    validator = compile_schema(schema)
    assert bool(validator.errors(value)) != validator.accepts(value), "errors and accepts disagree"
    return validator.accepts(value)


@pytest.mark.case(49)
@pytest.mark.parametrize("value", [1.0, 1e2, -0.0, 1e300, True, False, "1", None, [1], 0.5])
def test_what_is_not_written_as_an_integer_is_none(value: Any) -> None:
    """An integral float, a boolean and a numeric string are no integers."""
    assert not accepts({"type": "integer"}, value)


@pytest.mark.case(49)
@pytest.mark.parametrize("value", [0, -1, 2**53 - 1, 10**30])
def test_an_integer_is_one(value: int) -> None:
    """Integers of any size are integers and numbers."""
    assert accepts({"type": "integer"}, value)
    assert accepts({"type": "number"}, value)


@pytest.mark.case(49)
@pytest.mark.parametrize(
    "schema",
    [{"enum": [1, 2]}, {"const": 1}, {"const": [1]}, {"const": {"a": 1}}, {"enum": [{"a": [1]}]}],
    ids=str,
)
def test_only_the_integer_equals_an_integer(schema: Any) -> None:
    """Neither 1.0 nor true equals 1 in an enum or a const, at any depth."""

    def swap(item: Any, value: Any) -> Any:
        if isinstance(item, dict):
            return {name: swap(one, value) for name, one in item.items()}
        return [swap(one, value) for one in item] if isinstance(item, list) else value

    member = schema["const"] if "const" in schema else schema["enum"][0]
    assert accepts(schema, member)
    assert not accepts(schema, swap(member, 1.0))
    assert not accepts(schema, swap(member, True))


def test_a_float_member_takes_both_spellings() -> None:
    """Where the schema itself says 1.0, any spelling of that number is equal to it."""
    assert accepts({"enum": [1.0]}, 1.0)
    assert accepts({"enum": [1.0]}, 1)
    assert not accepts({"enum": [1.0]}, True)


def test_an_integral_float_is_a_number() -> None:
    """20.0 is a number, within bounds and beyond them."""
    assert accepts({"type": "number", "maximum": 20}, 20.0)
    assert not accepts({"type": "number", "maximum": 19}, 20.0)


@pytest.mark.case(49)
@pytest.mark.parametrize(
    "schema",
    [
        {"not": {"const": 20}},
        {"not": {"enum": [10, 20]}},
        {"not": {"type": "integer"}},
        {"type": "number", "not": {"type": "integer", "minimum": 5}},
        {"if": {"const": 20}, "then": False},
        {"oneOf": [{"type": "integer"}, {"minimum": 5}]},
        {"anyOf": [{"type": "string"}, {"not": {"const": 20}}]},
    ],
    ids=str,
)
def test_another_spelling_of_a_number_gets_past_no_ban(schema: Any) -> None:
    """What keeps 20 out keeps 20.0 and 2e1 out, at any depth."""
    assert not accepts(schema, 20)
    assert not accepts(schema, 20.0)
    assert not accepts({"properties": {"a": {"items": schema}}}, {"a": [20.0]})


@pytest.mark.case(50)
@pytest.mark.parametrize(
    ("format", "bad", "good"),
    [
        ("date", "2026-02-30", "2026-02-28"),
        ("date-time", "nope", "2026-02-28T00:00:00Z"),
        ("uri", "no pe", "https://example.com/"),
        ("email", "a", "a@example.com"),
        ("uuid", "x", "123e4567-e89b-12d3-a456-426614174000"),
    ],
)
def test_formats_are_asserted(format: str, bad: str, good: str) -> None:
    """A string that does not have the format is refused."""
    assert accepts({"format": format}, good)
    assert not accepts({"format": format}, bad)


@pytest.mark.case(52)
def test_patterns_are_ascii_and_end_where_they_end() -> None:
    """`$` takes no trailing newline, `\\d` no digit beyond ASCII, and an unanchored pattern matches anywhere."""
    assert not accepts({"pattern": "^[a-z]+$"}, "ab\n")
    assert not accepts({"pattern": "^\\d+$"}, "٣")
    assert accepts({"pattern": "public"}, "not/public/at/all")


@pytest.mark.case(52)
@pytest.mark.promise("P11")
@pytest.mark.parametrize("length", [28, 5000])
def test_a_pattern_bomb_takes_no_longer_than_a_string(length: int) -> None:
    """Nested quantifiers over a string that nearly matches answer within ten times a plain string's time."""

    def fastest(pattern: str) -> float:
        validator = compile_schema({"pattern": pattern})
        text = "a" * length + "!"
        times = []
        for _ in range(20):
            started = time.perf_counter()
            validator.accepts(text)
            times.append(time.perf_counter() - started)
        return min(times)

    assert fastest("^(a+)+$") < 10 * fastest("^[a-z]+$") + 1e-3


@pytest.mark.promise("P11")
@pytest.mark.parametrize(
    "value",
    [{1, 2}, object(), {1: 2}, "\ud800", {"\ud800": 1}, float("nan"), float("inf"), b"a", 1j],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_json_satisfies_nothing(value: Any) -> None:
    """Sets, objects, lone surrogates and keys that are no strings are refused where they are read; nothing raises."""
    text = {"type": "string", "pattern": "^.*$"}
    schema = {"properties": {"a": {"anyOf": [text, {"type": "number"}, {"type": "object", "propertyNames": text}]}}}
    assert not accepts(schema, {"a": value})


def test_any_mapping_and_any_sequence_is_json() -> None:
    """A frozen mapping or a tuple is judged as the object or array it is."""
    schema = {"type": "object", "properties": {"a": {"items": {"type": "integer"}}}, "additionalProperties": False}
    assert accepts(schema, MappingProxyType({"a": (1, 2)}))
    assert not accepts(schema, MappingProxyType({"a": (1, 2.0)}))
    assert compile_schema(MappingProxyType({"const": (1, 2)})).accepts([1, 2])


def test_the_promise_that_there_is_no_integral_float_only_makes_it_faster() -> None:
    """Without such a float both ways of asking answer the same."""
    validator = compile_schema({"items": {"type": "integer"}})
    for value in ([1], [True], ["1"], [0.5]):
        assert validator.accepts(value) == validator.accepts(value, integral_floats=False)


def test_at_most_twenty_errors_are_told_in_a_fixed_order() -> None:
    """Errors are sorted by place, array indices as numbers, and cut."""
    errors = compile_schema({"items": {"type": "integer"}}).errors(["a"] * 50)
    assert [error.path for error in errors] == [(index,) for index in range(MOST_ERRORS)]


@pytest.mark.case(54)
@pytest.mark.promise("P11")
def test_a_recursive_schema_over_a_deep_value_answers_fast() -> None:
    """A schema whose alternatives all recurse into the same place stays polynomial at the decoder's depth."""
    alternatives = [
        {"properties": {"c": {"$ref": "#/$defs/t"}}, "required": [name], "type": "object"} for name in "xyz"
    ]
    validator = compile_schema({"$defs": {"t": {"anyOf": [*alternatives, {"type": "null"}]}}, "$ref": "#/$defs/t"})
    value: Any = "wrong"
    for _ in range(32):
        value = {"c": value, "x": 1, "y": 1, "z": 1}
    started = time.perf_counter()
    assert not validator.accepts(value)
    assert time.perf_counter() - started < 0.1


@pytest.mark.case(51)
@pytest.mark.parametrize("reference", ["http://127.0.0.1:9/x", "file:///etc/hostname", "other.json"])
def test_a_reference_to_elsewhere_does_not_compile(reference: str) -> None:
    """The validator has nothing to fetch with: such a schema is refused before any value is seen."""
    with pytest.raises(SchemaInvalid):
        compile_schema({"$ref": reference})


@pytest.mark.parametrize("schema", [{"type": "strin"}, {"pattern": "("}, {"$ref": "#/$defs/x"}, {"minimum": "1"}])
def test_what_is_no_schema_does_not_compile(schema: Any) -> None:
    """A mistake in a schema is found when it is compiled, never when it is asked."""
    with pytest.raises(SchemaInvalid, match="not_a_schema"):
        compile_schema(schema)


def test_beside_an_integral_float_a_boolean_is_still_no_number() -> None:
    """The strict keywords, which such a float calls in, tell true and 1 apart as the plain ones do."""
    schema = {"properties": {"a": {"enum": [1, 0]}, "b": {"const": [False]}, "c": {"type": "number"}}}
    assert accepts(schema, {"a": 1, "b": [False], "c": 2.0})
    assert not accepts(schema, {"a": True, "b": [False], "c": 2.0})
    assert not accepts(schema, {"a": 1, "b": [0], "c": 2.0})


def test_alternatives_of_constants_are_one_joint_error() -> None:
    """Where every alternative names its values, the error offers all of them."""
    (error,) = compile_schema({"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}, {"type": "integer"}]}).errors("d")
    assert (error.keyword, error.expected) == ("enum", ("a", "b", "c"))
