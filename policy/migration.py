"""
Is every word of this schema one of ours, and how is it written today? Older drafts' spellings become draft 2020-12.

In comes a schema of bounded size; out come its body and its definitions apart, every reference `#/$defs/NAME`, and
notes on what was rewritten. Only what keeps its meaning is rewritten; the rest is refused with the place.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, cast
from urllib.parse import unquote

from gatewright.policy.definitions import point_at
from gatewright.policy.keywords import (
    ANNOTATIONS,
    FOREIGN_TYPES,
    FORMATS,
    HINTS,
    KEYWORDS,
    LISTS,
    MAPS,
    SINGLES,
    Note,
    SchemaInvalid,
)
from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.patterns import fault_of
from gatewright.policy.pointers import format_pointer, parse_pointer

__all__ = ["Migrated", "migrate"]

_DEEPEST: Final = 64
_DRAFTS: Final = re.compile(
    r"https?://json-schema\.org/(?:draft/(?:2020-12|2019-09)|(?P<old>draft-0[467]))/schema#?", re.ASCII
)
_ODD: Final = re.compile("[^A-Za-z0-9_.-]")
_AT_ROOT: Final = frozenset({"$schema", "$id", "id"})
_HOMES: Final = ("$defs", "definitions")
_BOUNDS: Final = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}


@dataclass(frozen=True, slots=True)
class Migrated:
    """A schema in today's words, its definitions apart. *places* says where each definition stood."""

    body: Schema
    definitions: dict[str, Json]
    places: Mapping[str, Pointer]
    notes: tuple[Note, ...]


def migrate(schema: Schema) -> Migrated:
    """
    Return *schema* in the words of the dialect.

    Raises:
        SchemaInvalid: a word, a reference, a format or a pattern that is not in the dialect.
    """
    walk = _Walk(schema)
    body = walk.schema(walk.target(()), (), 0)
    definitions: dict[str, Json] = {}
    while walk.waiting:
        place = walk.waiting.popleft()
        definitions[walk.names[place]] = walk.schema(walk.target(place), place, 0)
    return Migrated(
        cast("Schema", body), definitions, {name: place for place, name in walk.names.items()}, tuple(walk.notes)
    )


