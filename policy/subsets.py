"""
Which words of a schema does a provider take, and what is said of each word that it does not take?

Data only, from the providers' published rules; docs/providers.md tells how they are used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gatewright.policy.keywords import FORMATS as ALL_FORMATS

__all__ = ["GEMINI", "OPENAI_STRICT", "TEXTS", "Loss", "Reason", "Subset"]

Reason: TypeAlias = Literal["described", "merged", "widened", "dropped", "name", "not_strict"]

_COMMON: Final = frozenset(
    {"type", "description", "enum", "minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems"}
)

TEXTS: Final[Mapping[str, str]] = {
    "uniqueItems": "no two items are equal",
    "contains": "it must hold an item of a certain kind",
    "minContains": "it must hold several items of a certain kind",
    "maxContains": "it may hold few items of a certain kind",
    "unevaluatedItems": "no other items",
    "unevaluatedProperties": "no other properties",
    "propertyNames": "the names of its properties are limited",
    "patternProperties": "what a property holds depends on its name",
    "not": "some values are excluded",
    "if": "more rules apply to combinations of its parts",
    "dependentSchemas": "more rules apply to combinations of its parts",
    "dependentRequired": "some of its parts ask for others",
    "allOf": "more rules apply",
}
"""What is said, within a description, of words that no provider takes and that have no better text."""


@dataclass(frozen=True, slots=True)
class Loss:
    """
    What a rendering does not say as the role schema does.

    *path* is the JSON pointer of the place in the role schema, "" for its root; *keyword* the word there. *reason*:
    `described` in words instead; `merged` alternatives of the root into one object; `widened` to accept more;
    `dropped`, for it asserts nothing; `name`: the provider takes no such property name; `not_strict`: it keeps the
    tool from being shown as a strict one.
    """

    path: str
    keyword: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Subset:
    """
    What one provider takes.

    *strict*: every object is closed, every property is required, every value has a type. *values* are the JSON types
    that may stand in `enum`. *names* is what a property may be called.
    """

    name: str
    strict: bool
    keywords: frozenset[str]
    formats: frozenset[str]
    values: frozenset[str]
    names: re.Pattern[str]


OPENAI_STRICT: Final = Subset(
    name="openai-strict",
    strict=True,
    keywords=_COMMON | {"const", "format", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"},
    formats=ALL_FORMATS & {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
    values=frozenset({"string", "integer", "number", "boolean", "null"}),
    names=re.compile(r"[A-Za-z0-9_.-]{1,64}"),
)
GEMINI: Final = Subset(
    name="gemini",
    strict=False,
    keywords=_COMMON | {"title"},
    formats=frozenset(),
    values=frozenset({"string", "integer", "number"}),
    names=re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}"),
)
