"""
Which words may a schema use? The closed table of keywords and formats, and the refusal of everything else.

Data only. A keyword stands here with the JSON type it speaks of; a test holds its edge values for three validators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gatewright.policy.errors import GatewrightError

__all__ = [
    "ANNOTATIONS",
    "DATA",
    "FOREIGN_TYPES",
    "FORMATS",
    "HINTS",
    "IMPLIED",
    "IN_PLACE",
    "KEYWORDS",
    "LEAVES",
    "LISTS",
    "MAPS",
    "SINGLES",
    "TYPES",
    "Note",
    "SchemaInvalid",
]

TYPES: Final = ("null", "boolean", "integer", "number", "string", "array", "object")

ANNOTATIONS: Final = frozenset(
    {"$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
"""They assert nothing."""

IMPLIED: Final[Mapping[str, str]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(
        (
            "items",
            "prefixItems",
            "unevaluatedItems",
            "contains",
            "minContains",
            "maxContains",
            "minItems",
            "maxItems",
            "uniqueItems",
        ),
        "array",
    ),
    **dict.fromkeys(
        (
            "properties",
            "patternProperties",
            "additionalProperties",
            "unevaluatedProperties",
            "propertyNames",
            "required",
            "minProperties",
            "maxProperties",
            "dependentRequired",
            "dependentSchemas",
        ),
        "object",
    ),
}
"""Keyword → the only JSON type it speaks of; in an overlay it implies that type."""

SINGLES: Final = frozenset(
    {
        "items",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
    }
)
"""Keywords that hold one schema."""

LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
"""Keywords that hold a list of schemas."""

MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas", "$defs"})
"""Keywords that hold schemas by name."""

IN_PLACE: Final = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "$ref"})
"""Keywords whose schemas speak of the same value, not of a part of it."""

DATA: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose value is data: nothing in it is a schema."""

KEYWORDS: Final = (
    frozenset({"type", "enum", "const"}) | ANNOTATIONS | IMPLIED.keys() | SINGLES | LISTS | MAPS | IN_PLACE
)

LEAVES: Final = KEYWORDS - SINGLES - LISTS - MAPS - {"$ref"}
"""Keywords that neither hold nor name a schema."""

FORMATS: Final = frozenset(
    {
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "ipv4",
        "ipv6",
        "json-pointer",
        "time",
        "uri",
        "uri-reference",
        "uuid",
    }
)
"""Formats that are asserted. Any other is refused: a format that nobody checks would only look like a check."""


FOREIGN_TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("dict", "map", "HashMap", "Hashtable", "struct", "record"), "object"),
    **dict.fromkeys(("list", "tuple", "set", "ArrayList", "Queue", "Stack", "vector"), "array"),
    **dict.fromkeys(("float", "double", "decimal", "Decimal"), "number"),
    **dict.fromkeys(("int", "long", "short", "byte", "bigint", "Bigint", "BigInteger", "uint"), "integer"),
    **dict.fromkeys(("str", "text", "char", "varchar"), "string"),
    **dict.fromkeys(("bool", "Bool"), "boolean"),
    **dict.fromkeys(("None", "NoneType", "nil", "undefined"), "null"),
    **dict.fromkeys(("any", "Any", "unknown", "TYPE_UNSPECIFIED"), ""),
    **{spelt: kind for kind in TYPES for spelt in (kind.upper(), kind.title())},
}
"""Other languages' words for types, and ours; an empty one stands for any value. The importer writes ours."""

HINTS: Final[Mapping[str, str]] = {
    "$dynamicRef": "dynamic references can't be bounded; write $ref",
    "$dynamicAnchor": "dynamic references can't be bounded; name it under $defs",
    "$recursiveRef": "dynamic references can't be bounded; write $ref",
    "$recursiveAnchor": "dynamic references can't be bounded; name it under $defs",
    "$anchor": "name it under $defs and write #/$defs/Name",
    "$id": "only the root may have an $id",
    "$schema": "only the root may name its draft",
    "$vocabulary": "the dialect is closed",
    "contentEncoding": "nothing would check it",
    "contentMediaType": "nothing would check it",
    "contentSchema": "nothing would check it",
    "nullable": 'write type: ["string", "null"]',
}
"""What to write instead of keywords that exist elsewhere."""


@dataclass(frozen=True, slots=True)
class Note:
    """
    Something that normalising changed at *pointer*.

    *code* is `closed`, `typed`, `migrated` or `dropped`.
    """

    code: str
    pointer: str


class SchemaInvalid(GatewrightError):
    """
    A schema is outside the dialect.

    Attributes:
        reason: a stable code. pointer: the JSON pointer of the place in the schema as it was given.
        where: whose schema it is. hint: how to mend it.
    """

    code = "schema_invalid"

    def __init__(self, reason: str, pointer: str = "", *, where: str = "", hint: str = "") -> None:
        self.reason = reason
        self.pointer = pointer
        self.where = where
        self.hint = hint
        super().__init__(reason, pointer)

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.where or 'schema'}#{self.pointer}: {self.reason}{hint}"
