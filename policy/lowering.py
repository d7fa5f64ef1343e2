"""
How is a schema said in a provider's subset? Word by word: kept, put in other words, or moved into a description.

In come a flat-rooted schema and a subset; out comes a schema of the subset that accepts at least as much, with every
loss. Validation never uses it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from gatewright.policy.definitions import (
    Definitions,
    alike,
    as_text,
    point_at,
    pointed_at,
    split_definitions,
    with_definitions,
)
from gatewright.policy.disjointness import are_disjoint
from gatewright.policy.evidence import kind_of
from gatewright.policy.keywords import ANNOTATIONS, IMPLIED
from gatewright.policy.meeting import Meeting, is_impossible
from gatewright.policy.model import Json, Schema
from gatewright.policy.phrases import describe
from gatewright.policy.pointers import format_pointer
from gatewright.policy.scalars import kinds_of, options_of
from gatewright.policy.strictness import holds_integral_float
from gatewright.policy.subsets import TEXTS, Loss, Reason, Subset
from gatewright.policy.validator import compile_schema

__all__ = ["NotStrict", "lower"]

_Out: TypeAlias = "dict[str, Json]"
_Path: TypeAlias = "tuple[str, ...]"

_SILENT: Final = frozenset({"$comment", "deprecated", "readOnly", "writeOnly", "title"})
_UNSAID: Final = ("not", "if", "then", "else", "dependentSchemas", "dependentRequired")
_LONGEST: Final = 200


class NotStrict(Exception):
    """The subset asks for strictness, and this *loss* is what stands against it."""

    def __init__(self, loss: Loss) -> None:
        self.loss = loss
        super().__init__(loss)


def lower(schema: Schema, subset: Subset) -> tuple[Schema, tuple[Loss, ...]]:
    """
    Return *schema*, whose root is one plain object, in the words of *subset*, and what is lost.

    Raises:
        NotStrict: the subset is strict and cannot say it.
    """
    body, definitions = split_definitions(schema)
    lowering = _Lowering(subset, definitions, Meeting(definitions))
    whole = lowering.lower(body, (), ())
    if whole is None:
        lowering.losses.append(Loss("", "type", "widened"))
        whole = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    known: dict[str, Json] = {}
    while lowering.recursive.keys() - known.keys():
        name = min(lowering.recursive.keys() - known.keys())
        known[name] = lowering.lower(definitions[name], ("$defs", name), (name,)) or {}
    return with_definitions(whole, known), tuple(dict.fromkeys(lowering.losses))


@dataclass(slots=True)
class _Lowering:
    subset: Subset
    definitions: Definitions
    meeting: Meeting
    losses: list[Loss] = field(default_factory=list)
    recursive: dict[str, None] = field(default_factory=dict)

    def lower(self, node: Json, path: _Path, seen: tuple[str, ...]) -> _Out | None:
        """Return *node* in the subset's words, None where nothing fits it; *seen* are the definitions it stands in."""
        if is_impossible(node):
            return None
        if not isinstance(node, Mapping) or not node:
            return self._anything(path, {})
        notes: list[str] = []
        while "$ref" in node:
            name = pointed_at(node["$ref"])
            if name in seen:
                return self._again(name, path)
            seen = (*seen, name)
            node = self._met(self.definitions[name], _but(node, "$ref"))
        node = self._folded(node, path, notes)
        if is_impossible(node):
            return None
        for keyword in ("anyOf", "oneOf"):
            if keyword in node:
                return self._alternatives(node, keyword, path, seen, notes)
        for keyword in _UNSAID:
            if keyword in node:
                self._say(path, keyword, node[keyword], notes)
        typed = self._typed(node, path, seen, notes)
        return None if typed is None else self._described(typed, node, path, notes)

    def _met(self, first: Json, second: Json) -> Schema:
        met = self.meeting.meet(first, second)
        return met if isinstance(met, Mapping) else {"not": {}} if met is False else {}

    def _again(self, name: str, path: _Path) -> _Out:
        if self.subset.strict:
            self._refuse(path, "$ref")
        self.recursive[name] = None
        return {"$ref": point_at(name)}

    def _folded(self, node: Schema, path: _Path, notes: list[str]) -> Schema:
        """Return *node* without `allOf`: merged where that is flat, else without what cannot be merged."""
        if "allOf" not in node:
            return node
        rest = _but(node, "allOf")
        parts = cast("Sequence[Json]", node["allOf"])
        for part in parts:
            target = (
                self.definitions[pointed_at(part["$ref"])] if isinstance(part, Mapping) and "$ref" in part else part
            )
            met = self._met(rest, target)
            if "allOf" in met or "$ref" in met:
                self._say(path, "allOf", None, notes)
                met = rest if set(rest) - ANNOTATIONS else _but(target if isinstance(target, Mapping) else {}, "allOf")
            rest = met
        return rest if "$ref" not in rest else self._met(self.definitions[pointed_at(rest["$ref"])], _but(rest, "$ref"))

    def _alternatives(
        self, node: Schema, keyword: str, path: _Path, seen: tuple[str, ...], notes: list[str]
    ) -> _Out | None:
        if any(word in node for word in ("unevaluatedProperties", "unevaluatedItems")):
            word = "unevaluatedProperties" if "unevaluatedProperties" in node else "unevaluatedItems"
            if self.subset.strict:
                self._refuse(path, word)
            self._say(path, word, None, notes)
            node = _but(node, "unevaluatedProperties", "unevaluatedItems")
        branches = cast("Sequence[Json]", node[keyword])
        if keyword == "oneOf" and not are_disjoint(branches, self.definitions):
            self.losses.append(Loss(format_pointer(path), keyword, "widened"))
        rest = {word: value for word, value in node.items() if word not in ANNOTATIONS and word != keyword}
        lowered: list[Json] = []
        for index, branch in enumerate(branches):
            whole = self._met(branch, rest) if rest else branch
            one = self.lower(whole, (*path, keyword, str(index)), seen)
            if one is None:
                continue
            inner = cast("Sequence[Json]", one["anyOf"]) if one.keys() == {"anyOf"} else (one,)
            lowered += [each for each in inner if not any(alike(each, other) for other in lowered)]
        if not lowered:
            return None
        if len(lowered) == 1:
            return self._described(dict(cast("Schema", lowered[0])), node, path, notes)
        return self._described({"anyOf": lowered}, node, path, notes)

    def _typed(self, node: Schema, path: _Path, seen: tuple[str, ...], notes: list[str]) -> _Out | None:
        options, kinds = options_of(node), kinds_of(node)
        if options is not None:
            return self._options(node, options, path, notes)
        if kinds is None:
            return self._anything(path, node, notes)
        real = [kind for kind in kinds if kind != "null" and not (kind == "integer" and "number" in kinds)]
        if len(real) > 1:
            alone = [self._single(node, (kind,), path, seen, notes) for kind in real]
            return {"anyOf": [*alone, *([{"type": "null"}] if "null" in kinds else [])]}
        return self._single(node, (*real, *(["null"] if "null" in kinds else [])), path, seen, notes)

    def _anything(self, path: _Path, node: Schema, notes: list[str] | None = None) -> _Out:
        """A value without a type: a strict subset has none; else what it asserts is said in words."""
        if self.subset.strict:
            self._refuse(path, "type")
        for keyword, value in node.items():
            if keyword not in ANNOTATIONS and keyword not in _UNSAID:
                self._say(path, keyword, value, [] if notes is None else notes)
        return {}

    def _options(self, node: Schema, options: Sequence[Json], path: _Path, notes: list[str]) -> _Out | None:
        kinds: dict[str, list[Json]] = {}
        accepts = compile_schema(with_definitions(node, self.definitions)).accepts
        for value in options:
            if holds_integral_float(value) or accepts(value):
                kinds.setdefault(kind_of(value), []).append(value)
        if not kinds:
            return None
        word = "const" if "const" in node else "enum"
        if self.subset.strict and not kinds.keys() <= self.subset.values:
            self._refuse(path, word)
        if kinds.keys() - self.subset.values - {"null"}:
            self._say(path, word, node.get(word), notes)
        alone: list[Json] = [self._choice(kind, values, single="const" in node) for kind, values in kinds.items()]
        return dict(cast("Schema", alone[0])) if len(alone) == 1 else {"anyOf": alone}

    def _choice(self, kind: str, values: list[Json], *, single: bool) -> _Out | None:
        if kind not in self.subset.values or kind == "null":
            return {"type": kind}
        if single and "const" in self.subset.keywords:
            return {"type": kind, "const": values[0]}
        return {"type": kind, "enum": values}

    def _single(self, node: Schema, kinds: Sequence[str], path: _Path, seen: tuple[str, ...], notes: list[str]) -> _Out:
        """The words that speak of one type, null aside."""
        kind = kinds[0]
        out: _Out = {"type": kind if len(kinds) == 1 else list(kinds)}
        family = "number" if kind == "integer" else kind
        words = {word: value for word, value in node.items() if IMPLIED.get(word) == family}
        if kind == "object":
            self._object(words, out, path, seen, notes)
        elif kind == "array":
            self._array(words, out, path, seen, notes)
        else:
            self._scalars(words, out, path, notes)
        return out

    def _scalars(self, words: Schema, out: _Out, path: _Path, notes: list[str]) -> None:
        for word, value in words.items():
            kept = word in self.subset.keywords and (word != "format" or value in self.subset.formats)
            if kept:
                out[word] = _tighter(out, word, value)
            elif word in _EXCLUSIVE:
                self._inclusive(word, value, out, path, notes)
            else:
                self._say(path, word, value, notes)

    def _inclusive(self, word: str, value: Json, out: _Out, path: _Path, notes: list[str]) -> None:
        """An exclusive bound as an inclusive one; exact for integers."""
        inclusive, step = _EXCLUSIVE[word]
        number = cast("float", value)
        exact = out["type"] in ("integer", ["integer", "null"]) and isinstance(value, int)
        out[inclusive] = _tighter(out, inclusive, number + step if exact else number)
        if not exact:
            self._say(path, word, value, notes)

    def _object(self, words: Schema, out: _Out, path: _Path, seen: tuple[str, ...], notes: list[str]) -> None:
        properties: _Out = {}
        for name, child in cast("Mapping[str, Json]", words.get("properties", {})).items():
            if not self.subset.names.fullmatch(name):
                self.losses.append(Loss(format_pointer((*path, "properties", name)), "properties", "name"))
            lowered = self.lower(child, (*path, "properties", name), seen)
            if lowered is not None:
                properties[name] = lowered
        required = cast("Sequence[str]", words.get("required", ()))
        out["properties"] = properties
        out["required"] = [name for name in required if name in properties]
        if len(cast("Sequence[str]", out["required"])) < len(set(required)):
            self._say(path, "required", None, notes)
        self._rest(words, out, path, seen, notes)
        for word in ("minProperties", "maxProperties", "propertyNames"):
            if word in words:
                self._say(path, word, words[word], notes)

    def _rest(self, words: Schema, out: _Out, path: _Path, seen: tuple[str, ...], notes: list[str]) -> None:
        """What other properties an object may have."""
        rest = words.get("additionalProperties", words.get("unevaluatedProperties", True))
        if words.get("patternProperties"):
            if self.subset.strict:
                self._refuse(path, "patternProperties")
            self._say(path, "patternProperties", None, notes)
        elif is_impossible(rest):
            out["additionalProperties"] = False
        elif self.subset.strict:
            self._refuse(path, "additionalProperties")
        elif isinstance(rest, Mapping) and rest:
            lowered = self.lower(rest, (*path, "additionalProperties"), seen)
            out["additionalProperties"] = False if lowered is None else lowered

    def _array(self, words: Schema, out: _Out, path: _Path, seen: tuple[str, ...], notes: list[str]) -> None:
        prefix = list(cast("Sequence[Json]", words.get("prefixItems", ())))
        rest = words.get("items", True)
        if prefix:
            self.losses.append(Loss(format_pointer(path), "prefixItems", "widened"))
        branches = [*prefix, *([] if is_impossible(rest) else [rest])]
        if branches:
            inner = self.lower({"anyOf": branches} if len(branches) > 1 else branches[0], (*path, "items"), seen)
            out.update({"items": inner} if inner else {})
        if self.subset.strict and not out.get("items"):
            self._refuse(path, "items")
        for word in ("minItems", "maxItems"):
            if word in words:
                out[word] = words[word]
        if is_impossible(rest):
            out["maxItems"] = _tighter(out, "maxItems", len(prefix))
        for word in ("uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"):
            if word in words and words[word] is not False:
                self._say(path, word, words[word], notes)

    def _described(self, out: _Out, node: Schema, path: _Path, notes: list[str]) -> _Out:
        """Add the description of *node*, and in words what could not be said otherwise."""
        for word in sorted(ANNOTATIONS & node.keys() - {"description"}):
            if word in self.subset.keywords:
                out[word] = node[word]
            elif word in _SILENT:
                self.losses.append(Loss(format_pointer(path), word, "dropped"))
            else:
                value = node[word] if word == "default" else next(iter(cast("Sequence[Json]", node[word])), None)
                text = f"{'default' if word == 'default' else 'for example'} {as_text(value)}"
                self._note(path, word, text, notes)
        said = [cast("str", each) for each in (node.get("description"), out.pop("description", None)) if each]
        texts = [*dict.fromkeys(said), *([f"({'; '.join(dict.fromkeys(notes))})"] if notes else [])]
        return {**out, "description": " ".join(texts)} if texts else out

    def _say(self, path: _Path, keyword: str, value: Json, notes: list[str]) -> None:
        self._note(path, keyword, TEXTS.get(keyword) or describe({keyword: value}) or "more rules apply", notes)

    def _note(self, path: _Path, keyword: str, text: str, notes: list[str], reason: Reason = "described") -> None:
        notes.append(text if len(text) <= _LONGEST else "more rules apply")
        self.losses.append(Loss(format_pointer(path), keyword, reason))

    def _refuse(self, path: _Path, keyword: str) -> None:
        raise NotStrict(Loss(format_pointer(path), keyword, "not_strict"))


_EXCLUSIVE: Final[Mapping[str, tuple[str, int]]] = {
    "exclusiveMinimum": ("minimum", 1),
    "exclusiveMaximum": ("maximum", -1),
}
_TIGHTER: Final[Mapping[str, Callable[..., float]]] = {"minimum": max, "maximum": min, "maxItems": min}


def _tighter(out: Mapping[str, Json], word: str, value: Json) -> Json:
    if word not in out or word not in _TIGHTER:
        return value
    return _TIGHTER[word](cast("float", out[word]), cast("float", value))


def _but(node: Schema, *words: str) -> Schema:
    return {word: value for word, value in node.items() if word not in words}
