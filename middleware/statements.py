"""
What does the ledger say to its store? Every statement it uses, built once; SQLAlchemy compiles each once an engine.

Holds no logic: which statement when is `ledger`'s business.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, cast

from sqlalchemy import ClauseElement, bindparam, delete, insert, literal_column, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.sql.compiler import SQLCompiler

from gatewright.middleware.tables import event_line, operation

__all__ = [
    "BY_ID",
    "BY_KEY",
    "BY_STATE",
    "CALL_LINES",
    "FORGET",
    "INSERT",
    "PURGE",
    "SETTLE",
    "UNRESOLVED",
    "in_words_of",
]

INSERT: Final = insert(operation)

BY_ID: Final = select(operation).where(operation.c.id == bindparam("id"))

BY_KEY: Final = select(operation).where(operation.c.key == bindparam("key"))

BY_STATE: Final = (
    select(operation).where(operation.c.state == bindparam("state")).order_by(operation.c.started_at, operation.c.id)
)

UNRESOLVED: Final = (
    select(operation)
    .where(
        operation.c.interaction == bindparam("interaction"),
        operation.c.tool == bindparam("tool"),
        operation.c.tenant == bindparam("tenant"),
        operation.c.subject == bindparam("subject"),
        operation.c.state.in_((literal_column("'started'"), literal_column("'unknown'"))),
    )
    .order_by(operation.c.started_at, operation.c.id)
)
"""What may be the operation that an unnamed call repeats; whether it is, its digest says."""

SETTLE: Final = (
    update(operation)
    .where(
        operation.c.id == bindparam("this"),
        operation.c.attempt == bindparam("this_attempt"),
        operation.c.state == bindparam("this_state"),
    )
    .values(
        state=bindparam("new_state"),
        finished_at=bindparam("new_finished_at"),
        expires_at=bindparam("new_expires_at"),
        retryable=bindparam("new_retryable"),
        outcome=bindparam("new_outcome"),
        sealed=bindparam("new_sealed"),
    )
)
"""The attempt fences: the outcome of an earlier one changes nothing."""

FORGET: Final = delete(operation).where(operation.c.id == bindparam("this"))

PURGE: Final = delete(operation).where(
    operation.c.expires_at <= bindparam("now"), operation.c.state.in_(("succeeded", "failed"))
)

CALL_LINES: Final = select(event_line.c.line).where(event_line.c.call == bindparam("call")).order_by(event_line.c.id)

_DIALECTS: Final[dict[str, Any]] = {"sqlite": sqlite.dialect(), "postgresql": cast("Any", psycopg.dialect)()}


@cache
def in_words_of(dialect: str, statement: ClauseElement) -> tuple[str, tuple[str, ...] | None]:
    """Return *statement* as the driver takes it, and the order of its parameters, None where they go by name."""
    compiled = cast("SQLCompiler", statement.compile(dialect=_DIALECTS[dialect]))
    return str(compiled), tuple(compiled.positiontup or ()) if compiled.positional else None
