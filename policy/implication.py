"""
Which type does a keyword speak of? In an overlay it asks for that type: `maximum: 5` asks for a number.

In comes an overlay; out comes the same overlay with its types written out. What stands below `not` and `if` is left as
it is, because adding a type there would take away from the refusal.
"""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.policy.definitions import rebuild
from gatewright.policy.keywords import IMPLIED, LEAVES
from gatewright.policy.model import Json, Schema

__all__ = ["imply_types"]

_LEFT = ("not", "if", "then", "else", "dependentSchemas", "$defs")


def imply_types(schema: Schema) -> Schema:
    """
    Return *schema* with the type that its keywords imply, at every place that it narrows.

    >>> imply_types({"properties": {"limit": {"maximum": 5}}})["properties"]
    {'limit': {'maximum': 5, 'type': 'number'}}
    """
    out = schema if LEAVES.issuperset(schema) else _below(schema)
    if "type" in schema:
        return out
    kinds = sorted({IMPLIED[keyword] for keyword in schema if keyword in IMPLIED})
    if not kinds:
        return out
    if len(kinds) == 1:
        return {**out, "type": kinds[0]}
    conjuncts: list[Json] = [{"type": kind} for kind in kinds]
    return {**out, "allOf": [*_listed(out.get("allOf")), *conjuncts]}


def _below(schema: Schema) -> Schema:
    out = rebuild(schema, lambda child: imply_types(child) if isinstance(child, dict | Mapping) else child)
    out.update({keyword: schema[keyword] for keyword in _LEFT if keyword in schema})
    return out


def _listed(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []
