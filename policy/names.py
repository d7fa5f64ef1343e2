"""
Which names exist? names.yaml: roles, actors, tenants, resource types, delegation, calendars and settings.

In comes one document; out comes the frozen `Names`, with findings for what is misspelt, doubled or contradictory.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gatewright.policy.errors import Place
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.model import Calendar, Delegation, Names, Schema

__all__ = ["read_names"]

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TIME: Final = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_KEYS: Final = ("format", "roles", "actors", "tenants", "types", "delegate", "calendars", "settings")


def read_names(node: Node, reader: Reader) -> Names:
    """Return the names of *node*; what has a finding is left out."""
    parts = reader.mapping(node, _KEYS, "names.yaml")
    roles = _roles(parts.get("roles"), reader)
    actors = frozenset(
        name
        for name, place in reader.placed_names(parts.get("actors"), None, "", "actor role")
        if _is_name(name, place, reader) and _is_apart(name, place, roles, reader)
    )
    return Names(
        roles=roles,
        actors=actors,
        tenants=frozenset(_declared(parts.get("tenants"), reader, "tenant")),
        types=_types(parts.get("types"), reader),
        delegate=_delegation(parts.get("delegate"), reader, roles),
        calendars={name: _calendar(each, reader) for name, each in _named(parts.get("calendars"), reader, "calendar")},
        settings=_settings(parts.get("settings"), reader),
    )


def _roles(node: Node | None, reader: Reader) -> dict[str, frozenset[str]]:
    found = dict(_named(node, reader, "role"))
    excluded: dict[str, set[str]] = {name: set() for name in found}
    for name, value in found.items():
        parts = reader.mapping(value, ("excludes", "about"), "role")
        for other in reader.names(parts.get("excludes"), found, "unknown_role", "role"):
            excluded[name].add(other)
            excluded[other].add(name)
    return {name: frozenset(others) for name, others in excluded.items()}


def _declared(node: Node | None, reader: Reader, what: str) -> list[str]:
    for _, value in _named(node, reader, what):
        for label in reader.mapping(value, None, what).values():
            if isinstance(label.value, list | dict):
                reader.findings.add(label.place, "wrong_kind", f"a label of a {what} is a plain value")
    return [name for name, _ in _named(node, reader, what)]


def _named(node: Node | None, reader: Reader, what: str) -> list[tuple[str, Node]]:
    found = reader.mapping(node, None, f"{what}s")
    return [(name, value) for name, value in found.items() if node and _is_name(name, node.keys[name], reader)]


def _is_name(name: str, place: Place, reader: Reader) -> bool:
    if NAME.fullmatch(name):
        return True
    reader.findings.add(place, "bad_name", f"a name is made of letters, digits, _ . and -, not {name!r}")
    return False


def _is_apart(name: str, place: Place, roles: dict[str, frozenset[str]], reader: Reader) -> bool:
    if name not in roles:
        return True
    reader.findings.add(place, "role_and_actor", f"{name!r} is a role already; roles and actors are disjoint")
    return False


def _types(node: Node | None, reader: Reader) -> dict[str, frozenset[str]]:
    found = {}
    for name, value in _named(node, reader, "type"):
        actions = reader.placed_names(value, None, "", "action")
        found[name] = frozenset(action for action, place in actions if _is_name(action, place, reader))
    return found


def _delegation(node: Node | None, reader: Reader, roles: dict[str, frozenset[str]]) -> Delegation:
    parts = reader.mapping(node, ("tools", "roles"), "delegate")
    return Delegation(
        frozenset(reader.names(parts.get("tools"), None, "", "tool or group")),
        frozenset(reader.names(parts.get("roles"), roles, "unknown_role", "role")),
    )


def _calendar(node: Node, reader: Reader) -> Calendar:
    parts = reader.mapping(node, ("days", "from", "to", "tz", "except", "dates"), "calendar")
    dates = [reader.day(each, "a date") for each in reader.items(parts.get("dates"), "list of dates")]
    if "dates" in parts and (len(dates) != 2 or None in dates or str(dates[0]) > str(dates[1])):
        reader.findings.add(parts["dates"].place, "bad_dates", "dates are the first and the last day")
        dates = []
    days = reader.names(parts.get("days"), _DAYS, "unknown_day", "day")
    exceptions = [reader.day(each, "an exception") for each in reader.items(parts.get("except"), "list of dates")]
    if not {"dates", "days", "from", "to"} & set(parts):
        reader.findings.add(node.place, "empty_calendar", "a calendar says days, hours or dates")
    return Calendar(
        tz=_zone(parts.get("tz"), node, reader),
        days=frozenset(_DAYS.index(day) for day in days),
        start=_time(parts.get("from"), reader),
        end=_time(parts.get("to"), reader),
        dates=(dates[0], dates[1]) if len(dates) == 2 and dates[0] and dates[1] else None,
        exceptions=frozenset(day for day in exceptions if day is not None),
    )


def _zone(node: Node | None, calendar: Node, reader: Reader) -> str:
    name = reader.text(node, "time zone")
    try:
        return ZoneInfo(name).key if name else "UTC"
    except (ZoneInfoNotFoundError, ValueError, OSError):
        reader.findings.add((node or calendar).place, "unknown_zone", f"no such time zone: {name!r}")
        return "UTC"
    finally:
        if not name and node is None:
            reader.findings.add(calendar.place, "missing_key", "a calendar names its time zone: tz")


def _time(node: Node | None, reader: Reader) -> dt.time | None:
    if node is None:
        return None
    if isinstance(node.value, str) and _TIME.fullmatch(node.value):
        return dt.time.fromisoformat(node.value)
    reader.findings.add(node.place, "bad_time", "a time is written HH:MM")
    return None


def _settings(node: Node | None, reader: Reader) -> Schema:
    plain = reader.plain(node)
    return {name: plain[name] for name in reader.mapping(node, None, "schema")} if isinstance(plain, dict) else {}
