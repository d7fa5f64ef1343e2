"""
Where do the demo's log lines come from? From what this machine really logged, topped up by a seeded generator.

`build_store` writes one SQLite file of at least 100,000 lines and says how many of each source went in.
"""

from __future__ import annotations

import datetime as dt
import random
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LINES = 120_000
NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
SEED = 20261130

SERVICES = {
    "acme": ("inventory", "payments", "package-manager"),
    "globex": ("storefront", "mailer"),
}
_DPKG = re.compile(r"^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d) (.+)$")
_PIP = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d),\d+ (.+)$")
_SCHEMA = """
    CREATE TABLE line (
        tenant TEXT NOT NULL, service TEXT NOT NULL, at TEXT NOT NULL, level TEXT NOT NULL,
        message TEXT NOT NULL, client_ip TEXT, source TEXT NOT NULL
    )
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One log line; *at* is UTC as YYYY-MM-DDTHH:MM:SSZ, *source* says where it came from."""

    tenant: str
    service: str
    at: str
    level: str
    message: str
    client_ip: str | None
    source: str


def build_store(path: Path, pip_log: Path | None = None) -> Counter[str]:
    """Write the store at *path*, replacing it; return how many lines each source gave."""
    path.unlink(missing_ok=True)
    lines = [*real_lines(pip_log)][: LINES // 2]
    lines += made_lines(LINES - len(lines))
    with sqlite3.connect(path) as connection:
        connection.execute(_SCHEMA)
        rows = [(x.tenant, x.service, x.at, x.level, x.message, x.client_ip, x.source) for x in lines]
        connection.executemany("INSERT INTO line VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute("CREATE INDEX line_by_time ON line (tenant, service, at)")
    connection.close()
    return Counter(line.source for line in lines)


def real_lines(pip_log: Path | None) -> Iterator[Line]:
    """Yield what this machine really logged, where it can be read: Debian's package manager and pip's install log."""
    yield from _read(Path("/var/log/dpkg.log"), _DPKG, "dpkg.log", " ")
    if pip_log is not None:
        yield from _read(pip_log, _PIP, "pip.log", "")


def made_lines(count: int) -> list[Line]:
    """Return *count* generated lines of the week before `NOW`, the same on every machine."""
    chance = random.Random(SEED)
    made = []
    for _ in range(count):
        tenant = chance.choice(sorted(SERVICES))
        service = chance.choice(SERVICES[tenant])
        at = NOW - dt.timedelta(seconds=chance.randrange(7 * 86_400))
        level = chance.choices(("INFO", "WARN", "ERROR"), (90, 8, 2))[0]
        message = f"{chance.choice(_VERBS)} {chance.choice(_THINGS)} in {chance.randrange(1, 900)} ms"
        address = f"192.0.2.{chance.randrange(1, 255)}"
        made.append(Line(tenant, service, _stamp(at), level, message, address, "generator"))
    return made


_VERBS = ("reserved", "released", "counted", "shipped", "refused", "charged", "rendered", "delivered")
_THINGS = ("order", "basket", "parcel", "invoice", "page", "message", "session", "payment")


def _read(path: Path, pattern: re.Pattern[str], source: str, between: str) -> Iterator[Line]:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return
    for raw in text.splitlines():
        found = pattern.match(raw)
        if found is None:
            continue
        *when, message = found.groups()
        at = between.join(when).replace(" ", "T") + "Z"
        yield Line("acme", "package-manager", at, "INFO", message[:500], None, source)


def _stamp(at: dt.datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
