"""A call, and a whole interaction, is rebuilt from what was recorded, in whichever store."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.middleware.history import call_events, interaction_events, is_answered, tell_call
from gatewright.middleware.identifiers import new_id
from gatewright.middleware.journal import MemoryJournal, StoreJournal
from gatewright.middleware.record import Trail, event_line

AT = 1_796_032_800.5


def begin(tool: str = "logs.query", at: float = AT, interaction: str = "chat-1") -> Trail:
    """A call that came in."""
    trail = Trail(at, interaction=interaction, model_call="call_1")
    trail.add("request_received", tool=tool)
    trail.add("identity_resolved", outcome="verified", subject="amy", tenant="acme")
    return trail


def test_a_call_is_gathered_from_every_store_in_order() -> None:
    """The halves of a write may come in any order, and what was told late is numbered last."""
    trail, first, second = begin(), MemoryJournal(), MemoryJournal()
    ids = {"id": trail.call, "interaction": "chat-1", "trace": trail.trace}
    first.append(event_line("model_resumed", AT + 9, ids, model="m"))
    start = trail.line()
    trail.mark()
    trail.answer("ok")
    second.append(trail.line())
    first.append(start)
    events = call_events(trail.call, first, second)
    assert [event.kind for event in events] == [
        "request_received",
        "identity_resolved",
        "call_answered",
        "model_resumed",
    ]
    assert [event.sequence for event in events] == [0, 1, 2, 3]


def test_an_interaction_is_rebuilt_with_what_is_pending(tmp_path: Path) -> None:
    """Each call in the order it came in; the one without an end is seen to have none."""
    journal = StoreJournal(tmp_path / "events.db")
    done, other, pending = begin(), begin(interaction="chat-2"), begin("orders.refund", AT + 60)
    done.answer("ok")
    for trail in (pending, other, done):
        journal.append(trail.line())
    journal.flush()
    calls = interaction_events("chat-1", journal)
    assert list(calls) == [done.call, pending.call]
    assert [is_answered(events) for events in calls.values()] == [True, False]
    journal.close()


def test_a_story_can_be_read_by_a_person() -> None:
    """Who, what, when, each event with its offset, and how it ended."""
    journal, trail = MemoryJournal(), begin()
    trail.add(
        "permission_decided", failures=[{"entry": "all", "stage": "narrowing"}], outcome="forbidden", rows=["a:1"]
    )
    trail.answer("forbidden", cause="off hours")
    journal.append(trail.line())
    story = tell_call(call_events(trail.call, journal))
    lines = story.splitlines()
    assert lines[0] == f"call {trail.call}  logs.query  subject amy tenant acme"
    assert "  model's id call_1" in lines
    assert "  began 2026-11-30T10:00:00.500" in story
    assert "failures=[(entry all, stage narrowing)] outcome=forbidden rows=[a:1]" in story
    assert 'cause="off hours"' in story
    assert lines[-1] == "answered forbidden"


def test_a_call_without_an_end_says_so() -> None:
    """Nobody reads a missing end as a good one."""
    journal, trail = MemoryJournal(), begin()
    journal.append(trail.line())
    assert tell_call(call_events(trail.call, journal)).splitlines()[-1].startswith("not answered")
    assert tell_call(call_events(new_id(), journal)) == "no such call is recorded"


@pytest.mark.parametrize("tool", ["\x1b[2Jgone", "a\nb", "a\u2028b", "\u202eevil", "a\x9bb"])
def test_a_story_drives_no_terminal(tool: str) -> None:
    """What a caller wrote is shown, not acted on."""
    journal, trail = MemoryJournal(), begin(tool)
    trail.answer("forbidden")
    journal.append(trail.line())
    story = tell_call(call_events(trail.call, journal))
    assert all(character.isprintable() or character == "\n" for character in story)
    assert len(story.splitlines()) == 10
