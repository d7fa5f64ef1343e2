"""
How is one of our stores opened? A URL or a path becomes a SQLAlchemy engine whose tables are there and of our version.

SQLite runs in WAL mode and a transaction that writes takes the write lock at once; PostgreSQL reads what is committed
and writers take named locks. Never opens a store of a newer version.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError
from sqlalchemy.pool import NullPool, QueuePool, StaticPool

from gatewright.middleware.migrations import NEWEST, check_version, migrate, version_of
from gatewright.policy.errors import GatewrightError, Misuse

__all__ = [
    "StoreUnavailable",
    "Sync",
    "abandon",
    "is_in_memory",
    "lock_names",
    "open_store",
    "read_store",
    "storable",
]

Sync: TypeAlias = Literal["full", "normal"]
Execute: TypeAlias = Callable[[str, tuple[Any, ...]], Any]
_BUSY_S: Final = 5
_PAUSED_S: Final = 10
_PAUSE_S: Final = 0.01
_POOLED: Final = 4
_MIGRATIONS: Final = "migrations"
_abandoned: Final[list[object]] = []


class StoreUnavailable(GatewrightError):
    """A store of ours cannot be read or written; nothing that depends on it may happen. *what* says which."""

    code = "store_unavailable"

    def __init__(self, what: str) -> None:
        self.what = what
        super().__init__(what)

    def __str__(self) -> str:
        return f"the {self.what} cannot be used (disk, permissions, network or locks; the cause is chained)"


def open_store(place: str | Path, what: str, sync: Sync = "full") -> Engine:
    """
    Open the store at *place*, a path, `:memory:` or a SQLAlchemy URL, and bring it to the newest version.

    *sync* is what a commit waits for: `full` for the disk, `normal` for the operating system or the server.

    Raises:
        Misuse: *place* is no such thing, or the store was written by a newer version.
        StoreUnavailable: it cannot be opened.
    """
    with _opening(_engine(place, what, sync), what) as engine:
        with engine.connect().execution_options(reading=True) as connection:
            version = version_of(connection)
        if version != NEWEST:
            check_version(version)
            with engine.begin() as connection:
                lock_names(connection.exec_driver_sql, connection.dialect.name, (_MIGRATIONS,))
                migrate(connection)
    return engine


def read_store(place: str | Path, what: str) -> Engine:
    """
    Open the existing store at *place* for reading alone; nothing in it or beside it is made or changed.

    Raises:
        StoreUnavailable: there is none, or it cannot be read. Misuse: it was written by a newer version.
    """
    with _opening(_reading(place, what), what) as engine:
        with engine.connect().execution_options(reading=True) as connection:
            version = version_of(connection)
        if version == 0:
            raise StoreUnavailable(what)
        check_version(version)
    return engine


def lock_names(execute: Execute, dialect: str, names: Iterable[str], shared: Iterable[str] = ()) -> None:
    """
    Let no other transaction that locks one of *names* go on before this one ends, nor one that shares it.

    Those that only share a name do not wait for each other. On SQLite, where one transaction writes at a time, this
    does nothing.
    """
    if dialect != "postgresql":
        return
    exclusive, together = sorted(map(_number, names)), sorted(map(_number, shared))
    if exclusive or together:
        execute(
            "SELECT pg_advisory_xact_lock_shared(id) FROM unnest(%s::bigint[]) AS id UNION ALL "
            "SELECT pg_advisory_xact_lock(id) FROM unnest(%s::bigint[]) AS id",
            (together, exclusive),
        )


def storable(text: str) -> str:
    """Return *text* without what PostgreSQL or UTF-8 cannot hold: NUL and lone surrogates become U+FFFD."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in text)


def abandon(engine: Engine | None, *connections: object) -> None:
    """
    Leave an engine's connections to the process that opened them: for a forked child.

    They must neither be used nor closed here; closing one would meddle with the parent's locks, log or socket. What is
    asked of the engine from now on gets connections of the child's own.
    """
    _abandoned.extend(connections)
    if engine is not None:
        _abandoned.append(engine.pool)
        engine.dispose(close=False)


