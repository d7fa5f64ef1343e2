"""What a caller is told of arguments that do not pass: stable reasons, their own schema, never a value."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.policy.complaints import (
    REASONS,
    SYNTAX_REASONS,
    Complaint,
    business_complaint,
    message,
    schema_complaints,
    syntax_complaint,
)
from gatewright.policy.dialect import compile_schema
from gatewright.policy.phrases import LEADS

CANARY = "s3cr3t-canary"


def complaints_of(schema: dict[str, Any], value: Any, shown: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    found = schema_complaints(compile_schema(schema).errors(value), shown or schema)
    return [complaint.to_json("en") for complaint in found]


def only(schema: dict[str, Any], value: Any) -> dict[str, Any]:
    (complaint,) = complaints_of({"type": "object", "properties": {"x": schema}}, {"x": value})
    return complaint


KEYWORDS = [
    ({"type": "integer"}, True, "wrong_type", "integer"),
    ({"type": ["integer", "null"]}, "a", "wrong_type", ["integer", "null"]),
    ({"enum": ["a", "b"]}, "c", "not_in_enum", ["a", "b"]),
    ({"const": "a"}, "c", "not_in_enum", "a"),
    ({"minimum": 1}, 0, "too_small", 1),
    ({"exclusiveMinimum": 1}, 1, "too_small", 1),
    ({"maximum": 200}, 201, "too_large", 200),
    ({"exclusiveMaximum": 2}, 2, "too_large", 2),
    ({"multipleOf": 0.01}, 0.005, "not_a_multiple", 0.01),
    ({"minLength": 1}, "", "too_short", 1),
    ({"maxLength": 2}, "abc", "too_long", 2),
    ({"pattern": "^a$"}, "b", "pattern_mismatch", "^a$"),
    ({"format": "date"}, "b", "bad_format", "date"),
    ({"minItems": 1}, [], "too_few_items", 1),
    ({"maxItems": 1}, [1, 2], "too_many_items", 1),
    ({"uniqueItems": True}, [1, 1], "duplicate_items", None),
    ({"contains": {"type": "string"}}, [1], "lacks_item", None),
    ({"contains": {"type": "string"}, "minContains": 2}, ["a"], "lacks_item", None),
    ({"contains": {"type": "string"}, "maxContains": 1}, ["a", "b"], "too_many_such_items", None),
    ({"minProperties": 1}, {}, "too_few_properties", 1),
    ({"maxProperties": 1}, {"a": 1, "b": 1}, "too_many_properties", 1),
    ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "bad_property_name", None),
    ({"not": {"type": "string"}}, "a", "not_allowed", None),
    ({"oneOf": [{"type": "string"}, {"minLength": 1}]}, "a", "several_alternatives", None),
]


@pytest.mark.parametrize(("schema", "value", "reason", "expected"), KEYWORDS, ids=lambda item: json.dumps(item)[:40])
def test_each_keyword_has_its_reason(schema: Any, value: Any, reason: str, expected: Any) -> None:
    """A failing keyword gives one complaint at its place, with a stable reason and what was expected."""
    complaint = only(schema, value)
    assert (complaint["layer"], complaint["field"], complaint["reason"]) == ("schema", "/x", reason)
    assert complaint.get("expected") == expected


def test_all_errors_are_told_at_once() -> None:
    """Several things wrong give several complaints, sorted by place."""
    schema = {
        "type": "object",
        "properties": {"b": {"type": "integer", "maximum": 1}, "a": {"type": "string"}},
        "required": ["a", "z"],
        "additionalProperties": False,
    }
    found = complaints_of(schema, {"b": 5, "a": 1, "w": 1})
    assert [(each["field"], each["reason"]) for each in found] == [
        ("/a", "wrong_type"),
        ("/b", "too_large"),
        ("/w", "unknown_argument"),
        ("/z", "missing"),
    ]


def test_a_missing_argument_is_named_and_described() -> None:
    """The field of a missing argument is the argument itself, and the message says what it holds."""
    schema = {
        "type": "object",
        "properties": {"limit": {"type": "integer", "minimum": 1, "maximum": 200}},
        "required": ["limit"],
    }
    assert complaints_of(schema, {}) == [
        {
            "layer": "schema",
            "field": "/limit",
            "reason": "missing",
            "message": "This argument is required; "
            "expected an integer without a decimal point, at least 1, at most 200.",
            "expected": "integer",
        }
    ]


def test_the_shape_of_what_came_is_described() -> None:
    """The message tells the type and the length of the value, and nothing else of it."""
    assert only({"type": "string", "maxLength": 3}, CANARY)["message"] == (
        "The string is too long; expected a string, at most 3 long; got a string of 13 characters."
    )
    assert only({"type": "integer"}, 20.0)["message"] == (
        "The value has the wrong type; expected an integer without a decimal point; "
        "got a number with a decimal point or an exponent."
    )


@pytest.mark.case(56)
@pytest.mark.parametrize(("schema", "value"), [row[:2] for row in KEYWORDS], ids=lambda item: json.dumps(item)[:40])
def test_no_complaint_holds_the_value(schema: Any, value: Any) -> None:
    """A secret in any place of a wrong value is in no field, parameter or message, in either language."""

    def hide(item: Any) -> Any:
        if isinstance(item, str):
            return CANARY
        return [hide(one) for one in item] if isinstance(item, list) else item

    whole = {"type": "object", "properties": {"x": schema, "y": {"type": "integer"}}}
    secret = {"x": hide(value), "y": CANARY}
    errors = compile_schema(whole).errors(secret)
    assert errors
    found = schema_complaints(errors, whole)
    told = repr(errors) + repr(found) + "".join(message(each, "en") + message(each, "zh") for each in found)
    assert CANARY not in told


@pytest.mark.promise("P4")
@pytest.mark.parametrize("name", ["hidden", "made_up", "a.b-c_9", "x" * 128])
def test_a_plain_unknown_name_is_echoed_alike_whatever_it_is(name: str) -> None:
    """A hidden and a made-up name give the same complaint but for the name itself."""
    schema = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
    (complaint,) = complaints_of(schema, {name: 1})
    assert complaint == {
        "layer": "schema",
        "field": f"/{name}",
        "reason": "unknown_argument",
        "message": 'There is no such argument; the arguments here are "a".',
    }


@pytest.mark.parametrize("name", ["", "a b", "a/b", "é", "x" * 129, "<b>", "a\n", CANARY + "!"])
def test_an_unknown_name_that_is_no_plain_word_is_not_echoed(name: str) -> None:
    """Such a name is told at its parent, and is nowhere in the complaint."""
    inner = {"type": "object", "properties": {"a": {}}, "additionalProperties": False}
    schema = {"type": "object", "properties": {"in": inner}}
    (complaint,) = complaints_of(schema, {"in": {name: 1}})
    assert complaint["field"] == "/in"
    assert not name.strip() or name not in json.dumps(complaint, ensure_ascii=False)


def test_a_key_of_a_map_is_told_only_where_it_is_a_plain_word() -> None:
    """A pointer through a map ends before a key that the sender made up."""
    schema = {"type": "object", "properties": {"m": {"additionalProperties": {"type": "integer"}}}}
    assert complaints_of(schema, {"m": {"plain": "a"}})[0]["field"] == "/m/plain"
    assert complaints_of(schema, {"m": {"not plain": "a"}})[0]["field"] == "/m"
    declared = {"type": "object", "properties": {"größe": {"type": "integer"}}}
    assert complaints_of(declared, {"größe": "a"})[0]["field"] == "/größe"


@pytest.mark.case(56)
@pytest.mark.parametrize(
    ("base", "shown", "value", "expected"),
    [
        ({"enum": ["ours", "theirs"]}, {"enum": ["ours"]}, "x", "ours"),
        ({"enum": ["ours", "theirs"]}, {"type": "string"}, "x", None),
        ({"type": "integer", "maximum": 200}, {"type": "integer", "maximum": 50}, 500, 50),
        ({"pattern": "^theirs"}, {"type": "string"}, "x", None),
    ],
)
def test_an_error_of_a_wider_schema_is_told_in_the_callers_own(
    base: Any, shown: Any, value: Any, expected: Any
) -> None:
    """Options, limits and patterns that the caller is not shown do not come out through an error."""
    whole, own = ({"type": "object", "properties": {"x": part}} for part in (base, shown))
    (complaint,) = complaints_of(whole, {"x": value}, own)
    assert complaint.get("expected") == expected
    assert "theirs" not in json.dumps(complaint)


def test_alternatives_are_unrolled_to_the_nearest() -> None:
    """Of several alternatives the one of the right type, or with the right constant, speaks; or all of them jointly."""
    optional = {"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}
    assert only(optional, "abc")["reason"] == "too_long"
    assert only(optional, 5)["expected"] == ["string", "null"]
    assert only({"anyOf": [{"const": "a"}, {"const": "b"}]}, "c")["expected"] == ["a", "b"]
    shapes = {
        "oneOf": [
            {"properties": {"kind": {"const": "dot"}, "at": {"type": "integer"}}, "required": ["kind", "at"]},
            {"properties": {"kind": {"const": "line"}, "to": {"type": "integer"}}, "required": ["kind", "to", "by"]},
        ]
    }
    found = complaints_of({"type": "object", "properties": {"x": shapes}}, {"x": {"kind": "line", "at": 1}})
    assert [each["field"] for each in found] == ["/x/by", "/x/to"]


def test_every_reason_is_said_in_both_languages() -> None:
    """No reason falls back to the constant sentence of a developer's own reason."""
    assert set(LEADS) >= REASONS | SYNTAX_REASONS
    assert all(english and chinese and english != chinese for english, chinese in LEADS.values())


