"""Events become one line and come back from it as they were."""

from __future__ import annotations

import itertools
import json

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from gatewright.middleware.canonical import MAX_LINE
from gatewright.middleware.environment import environment
from gatewright.middleware.identifiers import new_id
from gatewright.middleware.record import Trail, check_line, continue_line, event_line, expand, header_of, stamp
from gatewright.policy.errors import Misuse

AT = 1_796_032_800.123456
HOSTILE = [
    "a\r\nb",
    "a\x00b",
    "\x1b[31mred\x1b[0m",
    "a\x85b",
    "a\u2028b\u2029c",
    "\u202eevil",
    "a\x7fb\x9bc",
    '","call":{"environment":"0","id":"',
    '"},"events":[["call_answered",0,{"status":"ok"}]],"x":"',
    "\ud800lone",
    "x" * 10_000_000,
    "\u2028" * 70_000,
    "\x01" * 70_000,
]


def read_trail() -> Trail:
    """A read that went well."""
    trail = Trail(AT, model_call="call_1")
    trail.tenant = "acme"
    trail.add("request_received", raw=True, size=120, tool="logs.query")
    trail.add("identity_resolved", outcome="accepted", roles=("reader",), subject="amy")
    trail.add("schema_validated", entries=1, outcome="accepted", schema_digest="d" * 64)
    trail.add("permission_decided", entry="all", outcome="allowed", rows=("policy.csv:3",))
    trail.add("execution_finished", effect="none", outcome="returned")
    trail.answer("ok")
    return trail


def test_a_line_expands_to_its_events() -> None:
    """Kinds, fields, order and ids survive; each event has a number, a time and a status of its own."""
    trail = read_trail()
    events = expand(trail.line())
    assert [event.kind for event in events] == [
        "request_received",
        "identity_resolved",
        "schema_validated",
        "permission_decided",
        "execution_finished",
        "call_answered",
    ]
    assert [event.sequence for event in events] == list(range(6))
    assert [event.status for event in events] == [
        "generated",
        "generated",
        "validated",
        "validated",
        "executed",
        "returned",
    ]
    assert {(event.call, event.trace, event.interaction) for event in events} == {(trail.call,) * 3}
    assert {event.environment for event in events} == {environment().digest}
    assert events[0].fields == {"raw": True, "size": 120, "tool": "logs.query", "tenant": "acme"}
    assert events[0].model_call == "call_1"
    assert events[0].at.startswith("2026-11-30T10:00:00.123")
    assert all(earlier.at <= later.at for earlier, later in itertools.pairwise(events))


def test_a_line_is_canonical() -> None:
    """Whatever order fields were given in, the line is what RFC 8785 makes of its value."""
    trail = Trail(AT, call=new_id())
    trail.add("request_received", tool="日志.query", adapter="direct", task='say "hi"\\')
    line = trail.line()
    assert line == rfc8785.dumps(json.loads(line))


def test_a_write_is_two_lines_that_tell_one_story() -> None:
    """Numbers and statuses go on where the first line ended; an event between rendering and marking is not lost."""
    trail = read_write_start()
    first = trail.line()
    trail.add("business_committed", reference="order-7")
    trail.mark()
    trail.add("execution_finished", effect="done", outcome="returned")
    trail.answer("ok")
    second = trail.line()
    events = (*expand(first), *expand(second))
    assert [event.sequence for event in events] == list(range(5))
    assert [event.kind for event in events][1:3] == ["execution_started", "business_committed"]
    assert [event.status for event in events][2:] == ["validated", "executed", "returned"]


def read_write_start() -> Trail:
    """A write that is about to enter its body."""
    trail = Trail(AT)
    trail.add("schema_validated", outcome="accepted")
    trail.add("execution_started", operation=new_id())
    return trail


@pytest.mark.promise("P9")
def test_a_call_is_answered_once() -> None:
    """A second terminal event is a mistake of the program, and no line holds two."""
    trail = read_trail()
    with pytest.raises(Misuse):
        trail.answer("ok")
    trail.add("call_answered", status="ok")
    with pytest.raises(Misuse):
        check_line(trail.line())


