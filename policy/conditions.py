"""
Does this data satisfy these conditions? Maps of name → JSON Schema, judged so that what is absent never satisfies.

In come conditions (with references) and the data they speak of; out come the names that are not met. A keyword
implies its type at every depth, also below `not`; a name in `properties` must be present. Source: POLICY.md,
"Conditions".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Final, cast

from cachetools import LRUCache

from gatewright.policy.definitions import as_text
from gatewright.policy.dialect import SchemaValidator, compile_schema
from gatewright.policy.evidence import kind_of
from gatewright.policy.keywords import IMPLIED
from gatewright.policy.model import Conditions, Json, JsonObject, Schema
from gatewright.policy.references import Lookup, Unfilled, has_references, substitute

__all__ = ["NO_CONDITIONS", "ConditionSet", "Unmet", "typed"]

_SUBSCHEMAS = ("items", "contains", "additionalProperties", "propertyNames")
_LISTS = ("anyOf", "allOf", "oneOf", "prefixItems")
_MOST_SUBSTITUTED = 64


@dataclass(frozen=True, slots=True)
class Unmet:
    """A name whose condition does not hold. *forbidden*: `on_violation: forbidden`, or a reference was not filled."""

    name: str
    forbidden: bool = False


class ConditionSet:
    """
    Conditions over one map of data, compiled once where they hold no late reference.

    `unmet` never raises for anything in the data.
    """

    __slots__ = ("_compiled", "_forbidden", "_late", "_lock", "_schemas", "_validator", "names")

    def __init__(self, conditions: Conditions) -> None:
        self.names: tuple[str, ...] = tuple(conditions)
        self._forbidden = frozenset(name for name, schema in conditions.items() if "on_violation" in schema)
        self._schemas = {
            name: {keyword: value for keyword, value in schema.items() if keyword != "on_violation"}
            for name, schema in conditions.items()
        }
        self._late = any(has_references(schema) for schema in self._schemas.values())
        self._validator = None if self._late else _compile(self._schemas)
        self._compiled: LRUCache[str, SchemaValidator] = LRUCache(maxsize=_MOST_SUBSTITUTED)
        self._lock = Lock()

    def __bool__(self) -> bool:
        return bool(self.names)

    def references(self, kind: str) -> Iterator[str]:
        """The paths of the references of *kind* that stand in these conditions."""
        for schema in self._schemas.values():
            yield from _paths(schema, kind)

    def unmet(self, data: JsonObject, lookup: Lookup) -> tuple[Unmet, ...]:
        """Return what does not hold for *data*; an empty tuple when every condition holds."""
        if self._validator is not None and self._validator.accepts(data, integral_floats=True):
            return ()
        return tuple(
            Unmet(name, verdict) for name in self.names if (verdict := self._judge(name, data, lookup)) is not None
        )

    def _judge(self, name: str, data: JsonObject, lookup: Lookup) -> bool | None:
        """None when the condition *name* holds, else whether its violation forbids."""
        try:
            schema = substitute(self._schemas[name], lookup)
        except Unfilled:
            return True
        validator = self._substituted({name: cast("Schema", schema)})
        if validator.accepts({name: data[name]} if name in data else {}, integral_floats=True):
            return None
        return name in self._forbidden

    def _substituted(self, schemas: Mapping[str, Schema]) -> SchemaValidator:
        key = as_text(cast("Json", schemas))
        with self._lock:
            found = self._compiled.get(key)
        if found is None:
            found = _compile(schemas)
            with self._lock:
                self._compiled[key] = found
        return found


def typed(schema: Json) -> Json:
    """Return *schema* with the types its keywords imply written out, and its `properties` required."""
    if not isinstance(schema, Mapping):
        return schema
    out: dict[str, Json] = dict(schema)
    kinds = _kinds(schema)
    for keyword in _SUBSCHEMAS:
        if keyword in out:
            out[keyword] = typed(out[keyword])
    for keyword in _LISTS:
        if keyword in out:
            out[keyword] = [typed(item) for item in cast("list[Json]", out[keyword])]
    properties = out.get("properties")
    if isinstance(properties, Mapping):
        out["properties"] = {name: typed(item) for name, item in properties.items()}
        out["required"] = sorted({*cast("Iterable[str]", out.get("required", ())), *properties})
    if "not" in out:
        kinds.append(_domain(out["not"]))
        out["not"] = typed(out["not"])
    if len(kinds) == 1 and set(cast("Schema", kinds[0])) == {"type"} and "type" not in out:
        out.update(cast("Schema", kinds[0]))
    elif kinds:
        out["allOf"] = [*cast("list[Json]", out.get("allOf", [])), *kinds]
    return out


def _domain(schema: Json) -> Json:
    """The values that *schema* speaks about: those of the types its keywords imply, with its properties present."""
    if not isinstance(schema, Mapping):
        return True
    out: dict[str, Json] = {}
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        out["properties"] = {name: _domain(item) for name, item in properties.items()}
        out["required"] = sorted(properties)
    for keyword in ("items", "contains"):
        if keyword in schema:
            out["items"] = _domain(schema[keyword])
    parts = _kinds(schema) + [
        _domain(item) for key in ("anyOf", "allOf", "oneOf") for item in cast("list[Json]", schema.get(key, []))
    ]
    if "not" in schema:
        parts.append(_domain(schema["not"]))
    if parts:
        out["allOf"] = parts
    return out


def _kinds(schema: Schema) -> list[Json]:
    """Schemas of the types a value must have for *schema* to speak about it: all that its keywords imply."""
    implied = sorted({IMPLIED[keyword] for keyword in schema if keyword in IMPLIED})
    if implied:
        return [{"type": kind} for kind in implied]
    values = [schema["const"]] if "const" in schema else list(cast("list[Json]", schema.get("enum", [])))
    members: list[Json] = [*sorted({kind_of(value).replace("integer", "number") for value in values})]
    return [{"type": members if len(members) > 1 else members[0]}] if members else []


def _compile(schemas: Mapping[str, Schema]) -> SchemaValidator:
    return compile_schema(
        {
            "type": "object",
            "required": sorted(schemas),
            "properties": {name: typed(schema) for name, schema in schemas.items()},
        }
    )


def _paths(value: Json, kind: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        path = value.get(kind)
        if isinstance(path, str):
            yield path
        for item in value.values():
            yield from _paths(item, kind)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _paths(item, kind)


NO_CONDITIONS: Final = ConditionSet({})
"""What asks nothing, compiled once."""
