"""
Where do the lines of calls go? To SQLite or PostgreSQL, to a file or a pipe as JSON lines, or to memory.

In come canonical lines of `record`; they come back in the order in which they were written. A journal that cannot take
a line says so at once: what must not happen unrecorded is then refused by the guard. Never changes a line.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final, Protocol, runtime_checkable

from sqlalchemy import Connection, Engine, or_, select
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import PoolProxiedConnection

from gatewright.middleware.linked import is_of, link_line, written_lines
from gatewright.middleware.linking import Chain, Listener
from gatewright.middleware.record import header_of
from gatewright.middleware.stores import StoreUnavailable, abandon, open_store, storable
from gatewright.middleware.tables import event_line
from gatewright.middleware.writer import JournalFull, JournalUnavailable, Writer
from gatewright.policy.errors import Misuse

__all__ = [
    "Journal",
    "JournalFull",
    "JournalUnavailable",
    "JsonLinesJournal",
    "MemoryJournal",
    "StoreJournal",
    "insert_lines",
    "open_journal",
    "select_lines",
    "stored_lines",
]

_CUT: Final = b" (cut)\n"
_MOST_IN_MEMORY: Final = 16_384
_COLUMNS: Final = ("chain", "position", "at", "call", "interaction", "line", "prev", "hash")


@runtime_checkable
class Journal(Protocol):
    """Where lines go. Any number of threads append at once."""

    def append(self, line: bytes, /) -> None:
        """
        Take *line*, to be written soon and in order.

        Raises:
            JournalUnavailable: it was not taken.
        """

    def flush(self) -> None:
        """Wait until every line taken before is written."""

    def close(self) -> None:
        """Write what was taken and let go of the store; appending is an error from now on."""

    def iter_lines(self, *, call: str | None = None, interaction: str | None = None) -> Iterator[bytes]:
        """Give the lines that are written, oldest first: all, those of one call, or those of one interaction."""
        ...


class MemoryJournal:
    """
    The last lines, in memory: for tests and for policies that are in memory themselves.

    Attributes:
        lines: the last *most* lines taken, oldest first.
    """

    def __init__(self, most: int = _MOST_IN_MEMORY) -> None:
        self.lines: deque[bytes] = deque(maxlen=most)

    def append(self, line: bytes, /) -> None:
        """Take *line*; the oldest makes room."""
        self.lines.append(line)

    def flush(self) -> None:
        """Do nothing: lines are there at once."""

    def close(self) -> None:
        """Do nothing: the lines stay."""

    def iter_lines(self, *, call: str | None = None, interaction: str | None = None) -> Iterator[bytes]:
        """Give the lines that are left, oldest first."""
        return (line for line in tuple(self.lines) if is_of(line, call, interaction))


class JsonLinesJournal:
    """
    Lines to a file that is only ever appended to, or to an open stream such as standard output.

    Each line is handed to the system before `append` returns and carries its link: `_chain`, `_hash`, `_position` and
    `_prev` stand before the members of the line itself, which is what was hashed.
    """

    def __init__(self, target: str | Path | BinaryIO) -> None:
        self.path: Path | None = Path(target) if isinstance(target, str | Path) else None
        self._stream = target if not isinstance(target, str | Path) else _appending(Path(target))
        self._chain = Chain("calls")
        self._listener: Listener | None = None
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._is_torn = False

    def append(self, line: bytes, /) -> None:
        """Write *line* with its link; what a full disk took of an earlier one stays a line of its own."""
        with self._lock:
            if self._process != os.getpid():
                self._process, self._chain = os.getpid(), Chain("calls", self._listener)
            link = self._chain.link(line)
            try:
                self._write(link_line(line, link))
            except (OSError, ValueError) as error:
                raise JournalUnavailable from error
            self._chain.advance(link)
            self._chain.settle()

    def _write(self, linked: bytes) -> None:
        """Write all of *linked*: an unbuffered file takes what fits, and says no more than how much that was."""
        whole = _CUT + linked if self._is_torn else linked
        taken = self._stream.write(whole)
        if taken is not None and taken < len(whole):
            self._is_torn = self._is_torn or taken > 0
            raise OSError(errno.ENOSPC, "the line was not taken whole")
        self._is_torn = False
        self._stream.flush()

    def listen(self, listener: Listener) -> None:
        """Let *listener* hear how far the chain is written, from now on."""
        self._listener = self._chain.listener = listener

    def flush(self) -> None:
        """Do nothing: every line was handed over when it was appended."""

    def close(self) -> None:
        """Close the file; a stream that was passed in stays open."""
        if self.path is not None:
            self._stream.close()

    def iter_lines(self, *, call: str | None = None, interaction: str | None = None) -> Iterator[bytes]:
        """Give the lines of the file, oldest first; a stream cannot be read back."""
        if self.path is None:
            raise Misuse("a stream cannot be read back", "write to a file, or to SQLite")
        return written_lines(self.path, call, interaction)


class StoreJournal:
    """
    Lines to SQLite or PostgreSQL, by one thread and one statement a batch; fork-safe.

    Synced as SQLite's `NORMAL` or without PostgreSQL's `synchronous_commit`: a killed process loses only what was still
    queued, a power cut perhaps the last batches. Effects never depend on it: theirs are in the ledger.
    """

    def __init__(self, place: str | Path, *, limit: int | None = None) -> None:
        self._engine: Engine = open_store(place, "journal", "normal")
        self._listener: Listener | None = None
        self._begin()
        self._writer = Writer(self._write) if limit is None else Writer(self._write, limit)
        _journals.add(self)

    def _begin(self) -> None:
        self._connection: PoolProxiedConnection | None = None
        self._chain = Chain("calls", self._listener)

    @property
    def drained(self) -> int:
        """How many lines this process has written."""
        return self._writer.drained

    @property
    def backlog(self) -> int:
        """How many lines wait to be written."""
        return self._writer.backlog

    @property
    def is_failing(self) -> bool:
        """Whether the store took nothing when it was last tried."""
        return self._writer.failing

    def listen(self, listener: Listener) -> None:
        """Let *listener* hear how far the chain is written, from now on."""
        self._listener = self._chain.listener = listener

    def append(self, line: bytes, /) -> None:
        """Queue *line*; raises JournalFull where the queue is full."""
        self._writer.append(line)

    def flush(self) -> None:
        """Wait until every line appended before is committed."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is queued and close the store; lines can no longer be appended."""
        self._writer.close()
        if self._connection is not None:
            self._connection.close()
        self._engine.dispose()

    def iter_lines(self, *, call: str | None = None, interaction: str | None = None) -> Iterator[bytes]:
        """Give the lines that are committed, oldest first."""
        return stored_lines(self._engine, "journal", call, interaction)

    def _write(self, batch: Sequence[bytes]) -> None:
        if self._connection is None:
            self._connection = self._engine.raw_connection()
        try:
            insert_lines(self._connection.cursor().execute, self._chain, batch, self._engine.dialect.name)
        except BaseException:
            self._connection.invalidate()
            self._connection = None
            raise
        self._chain.settle()

    def _forked(self) -> None:
        abandon(self._engine, self._connection)
        self._begin()


