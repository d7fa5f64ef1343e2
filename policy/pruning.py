"""
What is left of a schema when some of its arguments are taken out?

In come a closed schema and pointers; out comes a copy without them. `$ref`s on the way are put in place, so that a
definition shared with a visible argument stays whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, cast

from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.validator import compile_schema

__all__ = ["adjust", "children", "optional_names", "prune", "resolve"]

_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_OTHERS: Final = ("additionalProperties", "unevaluatedProperties")
_BENDS: Final = frozenset({"$ref", *_BRANCHES})


def prune(schema: Schema, pointer: Pointer) -> Schema:
    """
    Return *schema* without the property that *pointer* names, at every place it names.

    Where other names are taken by a pattern or a schema of theirs, the name is refused as a property that never holds.
    """
    parent, name = pointer[:-1], pointer[-1]
    return adjust(schema, parent, lambda place: _without(place, name), schema)


def adjust(schema: Schema, pointer: Pointer, change: Callable[[Schema], Schema], root: Schema) -> Schema:
    """Return *schema* with *change* applied wherever *pointer* leads to, through unions and references."""
    schema = resolve(schema, root)
    out: dict[str, Json] = dict(schema)
    for keyword in _BRANCHES:
        if keyword in out:
            branches = cast("list[Schema]", out[keyword])
            out[keyword] = [
                adjust(branch, pointer, change, root) if isinstance(branch, Mapping) else branch for branch in branches
            ]
    if not pointer:
        return change(out)
    for holder, key in _steps(out, pointer[0]):
        if key is None:
            out[holder] = adjust(cast("Schema", out[holder]), pointer[1:], change, root)
        else:
            properties = cast("Mapping[str, Schema]", out[holder])
            out[holder] = {**properties, key: adjust(properties[key], pointer[1:], change, root)}
    return out


def children(schema: Schema, pointer: Pointer, root: Schema) -> Iterator[Schema]:
    """Yield every subschema of *schema* that *pointer* leads to, references resolved, the branches of unions too."""
    while pointer and pointer[0] != "*" and _BENDS.isdisjoint(schema):
        child = cast("Mapping[str, Json]", schema.get("properties", {})).get(pointer[0])
        if not isinstance(child, dict | Mapping):
            return
        schema, pointer = child, pointer[1:]
    schema = resolve(schema, root)
    for keyword in _BRANCHES if not _BENDS.isdisjoint(schema) else ():
        for branch in cast("list[Json]", schema.get(keyword, [])):
            if branch is not False:
                yield from children(branch if isinstance(branch, Mapping) else {}, pointer, root)
    if not pointer:
        yield schema
        return
    for holder, key in _steps(schema, pointer[0]):
        child = schema[holder] if key is None else cast("Mapping[str, Json]", schema[holder])[key]
        yield from children(cast("Schema", child), pointer[1:], root)


def resolve(schema: Schema, root: Schema) -> Schema:
    """Return *schema* with a `$ref` at its top put in place; the dialect allows local references only."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    target: Json = root
    for token in parse_pointer(reference.removeprefix("#")):
        target = cast("Mapping[str, Json]", target)[token]
    siblings = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
    found: Schema = resolve(target, root) if isinstance(target, Mapping) else {} if target else {"not": {}}
    return (
        {"allOf": [found], **siblings}
        if siblings and set(siblings) - {"description", "default", "title"}
        else {
            **found,
            **siblings,
        }
    )


def _steps(schema: Schema, name: str) -> Iterator[tuple[str, str | None]]:
    properties = schema.get("properties")
    if isinstance(properties, dict | Mapping):
        names = list(properties) if name == "*" else [name] if name in properties else []
        for found in names:
            if isinstance(properties[found], dict | Mapping):
                yield "properties", found
    if name == "*":
        for keyword in ("items", "additionalProperties"):
            if isinstance(schema.get(keyword), Mapping):
                yield keyword, None


def optional_names(schema: Schema, root: Schema) -> frozenset[str]:
    """Return the names that an object of *schema* may have and may lack, those of its unions' branches too."""
    declared, required = _names(schema, root)
    return frozenset(declared - required)


def _names(schema: Schema, root: Schema) -> tuple[set[str], set[str]]:
    schema = resolve(schema, root)
    declared = set(cast("Mapping[str, Json]", schema.get("properties", {})))
    required = set(cast("list[str]", schema.get("required", [])))
    for keyword in _BRANCHES:
        for branch in cast("list[Json]", schema.get(keyword, [])):
            if isinstance(branch, Mapping):
                more, needed = _names(branch, root)
                declared |= more
                required |= needed
    return declared, required


def _without(schema: Schema, name: str) -> Schema:
    out = dict(schema)
    properties = cast("Mapping[str, Json]", schema.get("properties", {}))
    left = {other: value for other, value in properties.items() if other != name}
    if _takes_others(schema, name):
        out["properties"] = {**left, name: False}
    elif name in properties:
        out["properties"] = left
    required = cast("list[str]", schema.get("required", []))
    if name in required:
        out["required"] = [other for other in required if other != name]
    return out


def _takes_others(schema: Schema, name: str) -> bool:
    """Whether *schema* takes *name* though its properties do not have it."""
    if any(schema.get(keyword, False) is not False for keyword in _OTHERS):
        return True
    patterns = cast("Mapping[str, Json]", schema.get("patternProperties", {}))
    return any(compile_schema({"pattern": pattern}).accepts(name) for pattern in patterns)
