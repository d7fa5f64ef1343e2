"""
What happened, told back? The events of a call or of a whole interaction, gathered from every store that has some.

In come sources of lines (a journal, a ledger); out come events in order, or a text that a person can read. Text that a
caller wrote is shown harmless to a terminal.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from gatewright.middleware.record import Event, expand, header_of

__all__ = ["LineSource", "call_events", "interaction_events", "is_answered", "tell_call"]

_WIDTH: Final = 21
_HEADS: Final = ("subject", "actor", "tenant", "tool", "status")


class LineSource(Protocol):
    """Where lines can be read back: every journal and the ledger."""

    def iter_lines(self, *, call: str | None = None, interaction: str | None = None) -> Iterator[bytes]:
        """Give lines, oldest first."""
        ...


def call_events(call: str, *sources: LineSource) -> tuple[Event, ...]:
    """Return the events of *call* in order, whichever of the *sources* holds them; empty where none does."""
    return _ordered([line for source in sources for line in source.iter_lines(call=call)])


def interaction_events(interaction: str, *sources: LineSource) -> dict[str, tuple[Event, ...]]:
    """Return the calls of *interaction* in the order in which they came in, each with its events."""
    lines: dict[str, list[bytes]] = {}
    for source in sources:
        for line in source.iter_lines(interaction=interaction):
            lines.setdefault(header_of(line).call or "", []).append(line)
    calls = {call: _ordered(each) for call, each in lines.items()}
    return dict(sorted(calls.items(), key=lambda item: item[1][0].at))


def is_answered(events: Iterable[Event]) -> bool:
    """Whether the call of *events* has its terminal event; otherwise it is under way, or nobody has recovered it."""
    return any(event.kind == "call_answered" for event in events)


def tell_call(events: Sequence[Event]) -> str:
    """Return the story of one call as a timeline: one line an event, with its offset and its fields."""
    if not events:
        return "no such call is recorded"
    began = dt.datetime.fromisoformat(events[0].at)
    return "\n".join([*_head(events), "", *(_row(event, began) for event in events), "", _end(events)])


def _ordered(lines: Iterable[bytes]) -> tuple[Event, ...]:
    """Put lines in order: those of the call's trail by their numbers, then what was told later, by time."""
    known: list[Event] = []
    for line in sorted(lines, key=_place):
        known += expand(line, len(known))
    return tuple(known)


def _place(line: bytes) -> tuple[float, str]:
    whole = json.loads(line)
    return whole.get("sequence", float("inf")), whole["at"]


def _head(events: Sequence[Event]) -> list[str]:
    first, stated = events[0], _stated(events)
    who = " ".join(f"{name} {_show(stated[name])}" for name in ("subject", "actor", "tenant") if name in stated)
    head = [f"call {first.call or '-'}  {_show(stated.get('tool', ''))}  {who}".rstrip()]
    ids = {"model's id": first.model_call, "interaction": first.interaction, "trace": first.trace, "in": first.parent}
    told = [f"{name} {_show(value)}" for name, value in ids.items() if value is not None and value != first.call]
    return [*head, *(f"  {each}" for each in told), f"  began {first.at}"]


def _stated(events: Sequence[Event]) -> Mapping[str, object]:
    stated: dict[str, object] = {}
    for event in events:
        stated |= {name: event.fields[name] for name in _HEADS if name in event.fields}
    return stated


def _row(event: Event, began: dt.datetime) -> str:
    after = (dt.datetime.fromisoformat(event.at) - began) // dt.timedelta(microseconds=1)
    fields = " ".join(f"{name}={_show(value)}" for name, value in event.fields.items())
    return f"{event.sequence:>4} {after:>12,} µs  {event.kind:<{_WIDTH}} {fields}".rstrip()


def _end(events: Sequence[Event]) -> str:
    if not is_answered(events):
        return "not answered: under way, or its process died and nobody has recovered it yet"
    return f"answered {_show(_stated(events).get('status', ''))}"


def _show(value: object) -> str:
    if isinstance(value, str):
        text = "".join(character if character.isprintable() else f"\\u{ord(character):04x}" for character in value)
        return f'"{text}"' if " " in text else text
    if isinstance(value, list):
        return f"[{', '.join(_show(item) for item in value)}]"
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {_show(item)}' for name, item in value.items())})"
    return json.dumps(value)
