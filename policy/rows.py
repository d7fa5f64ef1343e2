"""
What do the Casbin rows say? Strict CSV (RFC 4180 quotes), every row of a known type and width, every effect exact.

In come policy.csv files and the closed names; out come `Rule`s, `Link`s and `Membership`s with their places, and
findings. A row that stock Casbin would drop or misread silently is a finding here.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, field
from typing import Final

from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings, read_text
from gatewright.policy.model import Link, Membership, Names, Rule

__all__ = ["RowSet", "Vocabulary", "read_rows"]

_WIDTHS: Final = {"p": (5, 7), "g": (3, 5), "g2": (2, 4)}
_QUOTED: Final = re.compile(r' *"((?:[^"]|"")*)" *(?:,|$)')
_STAR: Final = re.compile(r"[^*]*(?:[.:/-]\*)?|\*")
_ID_PREFIXES: Final = ("subject:", "actor:")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The names that rows may use: those of names.yaml and, where it is known, the catalog's tools."""

    names: Names
    tools: frozenset[str] | None


@dataclass(slots=True)
class RowSet:
    """The rows of one or more files."""

    rules: list[Rule] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    memberships: list[Membership] = field(default_factory=list)


def read_rows(path: str, content: bytes, words: Vocabulary, findings: Findings, into: RowSet) -> None:
    """Read one policy.csv into *into*; rows with a finding are left out."""
    text = read_text(path, content, findings)
    if text is None:
        return
    for number, line in enumerate(text.split("\n"), 1):
        line = line.removesuffix("\r")
        if not line.strip() or line.startswith("#"):
            continue
        before = len(findings.all)
        cells = _cells(line, Place(path, number), findings)
        if cells is not None:
            _Row(path, number, line, cells, words, findings).add_to(into, before)


def _cells(line: str, place: Place, findings: Findings) -> list[str] | None:
    if '"' not in line:
        return [cell.strip(" \t") for cell in line.split(",")]
    cells, at = [], 0
    while at <= len(line):
        quoted = _QUOTED.match(line, at)
        if quoted is not None:
            cells.append(quoted.group(1).replace('""', '"'))
            if not quoted.group().endswith(","):
                return cells
            at = quoted.end()
            continue
        end = line.find(",", at)
        cell = line[at : end if end >= 0 else len(line)].strip(" \t")
        if '"' in cell:
            column = line.index('"', at) + 1
            findings.add(Place(place.file, place.line, column), "quotes", "quotes that RFC 4180 does not know")
            return None
        cells.append(cell)
        if end < 0:
            return cells
        at = end + 1
    return cells


