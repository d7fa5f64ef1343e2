"""
Is this a schema we can enforce? The closed dialect: draft 2020-12 without what can't be checked, bounded or shown.

In comes a schema as a developer wrote it; out comes the same schema normalised and closed, with notes on what was
changed, or `SchemaInvalid` with the place. Never fetches anything.
"""

from __future__ import annotations

from gatewright.policy.keywords import SchemaInvalid
from gatewright.policy.model import Schema
from gatewright.policy.validator import SchemaValidator, compile_schema

__all__ = ["SchemaInvalid", "SchemaValidator", "check_schema", "compile_schema"]


def check_schema(schema: Schema, *, where: str) -> Schema:
    """Return *schema* normalised."""
    try:
        compile_schema(schema)
    except SchemaInvalid as error:
        raise SchemaInvalid(error.reason, error.pointer, where=where, hint=error.hint) from error
    return schema
