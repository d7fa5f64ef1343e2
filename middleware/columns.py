"""
What is a JSON Schema of a column's value in SQL? The conditions of a row scope, as SQLAlchemy expressions.

In come a column and a schema; out come an expression and whether it says all of the schema. What SQL cannot say is left
out, so that an expression never leaves out a row that the schema accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

from sqlalchemy import ColumnElement, FromClause, and_, false, func, not_, or_, true

from gatewright.policy.model import Json, Schema

__all__ = ["Columns", "column_of", "row_condition"]

Columns: TypeAlias = "FromClause | type[Any] | Mapping[str, ColumnElement[Any]]"
"""A table or a selectable, a mapped class, or columns by name."""

Said: TypeAlias = "tuple[ColumnElement[bool], bool]"
"""A condition, and whether it says all that is asked."""

_UNSAID: Final[Said] = (true(), False)
_NUMBERS: Final = (int, float, Decimal)
_NOTES: Final = frozenset({"description", "title", "examples", "default", "on_violation"})
_KINDS: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": _NUMBERS,
    "boolean": (bool,),
}


def column_of(columns: Columns, name: str) -> ColumnElement[Any] | None:
    """Return the column *name*, None where there is none."""
    if isinstance(columns, FromClause):
        return columns.c.get(name)
    if isinstance(columns, Mapping):
        return columns.get(name)
    found = getattr(columns, name, None)
    return found if hasattr(found, "is_not") else None


def row_condition(column: ColumnElement[Any] | None, schema: Json) -> Said:
    """Return the condition that the value in *column* satisfies *schema*."""
    if column is None or not isinstance(schema, Mapping):
        return _UNSAID
    said = [_keyword(column, keyword, schema) for keyword in schema if keyword not in _NOTES]
    return and_(true(), *(each for each, _ in said)), all(exact for _, exact in said)


def _keyword(column: ColumnElement[Any], keyword: str, schema: Schema) -> Said:
    write = _WRITERS.get(keyword)
    return _UNSAID if write is None else write(column, schema[keyword])


def _const(column: ColumnElement[Any], value: Json) -> Said:
    if value is None:
        return column.is_(None), True
    if not _fits(column, value):
        return _UNSAID
    return column == value, True


def _enum(column: ColumnElement[Any], values: Json) -> Said:
    return _any_of([_const(column, value) for value in _list(values)])


def _not(column: ColumnElement[Any], schema: Json) -> Said:
    """Not said at all where the inside is not said exactly: what is left out there would leave out rows here."""
    if schema == {}:
        return false(), True
    condition, exact = row_condition(column, schema)
    return (not_(condition), True) if exact and _speaks_plainly(schema) else _UNSAID


def _any(column: ColumnElement[Any], schemas: Json) -> Said:
    return _any_of([row_condition(column, each) for each in _list(schemas)])


def _all(column: ColumnElement[Any], schemas: Json) -> Said:
    said = [row_condition(column, each) for each in _list(schemas)]
    return and_(true(), *(each for each, _ in said)), all(exact for _, exact in said)


def _any_of(said: Sequence[Said]) -> Said:
    return or_(false(), *(each for each, _ in said)), all(exact for _, exact in said)


def _type(column: ColumnElement[Any], kinds: Json) -> Said:
    names = [kinds] if isinstance(kinds, str) else _list(kinds)
    held = _python_type(column)
    fits = held is not None and any(held in _KINDS.get(str(name), ()) for name in names)
    there: ColumnElement[bool] = true() if "null" in names else column.is_not(None)
    return there, fits


def _number(compare: Callable[[Any, Any], ColumnElement[bool]]) -> Callable[[ColumnElement[Any], Json], Said]:
    def write(column: ColumnElement[Any], value: Json) -> Said:
        return (compare(column, value), True) if _fits(column, value) and not isinstance(value, str) else _UNSAID

    return write


def _length(compare: Callable[[Any, Any], ColumnElement[bool]]) -> Callable[[ColumnElement[Any], Json], Said]:
    def write(column: ColumnElement[Any], value: Json) -> Said:
        return (compare(func.length(column), value), True) if _python_type(column) is str else _UNSAID

    return write


def _fits(column: ColumnElement[Any], value: Json) -> bool:
    """Whether comparing the two in SQL means what it means in JSON."""
    held = _python_type(column)
    if isinstance(value, bool) or held is bool:
        return isinstance(value, bool) and held is bool
    if isinstance(value, int | float):
        return held in _NUMBERS
    return isinstance(value, str) and held is str


def _python_type(column: ColumnElement[Any]) -> type | None:
    try:
        return column.type.python_type
    except NotImplementedError:
        return None


def _speaks_plainly(schema: Json) -> bool:
    """Whether SQL's null satisfies neither *schema* nor its negation, as POLICY.md has it of a keyword's type."""
    return (
        isinstance(schema, Mapping) and not {"anyOf", "allOf", "oneOf", "not", "type"} & schema.keys() and _told(schema)
    )


def _told(schema: Schema) -> bool:
    values = [schema.get("const", ""), *_list(schema.get("enum", []))]
    return bool(schema.keys() - _NOTES) and None not in values


def _list(value: Json) -> list[Json]:
    return list(value) if isinstance(value, list | tuple) else []


_WRITERS: Final[Mapping[str, Callable[[ColumnElement[Any], Json], Said]]] = {
    "const": _const,
    "enum": _enum,
    "not": _not,
    "anyOf": _any,
    "allOf": _all,
    "type": _type,
    "minimum": _number(lambda column, value: column >= value),
    "maximum": _number(lambda column, value: column <= value),
    "exclusiveMinimum": _number(lambda column, value: column > value),
    "exclusiveMaximum": _number(lambda column, value: column < value),
    "minLength": _length(lambda length, value: length >= value),
    "maxLength": _length(lambda length, value: length <= value),
}
