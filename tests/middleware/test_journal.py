"""What is appended comes back, in order and linked; what cannot be taken is refused and not lost."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from databases import new_store
from gatewright.middleware.attest import attest, linked_texts
from gatewright.middleware.identifiers import new_id
from gatewright.middleware.journal import (
    Journal,
    JournalFull,
    JournalUnavailable,
    JsonLinesJournal,
    MemoryJournal,
    StoreJournal,
    insert_lines,
    open_journal,
)
from gatewright.middleware.linked import link_line, written_lines
from gatewright.middleware.linking import Chain, link_hash
from gatewright.middleware.record import Trail, event_line
from gatewright.middleware.stores import StoreUnavailable
from gatewright.middleware.writer import Writer
from gatewright.policy.errors import Misuse

AT = 1_796_032_800.0


def a_line(interaction: str | None = None, tool: str = "logs.query") -> tuple[str, bytes]:
    """A call's id and its line."""
    trail = Trail(AT, interaction=interaction)
    trail.add("request_received", tool=tool)
    trail.answer("ok")
    return trail.call, trail.line()


@pytest.fixture(params=["memory", "jsonl", "sqlite", "postgresql"])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """Each kind of journal."""
    kind: str = request.param
    places = {"memory": "memory", "jsonl": tmp_path / "events.jsonl", "sqlite": tmp_path / "events.db"}
    opened = open_journal(places[kind] if kind in places else new_store(kind, tmp_path))
    yield opened
    opened.close()


def test_lines_come_back_in_order(journal: Journal) -> None:
    """All of them, those of a call, those of an interaction; byte by byte."""
    mine, others = a_line('the "long"\ntask'), [a_line() for _ in range(2_500)]
    for _, line in [*others, mine]:
        journal.append(line)
    journal.flush()
    assert list(journal.iter_lines()) == [line for _, line in [*others, mine]]
    assert list(journal.iter_lines(call=others[7][0])) == [others[7][1]]
    assert list(journal.iter_lines(interaction=others[9][0])) == [others[9][1]]
    assert list(journal.iter_lines(interaction='the "long"\ntask')) == [mine[1]]
    assert list(journal.iter_lines(call=new_id())) == []


def test_a_journal_is_a_journal(journal: Journal) -> None:
    """Each keeps to the protocol."""
    assert isinstance(journal, Journal)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a journal will be."""
    return new_store(request.param, tmp_path)


def rows_of(place: str, question: str) -> list[tuple[Any, ...]]:
    """Ask the store at *place* directly."""
    engine = create_engine(place)
    with engine.connect() as connection:
        rows = [tuple(row) for row in connection.exec_driver_sql(question)]
    engine.dispose()
    return rows


def test_many_threads_lose_nothing(place: str) -> None:
    """Lines of eight threads are all there, and drained counts them."""
    journal = StoreJournal(place)
    lines = [[a_line()[1] for _ in range(500)] for _ in range(8)]
    threads = [threading.Thread(target=lambda mine=mine: [journal.append(line) for line in mine]) for mine in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.flush()
    assert sorted(journal.iter_lines()) == sorted(line for mine in lines for line in mine)
    assert (journal.drained, journal.backlog, journal.is_failing) == (4_000, 0, False)
    journal.close()


def test_closing_writes_what_is_queued(place: str) -> None:
    """Nothing that was taken is lost, and nothing more is taken."""
    journal = StoreJournal(place)
    lines = [a_line()[1] for _ in range(3_000)]
    for line in lines:
        journal.append(line)
    journal.close()
    with pytest.raises(JournalUnavailable):
        journal.append(lines[0])
    again = StoreJournal(place)
    assert list(again.iter_lines()) == lines
    again.close()


def test_the_chain_links_every_line(place: str) -> None:
    """Positions have no gap, and each hash covers the one before it."""
    journal = StoreJournal(place)
    for _ in range(1_500):
        journal.append(a_line()[1])
    journal.close()
    rows = rows_of(place, "SELECT chain, position, prev, line, hash FROM event_line ORDER BY id")
    before, expected = bytes(32), -1
    for expected, (chain, position, prev, line, linked) in enumerate(rows):
        assert (position, prev) == (expected, before)
        assert linked == link_hash(chain, position, prev, line)
        before = linked
    assert expected == 1_499


def test_a_batch_that_fails_does_not_move_the_chain() -> None:
    """The lines are linked anew when they are tried again."""
    chain = Chain("calls")

    def fail(statement: str, values: tuple[object, ...]) -> None:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - any will do
        insert_lines(fail, chain, [a_line()[1], a_line()[1]])
    assert (chain.position, chain.prev) == (0, bytes(32))


def test_a_file_carries_its_links_and_a_restart_begins_a_chain(tmp_path: Path) -> None:
    """Two openings of one file are two chains, each from position 0; the lines come back without their links."""
    path = tmp_path / "events.jsonl"
    lines = [a_line()[1] for _ in range(4)]
    for two in (lines[:2], lines[2:]):
        journal = JsonLinesJournal(path)
        for line in two:
            journal.append(line)
        journal.close()
    assert [written.split(b'"_position":')[1][:1] for written in path.read_bytes().splitlines()] == [
        b"0",
        b"1",
        b"0",
        b"1",
    ]
    reading = JsonLinesJournal(path)
    assert list(reading.iter_lines()) == lines
    reading.close()


def test_a_stream_gets_lines_and_is_not_read_back() -> None:
    """Standard output and pipes: written at once, one line each."""
    stream = io.BytesIO()
    journal = JsonLinesJournal(stream)
    journal.append(a_line()[1])
    assert stream.getvalue().count(b"\n") == 1
    with pytest.raises(Misuse):
        list(journal.iter_lines())
    stream.close()
    with pytest.raises(JournalUnavailable):
        journal.append(a_line()[1])


def test_memory_keeps_the_last_lines_only() -> None:
    """A guard that runs for long in memory does not grow without end."""
    journal = MemoryJournal(most=3)
    lines = [a_line()[1] for _ in range(5)]
    for line in lines:
        journal.append(line)
    assert list(journal.iter_lines()) == lines[2:]


class Blocked:
    """A store that takes nothing until it is let."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.let = threading.Event()
        self.failures = 0
        self.taken: list[bytes] = []

    def write(self, batch: Sequence[bytes]) -> None:
        """Fail as often as asked, wait, then take the batch."""
        self.entered.set()
        self.let.wait()
        if self.failures:
            self.failures -= 1
            raise OSError(28, "No space left on device")
        self.taken += batch


