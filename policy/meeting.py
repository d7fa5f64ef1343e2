"""
What do two schemas at one place accept together? Keyword by keyword, flat where that is exact, `allOf` for the rest.

In come two schemas over one table of definitions; out comes their conjunction, or False where nothing can satisfy both.
Annotations of the second win. Nothing is merged that depends on its siblings' annotations (`unevaluated…`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

from gatewright.policy.containers import ARRAY_WORDS, OBJECT_WORDS, meet_arrays, meet_objects
from gatewright.policy.definitions import Definitions, alike, pointed_at, with_definitions
from gatewright.policy.keywords import ANNOTATIONS, IMPLIED
from gatewright.policy.model import Json, Schema
from gatewright.policy.scalars import (
    SCALARS,
    accepts_flat,
    kinds_of,
    meet_kinds,
    meet_options,
    meet_scalars,
    options_of,
)
from gatewright.policy.strictness import holds_integral_float
from gatewright.policy.validator import SchemaValidator, compile_schema

__all__ = ["IMPOSSIBLE", "Meeting", "is_impossible"]

IMPOSSIBLE: Final[Schema] = {"not": {}}
"""The schema that nothing satisfies."""

_ONLY_TEXT: Final[Schema] = {"type": "string"}
_DEEPEST_INLINED: Final = 8
_MOST_BRANCHES: Final = 16
_SCALAR: Final = ANNOTATIONS | SCALARS | {"type", "enum", "const"}
_CONDITIONAL: Final = ("if", "then", "else")
_OPPOSED: Final = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)


def is_impossible(schema: Json) -> bool:
    """Answer whether *schema* is one of the two spellings of what nothing satisfies."""
    return schema is False or schema == IMPOSSIBLE


class Meeting:
    """The conjunction of schemas that share *definitions*."""

    def __init__(self, definitions: Definitions) -> None:
        self.definitions = definitions

    def meet(self, first: Json, second: Json, inlined: int = 0) -> Json:
        """Return what *first* and *second* both accept; *inlined* counts the references put in place on the way."""
        if first is False or second is False or first == IMPOSSIBLE or second == IMPOSSIBLE:
            return False
        if second is True:
            return first
        if not isinstance(first, dict | Mapping) or not first:
            return second
        if not isinstance(second, dict | Mapping) or not second or alike(first, second):
            return first
        if _SCALAR.issuperset(first) and _SCALAR.issuperset(second):
            return self._flat(first, second)
        if any("unevaluatedProperties" in side or "unevaluatedItems" in side for side in (first, second)):
            return {"allOf": [first, second]}
        for one, other, swapped in ((first, second, False), (second, first, True)):
            if _is_only(one, "$ref") and not _is_only(other, "$ref") and inlined < _DEEPEST_INLINED:
                target = self._target(one)
                return self.meet(other if swapped else target, target if swapped else other, inlined + 1)
        distributed = self._distributed(first, second, inlined)
        return self._merged(first, second, inlined) if distributed is None else distributed

    def _target(self, schema: Schema) -> Schema:
        target = self.definitions[pointed_at(schema["$ref"])]
        if not isinstance(target, Mapping):
            return {"allOf": [target]}
        return {**target, **_annotations(schema)}

    def _distributed(self, first: Schema, second: Schema, inlined: int) -> Json:
        """Meet each alternative by itself where one side is alternatives and nothing else; None where it is not."""
        for one, other, swapped in ((first, second, False), (second, first, True)):
            for keyword in ("anyOf", "oneOf"):
                if _is_only(one, keyword) and _width(one) * _width(other) <= _MOST_BRANCHES:
                    notes = {**_annotations(first), **_annotations(second)}
                    plain = {name: value for name, value in other.items() if name not in ANNOTATIONS}
                    branches = cast("Sequence[Json]", one[keyword])
                    met = [
                        self.meet(plain, branch, inlined) if swapped else self.meet(branch, plain, inlined)
                        for branch in branches
                    ]
                    return self._union(keyword, met, notes)
        return None

    def _union(self, keyword: str, branches: list[Json], notes: dict[str, Json]) -> Json:
        possible = [branch for branch in branches if not is_impossible(branch)]
        if keyword == "anyOf":
            possible = [
                branch
                for index, branch in enumerate(possible)
                if not any(alike(branch, one) for one in possible[:index])
            ]
        if not possible:
            return False
        if len(possible) == 1 and isinstance(possible[0], Mapping):
            return self._with_notes(dict(possible[0]), {**_annotations(possible[0]), **notes})
        return self._with_notes({keyword: possible}, notes)

    def _flat(self, first: Schema, second: Schema) -> Json:
        """Meet two schemas that hold neither schemas nor conjuncts: what `_merged` does, in fewer steps."""
        kinds = meet_kinds(kinds_of(first), kinds_of(second))
        if kinds == ():
            return False
        out: dict[str, Json] = {}
        if kinds is not None:
            out["type"] = kinds[0] if len(kinds) == 1 else list(kinds)
        if not (SCALARS.isdisjoint(first) and SCALARS.isdisjoint(second)):
            left = meet_scalars(first, second, out)
            if left:
                out["allOf"] = [left]
        return self._finished(first, second, out, kinds)

    def _merged(self, first: Schema, second: Schema, inlined: int) -> Json:
        out: dict[str, Json] = {}
        kinds = meet_kinds(kinds_of(first), kinds_of(second))
        if kinds == ():
            return False
        if kinds is not None:
            out["type"] = kinds[0] if len(kinds) == 1 else list(kinds)

        def meet(one: Json, other: Json) -> Json:
            return self.meet(one, other, inlined)

        left = meet_scalars(first, second, out)
        if not (OBJECT_WORDS.isdisjoint(first) and OBJECT_WORDS.isdisjoint(second)):
            left.update(meet_objects(first, second, out, meet))
        if not (ARRAY_WORDS.isdisjoint(first) and ARRAY_WORDS.isdisjoint(second)):
            left.update(meet_arrays(first, second, out, meet))
        conjuncts = [*_listed(first, "allOf"), *_listed(second, "allOf"), *_composed(first, second, out)]
        if left:
            conjuncts.append(left)
        if conjuncts:
            out["allOf"] = conjuncts
        return self._finished(first, second, out, kinds)

    def _finished(self, first: Schema, second: Schema, out: dict[str, Json], kinds: tuple[str, ...] | None) -> Json:
        """Return *out* with the options of both sides and their annotations, or False where nothing satisfies it."""
        if kinds is not None and len(out) > 1:
            out = _speaking(out, kinds)
        options = meet_options(options_of(first), options_of(second))
        if options is not None and not self._choose(out, options, single="const" in first or "const" in second):
            return False
        if _contradicts(out, kinds):
            return False
        if ANNOTATIONS.isdisjoint(first) and ANNOTATIONS.isdisjoint(second):
            return out
        return self._with_notes(out, {**_annotations(first), **_annotations(second)})

    def _choose(self, out: dict[str, Json], options: tuple[Json, ...], *, single: bool) -> bool:
        """
        Write into *out* those of *options* that the rest of it accepts; whether there are any.

        A member such as 1.0 stays: the integer 1 equals it too, and the rest may accept that one.
        """
        if out == _ONLY_TEXT:
            options = tuple(option for option in options if isinstance(option, str))
        elif out:
            accepts = self._asker(out)
            options = tuple(option for option in options if holds_integral_float(option) or accepts(option))
        if single and len(options) == 1:
            out["const"] = options[0]
        else:
            out["enum"] = list(options)
        return bool(options)

    def _with_notes(self, out: dict[str, Json], notes: dict[str, Json]) -> dict[str, Json]:
        """Add annotations to *out*, without a default or examples that it does not accept."""
        if not notes and ANNOTATIONS.isdisjoint(out):
            return out
        body = {keyword: value for keyword, value in out.items() if keyword not in ANNOTATIONS}
        if "default" in notes or "examples" in notes:
            accepts = self._asker(body)
            if "default" in notes and not accepts(notes["default"]):
                del notes["default"]
            if "examples" in notes:
                notes["examples"] = [value for value in cast("Sequence[Json]", notes["examples"]) if accepts(value)]
        return {**{name: value for name, value in notes.items() if value != []}, **body}

    def _asker(self, schema: Schema) -> Callable[[Json], bool]:
        """Return what answers whether *schema* accepts a value; it is compiled when first needed."""
        compiled: list[SchemaValidator] = []

        def accepts(value: Json) -> bool:
            answer = accepts_flat(schema, value)
            if answer is not None:
                return answer
            if not compiled:
                compiled.append(compile_schema(with_definitions(schema, self.definitions)))
            return compiled[0].accepts(value)

        return accepts


def _composed(first: Schema, second: Schema, out: dict[str, Json]) -> list[Json]:
    """Carry into *out* what holds for the whole value; return as conjuncts what both sides have."""
    conjuncts: list[Json] = []
    for keyword in ("$ref", "anyOf", "oneOf", "not"):
        if keyword in first:
            out[keyword] = first[keyword]
            if keyword in second and not alike(first[keyword], second[keyword]):
                conjuncts.append({keyword: second[keyword]})
        elif keyword in second:
            out[keyword] = second[keyword]
    conditions = [{word: side[word] for word in _CONDITIONAL if word in side} for side in (first, second)]
    out.update(conditions[0] or conditions[1])
    if conditions[0] and conditions[1]:
        conjuncts.append(conditions[1])
    return conjuncts


def _speaking(out: dict[str, Json], kinds: tuple[str, ...]) -> dict[str, Json]:
    """Return *out* without the keywords that speak of types which it refuses anyway."""
    allowed = {"number" if kind == "integer" else kind for kind in kinds}
    return {keyword: value for keyword, value in out.items() if IMPLIED.get(keyword, "") in {"", *allowed}}


def _contradicts(out: Schema, kinds: tuple[str, ...] | None) -> bool:
    """Whether nothing of the single type that *out* asks for can satisfy its bounds or its required properties."""
    if kinds is None or len(kinds) > 1:
        return False
    if len(out) > 1 and any(low in out and high in out and _exceeds(out[low], out[high]) for low, high in _OPPOSED):
        return True
    if "required" not in out:
        return False
    properties = cast("Mapping[str, Json]", out.get("properties", {}))
    return any(is_impossible(properties.get(name, True)) for name in cast("Sequence[str]", out.get("required", ())))


def _exceeds(low: Json, high: Json) -> bool:
    return cast("float", low) > cast("float", high)


def _is_only(schema: Schema, keyword: str) -> bool:
    return keyword in schema and not set(schema) - ANNOTATIONS - {keyword}


def _width(schema: Schema) -> int:
    return max((len(_listed(schema, keyword)) for keyword in ("anyOf", "oneOf")), default=0) or 1


def _annotations(schema: Schema) -> dict[str, Json]:
    return {keyword: schema[keyword] for keyword in schema if keyword in ANNOTATIONS}


def _listed(schema: Schema, keyword: str) -> list[Json]:
    return list(cast("Sequence[Json]", schema.get(keyword, ())))
