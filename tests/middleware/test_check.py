"""The decode and validate half alone: nothing is authorized, nothing runs."""

from __future__ import annotations

from typing import Any

import pytest

from desk import open_desk
from gatewright import Guard, Invalid, Misuse
from gatewright.middleware.results import FORBIDDEN

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "minLength": 1}, "days": {"type": "integer", "maximum": 9, "default": 3}},
    "required": ["city"],
}


def far(arguments: dict[str, Any], settings: Any) -> dict[str, Any]:
    """A rule: not too far ahead."""
    if arguments["days"] > settings["most"]:
        raise Invalid("too_far", field="/days", expected=f"at most {settings['most']}")
    return arguments


def test_what_passes_comes_back_filled() -> None:
    """With defaults, as JSON."""
    assert Guard.check(SCHEMA, '{"city":"Bern"}').to_json() == {"status": "ok", "data": {"city": "Bern", "days": 3}}


@pytest.mark.parametrize(
    ("raw", "layer", "reason"),
    [
        ('{"city":"Bern","city":"Chur"}', "syntax", "duplicate_key"),
        ("{", "syntax", "malformed"),
        ("[]", "syntax", "not_an_object"),
        ({"city": 1}, "schema", "wrong_type"),
        ({"city": "Bern", "days": 3.0}, "schema", "wrong_type"),
        ({"city": "Bern", "days": True}, "schema", "wrong_type"),
        ({"city": "Bern", "street": ""}, "schema", "unknown_argument"),
        ({}, "schema", "missing"),
        ({"city": "Bern", "days": 8}, "business", "too_far"),
    ],
)
def test_what_does_not_pass_says_where_and_why(raw: Any, layer: str, reason: str) -> None:
    """The same complaints as in a call."""
    error = Guard.check(SCHEMA, raw, rules=[far], settings={"most": 7}).to_json()["errors"][0]  # type: ignore[index, call-overload]
    assert (error["layer"], error["reason"]) == (layer, reason)


def test_a_rule_that_breaks_has_not_agreed() -> None:
    """And its exception goes nowhere."""
    assert Guard.check(SCHEMA, '{"city":"Bern"}', rules=[far]) == FORBIDDEN


def test_a_guarded_function_is_checked_by_its_base_schema_and_rules() -> None:
    """Its body is not entered."""
    desk = open_desk()
    echo = desk.tools["note.echo"]
    assert desk.guard.check(echo, '{"text":" x "}', settings={"longest": 5}).status == "ok"
    refused = desk.guard.check(echo, '{"text":"longer"}', settings={"longest": 5}, locale="zh")
    assert refused.to_json()["reason"] == "too_long_for_us"
    assert desk.ran == []


@pytest.mark.parametrize("what", ["note.echo", len, None, {"type": "array"}, {"type": "object", "requird": []}])
def test_anything_else_is_misuse(what: Any) -> None:
    """Told to the developer."""
    with pytest.raises(Misuse):
        Guard.check(what, "{}")
