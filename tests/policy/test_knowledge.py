"""What a value is known to be, followed by names; where nothing is known, nothing is refused."""

from __future__ import annotations

import pytest

from gatewright.policy.knowledge import ANY, Known

SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "count": {"type": "integer"},
        "level": {"enum": ["low", "high"]},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/Line"}},
        "either": {
            "anyOf": [
                {"type": "object", "properties": {"a": {}}, "additionalProperties": False},
                {"type": "object", "properties": {"b": {}}, "additionalProperties": False},
            ]
        },
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "open": {"type": "object"},
        "closed": {"type": "object", "additionalProperties": False},
    },
    "additionalProperties": False,
    "$defs": {"Line": {"type": "object", "properties": {"sku": {"type": "string"}}, "additionalProperties": False}},
}
KNOWN = Known.of(SCHEMA)


@pytest.mark.parametrize(
    "pointer",
    [
        ("id",),
        ("lines", "*", "sku"),
        ("either", "a"),
        ("either", "b"),
        ("map", "anything"),
        ("map", "*"),
        ("open", "anything", "at", "all"),
    ],
)
def test_a_name_that_the_value_may_have(pointer: tuple[str, ...]) -> None:
    """Through references, unions, arrays and maps."""
    assert KNOWN.along(pointer) is not None


@pytest.mark.parametrize(
    "pointer",
    [
        ("ids",),
        ("lines", "*", "skus"),
        ("lines", "0"),
        ("either", "c"),
        ("closed", "a"),
        ("map", "a", "b"),
        ("id", "a"),
    ],
)
def test_a_name_that_the_value_never_has(pointer: tuple[str, ...]) -> None:
    """A scalar has no names, and a closed object no others."""
    assert KNOWN.along(pointer) is None


def test_types_are_told_where_they_are_certain() -> None:
    """Options have the types of their values."""
    assert KNOWN.at("count").kinds() == {"integer"}
    assert KNOWN.at("level").kinds() == {"string"}
    assert KNOWN.at("map").at("x").kinds() == {"integer"}
    assert ANY.kinds() == frozenset()


def test_what_a_value_can_be() -> None:
    """Definitions are at hand where a schema refers to them."""
    assert KNOWN.at("level").takes("low")
    assert not KNOWN.at("level").takes("middle")
    assert KNOWN.at("maybe").takes(None)
    assert KNOWN.at("lines").takes([{"sku": "a"}])
    assert not KNOWN.at("lines").takes([{"skus": "a"}])
    assert ANY.takes({"whatever": 1})


def test_nothing_known_refuses_nothing() -> None:
    """Any name, to any depth."""
    assert ANY.along(("a", "*", "b")) is not None
    assert Known.of(None).has("a")