def test_a_full_queue_says_so() -> None:
    """A line beyond the bound is refused; those taken before it are written once the store lets."""
    store = Blocked()
    writer = Writer(store.write, limit=10)
    writer.append(b"first")
    store.entered.wait()
    for number in range(10):
        writer.append(b"%d" % number)
    with pytest.raises(JournalFull):
        writer.append(b"too many")
    store.let.set()
    writer.flush()
    assert store.taken == [b"first", *(b"%d" % number for number in range(10))]
    writer.close()


def test_a_failing_store_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The batch is tried again until it is written; the failure is logged once."""
    store = Blocked()
    store.failures = 1
    writer = Writer(store.write)
    writer.append(b"line")
    store.let.set()
    writer.close()
    assert store.taken == [b"line"]
    assert [record.message for record in caplog.records] == ["the journal cannot be written; 1 lines wait"]


def test_flushing_a_failing_store_does_not_wait_for_ever(caplog: pytest.LogCaptureFixture) -> None:
    """A store that takes nothing is reported to whoever waits for it."""
    store = Blocked()
    store.failures = 1_000_000
    store.let.set()
    writer = Writer(store.write)
    writer.append(b"line")
    with pytest.raises(JournalUnavailable):
        writer.flush()
    writer.close()
    assert "1 lines unwritten" in caplog.text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_writes_a_chain_of_its_own(place: str) -> None:
    """Lines of parent and child are all there, once, in two chains."""
    journal = StoreJournal(place)
    journal.append(a_line()[1])
    journal.flush()
    before = a_line()[1]
    journal.append(before)
    child = os.fork()
    if child == 0:
        journal.append(a_line()[1])
        journal.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    journal.append(a_line()[1])
    journal.close()
    rows = rows_of(place, "SELECT count(*), min(position) FROM event_line GROUP BY chain ORDER BY 1")
    assert rows == [(1, 0), (3, 0)]


@pytest.mark.parametrize("place", ["/nowhere/at/all/events.db", "/nowhere/at/all/events.jsonl"])
def test_a_store_that_cannot_be_opened_says_so(place: str) -> None:
    """At once, when it is opened, not with the first call."""
    with pytest.raises(StoreUnavailable):
        open_journal(place)


def test_a_file_that_is_no_database_says_so(tmp_path: Path) -> None:
    """A path that points to something else is not written over."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database at all, but long enough to look at " * 4)
    with pytest.raises(StoreUnavailable):
        open_journal(path)
    assert path.read_text().startswith("not a database")


class FullDisk(io.RawIOBase):
    """A file that takes *room* bytes, and then no more until somebody makes room."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.held = b""

    def write(self, data: Any, /) -> int:
        """Take what fits."""
        taken = bytes(data)[: self.room]
        self.room -= len(taken)
        self.held += taken
        return len(taken)


@pytest.mark.parametrize("room", [0, 1, 60, 250, -1])
def test_what_a_full_disk_took_of_a_line_is_no_line_and_its_call_is_told(tmp_path: Path, room: int) -> None:
    """A raw file takes a part and raises nothing: the call is refused, and the next whole line stands by itself."""
    lost, kept = event_line("policy_rejected", 1.0, findings=1), event_line("policy_rejected", 2.0, findings=2)
    whole = len(link_line(lost, Chain("calls").link(lost)))
    disk = FullDisk(room % whole)
    journal = JsonLinesJournal(disk)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(JournalUnavailable):
            journal.append(lost)
    disk.room = 10_000
    journal.append(kept)
    path = tmp_path / "events.jsonl"
    path.write_bytes(disk.held)
    assert list(written_lines(path, None, None)) == [kept]
    assert [line and line.line for line in linked_texts(path)] == [kept]
    assert not attest(linked_texts(path), None).flaws
