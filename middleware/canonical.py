"""
Which bytes is this record? One canonical JSON line: keys sorted, no spaces, nothing that could pass for another line.

In come plain values; out come at most 64 KiB of UTF-8 that any RFC 8785 reader reads as the same value. Characters that
terminals and log readers act on are escaped; what is too long is cut, with a marker and a digest of the whole. Never
raises for what a caller wrote.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

import orjson

__all__ = ["MAX_LINE", "render"]

MAX_LINE: Final = 65_536
_USUAL: Final = 8_192
_ROUNDS: Final = ((512, 64), (128, 16), (64, 4))
_ACTIVE: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def render(head: dict[str, object], events: Sequence[tuple[str, int, Mapping[str, object]]]) -> bytes:
    """Return *head* with *events* put into its member `events`."""
    head["events"] = events
    try:
        line = _to_json(head)
    except TypeError:  # half a surrogate pair, a number beyond 64 bits, or a mapping that is no dict
        head = {name: _whole(value) for name, value in head.items()}
        line = _to_json(head)
    if len(line) > _USUAL:
        line = _shorten(head, line)
    if line.isascii() and b"\x7f" not in line:
        return line
    return _escape(line)


def _to_json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _escape(line: bytes) -> bytes:
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", line.decode()).encode()


def _shorten(head: dict[str, object], line: bytes) -> bytes:
    """Cut strings and lists, harder each round, until the line fits; the last resort drops whole events' fields."""
    cut = head
    for longest, most in _ROUNDS:
        if len(line) <= _USUAL:
            break
        cut = {name: _cut(value, longest, most) for name, value in head.items() if name != "events"}
        events = head["events"]
        cut["events"] = [
            [kind, us, {name: _cut(value, longest, most) for name, value in fields.items()}]
            for kind, us, fields in events  # type: ignore[attr-defined]
        ]
        line = _to_json(cut)
        if len(_escape(line)) <= MAX_LINE:
            return line
    return line if len(_escape(line)) <= MAX_LINE else _drop(cut)


def _drop(cut: dict[str, object]) -> bytes:
    events = cut["events"]
    if not isinstance(events, list):
        raise TypeError("events are a list")
    kept = events if len(events) <= 120 else [*events[:60], *events[-60:]]
    if len(kept) < len(events):
        cut = {**cut, "cut": _marker(f"{len(events)} events", _to_json(events))}
    cut["events"] = [
        event
        if len(_escape(_to_json(event))) <= 256
        else [event[0], event[1], {"cut": _marker("fields", _to_json(event))}]
        for event in kept
    ]
    return _to_json(cut)


def _cut(value: object, longest: int, most: int) -> object:
    if isinstance(value, str):
        if len(value) <= longest:
            return value
        return value[:longest] + _marker(f"{len(value)} characters", value.encode())
    if isinstance(value, list | tuple):
        items = [_cut(item, longest, most) for item in value[:most]]
        return items if len(value) <= most else [*items, _marker(f"{len(value)} items", _to_json(value))]
    if isinstance(value, Mapping):
        return {name: _cut(item, longest, most) for name, item in value.items()}
    return value


def _marker(what: str, whole: bytes) -> str:
    return f"…[cut: {what}, sha256 {hashlib.sha256(whole).hexdigest()[:32]}]"


def _whole(value: object) -> object:
    """Return *value* without lone surrogates, which UTF-8 cannot hold, and large numbers as texts."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, int) and abs(value) >= 1 << 53:
        return str(value)
    if isinstance(value, list | tuple):
        return [_whole(item) for item in value]
    if isinstance(value, Mapping):
        return {_whole(name): _whole(item) for name, item in value.items()}
    return value
