"""
Which names may an object hold? Objects that do not say are closed; composed ones by what their parts evaluate.

In come a body and its definitions; out come the same with `additionalProperties: false` (or `unevaluatedProperties`
where parts are composed) wherever neither stood, and a note for each. Never opens anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from gatewright.policy.definitions import Definitions, point_at, pointed_at
from gatewright.policy.disjointness import are_disjoint
from gatewright.policy.keywords import IMPLIED, LISTS, MAPS, SINGLES, Note, SchemaInvalid
from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.pointers import format_pointer
from gatewright.policy.scalars import kinds_of

__all__ = ["Closed", "close"]

Mode: TypeAlias = Literal["closed", "part", "as_is"]
"""How a schema is treated: closed, left open as a part of a composition, or left alone because it only tests."""

_DEEPEST: Final = 64
_NAMED_PARTS: Final = ("properties", "patternProperties")
_PARTS: Final = ("items", "prefixItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties")
_COMPOSED: Final = ("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas", "$ref")
_PASSED_ON: Final = ("anyOf", "oneOf", "$ref")
_SAYS: Final = ("additionalProperties", "unevaluatedProperties")
_SUFFIX: Final[Mapping[Mode, str]] = {"closed": "_closed", "part": "_open", "as_is": "_as_is"}


@dataclass(frozen=True, slots=True)
class Closed:
    """A closed schema, its definitions apart, and what was closed."""

    body: Schema
    definitions: Definitions
    notes: tuple[Note, ...]


def close(body: Schema, definitions: Definitions) -> Closed:
    """
    Return *body* and *definitions* with every object closed that does not say what else it may hold.

    Raises:
        SchemaInvalid: `open_object`: the root accepts any name; `required_undeclared`: a closed object requires a
            name that it does not have.
    """
    closing = _Closing(definitions)
    closing.check_top(body, ())
    closed = closing.close(body, (), "closed")
    return Closed(cast("Schema", closed), closing.close_definitions(), tuple(closing.notes))


class _Closing:
    """One closing of one schema; a definition that is used in several ways is kept once for each way."""

    def __init__(self, definitions: Definitions, *, is_trial: bool = False) -> None:
        self.definitions = definitions
        self.is_trial = is_trial
        self.notes: list[Note] = []
        self._waiting: list[tuple[str, str, Mode]] = []
        self._names: dict[tuple[str, Mode], str] = {}

    def close(self, node: Json, at: Pointer, mode: Mode) -> Json:
        """Return *node*, which stands at *at*, closed as *mode* says."""
        if not isinstance(node, Mapping):
            return node
        composed = [keyword for keyword in _COMPOSED if keyword in node and self._speaks(node, keyword)]
        passes_on = mode == "closed" and len(composed) == 1 and composed[0] in _PASSED_ON and not _has_names(node)
        out = self._children(node, at, mode, "part" if composed and not passes_on else "closed")
        if mode != "closed":
            return out
        if not any(keyword in node for keyword in _SAYS) and not passes_on and (composed or _speaks_of_objects(node)):
            out["unevaluatedProperties" if composed else "additionalProperties"] = False
            self.notes.append(Note("closed", format_pointer(at)))
        if not composed:
            _check_required(out, at)
        return out

    def close_definitions(self) -> dict[str, Json]:
        """Return the definitions that what was closed so far refers to, each closed as its use asks."""
        done: dict[str, Json] = {}
        while self._waiting:
            name, source, mode = self._waiting.pop()
            done[name] = self.close(self.definitions[source], ("$defs", name), mode)
        return done

    def check_top(self, node: Json, at: Pointer, depth: int = 0) -> None:
        """Refuse a root that accepts any name, itself or through what it is composed of."""
        if not isinstance(node, Mapping) or depth > len(self.definitions) + _DEEPEST:
            return
        for keyword in _SAYS:
            if node.get(keyword) is True or node.get(keyword) == {}:
                raise SchemaInvalid(
                    "open_object", format_pointer((*at, keyword)), hint="close it, or say what other arguments hold"
                )
        if "$ref" in node:
            name = pointed_at(node["$ref"])
            self.check_top(self.definitions[name], ("$defs", name), depth + 1)
        for keyword in _COMPOSED[:-1]:
            for token, child in _held(node, keyword):
                self.check_top(child, (*at, keyword, *token), depth + 1)

    def _children(self, node: Schema, at: Pointer, mode: Mode, composed: Mode) -> dict[str, Json]:
        def change(keyword: str, child: Json, token: Pointer) -> Json:
            inner: Mode = "closed" if keyword in (*_PARTS, *_NAMED_PARTS) else composed
            if mode == "as_is" or keyword not in (*_PARTS, *_NAMED_PARTS, *_COMPOSED):
                inner = "as_is"
            return self.close(child, (*at, keyword, *token), inner)

        out: dict[str, Json] = dict(node)
        for keyword, value in node.items():
            if keyword == "$ref":
                out[keyword] = self._reference(pointed_at(value), "as_is" if mode == "as_is" else composed)
            elif keyword in SINGLES:
                out[keyword] = change(keyword, value, ())
            elif keyword in LISTS:
                children = cast("Sequence[Json]", value)
                out[keyword] = [change(keyword, child, (str(index),)) for index, child in enumerate(children)]
            elif keyword in MAPS:
                named = cast("Mapping[str, Json]", value)
                out[keyword] = {name: change(keyword, child, (name,)) for name, child in named.items()}
        if "oneOf" in node and mode != "as_is" and not self.is_trial:
            self._check_exclusive(node["oneOf"], (*at, "oneOf"), composed)
        return out

    def _check_exclusive(self, alternatives: Json, at: Pointer, mode: Mode) -> None:
        """
        Refuse a `oneOf` that closing would change, unless no value can fit two of its alternatives.

        Closing one can take away the second alternative that a value fits, which would let the value through.
        """
        if are_disjoint(alternatives, self.definitions):
            return
        trial = _Closing(self.definitions, is_trial=True)
        for branch in cast("Sequence[Json]", alternatives):
            trial.close(branch, at, mode)
        trial.close_definitions()
        if trial.notes:
            hint = "write anyOf, close each alternative, or require a constant that tells them apart"
            raise SchemaInvalid("ambiguous_alternatives", format_pointer(at), hint=hint)

    def _reference(self, source: str, mode: Mode) -> str:
        key = (source, mode)
        if key not in self._names:
            used = set(self._names.values())
            name = source if source not in used else source + _SUFFIX[mode]
            while name in used or (name in self.definitions and name != source):
                name += "_"
            self._names[key] = name
            self._waiting.append((name, source, mode))
        return point_at(self._names[key])

    def _speaks(self, node: Schema, keyword: str, depth: int = 0) -> bool:
        """Whether what *keyword* composes *node* of says anything of objects."""
        if keyword == "$ref":
            return self._speaks_itself(self.definitions[pointed_at(node[keyword])], depth)
        return any(self._speaks_itself(child, depth) for _, child in _held(node, keyword))

    def _speaks_itself(self, value: Json, depth: int) -> bool:
        if depth > _DEEPEST:
            return True
        if not isinstance(value, Mapping):
            return False
        if "type" in value and "object" not in (kinds_of(value) or ()):
            return False
        return _speaks_of_objects(value) or any(
            self._speaks(value, keyword, depth + 1) for keyword in _COMPOSED if keyword in value
        )


def _held(node: Schema, keyword: str) -> Iterator[tuple[Pointer, Json]]:
    value = node.get(keyword)
    if keyword in SINGLES and value is not None:
        yield (), value
    elif isinstance(value, list):
        yield from (((str(index),), child) for index, child in enumerate(value))
    elif isinstance(value, Mapping):
        yield from (((name,), child) for name, child in value.items())


def _has_names(node: Schema) -> bool:
    return any(keyword in node for keyword in _NAMED_PARTS)


def _speaks_of_objects(node: Schema) -> bool:
    kinds = kinds_of(node)
    return "object" in kinds if kinds is not None else any(IMPLIED.get(keyword) == "object" for keyword in node)


def _check_required(node: Schema, at: Pointer) -> None:
    if node.get("additionalProperties") is not False or "patternProperties" in node:
        return
    declared = cast("Mapping[str, Json]", node.get("properties", {}))
    for name in cast("Sequence[str]", node.get("required", ())):
        if name not in declared:
            place = format_pointer((*at, "required"))
            raise SchemaInvalid("required_undeclared", place, hint="it requires a name that it does not have")
