"""
What does a schema ask for at one place of a value? The keywords that a sentence can be made of, as plain pairs.

In come a schema and a place; out come its keywords there, through references and alternatives. Judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, cast

from gatewright.policy.evidence import Place, freeze
from gatewright.policy.model import Json, Schema
from gatewright.policy.pruning import resolve

__all__ = ["SAYABLE", "asked_at", "declared_names", "places"]

SAYABLE: Final = (
    "type",
    "enum",
    "const",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_LONGEST_EXAMPLE: Final = 100
_DEEPEST: Final = 16


def asked_at(schema: Schema, place: Place) -> dict[str, Json]:
    """Return the sayable keywords of *schema* at *place*, in hashable JSON; an example where the schema has one."""
    asked: dict[str, Json] = {}
    for node in places(schema, place, schema):
        for keyword in SAYABLE:
            if keyword in node:
                asked.setdefault(keyword, freeze(node[keyword]))
        examples = node.get("examples")
        if isinstance(examples, list | tuple) and examples:
            text = json.dumps(examples[0], ensure_ascii=False)
            if len(text) <= _LONGEST_EXAMPLE:
                asked.setdefault("example", text)
    return asked


def declared_names(schema: Schema, place: Place) -> tuple[str, ...]:
    """Return the property names that *schema* declares at *place*, in its own order."""
    names = [
        name
        for node in places(schema, place, schema)
        for name, child in cast("Mapping[str, Json]", node.get("properties", {})).items()
        if child is not False
    ]
    return tuple(dict.fromkeys(names))


def places(schema: Json, place: Place, root: Schema, depth: int = 0) -> Iterator[Schema]:
    """Yield every subschema that speaks of the value at *place*, nearest first."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST + len(place):
        return
    node = resolve(schema, root)
    if not place:
        yield node
    else:
        for child in _children(node, place[0]):
            yield from places(child, place[1:], root, depth + 1)
    for keyword in _BRANCHES:
        for branch in cast("list[Json]", node.get(keyword, [])):
            yield from places(branch, place, root, depth + 1)


def _children(node: Schema, token: str | int) -> Iterator[Json]:
    if isinstance(token, int):
        prefix = cast("list[Json]", node.get("prefixItems", []))
        yield prefix[token] if token < len(prefix) else node.get("items", True)
        return
    properties = cast("Mapping[str, Json]", node.get("properties", {}))
    if token in properties:
        yield properties[token]
    else:
        yield from cast("Mapping[str, Json]", node.get("patternProperties", {})).values()
        yield node.get("additionalProperties", True)