@dataclass(frozen=True, slots=True)
class _Row:
    path: str
    number: int
    line: str
    cells: list[str]
    words: Vocabulary
    findings: Findings

    def add_to(self, into: RowSet, before: int) -> None:
        kind, *cells = self.cells
        if kind not in _WIDTHS:
            self._find(0, "unknown_row_type", f"a row starts with p, g or g2, not {kind!r}")
            return
        least, most = _WIDTHS[kind]
        if not least <= len(cells) <= most:
            self._find(len(cells), "row_width", f"a {kind} row has {least} to {most} cells after its type")
            return
        until, ref = [*cells[least:], "", ""][:2]
        for index, cell in enumerate(cells, 1):
            if cell == "" and index != least + 1:
                self._find(index, "empty_cell", "only until may be empty")
            elif "#" in cell:
                self._find(index, "inline_comment", "a comment stands on a line of its own")
        day = self._day(until, least + 1)
        {"p": self._rule, "g": self._link, "g2": self._membership}[kind](into, cells, day, ref, before)

    def _rule(self, into: RowSet, cells: list[str], until: dt.date | None, ref: str, before: int) -> None:
        sub, dom, obj, act, eft = cells[:5]
        self._holder(1, sub, {"*"} | set(self.words.names.roles) | self.words.names.actors)
        self._known(2, dom, {"*"} | self.words.names.tenants, "unknown_tenant", "tenant")
        self._object(obj, act, eft)
        if eft not in ("allow", "deny"):
            self._find(5, "effect", "an effect is exactly allow or deny")
        if self._clean(before):
            into.rules.append(Rule(sub, dom, obj, act, "allow" if eft == "allow" else "deny", until, ref, self._at(1)))

    def _link(self, into: RowSet, cells: list[str], until: dt.date | None, ref: str, before: int) -> None:
        member, role, dom = cells[:3]
        names = self.words.names
        self._holder(1, member, set(names.roles) | names.actors)
        self._known(2, role, set(names.roles) | names.actors, "unknown_role", "role")
        self._known(3, dom, {"*"} | names.tenants, "unknown_tenant", "tenant")
        acting = member in names.actors or member.startswith("actor:")
        if self._clean(before) and acting != (role in names.actors):
            self._find(2, "role_of_another_kind", "no g row joins roles of subjects and roles of actors")
        if self._clean(before):
            into.links.append(Link(member, role, dom, until, ref, self._at(1)))

    def _membership(self, into: RowSet, cells: list[str], until: dt.date | None, ref: str, before: int) -> None:
        tool, group = cells[:2]
        if self.words.tools is not None:
            self._known(1, tool, self.words.tools, "unknown_tool", "tool")
        if not re.fullmatch(r"tools/[A-Za-z0-9_.-]+", group):
            self._find(2, "bad_group", "a group is written tools/NAME")
        if self._clean(before):
            into.memberships.append(Membership(tool, group, until, ref, self._at(1)))

    def _object(self, obj: str, act: str, eft: str) -> None:
        if _STAR.fullmatch(obj) is None:
            self._find(3, "star", "a * stands alone or last after . : / or -")
        elif obj == "*" and eft == "allow":
            self._find(3, "allow_everything", "nothing may be allowed on a bare *")
        kind, colon, _ = obj.partition(":")
        types = self.words.names.types
        if obj == "*" or obj.startswith("tools/"):
            return
        if colon:
            self._known(3, kind, set(types), "unknown_type", "resource type")
            if kind in types:
                self._known(4, act, {"*"} | types[kind], "unknown_action", f"action of {kind}")
            return
        if self.words.tools is not None and not obj.endswith("*"):
            self._known(3, obj, self.words.tools, "unknown_tool", "tool")
        self._known(4, act, {"*", "call", "approve"}, "unknown_action", "action of a tool")

    def _holder(self, index: int, cell: str, known: set[str]) -> None:
        for prefix in _ID_PREFIXES:
            if cell.startswith(prefix):
                if not cell.removeprefix(prefix) or "*" in cell:
                    self._find(index, "bad_id", f"{prefix} is followed by one id")
                return
        self._known(index, cell, known, "unknown_role", "role")

    def _known(self, index: int, cell: str, known: set[str] | frozenset[str], code: str, what: str) -> None:
        if cell not in known and cell != "":
            self._find(index, code, f"no such {what}: {cell!r}")

    def _day(self, text: str, index: int) -> dt.date | None:
        if not text:
            return None
        try:
            if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
                return dt.date.fromisoformat(text)
        except ValueError:
            pass
        self._find(index, "bad_date", "until is a day, written YYYY-MM-DD")
        return None

    def _clean(self, before: int) -> bool:
        return len(self.findings.all) == before

    def _find(self, index: int, code: str, message: str) -> None:
        self.findings.add(self._at(index + 1), code, message)

    def _at(self, index: int) -> Place:
        """The place of the cell *index*, counted from 1 with the row's type as the first."""
        at = 0
        for _ in range(index - 1):
            found = self.line.find(",", at)
            at = found + 1 if found >= 0 else at
        column = at + len(self.line[at:]) - len(self.line[at:].lstrip(" \t"))
        return Place(self.path, self.number, column + 1)


def tenant_of(path: str) -> str | None:
    """The tenant whose folder *path* lies in."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "tenants" else None