class _Walk:
    """One walk over one schema; definitions are walked when something refers to them, the others are left out."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.names: dict[Pointer, str] = {}
        self.waiting: deque[Pointer] = deque()
        self._used: set[str] = set()
        self._declared = {name for home in _HOMES for name in cast("Mapping[str, Json]", root.get(home) or {})}
        self.notes: list[Note] = []
        declared = root.get("$schema", "https://json-schema.org/draft/2020-12/schema")
        draft = _DRAFTS.fullmatch(declared) if isinstance(declared, str) else None
        if draft is None:
            raise SchemaInvalid("unsupported_draft", "/$schema", hint="draft 2020-12, 2019-09, 7, 6 or 4")
        self.ignores_siblings = draft["old"] is not None

    def schema(self, node: Json, at: Pointer, depth: int) -> Json:
        """Return *node*, which stands at *at*, in the words of the dialect."""
        if isinstance(node, bool):
            return node
        if not isinstance(node, Mapping):
            _refuse("not_a_schema", at, "a schema is an object, true or false")
        if depth > _DEEPEST:
            _refuse("too_deep", at, f"at most {_DEEPEST} levels of schemas")
        out: dict[str, Json] = {}
        for keyword, value in node.items():
            out.update(self._keyword(keyword, value, node, at, depth))
        return out

    def target(self, place: Pointer) -> Json:
        """Return what stands at *place* in the schema as it was given."""
        if not place:
            return {keyword: value for keyword, value in self.root.items() if keyword not in _AT_ROOT}
        found: Json = self.root
        for token in place:
            if isinstance(found, Mapping) and token in found:
                found = found[token]
            elif isinstance(found, list) and token.isascii() and token.isdigit() and int(token) < len(found):
                found = found[int(token)]
            else:
                raise KeyError(token)
        return found

    def _keyword(self, keyword: str, value: Json, node: Schema, at: Pointer, depth: int) -> Schema:
        place = (*at, keyword)
        if keyword in _HOMES:
            return {}
        if keyword == "$ref":
            return {"$ref": self._reference(value, node, place)}
        older = self._older(keyword, value, node, place, depth)
        if older is not None:
            return older
        if keyword not in KEYWORDS:
            known = "unsupported_keyword" if keyword in HINTS else "unknown_keyword"
            _refuse(known, place, HINTS.get(keyword, "not a keyword of draft 2020-12; is it misspelt?"))
        if keyword in SINGLES:
            return {keyword: self.schema(value, place, depth + 1)}
        if keyword in LISTS:
            return {keyword: self._list(value, place, depth)}
        if keyword in MAPS:
            return {keyword: self._map(value, place, depth, patterns=keyword == "patternProperties")}
        if keyword == "type":
            _check_type(value, place)
        if keyword == "format" and value not in FORMATS:
            _refuse("unknown_format", place, "one of " + ", ".join(sorted(FORMATS)))
        if keyword == "pattern":
            _check_pattern(value, place)
        return {keyword: value}

    def _older(self, keyword: str, value: Json, node: Schema, place: Pointer, depth: int) -> Schema | None:
        """Rewrite what older drafts and OpenAPI write otherwise; None where *keyword* is written as today."""
        if keyword == "items" and isinstance(value, list):
            self._note("migrated", place)
            return {"prefixItems": self._list(value, place, depth)}
        if keyword == "additionalItems":
            self._note("migrated" if isinstance(node.get("items"), list) else "dropped", place)
            return {"items": self.schema(value, place, depth + 1)} if isinstance(node.get("items"), list) else {}
        if keyword == "dependencies":
            self._note("migrated", place)
            return self._dependencies(value, place, depth)
        if keyword in _BOUNDS.values() and isinstance(value, bool):
            self._note("migrated", place)
            return {}
        if keyword in _BOUNDS and node.get(_BOUNDS[keyword]) is True:
            return {_BOUNDS[keyword]: value}
        if keyword == "discriminator":
            self._note("dropped", place)
            return {}
        return None

    def _dependencies(self, value: Json, place: Pointer, depth: int) -> Schema:
        if not isinstance(value, Mapping):
            _refuse("not_a_schema", place, "an object")
        names = {name: item for name, item in value.items() if isinstance(item, list)}
        schemas = {n: self.schema(item, (*place, n), depth + 1) for n, item in value.items() if n not in names}
        whole: Schema = {"dependentRequired": names, "dependentSchemas": schemas}
        return {keyword: item for keyword, item in whole.items() if item}

    def _list(self, value: Json, place: Pointer, depth: int) -> list[Json]:
        if not isinstance(value, list):
            _refuse("not_a_schema", place, "a list of schemas")
        return [self.schema(item, (*place, str(index)), depth + 1) for index, item in enumerate(value)]

    def _map(self, value: Json, place: Pointer, depth: int, *, patterns: bool) -> dict[str, Json]:
        if not isinstance(value, Mapping):
            _refuse("not_a_schema", place, "an object of schemas")
        if patterns:
            for pattern in value:
                _check_pattern(pattern, (*place, pattern))
        return {name: self.schema(item, (*place, name), depth + 1) for name, item in value.items()}

    def _reference(self, value: Json, node: Schema, place: Pointer) -> str:
        """Return the reference to the definition that *value* names, which is walked in its turn."""
        if not isinstance(value, str) or not value.startswith("#"):
            _refuse("remote_reference", place, "only references inside the schema, such as #/$defs/Name")
        fragment = unquote(value[1:])
        if fragment and not fragment.startswith("/"):
            _refuse("unsupported_reference", place, "anchors are not supported; write #/$defs/Name")
        if self.ignores_siblings and node.keys() - ANNOTATIONS - {"$ref", *_HOMES, *_AT_ROOT}:
            _refuse("ambiguous_reference", place, "this draft ignores what stands beside $ref; declare 2020-12")
        target = parse_pointer(fragment)
        try:
            self.target(target)
        except KeyError:
            _refuse("dangling_reference", place, "it leads nowhere")
        if target not in self.names:
            self.names[target] = self._name(target)
            self.waiting.append(target)
        return point_at(self.names[target])

    def _name(self, target: Pointer) -> str:
        plain = len(target) == 2 and target[0] in _HOMES
        wanted = _ODD.sub("_", target[1] if plain else "_".join(target)) or "root"
        name, number = wanted, 1
        while name in self._used or (name in self._declared and not (plain and name == target[1])):
            number += 1
            name = f"{wanted}_{number}"
        self._used.add(name)
        return name

    def _note(self, code: str, place: Pointer) -> None:
        self.notes.append(Note(code, format_pointer(place)))


def _check_type(value: Json, place: Pointer) -> None:
    """Refuse other languages' words for types with ours; what is no type at all the meta-schema refuses."""
    for name in value if isinstance(value, list) else [value]:
        if isinstance(name, str) and name in FOREIGN_TYPES:
            ours = f"write {FOREIGN_TYPES[name]!r}" if FOREIGN_TYPES[name] else "leave the type out"
            _refuse("foreign_type", place, f"{name!r} is no JSON type; {ours}, or let gatewright import normalise it")


def _check_pattern(pattern: Json, place: Pointer) -> None:
    fault = fault_of(pattern) if isinstance(pattern, str) else "a pattern is a string"
    if fault:
        _refuse("unsupported_pattern", place, fault)


def _refuse(reason: str, place: Pointer, hint: str) -> NoReturn:
    raise SchemaInvalid(reason, format_pointer(place), hint=hint)
