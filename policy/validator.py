"""
Does this JSON value satisfy this schema, and if not, where? A schema compiled for any number of asks by any threads.

In come a schema of the dialect and values whose depth the decoder has capped; out come a yes or no, or every error as
evidence that holds no value. Offline by construction: nothing is ever fetched, patterns run in linear time.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final, cast

import jsonschema_rs

from gatewright.policy.evidence import SchemaError, Shape, read_errors
from gatewright.policy.keywords import SchemaInvalid
from gatewright.policy.model import Json, Schema
from gatewright.policy.strictness import STRICT, holds_integral_float

__all__ = ["MOST_ERRORS", "SchemaValidator", "compile_schema", "is_linear", "thaw"]

MOST_ERRORS: Final = 20
"""At most this many errors are told of one value."""

_NOT_JSON: Final = (ValueError, TypeError, OverflowError)


class SchemaValidator:
    """
    A compiled schema; immutable and free to share.

    Integers are strict: a boolean is no integer, and neither is a float with an integral value, nor is such a float
    equal to an integer in `enum` or `const`. Below `not` and `if` it does not get by as another number either: a value
    that holds one must also satisfy the schema as JSON Schema reads it. What is not JSON satisfies nothing that reads
    it. The depth of values is capped before they come here: a recursive schema over a value nested without bound would
    exhaust the stack.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema: Schema = cast("Schema", thaw(schema))
        self._plain = _build(self.schema)

    def accepts(self, value: object, *, integral_floats: bool = True) -> bool:
        """
        Answer whether *value* satisfies the schema.

        *integral_floats* False promises that no float with an integral value is in *value*, which is faster.
        """
        is_strict = integral_floats and holds_integral_float(value)
        try:
            return self._plain.is_valid(value) and (not is_strict or self._strict.is_valid(value))
        except _NOT_JSON:
            return self._accepts_any(value)

    def errors(self, value: object) -> tuple[SchemaError, ...]:
        """Return the errors of *value*, sorted by place, at most `MOST_ERRORS`; none when it satisfies the schema."""
        plain = thaw(value)
        try:
            told = (read_errors(reading.iter_errors(plain), self.schema) for reading in self._readings(plain))
            found = next(filter(None, told), [])
        except _NOT_JSON:
            return (SchemaError((), "type", ("type",), "json", Shape("other")),)
        return tuple(sorted(set(found), key=SchemaError.order))[:MOST_ERRORS]

    @cached_property
    def _strict(self) -> jsonschema_rs.Draft202012Validator:
        return _build(self.schema, strict=True)

    def _readings(self, value: object) -> tuple[jsonschema_rs.Draft202012Validator, ...]:
        """The validators that must all take *value*."""
        return (self._strict, self._plain) if holds_integral_float(value) else (self._plain,)

    def _accepts_any(self, value: object) -> bool:
        """Ask again with mappings and sequences of other types made plain; what is still not JSON is not accepted."""
        plain = thaw(value)
        try:
            return all(reading.is_valid(plain) for reading in self._readings(plain))
        except _NOT_JSON:
            return False


def compile_schema(schema: Schema) -> SchemaValidator:
    """
    Compile *schema*, whatever its root type.

    Raises:
        SchemaInvalid: it is no schema at all, or its references, formats or patterns are outside the dialect.
    """
    return SchemaValidator(schema)


def is_linear(pattern: str) -> bool:
    """Answer whether *pattern* is a regular expression that the linear-time engine takes."""
    try:
        _build({"pattern": pattern})
    except SchemaInvalid:
        return False
    return True


def thaw(value: object) -> object:
    """Return *value* with every mapping as a dict and every sequence as a list."""
    if isinstance(value, Mapping):
        return {name: thaw(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def _build(schema: Schema | bool, *, strict: bool = False) -> jsonschema_rs.Draft202012Validator:
    try:
        return jsonschema_rs.Draft202012Validator(
            cast("dict[str, Json]", schema),
            validate_formats=True,
            ignore_unknown_formats=False,
            pattern_options=jsonschema_rs.RegexOptions(),
            offline=True,
            keywords=dict(STRICT) if strict else None,
        )
    except jsonschema_rs.ValidationError as error:
        pointer = "".join(f"/{token}" for token in error.instance_path)
        raise SchemaInvalid("not_a_schema", pointer) from error
    except (jsonschema_rs.ReferencingError, *_NOT_JSON) as error:
        raise SchemaInvalid("not_a_schema", hint="a reference leads nowhere, or it holds what is not JSON") from error
