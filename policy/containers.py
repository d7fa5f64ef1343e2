"""
What do two schemas accept together of objects and arrays? Flat where the names and places can be told apart.

In come two keyword maps and the way to meet what they hold; the conjunction is written into a third, and what has no
flat form is left over. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias, cast

from gatewright.policy.model import Json, Schema
from gatewright.policy.validator import compile_schema

__all__ = ["ARRAY_WORDS", "OBJECT_WORDS", "Meet", "meet_arrays", "meet_objects"]

Meet: TypeAlias = "Callable[[Json, Json], Json]"

OBJECT_WORDS: Final = frozenset(
    {
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "propertyNames",
        "dependentRequired",
        "dependentSchemas",
    }
)
"""What `meet_objects` is for."""

ARRAY_WORDS: Final = frozenset({"items", "prefixItems", "contains", "minContains", "maxContains"})
"""What `meet_arrays` is for."""

_IMPOSSIBLE: Final[Schema] = {"not": {}}
_OBJECT: Final = ("properties", "patternProperties", "additionalProperties")
_CONTAINS: Final = ("contains", "minContains", "maxContains")


def meet_objects(first: Schema, second: Schema, out: dict[str, Json], meet: Meet) -> dict[str, Json]:
    """Write into *out* what both ask of objects; return the keywords of *second* left over."""
    required = dict.fromkeys((*_names(first, "required"), *_names(second, "required")))
    if required:
        out["required"] = list(required)
    _meet_by_name(first, second, "dependentRequired", out, _union)
    _meet_by_name(first, second, "dependentSchemas", out, meet)
    if "propertyNames" in first or "propertyNames" in second:
        out["propertyNames"] = meet(first.get("propertyNames", True), second.get("propertyNames", True))
    if not _group(second, _OBJECT):
        out.update(_group(first, _OBJECT))
        return {}
    if not _are_flat(first, second):
        out.update(_group(first, _OBJECT))
        return _group(second, _OBJECT)
    _meet_properties(first, second, out, meet)
    return {}


def meet_arrays(first: Schema, second: Schema, out: dict[str, Json], meet: Meet) -> dict[str, Json]:
    """Write into *out* what both ask of arrays; return the keywords of *second* left over."""
    prefixes = [cast("Sequence[Json]", schema.get("prefixItems", ())) for schema in (first, second)]
    rest = [schema.get("items", True) for schema in (first, second)]
    places = [
        meet(*(prefix[index] if index < len(prefix) else tail for prefix, tail in zip(prefixes, rest, strict=True)))
        for index in range(max(map(len, prefixes)))
    ]
    if places:
        out["prefixItems"] = places
    if "items" in first or "items" in second:
        out["items"] = meet(*rest)
    if "contains" not in first:
        out.update(_group(second, _CONTAINS))
        return {}
    out.update(_group(first, _CONTAINS))
    return _group(second, _CONTAINS) if "contains" in second else {}


def _are_flat(first: Schema, second: Schema) -> bool:
    """Whether merging name by name is exact: patterns on one side only, and the other side open; or the same ones."""
    patterns = [set(_named(schema, "patternProperties")) for schema in (first, second)]
    if patterns[0] == patterns[1]:
        return True
    return all(
        not own or (not other and schema.get("additionalProperties", True) is True)
        for own, other, schema in ((patterns[0], patterns[1], second), (patterns[1], patterns[0], first))
    )


def _meet_properties(first: Schema, second: Schema, out: dict[str, Json], meet: Meet) -> None:
    sides = (first, second)
    names = dict.fromkeys(name for side in sides for name in _named(side, "properties"))
    patterns = dict.fromkeys(pattern for side in sides for pattern in _named(side, "patternProperties"))
    met = (
        _met_by_name(sides, names, meet)
        if not patterns
        else {name: meet(*(_asked(side, name) for side in sides)) for name in names}
    )
    if patterns:
        out["patternProperties"] = {
            pattern: meet(*(_named(side, "patternProperties").get(pattern, True) for side in sides))
            for pattern in patterns
        }
    if any("additionalProperties" in side for side in sides):
        out["additionalProperties"] = meet(*(side.get("additionalProperties", True) for side in sides))
    if not patterns and out.get("additionalProperties") is False:
        required = out.get("required", [])
        met = {name: child for name, child in met.items() if child is not False or name in cast("list[str]", required)}
    if met or any("properties" in side for side in sides):
        out["properties"] = met


def _met_by_name(sides: tuple[Schema, Schema], names: Iterable[str], meet: Meet) -> dict[str, Json]:
    """What both sides ask of each of *names*, where neither has patterns."""
    first, second = (_named(side, "properties") for side in sides)
    rest = [side.get("additionalProperties", True) for side in sides]
    if rest[1] is True:
        return {
            name: meet(first.get(name, rest[0]), second[name]) if name in second else _kept(first[name])
            for name in names
        }
    return {name: meet(first.get(name, rest[0]), second.get(name, rest[1])) for name in names}


def _kept(schema: Json) -> Json:
    """What is left of *schema* where the other side asks nothing: itself, or False for what nothing satisfies."""
    return False if schema == _IMPOSSIBLE else schema


def _asked(side: Schema, name: str) -> Json:
    """What *side* asks of the property *name* beyond its patterns, which the result still holds."""
    properties = _named(side, "properties")
    if name in properties:
        return properties[name]
    if any(_matches(pattern, name) for pattern in _named(side, "patternProperties")):
        return True
    return side.get("additionalProperties", True)


def _matches(pattern: str, name: str) -> bool:
    return compile_schema({"pattern": pattern}).accepts(name)


def _meet_by_name(first: Schema, second: Schema, keyword: str, out: dict[str, Json], meet: Meet) -> None:
    maps = _named(first, keyword), _named(second, keyword)
    if maps[0] or maps[1]:
        names = dict.fromkeys((*maps[0], *maps[1]))
        out[keyword] = {
            name: meet(maps[0][name], maps[1][name])
            if name in maps[0] and name in maps[1]
            else maps[0][name]
            if name in maps[0]
            else maps[1][name]
            for name in names
        }


def _union(first: Json, second: Json) -> Json:
    return list(dict.fromkeys((*cast("list[str]", first), *cast("list[str]", second))))


def _group(schema: Schema, keywords: Iterable[str]) -> dict[str, Json]:
    return {keyword: schema[keyword] for keyword in keywords if keyword in schema}


def _named(schema: Schema, keyword: str) -> Mapping[str, Json]:
    return cast("Mapping[str, Json]", schema.get(keyword, {}))


def _names(schema: Schema, keyword: str) -> list[str]:
    return list(cast("Iterable[str]", schema.get(keyword, ())))
