"""
What do the Casbin rows say? Strict CSV (RFC 4180 quotes), every row of a known type and width, every effect exact.

In come policy.csv files and the closed names; out come `Rule`s, `Link`s and `Membership`s with their places, and
findings. A row that stock Casbin would drop or misread silently is a finding here.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings, read_text
from gatewright.policy.model import Link, Membership, Names, Rule
from gatewright.policy.nearest import is_slip, nearest

__all__ = ["RowSet", "Vocabulary", "check_groups", "read_rows"]

_WIDTHS: Final = {"p": (5, 7), "g": (3, 5), "g2": (2, 4)}
_QUOTED: Final = re.compile(r' *"((?:[^"]|"")*)" *(?=,|$)')
_PLAIN: Final = re.compile(r"[^,]*")
_STAR: Final = re.compile(r"[^*]*(?:[.:/-]\*)?|\*")
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_GROUP: Final = re.compile(r"tools/[A-Za-z0-9_.-]{1,128}")
_EFFECTS: Final[Mapping[str, Literal["allow", "deny"]]] = {"allow": "allow", "deny": "deny"}
_TOOL_ACTIONS: Final = frozenset({"call", "approve", "*"})


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """
    The names that rows may use: those of names.yaml and, where it is known, the catalog's tools.

    """

    names: Names
    tools: frozenset[str] | None


@dataclass(slots=True)
class RowSet:
    """
    The rows of one or more files.

    *asked* and *made* hold the groups that rows are about and those that g2 rows make, each with its first place.
    """

    rules: list[Rule] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    memberships: list[Membership] = field(default_factory=list)
    asked: dict[str, Place] = field(default_factory=dict)
    made: dict[str, Place] = field(default_factory=dict)

    def add_delegated(self, other: RowSet) -> None:
        """Add the rows of a tenant, which makes no groups."""
        self.rules += other.rules
        self.links += other.links
        self.asked = {**other.asked, **self.asked}


def read_rows(path: str, content: bytes, words: Vocabulary, findings: Findings, into: RowSet) -> None:
    """Read one policy.csv into *into*; rows with a finding are left out."""
    text = read_text(path, content, findings)
    if text is None:
        return
    reading = _Reading(path, words, findings, into)
    is_plain = text.isascii() and "\t" not in text
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if findings.is_full:
            return
        if is_plain and line[:2] == "p," and '"' not in line and "#" not in line and reading.take_rule(number, line):
            continue
        stripped = line.strip(" ")
        if stripped and not stripped.startswith("#"):
            reading.read_row(number, line)


def check_groups(rows: RowSet, listed: Collection[str], findings: Findings) -> None:
    """
    Find groups that nothing makes, and groups that nothing asks for; where the two are a slip apart, one is misspelt.

    *listed* are the groups that names.yaml delegates.
    """
    for group, place in rows.asked.items():
        if group not in rows.made:
            findings.add(place, "unknown_group", f"no g2 row makes the group {group!r}", nearest(group, rows.made))
    wanted = {*rows.asked, *listed}
    for group, place in rows.made.items():
        if group not in wanted:
            meant = next((other for other in sorted(wanted) if is_slip(group, other)), None)
            report = findings.warn if meant is None else findings.add
            hint = "" if meant is None else f"did you mean {meant!r}?"
            report(place, "unused_group", f"no row is about the group {group!r}", hint)


class _Cell(NamedTuple):
    text: str
    column: int
    is_quoted: bool


class _BadQuotes(Exception):
    """Quotes that RFC 4180 does not know, in *column*."""

    def __init__(self, column: int) -> None:
        self.column = column
        super().__init__(column)


def _split(line: str) -> list[_Cell]:
    cells, at = [], 0
    while True:
        found = _QUOTED.match(line, at)
        if found is not None:
            cells.append(_Cell(found[1].replace('""', '"'), line.index('"', at) + 1, True))
        else:
            found = _PLAIN.match(line, at)
            raw = found[0] if found else ""
            if '"' in raw:
                raise _BadQuotes(line.index('"', at) + 1)
            text = raw.strip(" ")
            cells.append(_Cell(text, at + len(raw) - len(raw.lstrip(" ")) + 1, False))
        at = (found.end() if found else at) + 1
        if at > len(line):
            return cells


class _Reading:
    """One file while it is being read. What is known of names is remembered, so that a usual row costs little."""

    def __init__(self, path: str, words: Vocabulary, findings: Findings, into: RowSet) -> None:
        self.path = path
        self.names = words.names
        self.tools = words.tools
        self.findings = findings
        self.into = into
        self.holders = frozenset({*words.names.roles, *words.names.actors, "*"})
        self.domains = frozenset({*words.names.tenants, "*"})
        self.actions = {kind: actions | {"*"} for kind, actions in words.names.types.items()}
        self.every_action = frozenset(_TOOL_ACTIONS.union(*words.names.types.values()))
        self.sound: dict[str, str] = {}
        self.days: dict[str, dt.date] = {}

    def take_rule(self, number: int, line: str) -> bool:
        """Take a p row whose every cell is plainly sound; False leaves it to `read_row`."""
        cells = [cell.strip(" ") for cell in line.split(",")]
        if len(cells) == 6:
            _, sub, dom, obj, act, eft = cells
            day, ref = None, ""
        elif len(cells) == 8 and cells[7] and (cells[6] == "" or cells[6] in self.days):
            _, sub, dom, obj, act, eft, until, ref = cells
            day = self.days.get(until)
        else:
            return False
        if sub not in self.holders and not (sub[:8] == "subject:" and sub[8:] and "*" not in sub):
            return False
        kind, colon, rest = obj.partition(":")
        actions = self.actions.get(kind) if colon and rest else None
        effect = _EFFECTS.get(eft)
        if actions is None or act not in actions or dom not in self.domains or effect is None:
            return False
        if "*" in rest and _STAR.fullmatch(obj) is None:
            return False
        keep = self.sound.setdefault
        place = Place(self.path, number)
        rule = Rule(keep(sub, sub), keep(dom, dom), obj, keep(act, act), effect, day, keep(ref, ref), place)
        self.into.rules.append(rule)
        return True

    def read_row(self, number: int, line: str) -> None:
        """Read any row, with findings for all that is wrong with it."""
        if not line.isprintable():
            column = next(index for index, each in enumerate(line, 1) if not each.isprintable())
            self.findings.add(
                Place(self.path, number, column), "control_character", "a character that cannot be seen stands here"
            )
            return
        try:
            cells = _split(line)
        except _BadQuotes as error:
            self.findings.add(Place(self.path, number, error.column), "quotes", "quotes that RFC 4180 does not know")
            return
        _Row(self, number, cells).read()

    def day(self, text: str) -> dt.date | None:
        """Return the day that *text* is, or None."""
        if text in self.days:
            return self.days[text]
        try:
            day = dt.date.fromisoformat(text) if _DAY.fullmatch(text) else None
        except ValueError:
            day = None
        if day is not None:
            self.days[text] = day
        return day


class _Row:
    """One row that is read cell by cell; cell 0 is its type."""

    def __init__(self, reading: _Reading, number: int, cells: list[_Cell]) -> None:
        self.reading = reading
        self.number = number
        self.cells = cells
        self.faulty: set[int] = set()

    @property
    def is_sound(self) -> bool:
        """Whether no cell has a finding."""
        return not self.faulty

    def read(self) -> None:
        kind, most = self.cells[0].text, len(self.cells) - 1
        if kind not in _WIDTHS:
            self.find(0, "unknown_row_type", f"a row starts with p, g or g2, not {kind!r}")
            return
        least, largest = _WIDTHS[kind]
        if not least <= most <= largest:
            self.find(
                min(most, largest + 1), "row_width", f"a {kind} row has {least} to {largest} cells after its type"
            )
            return
        self._check_cells(least)
        until = self._until(least + 1)
        ref = self.cells[least + 2].text if most == least + 2 else ""
        texts = [cell.text for cell in self.cells[1 : least + 1]]
        {"p": self._rule, "g": self._link, "g2": self._membership}[kind](texts, until, ref)

    def _check_cells(self, least: int) -> None:
        for index, cell in enumerate(self.cells):
            if cell.text == "" and index != least + 1:
                self.find(index, "empty_cell", "only until may be empty")
            elif "#" in cell.text and not cell.is_quoted:
                self.find(index, "inline_comment", "a comment stands on a line of its own", "or quote the cell")

    def _until(self, index: int) -> dt.date | None:
        text = self.cells[index].text if len(self.cells) > index else ""
        day = self.reading.day(text) if text else None
        if text and day is None and self.is_sound:
            self.find(index, "bad_date", "until is a day, written YYYY-MM-DD")
        return day

    def _rule(self, texts: list[str], until: dt.date | None, ref: str) -> None:
        sub, dom, obj, act, eft = texts
        self._holder(1, sub, self.reading.holders)
        self._known(2, dom, self.reading.domains, "unknown_tenant", "tenant")
        self._object(obj, act, eft)
        effect = _EFFECTS.get(eft)
        if effect is None:
            self.find(5, "effect", "an effect is exactly allow or deny", nearest(eft.lower(), _EFFECTS))
        elif self.is_sound:
            self.reading.into.rules.append(Rule(sub, dom, obj, act, effect, until, ref, self._place(0)))

    def _link(self, texts: list[str], until: dt.date | None, ref: str) -> None:
        member, role, dom = texts
        names = self.reading.names
        self._holder(1, member, self.reading.holders - {"*"})
        self._known(2, role, self.reading.holders - {"*"}, "unknown_role", "role")
        self._known(3, dom, self.reading.domains, "unknown_tenant", "tenant")
        acts = member in names.actors or member.startswith("actor:")
        if self.is_sound and acts != (role in names.actors):
            self.find(2, "role_of_another_kind", "no g row joins roles of subjects and roles of actors")
        if self.is_sound:
            self.reading.into.links.append(Link(member, role, dom, until, ref, self._place(0)))

    def _membership(self, texts: list[str], until: dt.date | None, ref: str) -> None:
        tool, group = texts
        if self.reading.tools is not None:
            self._known(1, tool, self.reading.tools, "unknown_tool", "tool")
        if _GROUP.fullmatch(group):
            self.reading.into.made.setdefault(group, self._place(2))
        else:
            self.find(2, "bad_group", "a group is written tools/NAME")
        if self.is_sound:
            self.reading.into.memberships.append(Membership(tool, group, until, ref, self._place(0)))

    def _object(self, obj: str, act: str, eft: str) -> None:
        kind, colon, rest = obj.partition(":")
        if _STAR.fullmatch(obj) is None:
            self.find(3, "star", "a * stands alone or last after . : / or -")
        elif obj == "*":
            self._everything(act, eft)
        elif obj.startswith("tools/"):
            self._group(obj, act)
        elif colon:
            self._resource(kind, rest, act)
        else:
            self._tool(obj, act)

    def _everything(self, act: str, eft: str) -> None:
        if eft == "allow":
            self.find(3, "allow_everything", "nothing may be allowed on a bare *")
        self._known(4, act, self.reading.every_action, "unknown_action", "action")

    def _group(self, obj: str, act: str) -> None:
        if obj.endswith("*"):
            self.find(3, "star", "a group is named whole", "write one row a group")
        else:
            self.reading.into.asked.setdefault(obj, self._place(3))
        self._known(4, act, _TOOL_ACTIONS, "unknown_action", "action of a tool")

    def _resource(self, kind: str, rest: str, act: str) -> None:
        self._known(3, kind, self.reading.actions, "unknown_type", "resource type")
        if not rest:
            self.find(3, "bad_id", f"{kind}: is followed by an id or *")
        if kind in self.reading.actions:
            self._known(4, act, self.reading.actions[kind], "unknown_action", f"action of {kind}")

    def _tool(self, obj: str, act: str) -> None:
        prefix = obj[:-1]
        if not obj.endswith("*"):
            if self.reading.tools is not None:
                self._known(3, obj, self.reading.tools, "unknown_tool", "tool")
        elif any(kind.startswith(prefix) for kind in self.reading.actions):
            self.find(3, "star", "this names tools and resource types alike", "write a type and a colon before the *")
        elif self.reading.tools is not None and not any(
            len(t) > len(prefix) and t.startswith(prefix) for t in self.reading.tools
        ):
            self.find(3, "unknown_tool", f"no tool begins with {prefix!r}", nearest(obj, self.reading.tools))
        self._known(4, act, _TOOL_ACTIONS, "unknown_action", "action of a tool")

    def _holder(self, index: int, text: str, known: Collection[str]) -> None:
        prefix, colon, identity = text.partition(":")
        if colon and prefix in ("subject", "actor"):
            if not identity or "*" in identity:
                self.find(index, "bad_id", f"{prefix}: is followed by one id")
        else:
            self._known(index, text, known, "unknown_role", "role")

    def _known(self, index: int, text: str, known: Collection[str], code: str, what: str) -> None:
        if text and text not in known:
            self.find(index, code, f"no such {what}: {text!r}", nearest(text, known))

    def _place(self, index: int) -> Place:
        return Place(self.reading.path, self.number, self.cells[index].column)

    def find(self, index: int, code: str, message: str, hint: str = "") -> None:
        """Add a finding at a cell, the first one only; the row is left out."""
        if index in self.faulty:
            return
        self.faulty.add(index)
        self.reading.findings.add(self._place(index), code, message, hint)
