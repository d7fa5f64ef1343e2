"""Calendars hold at instants, in their own time zone."""

from __future__ import annotations

import datetime as dt

import pytest

from gatewright.policy.calendars import calendars_at, context_at, holds
from gatewright.policy.model import Calendar

DESK = Calendar(
    "Europe/Zurich",
    days=frozenset(range(5)),
    start=dt.time(8),
    end=dt.time(18),
    exceptions=frozenset({dt.date(2026, 12, 25)}),
)
FREEZE = Calendar("UTC", dates=(dt.date(2026, 12, 20), dt.date(2027, 1, 3)))
NIGHT = Calendar("UTC", start=dt.time(22), end=dt.time(6))


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("calendar", "now", "expected"),
    [
        (DESK, "2026-10-28T06:59:59Z", False),
        (DESK, "2026-10-28T07:00:00Z", True),
        (DESK, "2026-10-28T16:59:59Z", True),
        (DESK, "2026-10-28T17:00:00Z", False),
        (DESK, "2026-07-01T06:00:00Z", True),
        (DESK, "2026-10-31T09:00:00Z", False),
        (DESK, "2026-12-25T09:00:00Z", False),
        (FREEZE, "2026-12-19T23:59:59Z", False),
        (FREEZE, "2026-12-20T00:00:00Z", True),
        (FREEZE, "2027-01-03T23:59:59Z", True),
        (FREEZE, "2027-01-04T00:00:00Z", False),
        (NIGHT, "2026-10-28T23:00:00Z", True),
        (NIGHT, "2026-10-28T05:59:59Z", True),
        (NIGHT, "2026-10-28T06:00:00Z", False),
    ],
)
def test_a_calendar_holds_from_its_start_until_before_its_end(calendar: Calendar, now: str, expected: bool) -> None:
    """Start inclusive, end exclusive, dates inclusive; local time decides."""
    assert holds(calendar, at(now)) is expected


def test_the_runtime_wins_over_the_application() -> None:
    """A declared context value cannot stand in for what the runtime knows."""
    context = context_at({"freeze": FREEZE}, at("2026-12-24T23:30:00Z"), ("web.fetch",), {"stage": "fix", "date": 1})
    assert context == {"stage": "fix", "date": 20261224, "calendar": ["freeze"], "called": ["web.fetch"]}
    assert calendars_at({"freeze": FREEZE, "night": NIGHT}, at("2026-12-24T23:30:00Z")) == ["freeze", "night"]
