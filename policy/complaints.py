"""
What is wrong with these arguments, in words a model can act on? Complaints with a stable reason and a place.

In come failing keywords and the caller's own schema; out come complaints that say what is expected and what shape came.
A complaint never holds or quotes a value, and names an unknown argument only where the name is a plain word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gatewright.policy.evidence import Place, SchemaError
from gatewright.policy.model import Json, Schema
from gatewright.policy.phrases import Locale, phrase
from gatewright.policy.pointers import format_pointer
from gatewright.policy.quoting import Quote, quote_nothing
from gatewright.policy.wanted import SAYABLE, asked_at, declared_names, own_word

__all__ = [
    "REASONS",
    "SYNTAX_REASONS",
    "Complaint",
    "Layer",
    "business_complaint",
    "message",
    "schema_complaints",
    "syntax_complaint",
]

Layer: TypeAlias = Literal["syntax", "schema", "business"]

SYNTAX_REASONS: Final = frozenset(
    {
        "malformed",
        "duplicate_key",
        "not_an_object",
        "not_utf8",
        "byte_order_mark",
        "lone_surrogate",
        "nul_character",
        "number_out_of_range",
        "too_large_input",
        "too_deep",
        "too_many_nodes",
        "empty",
    }
)
"""The reasons of the decoder; what they mean never changes."""

_REASON_OF: Final[Mapping[str, str]] = {
    "required": "missing",
    "additionalProperties": "unknown_argument",
    "falseSchema": "unknown_argument",
    "type": "wrong_type",
    "enum": "not_in_enum",
    "const": "not_in_enum",
    "minimum": "too_small",
    "exclusiveMinimum": "too_small",
    "maximum": "too_large",
    "exclusiveMaximum": "too_large",
    "multipleOf": "not_a_multiple",
    "minLength": "too_short",
    "maxLength": "too_long",
    "pattern": "pattern_mismatch",
    "format": "bad_format",
    "minItems": "too_few_items",
    "maxItems": "too_many_items",
    "items": "too_many_items",
    "additionalItems": "too_many_items",
    "unevaluatedItems": "too_many_items",
    "uniqueItems": "duplicate_items",
    "contains": "lacks_item",
    "minContains": "lacks_item",
    "maxContains": "too_many_such_items",
    "minProperties": "too_few_properties",
    "maxProperties": "too_many_properties",
    "propertyNames": "bad_property_name",
    "anyOf": "no_alternative",
    "oneOf": "several_alternatives",
    "not": "not_allowed",
}

REASONS: Final = frozenset(_REASON_OF.values())
"""The reasons of the schema layer; what they mean never changes."""

_ABSENT: Final = frozenset({"missing", "unknown_argument"})
_PLAIN_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


@dataclass(frozen=True, slots=True)
class Complaint:
    """
    One thing wrong with the arguments.

    *field* is a JSON pointer: of the value, of the missing argument, or of an unknown name when it is a plain word,
    else of its parent. *expected* is what is asked for: a limit, types, options, or a developer's sentence fragment.
    *params* holds what the message is made of: the shape that came, the caller's schema of the place, an offset.
    """

    layer: Layer
    field: str
    reason: str
    expected: Json = None
    params: tuple[tuple[str, Json], ...] = ()

    def to_json(self, locale: Locale = "en", quote: Quote = quote_nothing) -> dict[str, Json]:
        """Return the complaint as it stands in a result's `errors`; its message quotes what *quote* allows."""
        whole: dict[str, Json] = {
            "layer": self.layer,
            "field": self.field,
            "reason": self.reason,
            "message": message(self, locale, quote),
        }
        if self.expected is not None:
            whole["expected"] = list(self.expected) if isinstance(self.expected, tuple) else self.expected
        return whole


def schema_complaints(errors: Iterable[SchemaError], schema: Schema) -> tuple[Complaint, ...]:
    """
    Return what to say of *errors*, without repeats, in terms of *schema*: what the caller is shown.

    The errors may come from a wider schema; what that one asks for is never told, only what *schema* does.
    """
    return tuple(dict.fromkeys(_complaint(error, schema) for error in errors))


def business_complaint(field: str, reason: str, expected: str | None = None, *, layer: Layer = "business") -> Complaint:
    """Return the complaint of a business rule; *expected* is the developer's sentence fragment."""
    return Complaint(layer, field, reason, expected)


def syntax_complaint(reason: str, offset: int | None = None) -> Complaint:
    """Return the complaint of the decoder; *offset* counts bytes from 0."""
    return Complaint("syntax", "", reason, None, () if offset is None else (("offset", offset),))


def message(complaint: Complaint, locale: Locale = "en", quote: Quote = quote_nothing) -> str:
    """
    Return the sentence for the model; the text is constant for a reason.

    What it is filled with holds no value, but for what *quote* allows to be quoted.
    """
    params = dict(complaint.params)
    quoted = None if complaint.layer == "syntax" or complaint.reason in _ABSENT else quote(complaint.field)
    if quoted is not None:
        params["quoted"] = quoted
    return phrase(complaint.layer, complaint.reason, complaint.expected, params, locale)


def _complaint(error: SchemaError, schema: Schema) -> Complaint:
    reason = _reason(error)
    if reason == "unknown_argument":
        return _unknown(error, schema)
    place = (*error.path, str(error.expected)) if reason == "missing" else error.path
    wanted = asked_at(schema, place)
    expected = wanted.get("type") if reason == "missing" else None
    own = own_word(schema, place, error.keyword, error.expected) if error.keyword in SAYABLE else None
    if own is not None:
        wanted.update([own])
        expected = own[1]
    params: list[tuple[str, Json]] = [("wanted", tuple(sorted(wanted.items())))]
    if error.shape is not None and reason != "missing":
        params += [("got", error.shape.kind), ("size", error.shape.size), ("integral", error.shape.integral)]
    return Complaint("schema", _pointer(place, schema), reason, expected, tuple(params))


def _unknown(error: SchemaError, schema: Schema) -> Complaint:
    """Complain of a name that the caller's schema does not have, whether it is hidden, pinned or made up."""
    parent, name = error.path, error.expected
    if error.keyword == "falseSchema":
        parent, name = error.path[:-1], error.path[-1]
    plain = isinstance(name, str) and _PLAIN_NAME.fullmatch(name)
    field = _pointer(parent, schema) + (format_pointer((name,)) if plain and isinstance(name, str) else "")
    return Complaint("schema", field, "unknown_argument", None, (("known", declared_names(schema, parent)),))


def _reason(error: SchemaError) -> str:
    if error.keyword == "falseSchema" and not (error.path and isinstance(error.path[-1], str)):
        return "too_many_items" if error.path else "not_accepted"
    if error.keyword in ("anyOf", "oneOf"):
        return "several_alternatives" if error.expected == "one" else "no_alternative"
    return _REASON_OF.get(error.keyword, "not_accepted")


def _pointer(place: Place, schema: Schema) -> str:
    """Return the pointer of *place*, cut before the first name that the sender made up and that is no plain word."""
    for length, token in enumerate(place):
        made_up = isinstance(token, str) and not _PLAIN_NAME.fullmatch(token)
        if made_up and token not in declared_names(schema, place[:length]):
            return format_pointer(tuple(map(str, place[:length])))
    return format_pointer(tuple(map(str, place)))
