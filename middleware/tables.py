"""
What do our stores hold? One schema for SQLite and PostgreSQL, with its version, as SQLAlchemy Core tables.

Journal and ledger share it, so either may live in one database or in two. Holds no statements and opens nothing.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Boolean, Column, Float, Index, Integer, LargeBinary, MetaData, String, Table, UniqueConstraint

__all__ = ["SCHEMA_VERSION", "about", "event_line", "metadata", "operation", "spending"]

SCHEMA_VERSION: Final = 1

metadata: Final = MetaData()

about: Final = Table(
    "about",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", String(200), nullable=False),
)
"""Facts of the store itself: `schema_version`."""

event_line: Final = Table(
    "event_line",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("chain", String(40), nullable=False),
    Column("position", Integer, nullable=False),
    Column("at", String(27), nullable=False),
    Column("call", String(32)),
    Column("interaction", String),
    Column("line", LargeBinary, nullable=False),
    Column("prev", LargeBinary(32), nullable=False),
    Column("hash", LargeBinary(32), nullable=False),
)
"""
Journal lines, each linked to the one before it in its process's chain.

*interaction* is null where it is the call's own id. Positions of a chain count from 0 without a gap.
"""

Index("event_line_call", event_line.c.call)
Index(
    "event_line_interaction",
    event_line.c.interaction,
    sqlite_where=event_line.c.interaction.isnot(None),
    postgresql_where=event_line.c.interaction.isnot(None),
)

operation: Final = Table(
    "operation",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("key", String(64), nullable=False),
    Column("tenant", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("tool", String, nullable=False),
    Column("name", String),
    Column("interaction", String, nullable=False),
    Column("digest", String(80), nullable=False),
    Column("state", String(10), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("call", String(32), nullable=False),
    Column("trace", String, nullable=False),
    Column("view", String(64), nullable=False),
    Column("owner", String, nullable=False),
    Column("started_at", Float, nullable=False),
    Column("finished_at", Float),
    Column("expires_at", Float),
    Column("retryable", Boolean, nullable=False),
    Column("outcome", LargeBinary),
    UniqueConstraint("key", name="operation_key"),
)
"""
One row a logical write. *name* is the application's name of it, null where it gave none. *outcome* is the result as
released; *expires_at* when a finished one may be forgotten.
"""

Index("operation_state", operation.c.state, operation.c.expires_at)

spending: Final = Table(
    "spending",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("budget", String, nullable=False),
    Column("holder", String, nullable=False),
    Column("at", Float, nullable=False),
    Column("amount", Float, nullable=False),
    Column("operation", String(32)),
)
"""One row an executed call and budget. *operation* is the write that it paid for, null for a read."""

Index("spending_used", spending.c.budget, spending.c.holder, spending.c.at)
Index("spending_operation", spending.c.operation)
