"""What was recorded can be read from outside, while it is written, and without touching it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.cli.events import RecordedLines, show_call, show_interaction
from gatewright.middleware.journal import JsonLinesJournal, StoreJournal, open_journal
from gatewright.middleware.record import Trail
from gatewright.middleware.stores import StoreUnavailable


def a_call(tool: str = "logs.query", *, answered: bool = True) -> Trail:
    """A call of the interaction `chat-1`."""
    trail = Trail(1_796_032_800.5, interaction="chat-1")
    trail.add("request_received", tool=tool)
    if answered:
        trail.answer("ok")
    return trail


@pytest.mark.parametrize("name", ["events.db", "events.jsonl"])
def test_a_call_is_shown_while_the_journal_is_open(tmp_path: Path, name: str) -> None:
    """By path, and for SQLite by URL."""
    journal, call = open_journal(tmp_path / name), a_call()
    journal.append(call.line())
    journal.flush()
    assert show_call(call.call, [tmp_path / name]).splitlines()[0] == f"call {call.call}  logs.query"
    if name == "events.db":
        assert show_call(call.call, [f"sqlite:///{tmp_path / name}"]).endswith("answered ok")
    journal.close()


def test_an_interaction_is_one_line_a_call(tmp_path: Path) -> None:
    """From several stores; what has no end is pending."""
    one, other = StoreJournal(tmp_path / "events.db"), JsonLinesJournal(tmp_path / "events.jsonl")
    done, pending = a_call(), a_call("orders.refund", answered=False)
    one.append(done.line())
    other.append(pending.line())
    for journal in (one, other):
        journal.close()
    shown = show_interaction("chat-1", [tmp_path / "events.db", tmp_path / "events.jsonl"])
    assert sorted(shown.splitlines()) == [
        f"logs.query  answered ok  {done.call}",
        f"orders.refund  pending  {pending.call}",
    ]


def test_what_nobody_knows_is_no_empty_story(tmp_path: Path) -> None:
    """A call or interaction that no store has is a LookupError."""
    StoreJournal(tmp_path / "events.db").close()
    with pytest.raises(LookupError):
        show_call("0" * 32, [tmp_path / "events.db"])
    with pytest.raises(LookupError):
        show_interaction("chat-9", [tmp_path / "events.db"])


@pytest.mark.parametrize("name", ["absent.db", "absent.jsonl", "not-a-store.db"])
def test_reading_makes_no_store(tmp_path: Path, name: str) -> None:
    """A place without a store is reported, and nothing is made there."""
    (tmp_path / "not-a-store.db").write_bytes(b"")
    with pytest.raises(StoreUnavailable):
        RecordedLines(tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["not-a-store.db"]
