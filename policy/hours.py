"""
What does a calendar of names.yaml say? Weekly hours or a run of days, in a time zone.

In comes a node; out comes a `Calendar`, with findings. Asks no clock: `calendars` does.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.model import Calendar

__all__ = ["read_calendar"]

_KEYS: Final = ("days", "from", "to", "tz", "except", "dates")
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")


def read_calendar(node: Node, reader: Reader) -> Calendar:
    """Return the calendar that *node* describes."""
    parts = reader.mapping(node, _KEYS, "calendar", ("tz",))
    if not {"dates", "days", "from", "to"} & set(parts):
        reader.findings.add(node.place, "empty_calendar", "a calendar says days, hours or dates")
    days = reader.names(parts.get("days"), _DAYS, "unknown_day", "day")
    reader.not_empty(parts.get("days"), "no day is named")
    exceptions = [reader.day(each, "an exception") for each in reader.items(parts.get("except"), "list of dates")]
    start, end = _time(parts.get("from"), reader), _time(parts.get("to"), reader)
    if start is not None and start == end:
        reader.findings.add(parts["to"].place, "empty_calendar", "these hours never hold: to is exclusive")
    return Calendar(
        tz=_zone(parts.get("tz"), reader),
        days=frozenset(_DAYS.index(day) for day in days),
        start=start,
        end=end,
        dates=_dates(parts.get("dates"), reader),
        exceptions=frozenset(day for day in exceptions if day is not None),
    )


def _dates(node: Node | None, reader: Reader) -> tuple[dt.date, dt.date] | None:
    if node is None:
        return None
    dates = [reader.day(each, "a date") for each in reader.items(node, "list of dates")]
    found = [day for day in dates if day is not None]
    if len(dates) == 2 and len(found) == 2 and found[0] <= found[1]:
        return found[0], found[1]
    reader.findings.add(node.place, "bad_dates", "dates are the first and the last day")
    return None


def _zone(node: Node | None, reader: Reader) -> str:
    name = reader.text(node, "time zone")
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        if node is not None:
            reader.findings.add(node.place, "unknown_zone", f"no such time zone: {name!r}", "such as Europe/Zurich")
        return "UTC"


def _time(node: Node | None, reader: Reader) -> dt.time | None:
    if node is None:
        return None
    if isinstance(node.value, str) and _TIME.fullmatch(node.value):
        return dt.time.fromisoformat(node.value)
    reader.findings.add(node.place, "bad_time", "a time is written HH:MM", "quote it")
    return None
