"""
How is a role schema shown to a strict provider, which asks for every property? Optional ones take null there.

In comes a role schema; out comes the strict schema, its losses, and which nulls mean "left out", so that they are
dropped on the way in: those that this rendering allowed and the role schema does not. No other null is ever touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from gatewright.policy.lowering import NotStrict, lower
from gatewright.policy.model import Json, Schema
from gatewright.policy.root import flatten_root
from gatewright.policy.subsets import OPENAI_STRICT, Loss

__all__ = ["Nulls", "Strict", "drop_nulls", "make_strict"]

_DEEPEST: Final = 10
_MOST_PROPERTIES: Final = 5_000
_MOST_OPTIONS: Final = 1_000
_NULL: Final[Schema] = {"type": "null"}


@dataclass(frozen=True, slots=True)
class Nulls:
    """Where null means "left out": of an object the names, and what is below its names or, under `*`, its items."""

    names: frozenset[str] = frozenset()
    below: Mapping[str, Nulls] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.names or self.below)


@dataclass(frozen=True, slots=True)
class Strict:
    """
    A role schema as a strict one, or as a plain object schema where it cannot be (*is_strict* False).

    *nulls* are empty where it is not strict.
    """

    schema: Schema
    is_strict: bool
    losses: tuple[Loss, ...]
    nulls: Nulls


def make_strict(schema: Schema) -> Strict:
    """Return the strict form of *schema*; the loss that stands against it says why there is none."""
    flat, losses = flatten_root(schema)
    try:
        lowered, more = lower(flat, OPENAI_STRICT)
        _check_limits(lowered)
    except NotStrict as refused:
        return Strict(flat, False, (*losses, refused.loss), Nulls())
    nulls = _nulls([lowered])
    return Strict(cast("Schema", _complete(lowered, nulls)), True, (*losses, *more), nulls)


def drop_nulls(value: Json, nulls: Nulls) -> Json:
    """Return *value* without the nulls that mean "left out"; what does not change is shared, not copied."""
    if isinstance(value, list):
        inner = nulls.below.get("*")
        return [drop_nulls(item, inner) for item in value] if inner else value
    if not isinstance(value, Mapping):
        return value
    return {
        name: drop_nulls(item, nulls.below[name]) if name in nulls.below else item
        for name, item in value.items()
        if item is not None or name not in nulls.names
    }


_Level: TypeAlias = "list[Json]"


def _nulls(level: _Level) -> Nulls:
    """Return the nulls of everything that may stand at one place: *level* are all schemas that speak of it."""
    nodes = list(_branches(level))
    objects = [node for node in nodes if "properties" in node]
    names: set[str] = set()
    below: dict[str, Nulls] = {}
    for name in dict.fromkeys(name for node in objects for name in _properties(node)):
        declaring = [node for node in objects if name in _properties(node)]
        children = [_properties(node)[name] for node in declaring]
        is_optional = any(name not in cast("Sequence[str]", node["required"]) for node in declaring)
        if is_optional and not any(_takes_null(child) for child in children):
            names.add(name)
        inner = _nulls(children)
        if inner:
            below[name] = inner
    items = [node["items"] for node in nodes if "items" in node]
    inner = _nulls(items) if items else Nulls()
    return Nulls(frozenset(names), {**below, "*": inner} if inner else below)


def _complete(schema: Json, nulls: Nulls) -> Json:
    """Return *schema* with every property required, and null for what was optional."""
    node = dict(cast("Schema", schema))
    if "anyOf" in node:
        node["anyOf"] = [_complete(branch, nulls) for branch in cast("Sequence[Json]", node["anyOf"])]
    if "items" in node:
        node["items"] = _complete(node["items"], nulls.below.get("*", Nulls()))
    if "properties" in node:
        required = cast("Sequence[str]", node["required"])
        inner = {name: _complete(child, nulls.below.get(name, Nulls())) for name, child in _properties(node).items()}
        node["properties"] = {name: child if name in required else _nullable(child) for name, child in inner.items()}
        node["required"] = list(inner)
    return node


def _nullable(schema: Json) -> Json:
    node = dict(cast("Schema", schema))
    if _takes_null(node):
        return node
    if "anyOf" in node:
        return {**node, "anyOf": [*cast("Sequence[Json]", node["anyOf"]), _NULL]}
    if isinstance(node.get("type"), str) and "enum" not in node and "const" not in node:
        return {**node, "type": [cast("str", node["type"]), "null"]}
    told = {"description": node.pop("description")} if "description" in node else {}
    return {**told, "anyOf": [node, _NULL]}


def _takes_null(schema: Json) -> bool:
    """Whether null fits; strict schemas have a type wherever they have no alternatives."""
    kinds = [node.get("type") for node in _branches([schema])]
    return any(kind == "null" or (isinstance(kind, list) and "null" in kind) for kind in kinds)


def _branches(level: _Level) -> Iterator[Schema]:
    for node in level:
        whole = cast("Schema", node)
        if "anyOf" in whole:
            yield from _branches(list(cast("Sequence[Json]", whole["anyOf"])))
        else:
            yield whole


def _properties(node: Schema) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", node["properties"])


def _check_limits(schema: Schema) -> None:
    """Refuse what is over the provider's bounds on depth, properties and options."""
    properties = options = 0
    level: _Level = [schema]
    for _ in range(_DEEPEST + 1):
        nodes = list(_branches(level))
        properties += sum(len(_properties(node)) for node in nodes if "properties" in node)
        options += sum(len(cast("Sequence[Json]", node["enum"])) for node in nodes if "enum" in node)
        level = [child for node in nodes for child in _children(node)]
        if not level:
            break
    else:
        raise NotStrict(Loss("", "depth", "not_strict"))
    if properties > _MOST_PROPERTIES:
        raise NotStrict(Loss("", "properties", "not_strict"))
    if options > _MOST_OPTIONS:
        raise NotStrict(Loss("", "enum", "not_strict"))


def _children(node: Schema) -> Iterator[Json]:
    if "properties" in node:
        yield from _properties(node).values()
    if "items" in node:
        yield node["items"]