_journals: Final[weakref.WeakSet[StoreJournal]] = weakref.WeakSet()


def open_journal(place: str | Path) -> Journal:
    """
    Open the journal at *place*: `memory`, `-` or `stdout`, a path ending in `.jsonl`, SQLite by path or URL, or
    PostgreSQL by URL.

    Raises:
        Misuse: *place* is none of these. StoreUnavailable: it cannot be opened.
    """
    text = str(place)
    if text in ("memory", ":memory:", "sqlite://"):
        return MemoryJournal()
    if text in ("-", "stdout"):
        return JsonLinesJournal(sys.stdout.buffer)
    if not text.endswith(".jsonl"):
        return StoreJournal(place)
    try:
        return JsonLinesJournal(place)
    except OSError as error:
        raise StoreUnavailable("journal") from error


def insert_lines(
    execute: Callable[[str, tuple[object, ...]], object], chain: Chain, lines: Sequence[bytes], dialect: str = "sqlite"
) -> None:
    """
    Insert *lines* at the end of *chain* with one statement, which *execute* carries out in the words of *dialect*.

    The chain moves on only when it was carried out. Several statements a batch, or `executemany`, let go of the
    interpreter between rows and wait for it again each time: a busy process then starves its own journal.
    """
    position, prev = chain.position, chain.prev
    values: list[object] = []
    for line in lines:
        header, link = header_of(line), chain.link(line)
        chain.advance(link)
        interaction = None if header.interaction in (header.call, None) else storable(header.interaction or "")
        values += (link.chain, link.position, header.at, header.call, interaction, line, link.prev, link.hash)
    try:
        execute(_insertion(len(lines), "?" if dialect == "sqlite" else "%s"), tuple(values))
    except BaseException:
        chain.position, chain.prev = position, prev
        raise


def stored_lines(engine: Engine, what: str, call: str | None, interaction: str | None) -> Iterator[bytes]:
    """Give the lines in a store, oldest first."""
    try:
        with engine.connect().execution_options(reading=True) as connection:
            yield from select_lines(connection, call, interaction)
    except DatabaseError as error:
        raise StoreUnavailable(what) from error


def select_lines(connection: Connection, call: str | None, interaction: str | None) -> Iterator[bytes]:
    """Give the lines that *connection* sees, oldest first."""
    reading = select(event_line.c.line).order_by(event_line.c.id)
    if call is not None:
        reading = reading.where(event_line.c.call == call)
    if interaction is not None:
        interaction = storable(interaction)
        own = event_line.c.interaction.is_(None) & (event_line.c.call == interaction)
        reading = reading.where(or_(event_line.c.interaction == interaction, own))
    yield from connection.execute(reading).scalars()


@cache
def _insertion(count: int, mark: str) -> str:
    row = f"({', '.join([mark] * len(_COLUMNS))})"
    names = ", ".join(_COLUMNS)
    return f"INSERT INTO {event_line.name} ({names}) VALUES {', '.join([row] * count)}"  # noqa: S608 - our own names


def _appending(path: Path) -> BinaryIO:
    return path.open("ab", buffering=0)


def _forked() -> None:
    for journal in _journals:
        journal._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
