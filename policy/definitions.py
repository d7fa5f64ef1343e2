"""
Which named definitions does a schema still need? `$defs` hoisted to one root, renamed where they clash, pruned.

In come schemas whose references are all `#/$defs/NAME`, as the dialect leaves them; out come bodies without `$defs`
and the one table of definitions that serves them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias, cast

from gatewright.policy.keywords import LISTS, MAPS, SINGLES
from gatewright.policy.model import Json, Schema

__all__ = [
    "Definitions",
    "alike",
    "as_text",
    "hoist",
    "point_at",
    "pointed_at",
    "reachable",
    "rebuild",
    "rename",
    "split_definitions",
    "subschemas",
    "with_definitions",
]

Definitions: TypeAlias = "Mapping[str, Json]"

PREFIX: Final = "#/$defs/"


def pointed_at(reference: Json) -> str:
    """Return the name of the definition that *reference* points at."""
    return str(reference).removeprefix(PREFIX).replace("~1", "/").replace("~0", "~")


def point_at(name: str) -> str:
    """Return the reference to the definition *name*."""
    return PREFIX + name.replace("~", "~0").replace("/", "~1")


def as_text(schema: Json) -> str:
    """Return *schema* as JSON text that is equal for equal schemas; 1, 1.0 and true differ."""
    return json.dumps(schema, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=dict)


def alike(first: Json, second: Json) -> bool:
    """Answer whether two schemas are written alike."""
    return first is second or (first == second and as_text(first) == as_text(second))


def subschemas(schema: Schema) -> Iterator[Json]:
    """Yield the schemas that stand directly in *schema*."""
    for keyword, value in schema.items():
        if keyword in SINGLES:
            yield value
        elif keyword in LISTS:
            yield from cast("Iterable[Json]", value)
        elif keyword in MAPS:
            yield from cast("Mapping[str, Json]", value).values()


def rebuild(schema: Schema, change: Callable[[Json], Json]) -> dict[str, Json]:
    """Return *schema* with *change* applied to each schema that stands directly in it."""
    out: dict[str, Json] = dict(schema)
    for keyword, value in schema.items():
        if keyword in SINGLES:
            out[keyword] = change(value)
        elif keyword in LISTS:
            out[keyword] = [change(item) for item in cast("Iterable[Json]", value)]
        elif keyword in MAPS:
            out[keyword] = {name: change(item) for name, item in cast("Mapping[str, Json]", value).items()}
    return out


def split_definitions(schema: Schema) -> tuple[Schema, Definitions]:
    """Return *schema* without its `$defs`, and them."""
    if "$defs" not in schema:
        return schema, {}
    body = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
    return body, cast("Definitions", schema["$defs"])


def reachable(schema: Json, definitions: Definitions) -> dict[str, Json]:
    """Return those of *definitions* that *schema* needs, by name, sorted."""
    found: dict[str, Json] = {}
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Mapping):
            continue
        if "$ref" in node:
            name = pointed_at(node["$ref"])
            if name not in found and name in definitions:
                found[name] = definitions[name]
                waiting.append(definitions[name])
        waiting.extend(subschemas(node))
    return dict(sorted(found.items()))


def with_definitions(body: Schema, definitions: Definitions) -> Schema:
    """Return *body* with those of *definitions* that it needs as its `$defs`."""
    if not definitions:
        return body
    needed = reachable(body, definitions)
    return {**body, "$defs": needed} if needed else body


def hoist(schema: Schema, taken: dict[str, Json]) -> Schema:
    """
    Return the body of *schema* with its definitions moved into *taken*, shared where equal, renamed where they clash.
    """
    body, own = split_definitions(schema)
    if not own:
        return body
    needed = reachable(body, own)
    names: dict[str, str] = {}
    for name in needed:
        equal = name in taken and alike(reachable(_reference(name), own), reachable(_reference(name), taken))
        names[name] = name if equal or name not in taken else _free(name, {*taken, *names.values(), *needed})
    renamed = {names[name]: rename(definition, names) for name, definition in needed.items()}
    taken.update(renamed)
    return cast("Schema", rename(body, names))


def rename(schema: Json, names: Mapping[str, str]) -> Json:
    """Return *schema* with every reference put to its new name."""
    if not isinstance(schema, Mapping) or all(name == new for name, new in names.items()):
        return schema
    out = rebuild(schema, lambda child: rename(child, names))
    if "$ref" in out:
        name = pointed_at(out["$ref"])
        out["$ref"] = point_at(names.get(name, name))
    return out


def _reference(name: str) -> Schema:
    return {"$ref": point_at(name)}


def _free(name: str, taken: Iterable[str]) -> str:
    used = set(taken)
    number = 2
    while f"{name}_{number}" in used:
        number += 1
    return f"{name}_{number}"
