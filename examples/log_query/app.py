"""
The tool that every tutorial starts with: query the logs of one service between two times.

`open_app` puts Gatewright in front of it. Only the lines marked with a decorator are about authorization.
"""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, WithJsonSchema

from gatewright import Caller, Guard, Invalid, Page, Resource

ROOT = Path(__file__).parents[2]
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")

UtcSecond = Annotated[dt.datetime, WithJsonSchema({"type": "string"})]
"""A time as the model writes it: YYYY-MM-DDTHH:MM:SSZ. The rule below parses it; no `format` is relied on."""


class LogLine(BaseModel):
    """One line of a log."""

    ts: str
    level: str
    message: str
    client_ip: str | None = None


def times(arguments: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Turn start and end into datetimes: exact form, start strictly before end, at most `max_span_s` apart."""
    start, end = (_parse(arguments[name], f"/{name}") for name in ("start", "end"))
    if end <= start:
        raise Invalid("must_follow_start", field="/end", expected="a time after start")
    longest = dt.timedelta(seconds=settings["max_span_s"])
    if end - start > longest:
        raise Invalid("span_too_long", field="/end", expected=f"at most {settings['max_span_s']} seconds after start")
    return {**arguments, "start": start, "end": end}


def _parse(text: str, field: str) -> dt.datetime:
    try:
        if _TIME.fullmatch(text):
            return dt.datetime.fromisoformat(text)
    except ValueError:
        pass  # the right form, but no such day or time
    raise Invalid("not_a_utc_second", field=field, expected="a UTC time as YYYY-MM-DDTHH:MM:SSZ")


def open_app(database: Path, policies: Path | Mapping[str, str] = ROOT / "policies", **options: Any) -> Guard:
    """Return a guard with the demo's tools on it, over the log store at *database*."""
    guard = Guard(policies, **options)
    connection = sqlite3.connect(database, check_same_thread=False)

    def load_service(name: str, tenant: str) -> Mapping[str, Any] | None:
        query = "SELECT 1 FROM line WHERE tenant = ? AND service = ? LIMIT 1"
        found = connection.execute(query, (tenant, name)).fetchone()
        return {"name": name} if found else None

    @guard.tool(
        "logs.query",
        kind="read",
        use_when="you need the log lines of one service between two times",
        not_for="metrics, or searching over several services at once",
        rules=[times],
        reasons=["not_a_utc_second", "must_follow_start", "span_too_long"],
        resources={"service": Resource("service", at="/service", load=load_service, scope="tenant")},
    )
    def query_logs(
        service: Annotated[str, Field(min_length=1)],
        start: UtcSecond,
        end: UtcSecond,
        limit: Annotated[int, Field(ge=1, le=200)],
        caller: Caller,
    ) -> Page[LogLine]:
        """Return the log lines of one service from start (included) to end (excluded), oldest first."""
        columns = "SELECT at, level, message, client_ip FROM line"
        query = f"{columns} WHERE tenant = ? AND service = ? AND at >= ? AND at < ? ORDER BY at LIMIT ?"
        asked = (caller.tenant, service, _stamp(start), _stamp(end), limit + 1)
        rows = connection.execute(query, asked).fetchall()
        items = [LogLine(ts=at, level=level, message=text, client_ip=ip) for at, level, text, ip in rows[:limit]]
        return Page(items=items, truncated=len(rows) > limit)

    @guard.tool(
        "alerts.mute",
        kind="write",
        use_when="an alert is known to be noise for a while",
        not_for="closing an incident",
    )
    def mute_alert(alert_id: Annotated[str, Field(min_length=1)], minutes: int) -> dict[str, int]:
        """Mute one alert for some minutes."""
        return {"muted_minutes": minutes}

    return guard


def _stamp(at: dt.datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
