"""
Which rows may this caller have? What an entry keeps, for the tool's own query, so that the database filters.

In come the conditions of `keep` with their references filled; out come plain values, an SQL condition, or an answer
about one row. Only ever a help for the tool: what it lets through all the same is dropped when the result is released.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import pydantic_core
from sqlalchemy import ColumnElement, and_, true

from gatewright.middleware.columns import Columns, column_of, row_condition
from gatewright.policy.conditions import ConditionSet
from gatewright.policy.errors import Misuse
from gatewright.policy.model import Conditions, Json, JsonObject, Schema
from gatewright.policy.references import MISSING

__all__ = ["Kept", "RowScope", "SatisfiesRow"]

Kept: TypeAlias = "Mapping[str, Mapping[str, Schema]]"
"""JSON pointer of an array in the result → name → what the element's value of that name must satisfy."""

SatisfiesRow: TypeAlias = "Callable[[str, JsonObject], bool]"
"""Whether a row of the array at a pointer satisfies what is kept of it."""

_ITEMS: Final = "/items"


class RowScope:
    """
    The rows that a caller may have of a tool's result; a parameter of this type is given by the guard.

    *kept* has the arrays that are filtered, by JSON pointer, each with a JSON Schema for some names of its elements.
    Where several arrays are filtered, *at* says which; `/items` of a page is meant otherwise.

    >>> scope = RowScope({"/items": {"region": {"const": "north"}}})
    >>> scope.values(), scope.admits({"region": "north"}), scope.admits({})
    ({'region': {'const': 'north'}}, True, False)
    """

    __slots__ = ("_conditions", "_kept", "_satisfies")

    def __init__(self, kept: Kept, satisfies: SatisfiesRow | None = None) -> None:
        self._kept: dict[str, dict[str, Schema]] = {pointer: dict(each) for pointer, each in kept.items()}
        self._conditions: dict[str, ConditionSet] = {}
        self._satisfies: SatisfiesRow = self._ask if satisfies is None else satisfies

    @property
    def is_open(self) -> bool:
        """Whether nothing is filtered: the caller may have every row."""
        return not self._kept

    def values(self, at: str | None = None) -> dict[str, Schema]:
        """
        Return what a row must satisfy, as plain values: name → JSON Schema; {} where every row may be had.

        `{"not": {}}` is what nothing satisfies.
        """
        pointer = self._place(at)
        return {} if pointer is None else dict(self._kept[pointer])

    def where(self, columns: Columns, at: str | None = None) -> ColumnElement[bool]:
        """
        Return the condition for a query with SQLAlchemy, over a table, a mapped class, or a mapping of columns by name.

        What SQL cannot say exactly, or a name without a column, is left out of it (`unsaid` tells which); it never
        leaves out a row that the caller may have.
        """
        said = (row_condition(column_of(columns, name), each)[0] for name, each in self.values(at).items())
        return and_(true(), *said)

    def unsaid(self, columns: Columns, at: str | None = None) -> tuple[str, ...]:
        """Return the names whose condition `where` says in part or not at all."""
        values = self.values(at).items()
        return tuple(name for name, each in values if not row_condition(column_of(columns, name), each)[1])

    def admits(self, row: Mapping[str, Any] | object, at: str | None = None) -> bool:
        """Return whether the caller may have *row*, a mapping or a model, for tools whose rows are in memory."""
        pointer = self._place(at)
        if pointer is None:
            return True
        plain = pydantic_core.to_jsonable_python(row)
        return isinstance(plain, Mapping) and self._satisfies(pointer, cast("JsonObject", plain))

    def _place(self, at: str | None) -> str | None:
        if at is not None:
            return at if at in self._kept else None
        if len(self._kept) < 2 or _ITEMS in self._kept:
            return _ITEMS if _ITEMS in self._kept else next(iter(self._kept), None)
        raise Misuse("several arrays of this result are filtered", "say which: at='/rows'")

    def _ask(self, pointer: str, row: JsonObject) -> bool:
        conditions = self._conditions.get(pointer)
        if conditions is None:
            conditions = self._conditions[pointer] = ConditionSet(cast("Conditions", self._kept[pointer]))
        return not conditions.unmet(row, lambda _kind, _path: MISSING)

    def __repr__(self) -> str:
        kept: dict[str, Json] = {pointer: sorted(each) for pointer, each in self._kept.items()}
        return f"RowScope({kept})"
