"""
What do an entry and its limits take from a tool's arguments, said as schemas?

In come argument cuts with their references filled; out come three overlays over the base schema: whose thing it is
(`authority`), other narrowing (`narrowing`) and narrowing whose violation forbids (`forbidding`). Sources: POLICY.md,
"Arguments" and "How a call is judged" stages (b) and (c).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

from gatewright.policy.conditions import ConditionSet
from gatewright.policy.dialect import compile_schema
from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.narrowing import imply_types
from gatewright.policy.placing import Placing
from gatewright.policy.references import EARLY, Lookup, has_references, substitute
from gatewright.policy.toolfile import ArgumentCut

__all__ = ["Grants", "Late", "Overlays", "lay_over", "unfold"]

_WHOSE = frozenset({"const", "enum", "pattern"})
_DESCENDS = frozenset({"properties", "items"})
_NEVER: Schema = {"not": {}}


class Grants(Protocol):
    """What Casbin grants the roles that opened an entry."""

    def show(self, kind: str, action: str) -> Schema:
        """Return the schema that shows what is granted; raises Unfilled where nothing is."""
        ...

    def allow(self, kind: str, action: str, value: Json) -> bool:
        """Answer whether *value* is a granted id."""
        ...


@dataclass(frozen=True, slots=True)
class Late:
    """Narrowing of the values at *pointer*, asked of each as the condition `value`."""

    pointer: Pointer
    condition: ConditionSet
    forbidden: bool


@dataclass(frozen=True, slots=True)
class Overlays:
    """
    The three overlays, each a schema or None, the granted pointers with their (type, action), and what can't be shown.

    `narrowing` also requires every narrowed argument whose default does not pass; *refused* are those defaults' places,
    which are not filled. *late* holds narrowing with references that only a call can fill.
    """

    authority: Schema | None
    narrowing: Schema | None
    forbidding: Schema | None
    granted: tuple[tuple[Pointer, str, str], ...]
    late: tuple[Late, ...]
    refused: frozenset[Pointer]

    def all(self) -> tuple[Schema, ...]:
        """Every overlay there is."""
        return tuple(overlay for overlay in (self.authority, self.narrowing, self.forbidding) if overlay is not None)


@dataclass(slots=True)
class _Asked:
    """All that is asked at one pointer."""

    parts: list[Schema] = field(default_factory=list)
    granted: list[tuple[str, str]] = field(default_factory=list)
    is_late: bool = False
    pins: list[Json] = field(default_factory=list)


def lay_over(base: Schema, cuts: Iterable[tuple[Pointer, ArgumentCut]], lookup: Lookup, grants: Grants) -> Overlays:
    """
    Return the overlays of *cuts* over *base*.

    A pin asks that its parent is there; pins of one place that differ can never hold.

    Raises:
        Unfilled: a `$identity` or `$tenant` reference has no value; the entry is closed.
    """
    authority, narrowing, forbidding = Placing(base), Placing(base), Placing(base)
    late: list[Late] = []
    asked: dict[Pointer, _Asked] = {}
    for pointer, cut in cuts:
        if cut.how == "hidden" or (cut.how == "narrow" and not (cut.schema or cut.granted)):
            continue
        place = asked.setdefault(pointer, _Asked())
        if cut.how == "pin":
            place.pins.append(substitute(cut.value, lookup, EARLY, "const"))
            continue
        whose, other, waiting = _filled(cut.schema, lookup)
        if waiting:
            late.append(Late(pointer, ConditionSet({"value": waiting}), cut.forbidden))
            place.is_late = True
        authority.ask(pointer, whose)
        (forbidding if cut.forbidden else narrowing).ask(pointer, other)
        place.parts += [part for part in (whose, other) if part]
        if cut.granted is not None:
            place.granted.append(cut.granted)
    refused: set[Pointer] = set()
    for pointer in sorted(asked, key=len, reverse=True):
        refused |= _need(narrowing, pointer, asked[pointer], grants, pointer in refused)
    granted = tuple((pointer, *each) for pointer, it in asked.items() for each in it.granted)
    return Overlays(
        authority.schema(), narrowing.schema(), forbidding.schema(), granted, tuple(late), frozenset(refused)
    )


def _need(narrowing: Placing, pointer: Pointer, asked: _Asked, grants: Grants, is_refused: bool) -> frozenset[Pointer]:
    """
    Require what is asked for at *pointer*; return the places of defaults that do not do.

    *is_refused* says that its default fails already by what is asked deeper in it.
    """
    if asked.pins:
        if len(pointer) > 1:
            narrowing.require(pointer[:-1], lambda _: True)
        if any(pin != asked.pins[0] for pin in asked.pins):
            narrowing.ask((), _NEVER)
    if not (asked.parts or asked.granted or asked.is_late):
        return frozenset()

    def passes(value: Json) -> bool:
        return (
            not (asked.is_late or is_refused)
            and all(compile_schema(imply_types(part)).accepts(value) for part in asked.parts)
            and all(grants.allow(kind, action, value) for kind, action in asked.granted)
        )

    return narrowing.require(pointer, passes)


def unfold(cuts: Iterable[tuple[Pointer, ArgumentCut]]) -> Iterator[tuple[Pointer, ArgumentCut]]:
    """Yield *cuts* with what `properties` and `items` ask as cuts at pointers of their own."""
    for pointer, cut in cuts:
        if cut.how != "narrow" or _DESCENDS.isdisjoint(cut.schema):
            yield pointer, cut
            continue
        inner = {
            keyword: value
            for keyword, value in cut.schema.items()
            if keyword in _DESCENDS and isinstance(value, Mapping)
        }
        if not inner:
            yield pointer, cut
            continue
        rest = {keyword: value for keyword, value in cut.schema.items() if keyword not in inner}
        yield pointer, replace(cut, schema={"type": "object" if "properties" in inner else "array", **rest})
        below = [((*pointer, name), child) for name, child in inner.get("properties", {}).items()]
        below += [((*pointer, "*"), inner["items"])] if "items" in inner else []
        for place, child in below:
            schema: Schema = child if isinstance(child, Mapping) else {"not": {}} if child is False else {}
            yield from unfold([(place, ArgumentCut("narrow", schema=schema, forbidden=cut.forbidden))])


def _filled(schema: Schema, lookup: Lookup) -> tuple[Schema, Schema, Schema]:
    """Return what says whose thing it is, and the rest, early references filled; and what waits for the call."""
    if not has_references(schema):
        return {}, schema, {}
    whose, other = (cast("Schema", substitute(part, lookup, EARLY)) for part in _split(schema))
    waiting = {keyword: value for keyword, value in other.items() if has_references(value)}
    return whose, {keyword: value for keyword, value in other.items() if keyword not in waiting}, waiting


def _split(schema: Schema) -> tuple[Schema, Schema]:
    """Split keywords into those that say whose thing it is (they hold an early reference) and the rest."""
    whose = {
        keyword: value
        for keyword, value in schema.items()
        if has_references(value, EARLY) and (keyword in _WHOSE or _speaks_of_whose(value))
    }
    return whose, {keyword: value for keyword, value in schema.items() if keyword not in whose}


def _speaks_of_whose(value: Json) -> bool:
    if isinstance(value, Mapping):
        return any(
            (keyword in _WHOSE and has_references(child, EARLY)) or _speaks_of_whose(child)
            for keyword, child in value.items()
        )
    return isinstance(value, list | tuple) and any(_speaks_of_whose(item) for item in value)