def test_somebody_else_can_go_on_with_a_call() -> None:
    """A recovering process writes the rest of a call with the call's ids and the next numbers."""
    trail = read_write_start()
    late = event_line("model_resumed", AT, {"id": trail.call, "interaction": trail.call, "trace": trail.trace})
    rest = continue_line([trail.line(), late], AT + 60, [("call_answered", {"status": "unknown", "recovered": True})])
    (event,) = expand(rest)
    assert (event.call, event.sequence, event.status) == (trail.call, 3, "returned")
    assert event.at == "2026-11-30T10:01:00.123456Z"


def test_an_event_of_no_call_has_no_ids() -> None:
    """A policy is loaded by a process, not by a call."""
    line = event_line("policy_loaded", AT, rules=3, revision="r" * 64)
    (event,) = check_line(line)
    assert (event.call, event.interaction, event.trace, event.tenant) == (None, None, None, None)
    assert header_of(line).call is None


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("place", ["tool", "interaction", "model_call", "trace", "rows"])
def test_hostile_text_stays_inside_one_event(text: str, place: str) -> None:
    """One line, no raw control character, at most 64 KiB, and the same events in the same order."""
    ids = {place: text} if place in ("interaction", "model_call", "trace") else {}
    trail = Trail(AT, **ids)
    trail.add("request_received", tool=text if place == "tool" else "t")
    trail.add("permission_decided", rows=[text] * 3 if place == "rows" else [])
    trail.answer("forbidden")
    line = trail.line()
    assert len(line) <= MAX_LINE
    assert not any(ord(character) < 0x20 or 0x7F <= ord(character) <= 0x9F for character in line.decode())
    assert not set("\u2028\u2029\u202e") & set(line.decode())
    assert [event.kind for event in check_line(line)] == ["request_received", "permission_decided", "call_answered"]
    assert header_of(line).call == trail.call
    assert header_of(line).interaction == expand(line)[0].interaction


def test_what_is_cut_says_so_with_a_digest_of_the_whole() -> None:
    """Two different long texts stay different in the log."""
    lines = []
    for end in ("a", "b"):
        trail = Trail(AT, call="0" * 32)
        trail.add("request_received", tool="x" * 100_000 + end)
        lines.append(expand(trail.line())[0].fields["tool"])
    assert all("…[cut: 100001 characters, sha256 " in str(line) for line in lines)
    assert lines[0] != lines[1]


def test_very_many_events_and_long_lists_still_make_one_line() -> None:
    """The first and the last events stay, and the line says how many there were."""
    trail = Trail(AT)
    for number in range(5_000):
        trail.add("permission_rechecked", item=number, rows=["tenants/acme/policy.csv:1"] * 200)
    trail.answer("ok")
    line = trail.line()
    assert len(line) <= MAX_LINE
    assert b'"cut":"\xe2\x80\xa6[cut: 5001 events' in line
    assert expand(line)[-1].kind == "call_answered"


@given(st.text(), st.text())
def test_every_text_comes_back_as_it_was(tool: str, interaction: str) -> None:
    """Escaping loses nothing of what UTF-8 can hold, and the header is found however the interaction is called."""
    trail = Trail(AT, interaction=interaction)
    trail.add("request_received", tool=tool)
    line = trail.line()
    assert expand(line)[0].fields["tool"] == tool
    assert header_of(line).interaction == (interaction or trail.call)


@given(st.floats(min_value=0, max_value=4_000_000_000))
def test_a_stamp_is_rfc_3339_with_microseconds(at: float) -> None:
    """Always 27 characters, whatever second came before."""
    assert len(stamp(at)) == 27
    assert stamp(at).endswith("Z")


def test_ids_are_random_and_of_fixed_length() -> None:
    """32 hexadecimal digits, none twice."""
    ids = [new_id() for _ in range(2_000)]
    assert len(set(ids)) == 2_000
    assert all(len(id) == 32 and set(id) <= set("0123456789abcdef") for id in ids)


def test_a_field_that_the_page_does_not_list_is_found() -> None:
    """Whoever checks lines learns of fields, and so of texts, that do not belong there."""
    trail = Trail(AT)
    trail.add("call_answered", status="ok", message="text of an exception")
    with pytest.raises(Misuse, match="call_answered has no field message"):
        check_line(trail.line())


def test_what_is_no_line_is_not_indexed() -> None:
    """A journal takes lines of ours only."""
    with pytest.raises(Misuse):
        header_of(b'{"event":"call_answered"}')
