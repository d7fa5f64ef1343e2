"""
Is this JSON what a schema and its rules ask for? The decode and validate half of a call, alone.

In come a schema or a guarded function, and JSON as text or a mapping; out comes `ok` with the filled value, or
`invalid_arguments`. Authorizes nothing and runs no tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from gatewright.middleware.call import Arguments
from gatewright.middleware.decode import decode
from gatewright.middleware.decorate import tool_of
from gatewright.middleware.malformed import Malformed
from gatewright.middleware.registration import Rule
from gatewright.middleware.repairs import InvalidArguments, invalid_arguments
from gatewright.middleware.results import FORBIDDEN, Forbidden, Ok
from gatewright.middleware.supply import copy_arguments
from gatewright.policy.complaints import business_complaint, schema_complaints, syntax_complaint
from gatewright.policy.dialect import SchemaInvalid, check_schema, compile_schema
from gatewright.policy.errors import Invalid, Misuse
from gatewright.policy.filling import Filling, schema_defaults
from gatewright.policy.model import Json, Schema
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.quoting import quote_from
from gatewright.policy.wanted import is_declared

__all__ = ["check"]


def check(
    schema_or_tool: Schema | Callable[..., Any],
    raw: Arguments,
    *,
    rules: Sequence[Rule] = (),
    settings: Mapping[str, Any] | None = None,
    locale: str = "en",
) -> Ok | InvalidArguments | Forbidden:
    """
    Judge *raw* by a JSON Schema, or by the base schema and the rules of a guarded function.

    A rule that raises anything but `Invalid` is a refusal.

    Raises:
        Misuse: what is given first is neither, or the schema is outside the dialect.
    """
    schema, apply = _asked(schema_or_tool, rules)
    try:
        value = decode(raw).value
    except Malformed as error:
        return invalid_arguments([syntax_complaint(error.reason, error.offset)], locale=locale)
    quote = quote_from(_flags(schema_or_tool), value)
    errors = compile_schema(schema).errors(value)
    if errors:
        return invalid_arguments(schema_complaints(errors, schema), locale=locale, quote=quote)
    filled = Filling({}, dict(schema_defaults(schema, schema))).fill(value)
    try:
        apply(filled, settings or {})
    except Invalid as refusal:
        field = refusal.field if is_declared(schema, parse_pointer(refusal.field)) else ""
        told = business_complaint(field, refusal.reason, refusal.expected)
        return invalid_arguments([told], locale=locale, quote=quote)
    except Exception:  # noqa: BLE001 - a rule that raises anything else has not agreed
        return FORBIDDEN
    return Ok(cast("Json", filled))


def _asked(
    schema_or_tool: Schema | Callable[..., Any], rules: Sequence[Rule]
) -> tuple[Schema, Callable[[dict[str, Json], Mapping[str, Any]], object]]:
    if not isinstance(schema_or_tool, Mapping):
        tool, _ = tool_of(schema_or_tool)
        return tool.spec.schema, tool.supply.rules
    try:
        schema = check_schema(schema_or_tool, where="check")
    except SchemaInvalid as error:
        raise Misuse(f"the schema of {error}", "see docs/schemas.md for what is enforced") from error

    def apply(arguments: dict[str, Json], settings: Mapping[str, Any]) -> object:
        given: Mapping[str, Any] = copy_arguments(arguments)
        for rule in rules:
            given = rule(dict(given), settings)
        return given

    return schema, apply


def _flags(schema_or_tool: Schema | Callable[..., Any]) -> Mapping[str, frozenset[str]]:
    return {} if isinstance(schema_or_tool, Mapping) else tool_of(schema_or_tool)[0].spec.flags
