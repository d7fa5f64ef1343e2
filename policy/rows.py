"""
What do the Casbin rows say? Strict CSV, every row of a known kind and width, every effect exact, every name declared.

In come policy.csv files, the closed names and the model's columns; out come `Rule`s, `Link`s and `Membership`s with
their places, and findings. A row that stock Casbin would drop or misread silently is a finding here.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings, read_text
from gatewright.policy.lines import BadQuotes, Cell, lines_of, split_line
from gatewright.policy.model import Link, Membership, Rule
from gatewright.policy.nearest import is_slip, nearest
from gatewright.policy.operators import star_fault
from gatewright.policy.pacing import in_slices
from gatewright.policy.vocabulary import Fault, Vocabulary

__all__ = ["RowSet", "check_groups", "read_rows"]

_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_BLANK_ID: Final = re.compile(r"[^:]*: ")
_EFFECTS: Final[Mapping[str, Literal["allow", "deny"]]] = {"allow": "allow", "deny": "deny"}


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
    is_plain = text.isascii() and "\t" not in text and words.layout.is_usual
    for number, line in in_slices(enumerate(lines_of(text), 1)):
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


class _Reading:
    """One file while it is being read. What is known of names is remembered, so that a usual row costs little."""

    def __init__(self, path: str, words: Vocabulary, findings: Findings, into: RowSet) -> None:
        self.path = path
        self.words = words
        self.findings = findings
        self.into = into
        self.layout = words.layout
        self.domain = words.whole_domain()
        self.sound: dict[str, str] = {}
        self.days: dict[str, dt.date] = {}

    def take_rule(self, number: int, line: str) -> bool:
        """Take a p row of the usual layout whose every cell is plainly sound; False leaves it to `read_row`."""
        cells = [cell.strip(" ") for cell in line.split(",")]
        if len(cells) == 6:
            _, sub, dom, obj, act, eft = cells
            day, ref = None, ""
        elif len(cells) == 8 and cells[7] and (cells[6] == "" or cells[6] in self.days):
            _, sub, dom, obj, act, eft, until, ref = cells
            day = self.days.get(until)
        else:
            return False
        words = self.words
        if ": " in line:
            return False
        if sub not in words.holders and not (sub[:8] == "subject:" and sub[8:] and "*" not in sub):
            return False
        kind, colon, rest = obj.partition(":")
        actions = words.actions.get(kind) if colon and rest else None
        effect = _EFFECTS.get(eft)
        if actions is None or act not in actions or dom not in words.domains or effect is None:
            return False
        if "*" in rest and star_fault(obj):
            return False
        keep = self.sound.setdefault
        place = Place(self.path, number)
        rule = Rule(keep(sub, sub), keep(dom, dom), keep(obj, obj), keep(act, act), effect, day, keep(ref, ref), place)
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
            cells = split_line(line)
        except BadQuotes as error:
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
    """One row that is read cell by cell; cell 0 is its kind, *at* says which cell each of the others is."""

    def __init__(self, reading: _Reading, number: int, cells: list[Cell]) -> None:
        self.reading = reading
        self.number = number
        self.cells = cells
        self.at: dict[str, int] = {}
        self.faulty: set[int] = set()

    @property
    def is_sound(self) -> bool:
        """Whether no cell has a finding."""
        return not self.faulty

    def read(self) -> None:
        kind, most = self.cells[0].text, len(self.cells) - 1
        named = self.reading.layout.cells(kind)
        if not named:
            known = ", ".join(["p", *self.reading.layout.links])
            self.find(0, Fault("unknown_row_type", f"a row starts with one of {known}, not {kind!r}"))
            return
        least, largest = self.reading.layout.least(kind), len(named)
        if not least <= most <= largest:
            width = f"a {kind} row has {least} to {largest} cells after its type"
            self.find(min(most, largest + 1), Fault("row_width", width))
            return
        self.at = {name: index for index, name in enumerate(named[:most], 1)}
        self._check_cells()
        until = self._until()
        {"p": self._rule, "g": self._link, "g2": self._membership}[kind](until, self._text("ref"))

    def _text(self, name: str, other: str = "") -> str:
        return self.cells[self.at[name]].text if name in self.at else other

    def _check_cells(self) -> None:
        for index, cell in enumerate(self.cells):
            if cell.text == "" and index != self.at.get("until"):
                self.find(index, Fault("empty_cell", "only until may be empty"))
            elif "#" in cell.text and not cell.is_quoted:
                self.find(index, Fault("inline_comment", "a comment stands on a line of its own", "or quote the cell"))
            elif index != self.at.get("ref") and _BLANK_ID.match(cell.text) and not cell.is_quoted:
                self.find(index, Fault("bad_id", "a blank stands before the id", "take it away, or quote the cell"))

    def _until(self) -> dt.date | None:
        text = self._text("until")
        day = self.reading.day(text) if text else None
        if text and day is None and self.is_sound:
            self.find(self.at["until"], Fault("bad_date", "until is a day, written YYYY-MM-DD"))
        return day

    def _rule(self, until: dt.date | None, ref: str) -> None:
        words, into = self.reading.words, self.reading.into
        sub, dom = self._text("sub"), self._text("dom", self.reading.domain)
        obj, act, eft = self._text("obj"), self._text("act"), self._text("eft", "allow")
        self._check("sub", words.of_holder(sub))
        if "dom" in self.at:
            self._check("dom", words.of_domain(dom))
        for name, fault in words.of_object(obj, act, is_allow=eft == "allow"):
            self._check(name, fault)
        if obj.startswith("tools/") and not obj.endswith("*"):
            into.asked.setdefault(obj, self._place(self.at["obj"]))
        effect = _EFFECTS.get(eft)
        if effect is None:
            hint = nearest(eft.lower(), _EFFECTS)
            self._check("eft", Fault("effect", "an effect is exactly allow or deny", hint))
        elif self.is_sound:
            into.rules.append(Rule(sub, dom, obj, act, effect, until, ref, self._place(0)))

    def _link(self, until: dt.date | None, ref: str) -> None:
        words = self.reading.words
        member, role, dom = self._text("member"), self._text("role"), self._text("dom", self.reading.domain)
        self._check("member", words.of_member(member))
        self._check("role", words.of_role(role))
        if "dom" in self.at:
            self._check("dom", words.of_domain(dom, is_link=True))
        if self.is_sound:
            self._check("role", words.of_pair(member, role))
        if self.is_sound:
            self.reading.into.links.append(Link(member, role, dom, until, ref, self._place(0)))

    def _membership(self, until: dt.date | None, ref: str) -> None:
        words, into = self.reading.words, self.reading.into
        tool, group = self._text("tool"), self._text("group")
        self._check("tool", words.of_tool(tool))
        fault = words.of_group(group)
        self._check("group", fault)
        if fault is None:
            into.made.setdefault(group, self._place(self.at["group"]))
        if self.is_sound:
            into.memberships.append(Membership(tool, group, until, ref, self._place(0)))

    def _place(self, index: int) -> Place:
        return Place(self.reading.path, self.number, self.cells[index].column)

    def _check(self, name: str, fault: Fault | None) -> None:
        if fault is not None:
            self.find(self.at[name], fault)

    def find(self, index: int, fault: Fault) -> None:
        """Add a finding at a cell, the first one only; the row is left out."""
        if index in self.faulty:
            return
        self.faulty.add(index)
        self.reading.findings.add(self._place(index), *fault)
