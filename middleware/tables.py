"""
What do our stores hold? One schema for SQLite and PostgreSQL, as SQLAlchemy Core tables: the newest version of it.

Journal, ledger and revocations share it, so all may live in one database. How older stores become like this is told in
`migrations`. Holds no statements and opens nothing.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
)

__all__ = [
    "approval",
    "approval_vote",
    "event_line",
    "lease",
    "metadata",
    "migration",
    "operation",
    "revocation",
    "spending",
]

metadata: Final = MetaData()
_Number: Final = BigInteger().with_variant(Integer, "sqlite")

migration: Final = Table(
    "migration",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("name", String(60), nullable=False),
)
"""Which migrations this store has had; the highest number is its version."""

event_line: Final = Table(
    "event_line",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("chain", String(40), nullable=False),
    Column("position", _Number, nullable=False),
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
    Column("started_at", Double, nullable=False),
    Column("finished_at", Double),
    Column("expires_at", Double),
    Column("retryable", Boolean, nullable=False),
    Column("outcome", LargeBinary),
    Column("sealed", String),
    UniqueConstraint("key", name="operation_key"),
)
"""
One row a logical write. *name* is the application's name of it, null where it gave none. *outcome* is the result as
released; *expires_at* when a finished one may be forgotten. *sealed* is what recovery needs to authorize it again,
null where its tool cannot be asked and once the outcome is known.
"""

Index("operation_state", operation.c.state, operation.c.expires_at)

spending: Final = Table(
    "spending",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("budget", String, nullable=False),
    Column("holder", String, nullable=False),
    Column("at", Double, nullable=False),
    Column("amount", Double, nullable=False),
    Column("operation", String(32)),
)
"""One row an executed call and budget. *operation* is the write that it paid for, null for a read."""

Index("spending_used", spending.c.budget, spending.c.holder, spending.c.at)
Index("spending_operation", spending.c.operation)

lease: Final = Table(
    "lease",
    metadata,
    Column("owner", String, primary_key=True),
    Column("fence", _Number, nullable=False),
    Column("until", Double, nullable=False),
)
"""
One row a process that writes to this store, on PostgreSQL: past *until*, by the server's clock, it counts as gone. The
*fence* grows with each one that is given out.
"""

revocation: Final = Table(
    "revocation",
    metadata,
    Column("id", _Number, primary_key=True, autoincrement=True),
    Column("kind", String(10), nullable=False),
    Column("value", String, nullable=False),
    Column("issuer", String, nullable=False),
    Column("tenant", String, nullable=False),
    Column("until", Double),
    Column("at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("reason", String, nullable=False),
    sqlite_autoincrement=True,
)
"""
One row a revocation, only ever added to: the highest id says how new what one has seen is, so ids are never used again.

*kind* says what *value* is the id of. *issuer* and *tenant* are "" where the row counts for all. *until* is the time
of issue up to which tokens are meant, null where it does not matter. Past *expires_at* no such token is left.
"""

Index("revocation_expires_at", revocation.c.expires_at)

approval: Final = Table(
    "approval",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("bound", String(80), nullable=False),
    Column("tenant", String, nullable=False),
    Column("issuer", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("actor", String),
    Column("tool", String, nullable=False),
    Column("operation", String),
    Column("interaction", String, nullable=False),
    Column("call", String(32), nullable=False),
    Column("view", String(64), nullable=False),
    Column("sealed", String, nullable=False),
    Column("duties", LargeBinary, nullable=False),
    Column("requested_at", Double, nullable=False),
    Column("expires_at", Double, nullable=False),
    Column("state", String(10), nullable=False),
    Column("used_by", String(32)),
)
"""
One row a call that waits, or waited, for an approval. *bound* is the keyed digest of all that it is for, *sealed* the
arguments for the eyes of approvers, *duties* what approvers must fulfil as JSON, *used_by* the call that used it.
"""

Index("approval_bound", approval.c.bound)
Index("approval_waiting", approval.c.tenant, approval.c.expires_at)

approval_vote: Final = Table(
    "approval_vote",
    metadata,
    Column("approval", String(32), primary_key=True),
    Column("approver", String, primary_key=True),
    Column("counts", String, nullable=False),
    Column("at", Double, nullable=False),
)
"""One row an approver who agreed. *counts* are the positions of the duties that the word counts for, as JSON."""
