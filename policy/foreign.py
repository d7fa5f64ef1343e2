"""
How is a schema of somebody else's dialect written in ours? Types, nullability, formats and keywords, one by one.

In comes a schema as OpenAPI, Gemini or a benchmark writes it; out comes one in our words with a `Change` for everything
that was rewritten. What has no words of ours is left for the dialect to refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, cast

from gatewright.policy.keywords import (
    DATA,
    FOREIGN_TYPES,
    FORMATS,
    HINTS,
    IN_PLACE,
    KEYWORDS,
    LISTS,
    MAPS,
    SINGLES,
    SchemaInvalid,
)
from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.patterns import fault_of
from gatewright.policy.pointers import format_pointer
from gatewright.policy.validator import compile_schema

__all__ = ["Change", "normalise"]

_OLDER: Final = frozenset({"$schema", "$id", "id", "definitions", "additionalItems", "dependencies", "discriminator"})
_HANDLED: Final = frozenset({"nullable", "optional", "example"})
_MEANT: Final = HINTS.keys() - {"nullable", "contentEncoding", "contentMediaType"}
_DEEPEST: Final = 80
_PLAIN: Final[tuple[str, ...]] = ("type", "enum", "const", "minimum", "maximum")
_OPTIONS: Final[tuple[str, ...]] = ("enum", "const", "$ref", "allOf", "oneOf")
_OBJECTS: Final = frozenset({"properties", "patternProperties", "additionalProperties", *IN_PLACE})


@dataclass(frozen=True, slots=True)
class Change:
    """
    What was rewritten at *pointer*, in words, and what that does to the values that are accepted.

    *effect* is `same`, `narrower` or `wider`.
    """

    pointer: str
    text: str
    effect: str

    def __str__(self) -> str:
        return f"{self.pointer}: {self.text} ({self.effect})"


def normalise(schema: Schema) -> tuple[Schema, tuple[Change, ...]]:
    """Return *schema* in our words, and every change; what it means stays unless a change says otherwise."""
    walk = _Walk()
    return cast("Schema", walk.schema(schema, ())), tuple(walk.changes)


class _Walk:
    def __init__(self) -> None:
        self.changes: list[Change] = []

    def schema(self, node: Json, at: Pointer) -> Json:
        if not isinstance(node, Mapping) or len(at) > _DEEPEST:
            return node
        out: dict[str, Json] = {}
        for keyword, value in node.items():
            out.update(self._keyword(keyword, value, (*at, keyword)))
        self._require(out, node, at)
        if node.get("nullable") is True:
            self._note(at, "nullable", "null is one of its types", "same")
            _add_null(out)
        if isinstance(out.get("items"), list) and not out["items"]:
            self._note(at, "items", "dropped: an empty list", "same")
            del out["items"]
        if at and out.get("type") == "object" and _OBJECTS.isdisjoint(out):
            self._note(at, "", "left open: it names no members", "same")
            out["additionalProperties"] = True
        self._default(out, at)
        return out

    def _keyword(self, keyword: str, value: Json, at: Pointer) -> Schema:
        if keyword == "type":
            return self._type(value, at)
        if keyword == "required":
            return {keyword: value} if isinstance(value, list) and value else {}
        if keyword == "format" and value not in FORMATS:
            self._note(at, "", f"dropped: nothing checks the format {value!r}", "wider")
            return {}
        if keyword == "pattern" and isinstance(value, str) and (fault := fault_of(value)):
            self._note(at, "", f"dropped: {fault}", "wider")
            return {}
        if keyword == "example":
            self._note(at, "", "written as examples", "same")
            return {"examples": [value]}
        if keyword in _HANDLED:
            return {}
        if keyword not in KEYWORDS | _OLDER | _MEANT:
            self._note(at, "", "dropped: no keyword of draft 2020-12", "same" if keyword[:2] == "x-" else "wider")
            return {}
        return {keyword: self._inner(keyword, value, at)}

    def _inner(self, keyword: str, value: Json, at: Pointer) -> Json:
        if keyword in DATA:
            return value
        if keyword in (*SINGLES, "additionalItems") and isinstance(value, Mapping):
            return self.schema(value, at)
        if (keyword in LISTS or keyword == "items") and isinstance(value, list):
            return [self.schema(item, (*at, str(index))) for index, item in enumerate(value)]
        if keyword in (*MAPS, "definitions") and isinstance(value, Mapping):
            return {name: self.schema(item, (*at, name)) for name, item in value.items()}
        return value

    def _type(self, value: Json, at: Pointer) -> Schema:
        names = [name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str)]
        foreign = [name for name in names if name in FOREIGN_TYPES]
        if not foreign:
            return {"type": value}
        for name in foreign:
            told = f"is written {FOREIGN_TYPES[name]!r}" if FOREIGN_TYPES[name] else "is dropped: it means any value"
            self._note(at, "", f"{name!r} {told}", "same")
        ours = list(dict.fromkeys(FOREIGN_TYPES.get(name, name) for name in names))
        if "" in ours:
            return {}
        return {"type": ours[0] if len(ours) == 1 else ours}

    def _require(self, out: dict[str, Json], node: Schema, at: Pointer) -> None:
        """Gather `required` from where others state it: the parent's list, or a flag on each property."""
        properties = node.get("properties")
        if not isinstance(properties, Mapping):
            return
        given = node.get("required")
        listed = [name for name in given if isinstance(name, str)] if isinstance(given, list) else []
        for name, child in properties.items():
            if not isinstance(child, Mapping):
                continue
            if child.get("required") is True and name not in listed:
                listed.append(name)
                self._note((*at, "properties", name), "required", "moved to the list of its parent", "same")
            if child.get("optional") is True:
                self._note((*at, "properties", name), "optional", "is said by leaving it out of required", "same")
                listed = [each for each in listed if each != name]
        for name in [each for each in listed if each not in properties]:
            self._note(at, "required", f"dropped: it requires {name!r}, which it does not have", "wider")
            listed.remove(name)
        out.pop("required", None)
        if listed:
            out["required"] = list(dict.fromkeys(listed))

    def _default(self, out: dict[str, Json], at: Pointer) -> None:
        """Drop a default that its own schema refuses, such as the text "None" of a number."""
        if "default" not in out or any(word in out for word in ("$ref", "anyOf", "oneOf", "allOf")):
            return
        plain: Schema = {word: out[word] for word in _PLAIN if word in out}
        if _refuses(plain, out["default"]):
            self._note(at, "default", "dropped: its own schema refuses it", "same")
            del out["default"]

    def _note(self, at: Pointer, keyword: str, text: str, effect: Literal["same", "narrower", "wider"]) -> None:
        self.changes.append(Change(format_pointer((*at, keyword) if keyword else at), text, effect))


def _refuses(schema: Schema, value: Json) -> bool:
    try:
        return not compile_schema(schema).accepts(value)
    except SchemaInvalid:
        return False


def _add_null(out: dict[str, Json]) -> None:
    """Let *out* be null too: among its types, its options or its alternatives."""
    if "type" in out:
        kinds = cast("list[Json]", out["type"] if isinstance(out["type"], list) else [out["type"]])
        out["type"] = [*kinds, *([] if "null" in kinds else ["null"])]
        if isinstance(out.get("enum"), list) and None not in cast("list[Json]", out["enum"]):
            out["enum"] = [*cast("list[Json]", out["enum"]), None]
    elif "enum" in out or "const" in out or "$ref" in out or "allOf" in out or "oneOf" in out:
        inner: Schema = {word: out.pop(word) for word in _OPTIONS if word in out}
        out["anyOf"] = [inner, {"type": "null"}]
    elif "anyOf" in out:
        out["anyOf"] = [*cast("list[Json]", out["anyOf"]), {"type": "null"}]
