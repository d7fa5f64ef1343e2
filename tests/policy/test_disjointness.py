"""Alternatives that no value can fit two of: by type, or by a constant that they all require."""

from __future__ import annotations

from typing import Any

from gatewright.policy.disjointness import are_disjoint


def kind(*options: Any, required: bool = True, **rest: Any) -> dict[str, Any]:
    names = ["kind"] if required else []
    return {"type": "object", "properties": {"kind": {"enum": list(options)}}, "required": names, **rest}


def test_types_tell_apart() -> None:
    """Different types are apart; an integer is a number, and a missing type is any."""
    assert are_disjoint([{"type": "string"}, {"type": "null"}, kind("a")], {})
    assert not are_disjoint([{"type": "integer"}, {"type": "number"}], {})
    assert not are_disjoint([{"type": "string"}, {}], {})
    assert not are_disjoint([{"type": "string"}, True], {})


def test_a_required_constant_tells_apart() -> None:
    """Objects are apart where a name that both require has no value in common, also through references."""
    assert are_disjoint([kind("a"), kind("b", "c")], {})
    assert are_disjoint([{"$ref": "#/$defs/A"}, kind("b")], {"A": kind("a")})
    assert not are_disjoint([kind("a", "b"), kind("b")], {})


def test_a_constant_that_may_be_absent_tells_nothing() -> None:
    """If one of them does not require the name, a value without it fits both; and so does null where both take it."""
    assert not are_disjoint([kind("a"), kind("b", required=False)], {})
    assert not are_disjoint([kind("a", type=["object", "null"]), kind("b", type=["object", "null"])], {})
    assert not are_disjoint([kind("a"), kind("b"), {"type": "object"}], {})


def test_references_that_lead_nowhere_else_end() -> None:
    """A circle of references is not followed for ever."""
    assert not are_disjoint([{"$ref": "#/$defs/A"}, {"type": "null"}], {"A": {"$ref": "#/$defs/A"}})
