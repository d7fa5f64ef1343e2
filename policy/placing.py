"""
How is something asked at a pointer said as one schema over the whole arguments? The tree an overlay is grown from.

In come pointers with schemas, and requirements; out comes one schema, or None where nothing is asked. Knows how the
base schema spells its arrays and maps, and which defaults make a requirement needless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.narrowing import imply_types, narrow
from gatewright.policy.pointers import read
from gatewright.policy.pruning import children

__all__ = ["Placing", "ask_at"]

_BENDS: Final = frozenset({"$ref", "anyOf", "oneOf", "allOf"})


@dataclass(slots=True)
class _Node:
    own: list[Schema] = field(default_factory=list)
    properties: dict[str, _Node] = field(default_factory=dict)
    elements: dict[str, _Node] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)

    def schema(self) -> Schema | None:
        if len(self.own) == 1 and not (self.properties or self.elements or self.required):
            return self.own[0]
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


class Placing:
    """An overlay over *base* that is being grown."""

    def __init__(self, base: Schema) -> None:
        self._base = base
        self._root = _Node()

    def ask(self, pointer: Pointer, schema: Schema) -> None:
        """Ask *schema* of everything that *pointer* names; a keyword implies its type."""
        if schema:
            for node in self._at(pointer):
                node.own.append(imply_types(schema))

    def require(self, pointer: Pointer, passes: Callable[[Json], bool]) -> frozenset[Pointer]:
        """
        Ask that *pointer* names something, unless a default that *passes* makes it so; elements need not exist.

        Parents are asked for too, down from the innermost whose default holds what is asked. Returns the places whose
        default does not pass, which must not be filled.
        """
        if len(pointer) == 1 and self._is_plain(pointer[0]):
            self._root.required.add(pointer[0])
            return frozenset()
        refused = set()
        needed = 1
        for length in range(len(pointer), 0, -1):
            verdict = self._default_passes(pointer, length, passes)
            if verdict is False:
                refused.add(pointer[:length])
            elif verdict and needed == 1:
                needed = length + 1
        for length in range(needed, len(pointer) + 1):
            if pointer[length - 1] != "*":
                for node in self._at(pointer[: length - 1]):
                    node.required.add(pointer[length - 1])
        return frozenset(refused)

    def schema(self) -> Schema | None:
        """Everything that was asked, as one schema."""
        return self._root.schema()

    def _default_passes(self, pointer: Pointer, length: int, passes: Callable[[Json], bool]) -> bool | None:
        """Whether the default at the first *length* tokens holds what is asked; None where it says nothing of it."""
        verdict: bool | None = None
        for default in self._defaults(pointer[:length]):
            if _is_there(default, pointer[length:]):
                values = [value for _, value in read(default, pointer[length:])]
                verdict = all(map(passes, values)) and verdict is not False
        return verdict

    def _is_plain(self, name: str) -> bool:
        """Whether *name* is an argument at the top that certainly has no default."""
        if not _BENDS.isdisjoint(self._base):
            return False
        child = cast("Mapping[str, Json]", self._base.get("properties", {})).get(name)
        return isinstance(child, dict) and _BENDS.isdisjoint(child) and "default" not in child

    def _defaults(self, pointer: Pointer) -> Iterator[Json]:
        for place in children(self._base, pointer, self._base):
            if "default" in place:
                yield place["default"]

    def _at(self, pointer: Pointer) -> list[_Node]:
        nodes = [self._root]
        for index, name in enumerate(pointer):
            if name != "*":
                nodes = [node.properties.setdefault(name, _Node()) for node in nodes]
                continue
            kinds = self._element_keywords(pointer[:index])
            nodes = [node.elements.setdefault(kind, _Node()) for node in nodes for kind in kinds]
        return nodes

    def _element_keywords(self, parent: Pointer) -> list[str]:
        """How elements at *parent* are spelled: `items` of an array, `additionalProperties` of a map."""
        found = list(children(self._base, parent, self._base))
        kinds = ["items"] if any("items" in place for place in found) else []
        if any(isinstance(place.get("additionalProperties"), Mapping) for place in found):
            kinds.append("additionalProperties")
        return kinds or ["items"]


def _is_there(value: Json, pointer: Pointer) -> bool:
    """Whether every place that *pointer* means in *value* is there; of no elements, each is."""
    for length, name in enumerate(pointer):
        if name == "*":
            return all(_is_there(each, pointer[length + 1 :]) for _, each in read(value, ("*",)))
        if not isinstance(value, Mapping) or name not in value:
            return False
        value = value[name]
    return True


def ask_at(base: Schema, pointer: Pointer, schema: Schema) -> Schema:
    """Return the schema over the whole arguments that asks *schema* at *pointer*."""
    placing = Placing(base)
    placing.ask(pointer, schema)
    return placing.schema() or {}
