"""
Into which plain cases does a schema fall apart? Its references followed, its unions split, its conjuncts met.

In comes a schema; out come schemas without `$ref`, `anyOf` and `oneOf` at their top that together accept at least what
it accepts, or None where there would be too many. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast

from gatewright.policy.definitions import Definitions, pointed_at
from gatewright.policy.emptiness import Emptiness
from gatewright.policy.meeting import Meeting
from gatewright.policy.model import Json, Schema

__all__ = ["flatten"]

_BRANCHING: Final = ("$ref", "anyOf", "oneOf")
_MOST_STEPS: Final = 400


def flatten(schema: Json, definitions: Definitions, most: int) -> list[Schema] | None:
    """Return the cases of *schema* that are not certainly empty, at most *most* of them, else None."""
    meeting, empty = Meeting(definitions), Emptiness(definitions)
    waiting: list[Json] = [schema]
    done: list[Schema] = []
    for _ in range(_MOST_STEPS):
        if not waiting:
            return done
        if len(waiting) + len(done) > most:
            return None
        each = waiting.pop()
        if empty.is_empty(each):
            continue
        if not isinstance(each, Mapping):
            done.append({})
            continue
        split = _split(each, definitions)
        if split is None:
            done.append(each)
        else:
            rest, branches = split
            waiting.extend(meeting.meet(rest, branch) for branch in branches)
    return None


def _split(schema: Schema, definitions: Definitions) -> tuple[Schema, Sequence[Json]] | None:
    """Return *schema* without one of its unions or references, and what that one offers; None where it has none."""
    for keyword in _BRANCHING:
        if keyword in schema:
            rest = {word: value for word, value in schema.items() if word != keyword}
            return rest, _offered(keyword, schema[keyword], definitions)
    conjuncts = cast("Sequence[Json]", schema.get("allOf", ()))
    for index, conjunct in enumerate(conjuncts):
        if isinstance(conjunct, Mapping) and any(word in conjunct for word in (*_BRANCHING, "allOf")):
            others = [*conjuncts[:index], *conjuncts[index + 1 :]]
            rest = {word: value for word, value in schema.items() if word != "allOf"}
            return {**rest, "allOf": others} if others else rest, list(_alternatives(conjunct, definitions))
    return None


def _alternatives(conjunct: Schema, definitions: Definitions) -> Iterator[Json]:
    """Yield what *conjunct* falls apart into at its first union, reference or conjunction."""
    inner = cast("Sequence[Json]", conjunct.get("allOf", ()))
    if inner:
        rest: Json = {word: value for word, value in conjunct.items() if word != "allOf"}
        meeting = Meeting(definitions)
        for each in inner:
            rest = meeting.meet(rest, each)
        yield rest
        return
    keyword = next(word for word in _BRANCHING if word in conjunct)
    rest = {word: value for word, value in conjunct.items() if word != keyword}
    for branch in _offered(keyword, conjunct[keyword], definitions):
        yield Meeting(definitions).meet(rest, branch)


def _offered(keyword: str, value: Json, definitions: Definitions) -> Sequence[Json]:
    return [definitions[pointed_at(value)]] if keyword == "$ref" else cast("Sequence[Json]", value)
