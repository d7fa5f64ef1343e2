"""Pins are set whatever was sent, defaults where nothing was."""

from __future__ import annotations

from gatewright.policy.filling import Filling, schema_defaults
from gatewright.policy.model import Json, Schema

BASE: Schema = {
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "default": 50},
        "filter": {"$ref": "#/$defs/filter"},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"tax": {"default": 0}}}},
    },
    "$defs": {
        "filter": {"type": "object", "properties": {"deep": {"default": [1]}, "again": {"$ref": "#/$defs/filter"}}}
    },
}


def test_defaults_are_found_at_every_depth_and_recursion_ends() -> None:
    """A definition that refers to itself is entered once."""
    assert dict(schema_defaults(BASE, BASE)) == {
        ("limit",): 50,
        ("filter", "deep"): [1],
        ("lines", "*", "tax"): 0,
    }


def test_filling_never_changes_what_was_sent_and_shares_nothing() -> None:
    """A tool that changes a filled list does not change the next call's."""
    sent: dict[str, Json] = {"filter": {}, "lines": [{}, {"tax": 7}]}
    plan = Filling({("branch",): ["zh1"]}, dict(schema_defaults(BASE, BASE)))
    first, second = plan.fill(sent), plan.fill(sent)
    assert first == {
        "limit": 50,
        "branch": ["zh1"],
        "filter": {"deep": [1]},
        "lines": [{"tax": 0}, {"tax": 7}],
    }
    assert sent == {"filter": {}, "lines": [{}, {"tax": 7}]}
    assert first["branch"] is not second["branch"]


def test_a_pin_wins_over_what_was_sent() -> None:
    """Sending a pinned name is refused elsewhere; if it came this far it would still lose."""
    assert Filling({("branch",): "zh1"}, {}).fill({"branch": "zh9"}) == {"branch": "zh1"}
