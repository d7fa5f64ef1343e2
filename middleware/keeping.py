"""
How are stores kept? Copied to another one, looked at, and rid of what may be forgotten.

In come stores; out come counts. Nothing that is unresolved is ever forgotten, and a copy goes into an empty store only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, Engine, Table, delete, func, insert, select
from sqlalchemy.exc import DatabaseError

from gatewright.middleware.migrations import version_of
from gatewright.middleware.record import stamp
from gatewright.middleware.stores import StoreUnavailable
from gatewright.middleware.tables import (
    approval,
    approval_vote,
    event_line,
    metadata,
    migration,
    operation,
    revocation,
    spending,
)
from gatewright.policy.errors import Misuse

__all__ = ["DAY", "copy_store", "describe_store", "forget"]

DAY: Final = 86_400.0
_ROWS: Final = 1_000
_DONE: Final = ("succeeded", "failed")
_OVER: Final = ("used", "rejected", "withdrawn")


def describe_store(engine: Engine) -> dict[str, int]:
    """Return the version of the store's schema, and how many rows each of its tables has."""
    with engine.connect().execution_options(reading=True) as connection:
        tables = {table.name: _count(connection, table) for table in _tables(connection)}
        return {"version": version_of(connection), **tables}


def copy_store(source: Engine, target: Engine) -> dict[str, int]:
    """
    Copy everything in *source*, as it is at one moment, into the empty store *target*; return the rows by table.

    Whoever uses *source* goes on meanwhile. Either may be of either kind.

    Raises:
        Misuse: *target* holds something. StoreUnavailable: one of them cannot be used.
    """
    try:
        with source.connect().execution_options(reading=True) as reading, target.begin() as writing:
            tables = [table for table in _tables(reading) if table is not migration]
            if any(_count(writing, table) for table in tables):
                raise Misuse("the store to copy to is not empty", "give a new one")
            return {table.name: _copy(reading, writing, table) for table in tables}
    except DatabaseError as error:
        raise StoreUnavailable("store") from error


def forget(engine: Engine, now: float, keep: Mapping[str, float], *, dry: bool = False) -> dict[str, int]:
    """
    Forget what is older than *keep* says, in seconds by table; return the rows by table. A *dry* run only counts.

    Operations go by when they ended, and only those whose outcome is known; revocations as soon as they have expired;
    approvals by when they were asked for, and only those that nobody can give or use any more.

    Raises:
        Misuse: an operation would be kept for less than a day. StoreUnavailable: the store cannot be used.
    """
    if keep.get("operation", DAY) < DAY:
        raise Misuse("an operation is kept for a day at least", "a repeat within that time must find it")
    ended = operation.c.state.in_(_DONE) & (operation.c.finished_at <= now - keep.get("operation", DAY))
    old: dict[Table, Any] = {operation: ended, revocation: revocation.c.expires_at <= now}
    if "approval" in keep:
        over = (approval.c.expires_at <= now) | approval.c.state.in_(_OVER)
        past = over & (approval.c.requested_at <= now - keep["approval"])
        old[approval_vote] = approval_vote.c.approval.in_(select(approval.c.id).where(past))
        old[approval] = past
    if "spending" in keep:
        old[spending] = spending.c.at <= now - keep["spending"]
    if "event_line" in keep:
        old[event_line] = event_line.c.at < stamp(now - keep["event_line"])
    try:
        with engine.begin() as connection:
            if dry:
                counts = {table: select(func.count()).select_from(table).where(which) for table, which in old.items()}
                return {table.name: connection.execute(count).scalar() or 0 for table, count in counts.items()}
            return {table.name: connection.execute(delete(table).where(which)).rowcount for table, which in old.items()}
    except DatabaseError as error:
        raise StoreUnavailable("store") from error


def _tables(connection: Connection) -> list[Table]:
    """Return the tables that are there: an older store that is only read may lack some."""
    return [each for each in metadata.sorted_tables if connection.dialect.has_table(connection, each.name)]


def _count(connection: Connection, table: Table) -> int:
    return connection.execute(select(func.count()).select_from(table)).scalar() or 0


def _copy(reading: Connection, writing: Connection, table: Table) -> int:
    count = 0
    rows = reading.execution_options(yield_per=_ROWS).execute(select(table).order_by(*table.primary_key)).mappings()
    for part in rows.partitions(_ROWS):
        writing.execute(insert(table), [dict(row) for row in part])
        count += len(part)
    numbered = table.c.get("id")
    if count and writing.dialect.name == "postgresql" and numbered is not None and numbered.autoincrement is True:
        writing.execute(select(func.setval(func.pg_get_serial_sequence(table.name, "id"), func.max(numbered))))
    return count
