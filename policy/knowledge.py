"""
What is a value known to be? The schema behind an argument, an attribute, a claim or a result, followed by names.

In come a schema and steps into it; out come what its value may be and which names it may have. Never refuses what it
cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from gatewright.policy.evidence import kind_of
from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.pruning import children
from gatewright.policy.scalars import kinds_of
from gatewright.policy.validator import compile_schema

__all__ = ["ANY", "Known", "widened"]

_TELLING: Final = frozenset({"properties", "patternProperties", "anyOf", "oneOf", "allOf"})


@dataclass(frozen=True, slots=True)
class Known:
    """
    What a value is known to be: any of *schemas*, whose references lead into *root*; none at all means anything.

    *code* and *what* name a member that the value never has.
    """

    schemas: tuple[Schema, ...] = ()
    root: Schema | None = None
    code: str = "unknown_field"
    what: str = "field"
    _steps: dict[str, Known] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, schema: Schema | None, code: str = "unknown_field", what: str = "field") -> Known:
        """Return what is known of the values of *schema*."""
        found = () if schema is None else tuple(children(schema, (), schema))
        return cls(found, schema, code, what)

    def at(self, name: str) -> Known:
        """Return what is known of the member *name*, `*` for elements."""
        known = self._steps.get(name)
        if known is None:
            root = self.root or {}
            found: list[Schema] = []
            for schema in self.schemas:
                found.extend(children(schema, ("*",), root) if name == "*" else _members(schema, name, root))
            known = self._steps[name] = Known(tuple(found), self.root, self.code, self.what)
        return known

    def along(self, pointer: Pointer) -> Known | None:
        """Return what is known of the value at *pointer*, or None where there can be none."""
        known = self
        for name in pointer:
            if not known.has(name):
                return None
            known = known.at(name)
        return known

    def has(self, name: str) -> bool:
        """Whether the value can have the member *name*; anything can."""
        return (
            not self.schemas or bool(self.at(name).schemas) or any(_is_silent(schema, name) for schema in self.schemas)
        )

    def names(self) -> Iterator[str]:
        """The members that the value is known to have."""
        for schema in self.schemas:
            yield from cast("Mapping[str, Json]", schema.get("properties", {}))

    def schema(self) -> Schema | None:
        """Return one schema for all of it, without definitions; None where nothing is known."""
        if not self.schemas:
            return None
        return self.schemas[0] if len(self.schemas) == 1 else {"anyOf": list(self.schemas)}

    def kinds(self) -> frozenset[str]:
        """The types that the value can have; empty where that is not known."""
        found: set[str] = set()
        for schema in self.schemas:
            kinds = _kinds(schema)
            if not kinds:
                return frozenset()
            found |= kinds
        return frozenset(found)

    def takes(self, value: Json) -> bool:
        """Whether the value can be *value*."""
        definitions = {"$defs": self.root["$defs"]} if self.root and "$defs" in self.root else {}
        return not self.schemas or any(
            compile_schema({**definitions, **schema}).accepts(value) for schema in self.schemas
        )

    def options(self) -> list[str]:
        """The texts that the value is one of, where that is known."""
        listed = [option for schema in self.schemas for option in cast("list[Json]", schema.get("enum", []))]
        return [option for option in listed if isinstance(option, str)]


ANY: Final = Known()
"""Nothing is known of the value."""


def widened(kinds: frozenset[str]) -> frozenset[str]:
    """Return *kinds* with the numbers that integers are."""
    return kinds | {"number"} if "integer" in kinds else kinds


def _members(schema: Schema, name: str, root: Schema) -> Iterator[Schema]:
    properties = schema.get("properties")
    child = properties.get(name) if isinstance(properties, Mapping) else None
    for place in (child if child is not None else schema.get("additionalProperties"),):
        if isinstance(place, Mapping):
            yield from children(place, (), root)
    if child is None and "patternProperties" in schema:
        yield {}


def _is_silent(schema: Schema, name: str) -> bool:
    """Whether *schema* says nothing of the member *name* of what could have members."""
    kinds = _kinds(schema)
    if kinds and not kinds & ({"object", "array"} if name == "*" else {"object"}):
        return False
    return not _TELLING & schema.keys() and schema.get("additionalProperties") is not False


def _kinds(schema: Schema) -> set[str]:
    """The types that *schema* allows; empty where it does not say."""
    kinds = kinds_of(schema)
    if kinds is not None:
        return set(kinds)
    options = [schema["const"]] if "const" in schema else list(cast("list[Json]", schema.get("enum", [])))
    return {kind_of(option) for option in options}
