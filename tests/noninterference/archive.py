"""
What do the calls of the suite go through? A real guard over an in-memory table, with the archive's tools on it.

In comes a setting; out comes an archive whose table can be changed under it. All archives share one clock and issuer.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel

from gatewright import Caller, Conflict, Guard, NoEffect, Page, Resource, RowScope
from gatewright.testing import FakeClock, FakeIssuer, ListJournal
from noninterference.policies import CLAIMS, TENANTS, HiddenTool, Setting, texts_of
from noninterference.table import Table

CLOCK = FakeClock()
ISSUER = FakeIssuer(algorithm="EdDSA", clock=CLOCK)
WORDS: dict[str, Any] = {"use_when": "somebody asks for it", "not_for": "anything else"}
ATTRIBUTES = {
    "type": "object",
    "properties": {
        **{name: {"type": "string"} for name in ("id", "kind", "tenant", "branch", "title", "owner", "phone", "card")},
        **{name: {"type": "integer"} for name in ("level", "pages")},
        "open": {"type": "boolean"},
    },
}


class Case(BaseModel):
    """A case as tools give it."""

    id: str
    branch: str
    title: str
    owner: str
    phone: str
    card: str
    level: int
    pages: int


class Stats(BaseModel):
    """Figures of the caller's branch."""

    cases: int
    pages: int
    most: int


class Counter(logging.Handler):
    """Counts what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Count it."""
        self.count += 1


class Archive:
    """One guard of one setting. *table* is what its tools read and write."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.table = Table({})
        self.journal = ListJournal()
        profile = ISSUER.profile(TENANTS, leeway="1s", lifetime="24h")
        self.texts = texts_of(setting, {"issuers": [profile], "claims": CLAIMS})
        self.guard = Guard(self.texts, journal=self.journal, ledger=":memory:", keys="k" * 32, clock=CLOCK, watch=False)
        self.functions: dict[str, Callable[..., Any]] = {}
        _open_reads(self)
        _open_writes(self)
        for tool in setting.tools:
            _open_hidden(self.guard, tool)
        self.revision = self.guard.revision

    def close(self) -> None:
        """Let go of the guard's stores."""
        self.guard.close()


def rows_of(table: Table, tenant: str, sort: str = "title", text: str = "") -> list[dict[str, Any]]:
    """The cases of a tenant whose title begins with *text*, in order: the whole of what list and search tools do."""
    found = [row for row in table.scan(tenant, "case") if row["title"].startswith(text)]
    return sorted(found, key=lambda row: (row[sort], row["title"]))


def stats_of(table: Table, tenant: str, branch: object) -> dict[str, int]:
    """The figures of one branch."""
    pages = [row["pages"] for row in table.scan(tenant, "case") if row["branch"] == branch]
    return {"cases": len(pages), "pages": sum(pages), "most": max(pages, default=0)}


def _resource(archive: Archive, kind: str) -> Resource:
    def load(id: str, tenant: str) -> dict[str, Any] | None:
        row = archive.table.find(tenant, id)
        return row if row is None or row["kind"] == kind else None

    return Resource(kind, at=f"/{kind}", load=load, scope="tenant", attributes=ATTRIBUTES)


def _open_reads(archive: Archive) -> None:
    guard = archive.guard
    case = _resource(archive, "case")

    def read(case: str, caller: Caller, lang: Literal["en", "de", "fr"] = "en") -> Case:
        """Return one case."""
        return Case.model_validate(archive.table.find(caller.tenant, case))

    def listed(caller: Caller, sort: Literal["title", "pages"] = "title") -> Page[Case]:
        """Return the cases there are."""
        return Page(items=[Case.model_validate(row) for row in rows_of(archive.table, caller.tenant, sort)])

    def page(caller: Caller, scope: RowScope, cursor: str | None = None) -> Page[Case]:
        """Return the cases there are, two at a time. The tool's own cursor is as long as the table has rows."""
        every = rows_of(archive.table, caller.tenant)
        rows = [row for row in every if scope.admits(row)]
        last = (cursor or "").partition("|")[0]
        begin = next((at + 1 for at, row in enumerate(rows) if row["id"] == last), 0)
        shown = rows[begin : begin + 2]
        more = f"{shown[-1]['id']}|{'x' * len(every)}" if rows[begin + 2 :] else None
        return Page(items=[Case.model_validate(row) for row in shown], next_cursor=more)

    def search(text: str, caller: Caller, mode: Literal["list", "complete"] = "list") -> Page[Case]:
        """Return the cases whose title begins with a text."""
        return Page(items=[Case.model_validate(row) for row in rows_of(archive.table, caller.tenant, text=text)])

    def stats(caller: Caller) -> Stats:
        """Return figures of the caller's branch."""
        return Stats(**stats_of(archive.table, caller.tenant, caller.claims.get("branch")))

    def ping() -> str:
        """Return a word."""
        return "here"

    tools = {"case.list": listed, "case.page": page, "case.search": search, "case.stats": stats, "desk.ping": ping}
    for name, function in tools.items():
        archive.functions[name] = guard.tool(name, kind="read", **WORDS)(function)
    archive.functions["case.read"] = guard.tool("case.read", kind="read", resources={"case": case}, **WORDS)(read)


def _open_writes(archive: Archive) -> None:
    guard = archive.guard
    case, folder = _resource(archive, "case"), _resource(archive, "folder")

    def create(folder: str, title: str, caller: Caller) -> dict[str, str]:
        """Make a case. Titles are unique among what one branch has."""
        branch = str(caller.claims.get("branch"))
        rows = archive.table.scan(caller.tenant, "case")
        if any(row["title"] == title and row["branch"] == branch for row in rows):
            raise NoEffect(Conflict("title_taken"))
        made = f"n-{secrets.token_hex(5)}"
        archive.table.put((caller.tenant, made), new_case(made, caller.tenant, branch, title))
        return {"id": made}

    def update(case: str, title: str, caller: Caller) -> dict[str, str]:
        """Change a title."""
        row = archive.table.find(caller.tenant, case) or {}
        archive.table.put((caller.tenant, case), {**row, "title": title})
        return {"id": case, "title": title}

    def release(case: str) -> dict[str, str]:
        """Give a case out of the house."""
        return {"released": case}

    tool, named = partial(guard.tool, **WORDS), {"case": case}
    create_tool = tool("case.create", kind="write", action="create", resources={"folder": folder}, reasons=REASONS)
    archive.functions["case.create"] = create_tool(create)
    archive.functions["case.update"] = tool("case.update", kind="write", action="update", resources=named)(update)
    archive.functions["case.release"] = tool("case.release", kind="write", action="release", resources=named)(release)


REASONS = ("title_taken",)


def new_case(id: str, tenant: str, branch: str, title: str) -> dict[str, Any]:
    """A row of a case that has just been made."""
    texts = {"id": id, "kind": "case", "tenant": tenant, "branch": branch, "title": title, "owner": "new"}
    return {**texts, "phone": "", "card": "", "level": 0, "pages": 1, "open": True}


def _open_hidden(guard: Guard, tool: HiddenTool) -> None:
    """Put a tool on the guard that somebody else has; *shape* and *words* are what makes its schema large or small."""

    def one(code: str) -> str:
        return code

    def three(code: str, number: int, flag: bool = False) -> dict[str, str]:
        return {"code": code}

    def case(case: str) -> list[str]:
        return [case]

    options = {**WORDS, "description": "Open it. " * tool.words}
    guard.tool(tool.name, kind=("read", "write", "read")[tool.shape], **options)((one, three, case)[tool.shape])
