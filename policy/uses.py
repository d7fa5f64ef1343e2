"""
What does `$use` stand for? Named conditions put where they are used.

In come a document and the named conditions; out comes the document with every `$use` merged with its siblings. A key
in both is a finding.
"""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node

__all__ = ["put_in"]


def put_in(node: Node, conditions: Mapping[str, Node], reader: Reader) -> Node:
    """Return *node* with the conditions that it uses put in."""
    if isinstance(node.value, list):
        return Node([put_in(item, conditions, reader) for item in node.value], node.place, {})
    if not isinstance(node.value, dict):
        return node
    values = {name: put_in(item, conditions, reader) for name, item in node.value.items() if name != "$use"}
    keys = {name: place for name, place in node.keys.items() if name != "$use"}
    if "$use" in node.value:
        use = node.value["$use"]
        name = reader.text(use, "$use")
        if name and name not in conditions:
            reader.unknown(use.place, "unknown_condition", name, conditions, "condition")
        used = reader.mapping(conditions.get(name))
        for key, item in used.items():
            if key in values:
                reader.findings.add(keys[key], "in_both", f"{key!r} stands here and in the condition {name!r}")
            values[key] = item
            keys[key] = use.place
    return Node(values, node.place, keys)
