"""
Which value does one schema accept and another refuse? The search half of `inclusion`, steered by what both say.

In come two schemas over one table of definitions; out comes a value that both validators were asked about, or nothing.
Bounded: that nothing is found proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, cast

from gatewright.policy.atoms import Atoms
from gatewright.policy.definitions import Definitions, as_text, with_definitions
from gatewright.policy.emptiness import effective, place
from gatewright.policy.flattening import flatten
from gatewright.policy.meeting import Meeting
from gatewright.policy.model import Json, Schema
from gatewright.policy.scalars import kinds_of, options_of
from gatewright.policy.validator import SchemaValidator, compile_schema

__all__ = ["NOTHING", "Search"]

NOTHING: Final = object()
"""No value was found; None is a value."""

_DEEPEST: Final = 6
_MOST_CASES: Final = 8
_MOST_REFUSED: Final = 24
_MOST_OTHERS: Final = 6
_MOST_ASKED: Final = 4000
_LONGEST_ARRAY: Final = 300


@dataclass(frozen=True, slots=True)
class _Found:
    """Values of one place: those that the other schema refuses there, and some that it takes."""

    refused: Sequence[Json]
    taken: Sequence[Json]

    @property
    def usual(self) -> Sequence[Json]:
        """Values to stand where nothing is tried."""
        return self.taken or self.refused

    def all(self) -> Iterator[Json]:
        """Every value, the promising ones first."""
        yield from self.refused
        yield from self.taken


class Search:
    """One search over *definitions* for values that *narrow* accepts and *wide* refuses."""

    def __init__(self, definitions: Definitions, wide: Json, narrow: Json) -> None:
        self.definitions = definitions
        self._meeting = Meeting(definitions)
        self._atoms = Atoms.of([wide, narrow, *definitions.values()])
        self._validators: dict[str, SchemaValidator] = {}
        self._known: dict[tuple[str, str, int], _Found] = {}
        self._asked = 0

    def find(self, wide: Json, narrow: Json) -> object:
        """Return a value that *narrow* accepts and *wide* refuses, or `NOTHING`."""
        found = self._values(wide, narrow, _DEEPEST)
        return found.refused[0] if found.refused else NOTHING

    def _values(self, wide: Json, narrow: Json, depth: int) -> _Found:
        key = (as_text(wide), as_text(narrow), depth)
        if key not in self._known:
            self._known[key] = _Found((), ())
            self._known[key] = self._look(wide, narrow, depth)
        return self._known[key]

    def _look(self, wide: Json, narrow: Json, depth: int) -> _Found:
        refused: list[Json] = []
        taken: list[Json] = []
        accepts, takes = self._asker(narrow), self._asker(wide)
        for value in self._candidates(wide, narrow, depth):
            self._asked += 1
            if self._asked > _MOST_ASKED * (depth + 1) or len(refused) >= _MOST_REFUSED:
                break
            if not accepts(value):
                continue
            if not takes(value):
                refused.append(value)
            elif len(taken) < _MOST_OTHERS:
                taken.append(value)
        return _Found(refused, taken)

    def _asker(self, schema: Json) -> Callable[[object], bool]:
        text = as_text(schema)
        if text not in self._validators:
            whole: Schema = schema if isinstance(schema, Mapping) else {} if schema is True else {"not": {}}
            self._validators[text] = compile_schema(with_definitions(whole, self.definitions))
        return self._validators[text].accepts

    def _candidates(self, wide: Json, narrow: Json, depth: int) -> Iterator[Json]:
        yield from self._atoms.values
        if depth == 0:
            return
        for case in flatten(narrow, self.definitions, _MOST_CASES) or [{}]:
            for other in flatten(wide, self.definitions, _MOST_CASES) or [{}]:
                kinds = kinds_of(case)
                if options_of(case) is not None:
                    continue
                if kinds is None or "object" in kinds:
                    yield from self._objects(other, case, depth - 1)
                if kinds is None or "array" in kinds:
                    yield from self._arrays(other, case, depth - 1)

    def _objects(self, wide: Schema, narrow: Schema, depth: int) -> Iterator[Json]:
        named = dict.fromkeys((*_names(narrow), *_names(wide)))
        members = {name: self._member(wide, narrow, name, depth) for name in named}
        possible = {name: found for name, found in members.items() if found.usual}
        required = [name for name in _required(narrow) if name in possible]
        least: dict[str, Json] = {name: possible[name].usual[0] for name in required}
        most: dict[str, Json] = {name: found.usual[0] for name, found in possible.items()}
        yield from (least, most)
        yield from ({name: value for name, value in most.items() if name != left} for left in most)
        for name, found in possible.items():
            for value in found.all():
                yield {**least, name: value}
                yield {**most, name: value}
        yield from self._with_strangers(wide, narrow, (least, most), depth)

    def _with_strangers(
        self, wide: Schema, narrow: Schema, bases: Sequence[Mapping[str, Json]], depth: int
    ) -> Iterator[Json]:
        """Yield objects with members that neither schema names, one of them and as many as a bound speaks of."""
        for base in bases:
            usual: dict[str, Json] = {}
            for name in self._atoms.names:
                if name in base:
                    continue
                found = self._member(wide, narrow, name, depth)
                for value in islice(found.all(), 4):
                    yield {**base, name: value}
                if found.usual:
                    usual[name] = found.usual[0]
            for size in self._atoms.sizes:
                filled = {**base, **dict(islice(usual.items(), max(size - len(base), 0)))}
                if len(filled) >= size:
                    yield filled

    def _member(self, wide: Schema, narrow: Schema, name: str, depth: int) -> _Found:
        return self._values(self._met(effective(wide, name)), self._met(effective(narrow, name)), depth)

    def _arrays(self, wide: Schema, narrow: Schema, depth: int) -> Iterator[Json]:
        count = 1 + max(len(cast("Sequence[Json]", side.get("prefixItems", ()))) for side in (wide, narrow))
        places = [self._values(place(wide, at), place(narrow, at), depth) for at in range(count)]
        contained = self._contained(wide, narrow, depth)
        sizes = [size for size in self._atoms.sizes if size <= _LONGEST_ARRAY]
        for size in dict.fromkeys((cast("int", narrow.get("minItems", 0)), *sizes)):
            for offset in (0, 1):
                base = [_pick(places[min(at, count - 1)].usual, at * offset) for at in range(min(size, _LONGEST_ARRAY))]
                if any(value is NOTHING for value in base):
                    continue
                yield cast("list[Json]", base)
                for at in range(min(len(base), count)):
                    for value in (*places[at].all(), *contained):
                        yield cast("list[Json]", [*base[:at], value, *base[at + 1 :]])
                        yield cast("list[Json]", [*[value] * (at + 1), *base[at + 1 :]])

    def _contained(self, wide: Schema, narrow: Schema, depth: int) -> list[Json]:
        """Values that make a difference to `contains` of either side."""
        if "contains" not in wide and "contains" not in narrow:
            return []
        first, second = (side.get("contains", True) for side in (wide, narrow))
        return [*self._values(first, second, depth).all(), *self._values(second, first, depth).all()]

    def _met(self, schemas: Sequence[Json]) -> Json:
        whole: Json = True
        for schema in schemas:
            whole = self._meeting.meet(whole, schema)
        return whole


def _pick(values: Sequence[Json], at: int) -> object:
    return values[at % len(values)] if values else NOTHING


def _names(schema: Schema) -> Iterator[str]:
    yield from cast("Mapping[str, Json]", schema.get("properties", {}))
    yield from _required(schema)


def _required(schema: Schema) -> Sequence[str]:
    return cast("Sequence[str]", schema.get("required", ()))
