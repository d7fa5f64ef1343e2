"""
What does `$use` stand for? Named conditions put where they are used, merged with what stands beside.

In come the conditions of conditions.yaml and maps of conditions; out come maps without `$use`. A key in both is a
finding, and so is a condition that uses itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node

__all__ = ["Uses"]


class Uses:
    """The named conditions, and which of them were used."""

    def __init__(self, conditions: Mapping[str, Node], reader: Reader) -> None:
        self.conditions = conditions
        self.reader = reader
        self.used: set[str] = set()

    def put_in(self, node: Node, inside: tuple[str, ...] = ()) -> Node:
        """
        Return the map of conditions *node* with the condition that it uses put in.

        What is put in is placed where it is used. *inside* are the conditions that are being put in already.
        """
        if not isinstance(node.value, dict) or "$use" not in node.value:
            return node
        use = node.value["$use"]
        values = {name: item for name, item in node.value.items() if name != "$use"}
        keys = {name: place for name, place in node.keys.items() if name != "$use"}
        for key, item in self._named(use, inside).items():
            if key in values:
                name = use.value
                self.reader.findings.add(keys[key], "in_both", f"{key!r} stands here and in the condition {name!r}")
            values[key] = item
            keys[key] = use.place
        return Node(values, node.place, keys)

    def _named(self, use: Node, inside: tuple[str, ...]) -> dict[str, Node]:
        name = self.reader.text(use, "$use")
        if not name:
            return {}
        if name in inside:
            self.reader.findings.add(use.place, "uses_itself", f"the condition {name!r} uses itself")
            return {}
        if name not in self.conditions:
            self.reader.unknown(use.place, "unknown_condition", name, self.conditions, "condition")
            return {}
        self.used.add(name)
        return self.reader.mapping(self.put_in(self.conditions[name], (*inside, name)), None, "map of conditions")
