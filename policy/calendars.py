"""
Which named calendars hold now, and what day is it? Time as policies see it.

In come the calendars of names.yaml and an instant; out come `date`, `calendar` and the day that `until` is held to.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from zoneinfo import ZoneInfo

from gatewright.policy.model import Calendar, Json

__all__ = ["calendars_at", "context_at", "holds"]


def holds(calendar: Calendar, now: dt.datetime) -> bool:
    """
    Whether *calendar* holds at *now*: start inclusive, end exclusive; dates inclusive at both ends.

    Hours that end before they start reach over midnight; the day is the local day of *now*.
    """
    local = now.astimezone(ZoneInfo(calendar.tz))
    day = local.date()
    if calendar.dates is not None and not calendar.dates[0] <= day <= calendar.dates[1]:
        return False
    if day in calendar.exceptions or (calendar.days and day.weekday() not in calendar.days):
        return False
    time = local.time()
    begun = calendar.start is None or time >= calendar.start
    unfinished = calendar.end is None or time < calendar.end
    if calendar.start is not None and calendar.end is not None and calendar.end < calendar.start:
        return begun or unfinished
    return begun and unfinished


def calendars_at(calendars: Mapping[str, Calendar], now: dt.datetime) -> list[str]:
    """The names of the calendars that hold at *now*, sorted."""
    return sorted(name for name, calendar in calendars.items() if holds(calendar, now))


def context_at(
    calendars: Mapping[str, Calendar], now: dt.datetime, called: tuple[str, ...], declared: Mapping[str, Json]
) -> dict[str, Json]:
    """
    The context of one call at *now*: what the application declares, then `date`, `calendar` and `called`.

    `date` is today in UTC as the integer YYYYMMDD. What the runtime knows wins over a declared name.
    """
    today = now if now.tzinfo is dt.UTC else now.astimezone(dt.UTC)
    return {
        **declared,
        "date": today.year * 10000 + today.month * 100 + today.day,
        "calendar": list(calendars_at(calendars, now)) if calendars else [],
        "called": list(called),
    }
