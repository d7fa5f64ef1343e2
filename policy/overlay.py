"""
What do an entry and its limits take from a tool's arguments, said as schemas?

In come argument cuts with their references filled; out come three overlays over the base schema: whose thing it is
(`authority`), other narrowing (`narrowing`) and narrowing whose violation forbids (`forbidding`). Sources: POLICY.md,
"Arguments" and "How a call is judged" stages (b) and (c).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from gatewright.policy.conditions import ConditionSet
from gatewright.policy.dialect import compile_schema
from gatewright.policy.model import ArgumentCut, Json, Pointer, Schema
from gatewright.policy.narrowing import imply_types, narrow
from gatewright.policy.pruning import children
from gatewright.policy.references import EARLY, Lookup, has_references, substitute

__all__ = ["Late", "Overlays", "lay_over", "overlay_at"]

_WHOSE = frozenset({"const", "enum", "pattern"})
_DESCENDS = frozenset({"items", "additionalProperties"})


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

    `narrowing` also requires every narrowed argument whose default does not pass. *late* holds narrowing with
    references that only a call can fill.
    """

    authority: Schema | None
    narrowing: Schema | None
    forbidding: Schema | None
    granted: tuple[tuple[Pointer, str, str], ...]
    late: tuple[Late, ...] = ()

    def all(self) -> tuple[Schema, ...]:
        """Every overlay there is."""
        return tuple(overlay for overlay in (self.authority, self.narrowing, self.forbidding) if overlay is not None)


def lay_over(base: Schema, cuts: Iterable[tuple[Pointer, ArgumentCut]], lookup: Lookup) -> Overlays:
    """
    Return the overlays of *cuts* over *base*.

    Raises:
        Unfilled: a `$identity` or `$tenant` reference has no value; the entry is closed.
    """
    authority, narrowing, forbidding = _Node(), _Node(), _Node()
    granted: list[tuple[Pointer, str, str]] = []
    late: list[Late] = []
    unsure: set[Pointer] = set()
    narrowed: dict[Pointer, list[Schema]] = {}
    for pointer, cut in cuts:
        if cut.how != "narrow" or not (cut.schema or cut.granted):
            continue
        whose, other = (cast("Schema", substitute(part, lookup, EARLY)) for part in _split(cut.schema))
        waiting = {keyword: value for keyword, value in other.items() if has_references(value)}
        if waiting:
            late.append(Late(pointer, ConditionSet({"value": waiting}), cut.forbidden))
            other = {keyword: value for keyword, value in other.items() if keyword not in waiting}
        _add(authority, base, pointer, whose)
        _add(forbidding if cut.forbidden else narrowing, base, pointer, other)
        narrowed.setdefault(pointer, []).extend(part for part in (whose, other) if part)
        if waiting or cut.granted is not None:
            unsure.add(pointer)
        if cut.granted is not None:
            granted.append((pointer, *cut.granted))
    for pointer, parts in narrowed.items():
        if pointer in unsure or not _default_passes(base, pointer, parts):
            narrowing.require(base, pointer)
    return Overlays(authority.schema(), narrowing.schema(), forbidding.schema(), tuple(granted), tuple(late))


def overlay_at(base: Schema, pointer: Pointer, schema: Schema) -> Schema:
    """Return the schema over the whole arguments that asks *schema* at *pointer*."""
    root = _Node()
    _add(root, base, pointer, schema)
    return root.schema() or {}


@dataclass(slots=True)
class _Node:
    """A place in the overlay that is being built."""

    own: list[Schema] = field(default_factory=list)
    properties: dict[str, _Node] = field(default_factory=dict)
    elements: dict[str, _Node] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)

    def at(self, base: Schema, pointer: Pointer) -> list[_Node]:
        nodes: list[_Node] = [self]
        for index, name in enumerate(pointer):
            if name != "*":
                nodes = [node.properties.setdefault(name, _Node()) for node in nodes]
                continue
            kinds = _element_keywords(base, pointer[:index])
            nodes = [node.elements.setdefault(kind, _Node()) for node in nodes for kind in kinds]
        return nodes

    def require(self, base: Schema, pointer: Pointer) -> None:
        """Ask for what *pointer* names, and for the parents it stands in; elements of an array need not exist."""
        for length in range(len(pointer), 0, -1):
            if pointer[length - 1] == "*":
                continue
            for node in self.at(base, pointer[: length - 1]):
                node.required.add(pointer[length - 1])

    def schema(self) -> Schema | None:
        built: dict[str, Json] = {}
        properties = {name: part for name, node in self.properties.items() if (part := node.schema()) is not None}
        if properties:
            built["properties"] = cast("Json", properties)
        if self.required:
            built["required"] = cast("Json", sorted(self.required))
        built.update({kind: part for kind, node in self.elements.items() if (part := node.schema()) is not None})
        if not self.own:
            return built or None
        whole: Schema = self.own[0]
        for part in (*self.own[1:], *([built] if built else [])):
            whole = narrow(whole, part)
        return whole


def _add(overlay: _Node, base: Schema, pointer: Pointer, schema: Schema) -> None:
    if schema:
        for node in overlay.at(base, pointer):
            node.own.append(imply_types(schema))


def _element_keywords(base: Schema, parent: Pointer) -> list[str]:
    """How the elements at *parent* are spelled in a schema: `items` of an array, `additionalProperties` of a map."""
    found = list(children(base, parent, base))
    kinds = ["items"] if any("items" in place for place in found) else []
    if any(isinstance(place.get("additionalProperties"), Mapping) for place in found):
        kinds.append("additionalProperties")
    return kinds or ["items"]


def _split(schema: Schema) -> tuple[Schema, Schema]:
    """Split keywords into those that say whose thing it is (they hold an early reference) and the rest."""
    whose: dict[str, Json] = {}
    other: dict[str, Json] = {}
    for keyword, value in schema.items():
        if not has_references(value, EARLY):
            other[keyword] = value
        elif keyword == "properties":
            parts = {name: _split(cast("Schema", child)) for name, child in cast("Mapping[str, Json]", value).items()}
            whose[keyword] = {name: part[0] for name, part in parts.items() if part[0]}
            if any(part[1] for part in parts.values()):
                other[keyword] = {name: part[1] for name, part in parts.items() if part[1]}
        elif keyword in _DESCENDS and isinstance(value, Mapping):
            for target, part in zip((whose, other), _split(value), strict=True):
                if part:
                    target[keyword] = part
        elif keyword in _WHOSE or _speaks_of_whose(value):
            whose[keyword] = value
        else:
            other[keyword] = value
    return {keyword: value for keyword, value in whose.items() if value != {}}, other


def _speaks_of_whose(value: Json) -> bool:
    if isinstance(value, Mapping):
        return any(
            (keyword in _WHOSE and has_references(child, EARLY)) or _speaks_of_whose(child)
            for keyword, child in value.items()
        )
    return isinstance(value, list | tuple) and any(_speaks_of_whose(item) for item in value)


def _default_passes(base: Schema, pointer: Pointer, parts: list[Schema]) -> bool:
    """Whether the default at *pointer* satisfies every narrowing of it; no default never does."""
    values = [place["default"] for place in children(base, pointer, base) if "default" in place]
    return bool(values) and all(
        compile_schema(imply_types(part)).accepts(value, integral_floats=True) for value in values for part in parts
    )
