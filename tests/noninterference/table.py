"""
Where are the archive's rows? A table in memory that notes what was read of it, found or not.

In come tenant and id; out come copies of rows. The backend of the suite's tools: it decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Key = tuple[str, str]
Row = Mapping[str, Any]


class Table:
    """Rows by tenant and id. *read* holds the keys that were looked at."""

    def __init__(self, rows: Mapping[Key, Row]) -> None:
        self._rows = {key: dict(row) for key, row in rows.items()}
        self.read: set[Key] = set()

    def find(self, tenant: str, id: str) -> dict[str, Any] | None:
        """The row of *tenant* with this id."""
        self.read.add((tenant, id))
        row = self._rows.get((tenant, id))
        return None if row is None else dict(row)

    def scan(self, tenant: str, kind: str) -> list[dict[str, Any]]:
        """Every row of *tenant* of this kind; all of the table has been looked at for it."""
        self.read.update(self._rows)
        return [dict(row) for (owner, _), row in self._rows.items() if owner == tenant and row["kind"] == kind]

    def put(self, key: Key, row: Row) -> None:
        """Write a row."""
        self._rows[key] = dict(row)

    def snapshot(self) -> dict[Key, Row]:
        """What stands in it now."""
        return dict(self._rows)


def changed_keys(one: Mapping[Key, Row], other: Mapping[Key, Row]) -> set[Key]:
    """The keys under which the two differ."""
    return {key for key in _all_keys((one, other)) if one.get(key) != other.get(key)}


def _all_keys(tables: Iterable[Mapping[Key, Row]]) -> set[Key]:
    return {key for table in tables for key in table}
