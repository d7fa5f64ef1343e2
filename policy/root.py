"""
How does a role schema of several alternatives look as one object? Providers take no union at the root.

In comes a role schema; out comes one object schema that accepts all that it accepts, and more, with what was lost.
Validation never uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from gatewright.policy.definitions import Definitions, alike, pointed_at, split_definitions, with_definitions
from gatewright.policy.meeting import is_impossible
from gatewright.policy.model import Json, Schema
from gatewright.policy.subsets import Loss

__all__ = ["flatten_root"]

_COMPOSED: Final = ("$ref", "allOf", "anyOf", "oneOf")
_TESTED: Final = ("not", "if", "enum", "const")
_ASIDE: Final = ("dependentRequired", "minProperties", "maxProperties", "propertyNames")
_MOST_NAMED: Final = 12


@dataclass(slots=True)
class _Object:
    """What is known of an object: for each name the schemas that it may have, what is required, what else it takes."""

    properties: dict[str, list[Json]] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    is_closed: bool = False


def flatten_root(schema: Schema) -> tuple[Schema, tuple[Loss, ...]]:
    """Return *schema* with one plain object at its root, and what that does not say any more."""
    body, definitions = split_definitions(schema)
    odd = [keyword for keyword in (*_COMPOSED, *_TESTED) if keyword in body]
    if not odd:
        return schema, ()
    gathered = _gather(body, definitions)
    flat: dict[str, Json] = {
        "type": "object",
        "properties": {name: _union(held) for name, held in gathered.properties.items()},
        "required": [name for name in gathered.required if name in gathered.properties],
    }
    if gathered.is_closed:
        flat["additionalProperties"] = False
    told = " ".join(filter(None, (cast("str", body.get("description", "")), _told(body, definitions))))
    losses = [Loss("", keyword, "described" if keyword in _TESTED else "merged") for keyword in odd]
    losses += [Loss("", keyword, "widened") for keyword in _ASIDE if keyword in body]
    return with_definitions({"description": told, **flat} if told else flat, definitions), tuple(losses)


def _gather(node: Json, definitions: Definitions, depth: int = 0) -> _Object:
    if not isinstance(node, Mapping) or depth > len(definitions) + 16:
        return _Object()
    whole = _own(node)
    if "$ref" in node:
        whole = _both(whole, _gather(definitions[pointed_at(node["$ref"])], definitions, depth + 1))
    for branch in _listed(node, "allOf"):
        whole = _both(whole, _gather(branch, definitions, depth + 1))
    for keyword in ("anyOf", "oneOf"):
        branches = [branch for branch in _listed(node, keyword) if not is_impossible(branch)]
        if branches:
            whole = _both(whole, _either([_gather(branch, definitions, depth + 1) for branch in branches]))
    for branch in (*(node[word] for word in ("then", "else") if word in node), *_dependent(node)):
        extra = _gather(branch, definitions, depth + 1)
        whole = _both(whole, _Object(extra.properties))
    return whole


def _own(node: Schema) -> _Object:
    properties = cast("Mapping[str, Json]", node.get("properties", {}))
    closed = node.get("additionalProperties") is False and not node.get("patternProperties")
    return _Object(
        {name: [child] for name, child in properties.items() if not is_impossible(child)},
        list(cast("Sequence[str]", node.get("required", ()))),
        closed or node.get("unevaluatedProperties") is False,
    )


def _both(first: _Object, second: _Object) -> _Object:
    """What satisfies both, or more: of two schemas for one name the first is kept."""
    properties = {**second.properties, **first.properties}
    ordered = {name: properties[name] for name in dict.fromkeys((*first.properties, *second.properties))}
    required = list(dict.fromkeys((*first.required, *second.required)))
    return _Object(ordered, required, first.is_closed or second.is_closed)


def _either(objects: Sequence[_Object]) -> _Object:
    """What satisfies one of several, or more."""
    names = dict.fromkeys(name for each in objects for name in each.properties)
    properties: dict[str, list[Json]] = {}
    for name in names:
        held = [schema for each in objects for schema in each.properties.get(name, ())]
        open_ones = [each for each in objects if name not in each.properties and not each.is_closed]
        properties[name] = [True] if open_ones else held
    required = [name for name in objects[0].required if all(name in each.required for each in objects)]
    return _Object(properties, required, all(each.is_closed for each in objects))


def _union(schemas: Iterable[Json]) -> Json:
    distinct: list[Json] = []
    for schema in schemas:
        if schema is True or schema == {}:
            return True
        if not any(alike(schema, one) for one in distinct):
            distinct.append(schema)
    return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}


def _told(body: Schema, definitions: Definitions) -> str:
    """Say which sets of names are alternatives; the names are all the caller's own."""
    branches = [*_listed(body, "anyOf"), *_listed(body, "oneOf")]
    sets = [_names(_gather(branch, definitions)) for branch in branches if not is_impossible(branch)]
    if len(set(sets)) < 2:
        return "More rules apply to combinations of arguments." if branches or "not" in body or "if" in body else ""
    return f"Give one of these sets of arguments: {'; or '.join(dict.fromkeys(sets))}."


def _names(each: _Object) -> str:
    required = list(each.required)
    optional = [name for name in each.properties if name not in required]
    words = [", ".join(required[:_MOST_NAMED])] if required else []
    if optional:
        words.append(f"optionally {', '.join(optional[:_MOST_NAMED])}")
    return " and ".join(words) or "none"


def _dependent(node: Schema) -> Iterable[Json]:
    return cast("Mapping[str, Json]", node.get("dependentSchemas", {})).values()


def _listed(node: Schema, keyword: str) -> list[Json]:
    return list(cast("Sequence[Json]", node.get(keyword, ())))
