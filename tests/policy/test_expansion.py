"""Size and depth of a schema once its references are followed, counted without following them twice."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.policy.expansion import check_expansion
from gatewright.policy.keywords import SchemaInvalid


def chain(length: int) -> dict[str, Any]:
    """Definitions d0 to d<length>, each an array of the next."""
    steps: dict[str, Any] = {f"d{i}": {"items": {"$ref": f"#/$defs/d{i + 1}"}} for i in range(length)}
    return {**steps, f"d{length}": {"type": "string"}}


def nested(schema: Any, levels: int) -> Any:
    return schema if levels == 0 else {"items": nested(schema, levels - 1)}


def check(body: Any, definitions: dict[str, Any]) -> None:
    check_expansion(body, definitions, {name: ("$defs", name) for name in definitions})


def test_a_chain_of_references_is_as_deep_as_what_it_leads_to() -> None:
    """Thirty steps through references pass, a thousand are refused without exhausting the stack."""
    check({"$ref": "#/$defs/d0"}, chain(30))
    with pytest.raises(SchemaInvalid, match="too_deep"):
        check({"$ref": "#/$defs/d0"}, chain(1000))


def test_depth_adds_up_where_a_definition_was_measured_before() -> None:
    """A definition that is deep by itself counts in full below a deep place, in either order."""
    definitions = chain(20)
    shallow, deep = {"$ref": "#/$defs/d0"}, nested({"$ref": "#/$defs/d0"}, 40)
    check({"properties": {"a": shallow}}, definitions)
    for first, second in ((shallow, deep), (deep, shallow)):
        with pytest.raises(SchemaInvalid, match="too_deep"):
            check({"properties": {"a": first, "b": second}}, definitions)


def test_a_tree_counts_once() -> None:
    """A recursive definition has the size of one step; going round a circle of steps is no self reference."""
    tree = {"properties": {"left": {"$ref": "#/$defs/T"}, "right": {"$ref": "#/$defs/T"}}}
    check({"$ref": "#/$defs/T"}, {"T": tree})
    check({"$ref": "#/$defs/A"}, {"A": {"items": {"$ref": "#/$defs/B"}}, "B": {"items": {"$ref": "#/$defs/A"}}})


def test_a_circle_without_a_step_is_refused_where_it_stands() -> None:
    """The place of one of the definitions in the circle is told."""
    definitions = {"A": {"then": {"$ref": "#/$defs/B"}}, "B": {"dependentSchemas": {"x": {"$ref": "#/$defs/A"}}}}
    with pytest.raises(SchemaInvalid) as caught:
        check({"items": {"$ref": "#/$defs/A"}}, definitions)
    assert (caught.value.reason, caught.value.pointer) == ("self_reference", "/$defs/A")
