"""
Can any value fit two of these alternatives? Not where types, or the constants of a name they require, differ.

In come alternatives and definitions; out comes True only where it is certain. Not a proof for schemas in general.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import cast

from gatewright.policy.definitions import Definitions, pointed_at
from gatewright.policy.model import Json, Schema
from gatewright.policy.scalars import kinds_of, meet_kinds, meet_options, options_of

__all__ = ["are_disjoint"]


def are_disjoint(alternatives: Json, definitions: Definitions) -> bool:
    """
    Answer whether it is certain that no value fits two of *alternatives*.

    >>> are_disjoint([{"type": "string"}, {"type": "null"}], {}), are_disjoint([{"type": "string"}, {}], {})
    (True, False)
    """
    branches = [_resolved(branch, definitions) for branch in cast("Sequence[Json]", alternatives)]
    return all(_are_apart(first, second, definitions) for first, second in combinations(branches, 2))


def _are_apart(first: Schema, second: Schema, definitions: Definitions) -> bool:
    kinds = meet_kinds(kinds_of(first), kinds_of(second))
    if kinds == ():
        return True
    if kinds != ("object",):
        return False
    required = [set(cast("Sequence[str]", side.get("required", ()))) for side in (first, second)]
    return any(
        meet_options(_options(first, name, definitions), _options(second, name, definitions)) == ()
        for name in required[0] & required[1]
    )


def _options(side: Schema, name: str, definitions: Definitions) -> tuple[Json, ...] | None:
    child = cast("Mapping[str, Json]", side.get("properties", {})).get(name)
    return options_of(_resolved(child, definitions))


def _resolved(schema: Json, definitions: Definitions) -> Schema:
    for _ in range(len(definitions) + 1):
        if not isinstance(schema, Mapping):
            return {}
        if "$ref" not in schema:
            return schema
        schema = definitions[pointed_at(schema["$ref"])]
    return {}
