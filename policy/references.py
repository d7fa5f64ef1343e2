"""
What does `{"$identity": "branch"}` stand for? Substitution of references in schemas, by what is at hand.

In come JSON values with references and a lookup; out comes a copy without them, or `Unfilled`. Knows no operators
and evaluates nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from gatewright.policy.caller import Caller
from gatewright.policy.model import Json, JsonObject, Schema

__all__ = ["EARLY", "KINDS", "MISSING", "Lookup", "Missing", "Unfilled", "early_lookup", "has_references", "substitute"]

EARLY: Final = frozenset({"$identity", "$tenant"})
"""References that are known before any argument is: they come from the token and the tenant's settings."""

KINDS: Final = EARLY | {"$argument", "$fact", "$resource", "$context"}

_PLAIN: Final = frozenset({str, int, float, bool, type(None)})
_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_COUNTS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"}
)


class Missing:
    """The type of `MISSING`: there is no such value, which is not the same as null."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()

Lookup = Callable[[str, str], "Json | Missing"]
"""(kind, path) → the value, or MISSING."""


class Unfilled(Exception):
    """A reference has no value, null, an empty one, or one its keyword cannot take. *reference* names it."""

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(reference)


def substitute(value: Json, lookup: Lookup, kinds: frozenset[str] = KINDS, keyword: str = "") -> Json:
    """
    Return *value* with every reference of *kinds* replaced by what *lookup* gives.

    Raises:
        Unfilled: absent is never the same as satisfied, so the caller must refuse.
    """
    if isinstance(value, Mapping):
        reference = _reference(value)
        if reference is None:
            return {name: substitute(item, lookup, kinds, name) for name, item in value.items()}
        if reference[0] not in kinds:
            return value
        return _filled(reference, lookup(*reference), keyword)
    if isinstance(value, list | tuple):
        return [substitute(item, lookup, kinds, f"{keyword}[]") for item in value]
    return value


def has_references(value: Json, kinds: frozenset[str] = KINDS) -> bool:
    """Whether a reference of *kinds* stands anywhere in *value*."""
    if isinstance(value, dict | Mapping):
        reference = _reference(value)
        if reference is not None:
            return reference[0] in kinds
        return any(type(item) not in _PLAIN and has_references(item, kinds) for item in value.values())
    return isinstance(value, list | tuple) and any(
        type(item) not in _PLAIN and has_references(item, kinds) for item in value
    )


def early_lookup(caller: Caller, settings: JsonObject) -> Lookup:
    """What `$identity` (subject, tenant, declared claims) and `$tenant` (settings) mean for *caller*."""

    def lookup(kind: str, path: str) -> Json | Missing:
        if kind == "$tenant":
            return settings.get(path, MISSING)
        if kind != "$identity":
            return MISSING
        if path == "subject":
            return caller.subject
        return caller.tenant if path == "tenant" else caller.claims.get(path, MISSING)

    return lookup


def _reference(value: Schema) -> tuple[str, str] | None:
    if len(value) != 1:
        return None
    kind, path = next(iter(value.items()))
    return (kind, path) if kind in KINDS and isinstance(path, str) else None


def _filled(reference: tuple[str, str], value: Json | Missing, keyword: str) -> Json:
    if isinstance(value, Missing) or value in ("", None) or not _takes(keyword, value):
        raise Unfilled(f"{reference[0]}: {reference[1]}")
    return value


def _takes(keyword: str, value: Json) -> bool:
    if keyword in _NUMBERS:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if keyword in _COUNTS:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if keyword in ("pattern", "format"):
        return isinstance(value, str)
    if keyword == "enum":
        return isinstance(value, list | tuple) and len(value) > 0 and "" not in value and None not in value
    return True
