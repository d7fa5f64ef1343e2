"""
How large does a schema become when its references are followed? Bounds on size and depth, and on going in circles.

In come a body and its definitions, every reference `#/$defs/NAME`; out comes nothing, or `SchemaInvalid`. Counts
without expanding, so a doubling bomb costs no more than its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from gatewright.policy.definitions import Definitions, pointed_at, subschemas
from gatewright.policy.keywords import IN_PLACE, SchemaInvalid
from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.pointers import format_pointer

__all__ = ["check_expansion"]

_LARGEST: Final = 2000
_DEEPEST: Final = 64


def check_expansion(body: Schema, definitions: Definitions, places: Mapping[str, Pointer]) -> None:
    """
    Refuse a schema that is too large or too deep once expanded, or that refers to itself without taking a step.

    *places* says where each definition stood.

    Raises:
        SchemaInvalid: `self_reference`, `too_many_subschemas` or `too_deep`.
    """
    _check_circles(definitions, places)
    size, depth = _Measure(definitions).measure(body, 0)
    if size > _LARGEST:
        raise SchemaInvalid("too_many_subschemas", hint=f"at most {_LARGEST} once references are followed")
    if depth > _DEEPEST:
        _too_deep()


@dataclass(slots=True)
class _Measure:
    """Sizes and depths of definitions, each measured once; a recursive reference counts as one step."""

    definitions: Definitions
    known: dict[str, tuple[int, int]] = field(default_factory=dict)

    def measure(self, schema: Json, depth: int) -> tuple[int, int]:
        if depth > _DEEPEST:
            _too_deep()
        if not isinstance(schema, Mapping):
            return 1, 1
        parts = [self.measure(child, depth + 1) for child in subschemas(schema)]
        if "$ref" in schema:
            parts.append(self._definition(pointed_at(schema["$ref"]), depth + 1))
        return 1 + sum(size for size, _ in parts), 1 + max((height for _, height in parts), default=0)

    def _definition(self, name: str, depth: int) -> tuple[int, int]:
        if name not in self.known:
            self.known[name] = (0, 0)
            self.known[name] = self.measure(self.definitions[name], depth)
        return self.known[name]


def _too_deep() -> None:
    raise SchemaInvalid("too_deep", hint=f"at most {_DEEPEST} levels once references are followed")


def _check_circles(definitions: Definitions, places: Mapping[str, Pointer]) -> None:
    """Refuse definitions that lead to themselves with no step into the value in between."""
    leads = {name: set(_in_place(schema)) for name, schema in definitions.items()}
    open_ends = [name for name, ahead in leads.items() if not ahead]
    behind: dict[str, set[str]] = {}
    for name, ahead in leads.items():
        for other in ahead:
            behind.setdefault(other, set()).add(name)
    while open_ends:
        done = open_ends.pop()
        for name in behind.get(done, ()):
            leads[name].discard(done)
            if not leads[name]:
                open_ends.append(name)
        del leads[done]
    if leads:
        place = format_pointer(places[min(leads)])
        raise SchemaInvalid("self_reference", place, hint="it refers to itself without a step into the value")


def _in_place(schema: Json) -> Iterator[str]:
    """Yield the names of the definitions that *schema* applies to the very same value."""
    if not isinstance(schema, Mapping):
        return
    if "$ref" in schema:
        yield pointed_at(schema["$ref"])
    for child in subschemas({keyword: value for keyword, value in schema.items() if keyword in IN_PLACE}):
        yield from _in_place(child)
