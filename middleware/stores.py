"""
How is one of our stores opened? A URL or a path becomes a SQLAlchemy engine whose tables are there and of our version.

SQLite runs in WAL mode and every transaction takes its write lock at once, so that nothing read in it can change before
it commits. Never opens a store of a newer version.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection, Engine, create_engine, event, insert, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.pool import NullPool, StaticPool

from gatewright.middleware.tables import SCHEMA_VERSION, about, metadata
from gatewright.policy.errors import GatewrightError, Misuse

__all__ = ["StoreUnavailable", "Sync", "abandon", "is_in_memory", "open_store", "read_store"]

Sync: TypeAlias = Literal["full", "normal"]
_BUSY_MS: Final = 5_000
_abandoned: Final[list[object]] = []


class StoreUnavailable(GatewrightError):
    """A store of ours cannot be read or written; nothing that depends on it may happen. *what* says which."""

    code = "store_unavailable"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)

    def __str__(self) -> str:
        return f"the {self.what} cannot be used (disk, permissions or locks; the cause is chained)"


def open_store(place: str | Path, what: str, sync: Sync = "full") -> Engine:
    """
    Open the store at *place*, a path, `:memory:` or a SQLAlchemy URL, and make its tables where they are missing.

    Raises:
        Misuse: *place* is no such thing, or the store was written by a newer version.
        StoreUnavailable: it cannot be opened.
    """
    url = _url(place)
    if url.get_backend_name() != "sqlite":
        raise Misuse(f"no {what} on {url.get_backend_name()}", "use sqlite:///path")
    engine = _sqlite(url, sync)
    try:
        with engine.begin() as connection:
            metadata.create_all(connection)
            if not _check_version(connection):
                connection.execute(insert(about).values(name="schema_version", value=str(SCHEMA_VERSION)))
    except DatabaseError as error:
        engine.dispose()
        raise StoreUnavailable(what) from error
    return engine


def read_store(place: str | Path, what: str) -> Engine:
    """
    Open the existing store at *place* for reading alone; nothing in it or beside it is made or changed.

    Raises:
        StoreUnavailable: there is none, or it cannot be read. Misuse: it was written by a newer version.
    """
    path = _url(place).database
    if path is None or not Path(path).is_file():
        raise StoreUnavailable(what)
    url = URL.create("sqlite", database=f"{Path(path).absolute().as_uri()}", query={"mode": "ro", "uri": "true"})
    engine = create_engine(url, poolclass=NullPool)
    try:
        with engine.connect() as connection:
            _check_version(connection)
    except DatabaseError as error:
        raise StoreUnavailable(what) from error
    return engine


def abandon(*belongings: object) -> None:
    """
    Leave engines and connections to the process that opened them: for a forked child.

    They must neither be used nor closed here; closing one would meddle with the parent's locks and log.
    """
    _abandoned.extend(belongings)


def is_in_memory(engine: Engine) -> bool:
    """Return whether *engine*'s store is this process's memory: one connection, which is the store."""
    return isinstance(engine.pool, StaticPool)


def _url(place: str | Path) -> URL:
    text = str(place)
    if text == ":memory:":
        text = "sqlite://"
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        return make_url(text)
    except ArgumentError as error:
        raise Misuse(f"not a store: {text}", "use a path, :memory: or a SQLAlchemy URL") from error


def _sqlite(url: URL, sync: Sync) -> Engine:
    in_memory = url.database in (None, "", ":memory:")
    engine = create_engine(
        url,
        poolclass=StaticPool if in_memory else NullPool,
        connect_args={"check_same_thread": False, "cached_statements": 512, "timeout": _BUSY_MS / 1000},
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {sync.upper()}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        reading = connection.get_execution_options().get("reading", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def _check_version(connection: Connection) -> bool:
    """Return whether the store states its version; it is ours then."""
    found = connection.execute(select(about.c.value).where(about.c.name == "schema_version")).scalar()
    if found is not None and found != str(SCHEMA_VERSION):
        raise Misuse(
            f"the store has schema version {found}, this Gatewright {SCHEMA_VERSION}", "use the newer Gatewright"
        )
    return found is not None