def test_chinese_says_the_same() -> None:
    """The Chinese message is built from the same facts."""
    schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1, "maximum": 200}}}
    (complaint,) = schema_complaints(compile_schema(schema).errors({"n": 201}), schema)
    assert message(complaint, "zh") == "数值太大；应为不带小数点的整数，不小于 1，不大于 200；收到的是整数。"


def test_a_syntax_complaint_tells_the_byte() -> None:
    """The decoder's complaints have no field, and an offset where there is one."""
    assert syntax_complaint("duplicate_key", 17).to_json() == {
        "layer": "syntax",
        "field": "",
        "reason": "duplicate_key",
        "message": "An object holds the same key twice; at byte 17.",
    }


def test_a_business_complaint_says_what_the_developer_says() -> None:
    """A developer's reason gets a constant sentence with the developer's fragment."""
    complaint = business_complaint("/end", "must_follow_start", "a time after start")
    assert complaint == Complaint("business", "/end", "must_follow_start", "a time after start")
    assert complaint.to_json()["message"] == "A rule of this tool refuses the arguments; expected a time after start."
    assert message(complaint, "zh") == "参数不符合此工具的规则；要求：a time after start。"


def test_complaints_are_values() -> None:
    """Equal complaints are one: they hash, and repeats are left out."""
    schema = {"allOf": [{"type": "object", "properties": {"a": {"enum": [[1], {"b": 2}]}}}] * 2}
    assert len(complaints_of(schema, {"a": 1})) == 1
