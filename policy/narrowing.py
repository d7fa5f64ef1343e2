"""
What do two schemas accept together, and what does any of several accept? Conjunction and union of role schemas.

In come schemas of the dialect; out comes one schema, flat where a flat form is exact, else through `allOf`. Never
widens: whatever the result accepts, the base accepts. Sources: DESIGN section 5, POLICY.md "Arguments".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from gatewright.policy.definitions import as_text, hoist, with_definitions
from gatewright.policy.errors import GatewrightError
from gatewright.policy.implication import imply_types
from gatewright.policy.meeting import IMPOSSIBLE, Meeting, is_impossible
from gatewright.policy.model import Json, Schema

__all__ = ["MOST_ALTERNATIVES", "TooManyAlternatives", "any_of", "imply_types", "narrow"]

MOST_ALTERNATIVES: Final = 8
"""At most this many alternatives stand in one role schema."""


class TooManyAlternatives(GatewrightError):
    """More schemas than `MOST_ALTERNATIVES` that differ were to be shown as one. *count* says how many."""

    code = "too_many_alternatives"

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(count)

    def __str__(self) -> str:
        return f"{self.count} alternatives, at most {MOST_ALTERNATIVES} (merge entries that differ little)"


def narrow(base: Schema, overlay: Schema) -> Schema:
    """
    Return the schema that accepts exactly what *base* and *overlay* both accept.

    A keyword of *overlay* implies its type: `maximum: 5` asks for a number. Annotations of *overlay* win; a default
    or an example that no longer passes is left out.

    >>> narrow({"type": "integer", "maximum": 200}, {"maximum": 50})
    {'type': 'integer', 'maximum': 50}
    """
    definitions: dict[str, Json] = {}
    left = hoist(base, definitions)
    right = hoist(imply_types(overlay), definitions)
    met = Meeting(definitions).meet(left, right)
    return with_definitions(met if isinstance(met, Mapping) else IMPOSSIBLE, definitions)


def any_of(schemas: Sequence[Schema]) -> Schema:
    """
    Return the schema that accepts exactly what at least one of *schemas* accepts.

    Equal schemas are one alternative and a single one is returned as it is. Definitions are shared where equal, renamed
    where they clash, and left out where nothing needs them.

    Raises:
        TooManyAlternatives: more than `MOST_ALTERNATIVES` remain.
    """
    if len(schemas) == 1:
        return schemas[0]
    distinct = list({as_text(schema): schema for schema in schemas}.values())
    possible = [schema for schema in distinct if not is_impossible(schema)] or distinct[:1]
    if len(possible) > MOST_ALTERNATIVES:
        raise TooManyAlternatives(len(possible))
    if len(possible) < 2:
        return possible[0] if possible else IMPOSSIBLE
    definitions: dict[str, Json] = {}
    bodies = [hoist(schema, definitions) for schema in possible]
    union: dict[str, Json] = {"anyOf": cast("list[Json]", bodies)}
    if all(body.get("type") == "object" for body in bodies):
        union = {"type": "object", **union}
    return with_definitions(union, definitions)
