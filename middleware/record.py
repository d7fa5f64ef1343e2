"""
What happened to this call? A trail of events that costs next to nothing to keep, and the journal lines it turns into.

In come events as they happen; out comes one canonical line for a read, two for a write, each of which expands back to
its events. Never formats, hashes or writes anything while the call is under way.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Final

from gatewright.middleware.canonical import render
from gatewright.middleware.environment import environment
from gatewright.middleware.identifiers import new_id
from gatewright.middleware.kinds import EventStatus, Field, Kind, check_fields, reached
from gatewright.policy.errors import Misuse

__all__ = [
    "Event",
    "Header",
    "Trail",
    "check_line",
    "continue_line",
    "event_line",
    "expand",
    "header_of",
    "stamp",
]

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_VERSION: Final = 1
_HEADER: Final = re.compile(
    rb'\{"at":"([^"]{27})","call":\{"environment":"[0-9a-f]+"'
    rb'(?:,"id":"([0-9a-f]{32})","interaction":("(?:[^"\\]|\\.)*"))?'
)
_seconds: tuple[int, str] = (0, "1970-01-01T00:00:00")


@dataclass(frozen=True, slots=True)
class Event:
    """
    One thing that happened.

    *at* is UTC as RFC 3339 with microseconds; *status* how far the call had come when it had happened; *model_call*
    the model's own id of the call; *fields* what docs/events.md lists for *kind*, without those that are None.
    Events of no call, such as `policy_loaded`, have None for the ids.
    """

    kind: str
    at: str
    sequence: int
    status: EventStatus
    environment: str
    call: str | None = None
    interaction: str | None = None
    trace: str | None = None
    model_call: str | None = None
    parent: str | None = None
    tenant: str | None = None
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Header:
    """What a store indexes a line by."""

    at: str
    call: str | None
    interaction: str | None


class Trail:
    """
    The events of one call, in order.

    *at* is the wall clock's time when the call came in, in seconds since the epoch; the events' own times are that
    plus a monotonic offset. *trace* and *interaction* default to the call's id. Belongs to one call, which is in one
    thread or task at a time.
    """

    __slots__ = (
        "_began",
        "_events",
        "_rendered",
        "_status",
        "_written",
        "answered",
        "at",
        "call",
        "interaction",
        "model_call",
        "parent",
        "tenant",
        "trace",
    )

    def __init__(
        self,
        at: float,
        *,
        call: str | None = None,
        trace: str | None = None,
        interaction: str | None = None,
        model_call: str | None = None,
        parent: str | None = None,
    ) -> None:
        self._began = perf_counter_ns()
        self._events: list[tuple[Kind, int, dict[str, Field]]] = []
        self._written = self._rendered = 0
        self._status: EventStatus = "generated"
        self.at: float = at
        self.call: str = call or new_id()
        self.trace: str = trace or self.call
        self.interaction: str = interaction or self.call
        self.model_call: str | None = model_call
        self.parent: str | None = parent
        self.tenant: str | None = None
        self.answered: bool = False

    def add(self, kind: Kind, /, **fields: Field) -> None:
        """Add what has just happened."""
        self._events.append((kind, (perf_counter_ns() - self._began) // 1000, fields))

    def answer(self, status: str, /, **fields: Field) -> None:
        """
        Add the terminal event, `call_answered`, with the call's duration.

        Raises:
            Misuse: the call has been answered.
        """
        if self.answered:
            raise Misuse("a call is answered once")
        self.answered = True
        elapsed = self.elapsed()
        self._events.append(("call_answered", elapsed, {"duration_us": elapsed, "status": status, **fields}))

    def elapsed(self) -> int:
        """Return the microseconds since the call came in."""
        return (perf_counter_ns() - self._began) // 1000

    def line(self) -> bytes:
        """Return the events that are not marked as written, as one canonical line (docs/events.md)."""
        events = self._events[self._written :]
        self._rendered = len(self._events)
        head: dict[str, object] = {"at": stamp(self.at), "call": self._ids(), "sequence": self._written}
        head |= {"status": self._status, "v": _VERSION}
        return render(head, events)

    def mark(self) -> None:
        """Take the events of the last line as written; the next line begins after them. Called once it is durable."""
        for kind, _, fields in self._events[self._written : self._rendered]:
            self._status = reached(self._status, kind, fields)
        self._written = self._rendered

    def _ids(self) -> dict[str, str]:
        ids = {"environment": environment().digest, "id": self.call, "interaction": self.interaction}
        if self.model_call is not None:
            ids["model"] = self.model_call
        if self.parent is not None:
            ids["parent"] = self.parent
        if self.tenant is not None:
            ids["tenant"] = self.tenant
        ids["trace"] = self.trace
        return ids


def event_line(kind: Kind, at: float, ids: Mapping[str, str] | None = None, /, **fields: Field) -> bytes:
    """
    Return the line of one event outside a call's trail.

    *ids* are `id`, `interaction`, `trace` and the like of the call it belongs to, where it belongs to one; the event
    is numbered after those of the call when it is read.
    """
    call = {**(ids or {}), "environment": environment().digest}
    status = "returned" if ids else "generated"
    head: dict[str, object] = {"at": stamp(at), "call": call, "status": status, "v": _VERSION}
    return render(head, [(kind, 0, fields)])


def continue_line(lines: Sequence[bytes], at: float, happened: Sequence[tuple[Kind, dict[str, Field]]]) -> bytes:
    """Return a further line of the call that *lines*, all of them and in order, tell of; for whoever takes it over."""
    events: list[Event] = []
    for line in lines:
        events += expand(line, len(events))
    ids = {**json.loads(lines[0])["call"], "environment": environment().digest}
    head: dict[str, object] = {"at": stamp(at), "call": ids, "sequence": len(events)}
    head |= {"status": events[-1].status, "v": _VERSION}
    return render(head, [(kind, 0, fields) for kind, fields in happened])


def expand(line: bytes, following: int = 0) -> tuple[Event, ...]:
    """
    Return the events of a line.

    A line of a call's trail says itself where its numbers begin; any other begins at *following*.
    """
    whole = json.loads(line)
    ids = whole["call"]
    began = dt.datetime.fromisoformat(whole["at"])
    status: EventStatus = whole["status"]
    first = whole.get("sequence", following)
    found = []
    for number, (kind, us, fields) in enumerate(whole["events"], first):
        status = reached(status, kind, fields)
        stated = {name: value for name, value in fields.items() if value is not None}
        if kind == "request_received" and "tenant" in ids:
            stated.setdefault("tenant", ids["tenant"])
        at = _text(began + dt.timedelta(microseconds=us))
        event = Event(
            kind,
            at,
            number,
            status,
            ids["environment"],
            call=ids.get("id"),
            interaction=ids.get("interaction"),
            trace=ids.get("trace"),
            model_call=ids.get("model"),
            parent=ids.get("parent"),
            tenant=ids.get("tenant"),
            fields=stated,
        )
        found.append(event)
    return tuple(found)


def header_of(line: bytes) -> Header:
    """
    Return what to index *line* by, without parsing the whole of it.

    Raises:
        Misuse: it is not a line of ours.
    """
    if line[75:83] == b'","id":"' and line[132:164].isalnum() and line[164:165] == b'"':
        return Header(line[7:34].decode(), line[83:115].decode(), line[132:164].decode())  # every line but a few
    found = _HEADER.match(line)
    if found is None:
        raise Misuse("not a journal line", "lines are made by Trail.line and event_line")
    at, call, interaction = found.groups()
    if call is None:
        return Header(at.decode(), None, None)
    return Header(at.decode(), call.decode(), json.loads(interaction))


def check_line(line: bytes) -> tuple[Event, ...]:
    """
    Return the events of a line that keeps to docs/events.md.

    Raises:
        Misuse: it has a kind or field that is not listed, or a raw control character, or ends a call twice.
    """
    if re.search(rb"[\x00-\x1f\x7f]", line) or len(line) > 65_536:
        raise Misuse("a journal line is one line without control characters")
    events = expand(line)
    for event in events:
        check_fields(event.kind, {name: value for name, value in event.fields.items() if name != "cut"})
    if sum(event.kind == "call_answered" for event in events) > 1:
        raise Misuse("a call is answered once")
    return events


def stamp(at: float) -> str:
    """Return seconds since the epoch as `2026-11-30T10:00:00.123456Z`."""
    global _seconds
    second, micro = divmod(int(at * 1_000_000), 1_000_000)
    known, text = _seconds
    if second != known:
        text = (_EPOCH + dt.timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
        _seconds = (second, text)
    return f"{text}.{micro:06d}Z"


def _text(at: dt.datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
