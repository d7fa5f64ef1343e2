"""
Which entries of a tool are open to a caller? Standing, stages, `for`, identity and grants, before any argument.

What an entry or its limits need of identity or tenant and cannot get closes the entry.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from reference.attempt import Attempt, Call, caller_sources
from reference.grants import Standing, grants_any, opening_roles
from reference.references import Sources, Unfilled, fill

WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def context_of(policies: Mapping[str, Any], given: Mapping[str, Any], now: dt.datetime) -> dict[str, Any]:
    calendars = policies["names"].get("calendars", {})
    return {
        "called": [],
        **given,
        "date": int(now.astimezone(dt.UTC).strftime("%Y%m%d")),
        "calendar": [name for name, calendar in calendars.items() if _holds(calendar, now)],
    }


def _holds(calendar: Mapping[str, Any], now: dt.datetime) -> bool:
    local = now.astimezone(ZoneInfo(calendar["tz"]))
    day = local.date().isoformat()
    if "dates" in calendar:
        return bool(calendar["dates"][0] <= day <= calendar["dates"][1])
    in_hours = calendar.get("from", "00:00") <= local.strftime("%H:%M") < calendar.get("to", "24:00")
    return in_hours and WEEK[local.weekday()] in calendar.get("days", WEEK) and day not in calendar.get("except", [])


def open_entries(call: Call, tool: str) -> list[Attempt]:
    """The entries of *tool* open to the caller, top to bottom, identity and tenant put in."""
    policy = call.policies["tools"].get(tool)
    if policy is None or not call.spec or not call.who.tenant:
        return []
    if policy["stages"] is not None and call.context.get("stage") not in policy["stages"]:
        return []
    opened = []
    for entry in policy["allow"] or []:
        roles = opening_roles(call.who, entry["roles"], tool)
        limits = [limit for limit in _limits(call, tool) if _applies(call.who, limit, entry)]
        if roles and (attempt := _opened(call, entry, limits, roles)) is not None:
            opened.append(attempt)
    return opened


def _limits(call: Call, tool: str) -> list[dict[str, Any]]:
    tenant = call.policies["tenants"].get(call.who.tenant, {"limits": {}})
    return [*call.policies["tools"][tool]["limits"], *tenant["limits"].get(tool, [])]


def _applies(who: Standing, limit: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    whom = limit.get("for", {})
    return (
        ("roles" not in whom or bool(who.roles & set(whom["roles"])))
        and ("actors" not in whom or bool(who.actor_roles & set(whom["actors"])))
        and ("entries" not in limit or entry["id"] in limit["entries"])
    )


def _opened(call: Call, entry: dict[str, Any], limits: list[dict[str, Any]], roles: list[str]) -> Attempt | None:
    try:
        filled = [_fill_block(block, caller_sources(call.policies, call.caller)) for block in (entry, *limits)]
    except Unfilled:
        return None
    always = [block for block in filled if "unless" not in block]
    wanted = [cut["$granted"] for block in always for cut in block.get("arguments", {}).values() if "$granted" in cut]
    if not all(grants_any(call.who, roles, want["type"], want["action"]) for want in wanted):
        return None
    return Attempt(call, filled[0], filled[1:], roles)


def _fill_block(block: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    """*block* with identity and tenant put in; `unless` waits for the call, and what it lacks leaves the limit on."""
    return {name: item if name == "unless" else fill(item, sources) for name, item in block.items()}