def is_in_memory(engine: Engine) -> bool:
    """Return whether *engine*'s store is this process's memory: one connection, which is the store."""
    return isinstance(engine.pool, StaticPool)


@contextmanager
def _opening(engine: Engine, what: str) -> Iterator[Engine]:
    """Close *engine* where opening it fails."""
    try:
        yield engine
    except BaseException as error:
        engine.dispose()
        if isinstance(error, DatabaseError):
            raise StoreUnavailable(what) from error
        raise


def _url(place: str | Path) -> URL:
    text = str(place)
    if text == ":memory:":
        text = "sqlite://"
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        return make_url(text)
    except ArgumentError as error:
        raise Misuse("not a store", "use a path, :memory: or a SQLAlchemy URL") from error


def _engine(place: str | Path, what: str, sync: Sync) -> Engine:
    url = _url(place)
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, sync)
    if url.get_backend_name() in ("postgresql", "postgres"):
        return _postgresql(url, sync)
    raise Misuse(f"no {what} on {url.get_backend_name()}", "use sqlite:///path or postgresql+psycopg://host/database")


def _reading(place: str | Path, what: str) -> Engine:
    url = _url(place)
    if url.get_backend_name() != "sqlite":
        return _engine(place, what, "normal")
    path = url.database
    if path is None or not Path(path).is_file():
        raise StoreUnavailable(what)
    url = URL.create("sqlite", database=f"{Path(path).absolute().as_uri()}", query={"mode": "ro", "uri": "true"})
    engine = create_engine(url, poolclass=NullPool)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None

    _begin_with(engine, "BEGIN", "BEGIN")
    return engine


def _sqlite(url: URL, sync: Sync) -> Engine:
    in_memory = url.database in (None, "", ":memory:")
    arguments = {"check_same_thread": False, "cached_statements": 512, "timeout": _BUSY_S}
    if in_memory:
        engine = create_engine(url, poolclass=StaticPool, connect_args=arguments)
    else:
        engine = create_engine(url, poolclass=QueuePool, pool_size=_POOLED, max_overflow=-1, connect_args=arguments)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None
        _write_ahead(connection)
        connection.execute(f"PRAGMA synchronous = {sync.upper()}")

    _begin_with(engine, "BEGIN IMMEDIATE", "BEGIN")
    return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Turn write-ahead logging on; SQLite itself does not wait for others that are opening the same new file."""
    until = monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > until:
                raise
            sleep(_PAUSE_S)
        else:
            return


def _postgresql(url: URL, sync: Sync) -> Engine:
    settings = {
        "lock_timeout": f"{_BUSY_S}s",
        "idle_in_transaction_session_timeout": f"{_PAUSED_S}s",
        "synchronous_commit": "on" if sync == "full" else "off",
    }
    given = url.query.get("options", "")
    options = [given] if isinstance(given, str) else list(given)
    options += [f"-c {name}={value}" for name, value in settings.items()]
    arguments = {"options": " ".join(filter(None, options)), "connect_timeout": _BUSY_S}
    url = url.set(drivername="postgresql+psycopg").difference_update_query(["options"])
    try:
        engine = create_engine(url, pool_size=_POOLED, max_overflow=-1, connect_args=arguments)
    except (ImportError, NoSuchModuleError) as error:
        raise Misuse("no driver for PostgreSQL", "pip install gatewright[postgresql]") from error

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.autocommit = True

    _begin_with(engine, "BEGIN", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
    return engine


def _begin_with(engine: Engine, writing: str, reading: str) -> None:
    """
    Begin transactions with our own statement: the driver's own begins one too late, or of another kind.

    Where the option `begun` says so, whoever holds the connection has begun it already.
    """

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        options = connection.get_execution_options()
        if not options.get("begun", False):
            connection.exec_driver_sql(reading if options.get("reading", False) else writing)


def _number(name: str) -> int:
    return int.from_bytes(hashlib.blake2b(f"gatewright {name}".encode(), digest_size=8).digest(), signed=True)
