"""
Is it certain that nothing satisfies a schema, and which members and places can its values have at all?

In come schemas over one table of definitions; out comes True only where it is certain. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from gatewright.policy.definitions import Definitions, pointed_at, with_definitions
from gatewright.policy.meeting import is_impossible
from gatewright.policy.model import Json, Schema
from gatewright.policy.ranges import Range, numbers_of, sizes_of
from gatewright.policy.scalars import kinds_of, options_of
from gatewright.policy.strictness import holds_integral_float
from gatewright.policy.validator import compile_schema

__all__ = ["Emptiness", "effective", "last_place", "place", "spellings"]

_DEEPEST: Final = 12


class Emptiness:
    """What certainly cannot be, of schemas over *definitions*."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions

    def is_empty(self, schema: Json, depth: int = 0) -> bool:
        """Whether certainly nothing satisfies *schema*."""
        if is_impossible(schema):
            return True
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return False
        if "$ref" in schema and self.is_empty(self.definitions[pointed_at(schema["$ref"])], depth + 1):
            return True
        if any(self.is_empty(part, depth + 1) for part in _list(schema, "allOf")):
            return True
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema and all(self.is_empty(part, depth + 1) for part in _list(schema, keyword)):
                return True
        options = options_of(schema)
        if options is not None:
            if any(not isinstance(option, float) and holds_integral_float(option) for option in options):
                return False
            accepts = compile_schema(with_definitions(schema, self.definitions)).accepts
            return not any(accepts(each) for option in options for each in spellings(option))
        kinds = kinds_of(schema)
        return kinds is not None and all(self._is_empty_of(schema, kind, depth) for kind in kinds)

    def sizes(self, schema: Schema, kind: str, depth: int = 0) -> Range:
        """Return how large values of *schema* certainly are, by its members and places too."""
        stated = sizes_of(schema, kind)
        if kind == "array":
            return Range(stated.low, min(stated.high, last_place(schema, self, depth)), whole=True)
        if kind != "object":
            return stated
        low = max(stated.low, len(set(cast("Sequence[str]", schema.get("required", ())))))
        high = min(stated.high, len(list(self.possible(schema, depth)))) if self.is_closed(schema) else stated.high
        return Range(low, high, whole=True)

    def is_closed(self, schema: Schema) -> bool:
        """Whether objects of *schema* have no members but its `properties`."""
        return is_impossible(schema.get("additionalProperties", True)) and not schema.get("patternProperties")

    def possible(self, schema: Schema, depth: int = 0) -> Iterator[str]:
        """Yield the names of `properties` that objects of *schema* may have."""
        for name in cast("Mapping[str, Json]", schema.get("properties", {})):
            if not any(self.is_empty(part, depth + 1) for part in effective(schema, name)):
                yield name

    def _is_empty_of(self, schema: Schema, kind: str, depth: int) -> bool:
        if kind in ("integer", "number"):
            found = numbers_of(schema, whole=kind == "integer")
            return found.is_empty
        if kind not in ("string", "array", "object"):
            return False
        if self.sizes(schema, kind, depth).is_empty:
            return True
        return kind == "object" and any(
            self.is_empty(part, depth + 1)
            for name in cast("Sequence[str]", schema.get("required", ()))
            for part in effective(schema, name)
        )


def spellings(option: Json) -> tuple[Json, ...]:
    """Return *option*, and the integer where it is a number such as 1.0, which stands for both."""
    return (option, int(option)) if isinstance(option, float) and option.is_integer() else (option,)


def effective(schema: Schema, name: str) -> list[Json]:
    """Return all that *schema* asks of the member *name*."""
    found = [child for own, child in cast("Mapping[str, Json]", schema.get("properties", {})).items() if own == name]
    for pattern, child in cast("Mapping[str, Json]", schema.get("patternProperties", {})).items():
        if compile_schema({"pattern": pattern}).accepts(name):
            found.append(child)
    return found or [schema.get("additionalProperties", True)]


def place(schema: Schema, at: int) -> Json:
    """Return what *schema* asks of the element *at*."""
    prefix = _list(schema, "prefixItems")
    return prefix[at] if at < len(prefix) else schema.get("items", True)


def last_place(schema: Schema, empty: Emptiness, depth: int = 0) -> float:
    """Return how many elements arrays of *schema* may have at most."""
    most = cast("float", schema.get("maxItems", math.inf))
    for at in range(len(_list(schema, "prefixItems")) + 1):
        if empty.is_empty(place(schema, at), depth + 1):
            return min(most, at)
    return most


def _list(schema: Schema, keyword: str) -> Sequence[Json]:
    return cast("Sequence[Json]", schema.get(keyword, ()))
