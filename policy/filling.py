"""
What does a call's argument object look like once pins and defaults are in it?

In come a base schema, an entry's pins and defaults; out comes a plan that fills arguments without changing them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias, cast

from gatewright.policy.model import Json, JsonObject, Pointer, Schema
from gatewright.policy.pointers import put
from gatewright.policy.pruning import resolve

__all__ = ["Filling", "schema_defaults"]

Defaults: TypeAlias = "Iterator[tuple[Pointer, Json]]"

_INNER: Final = frozenset({"properties", "items", "$ref"})


class Filling:
    """The pins and defaults of one entry for one caller; pins are set whatever is there, defaults where nothing is."""

    __slots__ = ("_deep", "_defaults", "_pins")

    def __init__(self, pins: Mapping[Pointer, Json], defaults: Mapping[Pointer, Json]) -> None:
        self._defaults = {pointer[0]: value for pointer, value in defaults.items() if len(pointer) == 1}
        self._pins = {pointer[0]: value for pointer, value in pins.items() if len(pointer) == 1}
        self._deep = [
            *((pointer, value, False) for pointer, value in defaults.items() if len(pointer) > 1),
            *((pointer, value, True) for pointer, value in pins.items() if len(pointer) > 1),
        ]

    def fill(self, arguments: JsonObject) -> dict[str, Json]:
        """Return *arguments* with defaults and pins in them; containers are copied, never shared with the plan."""
        filled: dict[str, Json] = {**arguments}
        for name, value in self._defaults.items():
            if name not in filled:
                filled[name] = _fresh(value)
        for name, value in self._pins.items():
            filled[name] = _fresh(value)
        for pointer, value, replace in self._deep:
            filled = cast("dict[str, Json]", put(filled, pointer, _fresh(value), replace=replace))
        return filled


def schema_defaults(schema: Schema, root: Schema, at: Pointer = (), seen: frozenset[str] = frozenset()) -> Defaults:
    """Yield every default that *schema* states for a property, outermost first; a definition is entered once a path."""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        if reference in seen:
            return
        seen |= {reference}
    schema = resolve(schema, root)
    for name, child in cast("Mapping[str, Json]", schema.get("properties", {})).items():
        if isinstance(child, dict | Mapping):
            if "default" in child:
                yield (*at, name), child["default"]
            if not _INNER.isdisjoint(child):
                yield from schema_defaults(child, root, (*at, name), seen)
    items = schema.get("items")
    if isinstance(items, dict | Mapping):
        yield from schema_defaults(items, root, (*at, "*"), seen)


def _fresh(value: Json) -> Json:
    if isinstance(value, Mapping):
        return {name: _fresh(item) for name, item in value.items()}
    return [_fresh(item) for item in value] if isinstance(value, list | tuple) else value
