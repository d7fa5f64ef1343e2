"""
Which plain values lie at the edges of what schemas say? Numbers beside bounds, strings of telling lengths, options.

In come schemas; out come values, sizes and names worth trying on them. Knows nothing of what accepts them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, cast

from gatewright.policy.definitions import as_text, subschemas
from gatewright.policy.model import Json, Schema
from gatewright.policy.specimens import FORMAT_SPECIMENS, specimens

__all__ = ["Atoms"]

_NUMBERS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LENGTHS: Final = ("minLength", "maxLength")
_SIZES: Final = ("minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains")
_ALWAYS: Final[tuple[Json, ...]] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2,
    0.5,
    1.0,
    -1.5,
    2**53,
    "",
    "a",
    "0",
    "A",
    " ",
    "a\n",
)
_LETTERS: Final = ("a", "0", "A", "-", "é")
_STRANGERS: Final = ("extra", "x", "y", "0", "A", "_")
_LONGEST: Final = 200_000
_MOST: Final = 600


@dataclass(frozen=True, slots=True)
class Atoms:
    """Scalars, and arrays and objects that stand as options; *sizes* of arrays and objects; *names* of members."""

    values: tuple[Json, ...]
    sizes: tuple[int, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, schemas: Iterable[Json]) -> Atoms:
        """Return what is worth trying on *schemas*."""
        nodes = [node for schema in schemas for node in _nodes(schema)]
        values = [value for node in nodes for value in _values(node)]
        values += [value for node in nodes for value in _texts(node)]
        kept = {as_text(value): value for value in (*values, *_ALWAYS)}
        sizes = {0, 1, 2, *(near for node in nodes for near in _near(node, _SIZES))}
        names = {name: None for node in nodes for name in _named(node)}
        return cls(
            tuple(list(kept.values())[:_MOST]), tuple(sorted(sizes)), tuple([*names, *_STRANGERS][: max(sizes) + 40])
        )


def _nodes(schema: Json) -> Iterator[Schema]:
    if isinstance(schema, Mapping):
        yield schema
        for child in subschemas(schema):
            yield from _nodes(child)


def _values(node: Schema) -> Iterator[Json]:
    """Yield the options that *node* lists, its examples, and the numbers at its bounds and beside them."""
    yield from cast("Sequence[Json]", node.get("enum", ()))
    yield from cast("Sequence[Json]", node.get("examples", ()))
    yield from (node[word] for word in ("const", "default") if word in node)
    for option in (*cast("Sequence[Json]", node.get("enum", ())), node.get("const")):
        if isinstance(option, float) and option.is_integer():
            yield int(option)
    for keyword in _NUMBERS:
        if keyword in node:
            yield from _beside(cast("float", node[keyword]))


def _beside(bound: float) -> Iterator[float]:
    whole = math.floor(bound)
    yield from (bound, whole, whole + 1, whole - 1, whole + 2, bound * 2, -bound)
    if abs(bound) < 2**50:
        yield from (bound + 0.5, bound - 0.5, bound + 0.001, bound - 0.001, float(whole), bound * 3)


def _texts(node: Schema) -> Iterator[str]:
    for length in _near(node, _LENGTHS):
        if length <= _LONGEST:
            yield from (letter * length for letter in _LETTERS)
    if isinstance(node.get("format"), str):
        yield from FORMAT_SPECIMENS.get(cast("str", node["format"]), ())
    lengths = sorted({*_near(node, _LENGTHS)})
    for pattern in (node.get("pattern"), *cast("Mapping[str, Json]", node.get("patternProperties", {}))):
        if isinstance(pattern, str):
            yield from specimens(pattern, lengths)


def _near(node: Schema, keywords: Iterable[str]) -> Iterator[int]:
    for keyword in keywords:
        if keyword in node:
            size = int(cast("float", node[keyword]))
            yield from (each for each in (size, size + 1, size - 1) if each >= 0)


def _named(node: Schema) -> Iterator[str]:
    yield from cast("Mapping[str, Json]", node.get("properties", {}))
    for pattern in cast("Mapping[str, Json]", node.get("patternProperties", {})):
        yield from specimens(pattern, ())
    names = node.get("propertyNames")
    if isinstance(names, Mapping):
        yield from (each for each in (*_values(names), *_texts(names)) if isinstance(each, str))
