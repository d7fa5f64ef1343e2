"""
Where do the rows of one action, domain and object stand? In a numbered cell, with masks of whom it allows and denies.

In come rows one by one; out come tables and masks that nothing changes any more. Decides nothing.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from gatewright.policy.groups import Groups
from gatewright.policy.model import Rule
from gatewright.policy.standing import EVERYONE, Roles

__all__ = ["Cells", "Directory", "Key", "Masks", "Table"]

Masks: TypeAlias = "tuple[int, int, tuple[tuple[int, int, int], ...]]"
"""Bits allowed, bits denied, and the same again until a day: (last day, allowed, denied)."""

Key: TypeAlias = "str | tuple[str, str]"
"""An object; for rows about one id, the id and an object."""

Table: TypeAlias = "dict[Key, int]"
"""Key → number of the cell."""

Tables: TypeAlias = "dict[str, dict[str, Table]]"
"""Action → domain → table, as rows have them."""

_ELSE: Final = ""
"""Stands for every action, and every domain, that no row has; no request has it."""

_FEW: Final = 8
"""Rows of one cell that are held as a tuple from the start; more are gathered in a list until all are in."""

_NEVER_ENDS: Final = 4_000_000
"""No day has so high an ordinal."""


class Directory:
    """Which tables there are for an action and a domain: their own, and those of `*`; made once."""

    __slots__ = ("_found",)

    def __init__(self, tables: Tables) -> None:
        every = tables.get("*", {})
        self._found = {action: _joined(tables.get(action, {}), every) for action in {*tables, _ELSE} if action != "*"}

    def of(self, action: str, domain: str) -> tuple[Table, ...]:
        """The tables for a request's action and domain."""
        found = self._found.get(action) or self._found[_ELSE]
        return found.get(domain) or found[_ELSE]


def _joined(own: dict[str, Table], every: dict[str, Table]) -> dict[str, tuple[Table, ...]]:
    """The tables of an action by domain; *every* are those of any action."""
    found = {}
    for domain in {*own, *every, _ELSE} - {"*"}:
        names = (domain, "*")
        found[domain] = tuple(tables[name] for tables in (own, every) for name in names if name in tables)
    return found


class Cells:
    """
    All cells of one policy set.

    *shared* are of rows about roles and `*`, *own* of rows about one id, where the bit of `*` stands for that one;
    *ids* are those that have some. A row about a group is in the cell of each of its tools as well.
    """

    def __init__(self, roles: Roles, groups: Groups) -> None:
        self.shared: Directory = Directory({})
        self.own: Directory = Directory({})
        self.ids: set[str] = set()
        self.masks: list[Masks] = []
        self.rows: list[Rule | tuple[Rule, ...]] = []
        self._shared: Tables = {}
        self._own: Tables = {}
        self._roles = roles
        self._groups = groups
        self._equal: dict[tuple[int, int], Masks] = {}
        self._many: dict[int, list[Rule]] = {}
        self._dated: dict[int, dict[int, tuple[int, int]]] = {}

    def add(self, rule: Rule) -> None:
        """Take *rule* in, also for the tools of the group it may be about."""
        bit = self._roles.bit(rule.sub)
        last = _NEVER_ENDS if rule.until is None else rule.until.toordinal()
        self._put(rule, rule.obj, bit, last)
        for tool, until in self._groups.tools_of(rule.obj).items():
            self._put(rule, tool, bit, min(last, until))

    def finish(self) -> None:
        """Write the masks of rows that end, and the directories, once all rows are in."""
        for number, by_day in self._dated.items():
            allow, deny, _ = self.masks[number]
            self.masks[number] = (allow, deny, tuple((last, *bits) for last, bits in sorted(by_day.items())))
        self._dated.clear()
        for number, rules in self._many.items():
            first = self.rows[number]
            self.rows[number] = (*(first if isinstance(first, tuple) else (first,)), *rules)
        self._many.clear()
        self.shared = Directory(self._shared)
        self.own = Directory(self._own)

    def _put(self, rule: Rule, obj: str, bit: int, last: int) -> None:
        number = self._number(rule, obj, is_own=not bit)
        bit = bit or EVERYONE
        allow, deny = (bit, 0) if rule.eft == "allow" else (0, bit)
        if last != _NEVER_ENDS:
            by_day = self._dated.setdefault(number, {})
            before = by_day.get(last, (0, 0))
            by_day[last] = (before[0] | allow, before[1] | deny)
            return
        held = self.masks[number]
        both = (held[0] | allow, held[1] | deny)
        masks = self._equal.get(both)
        if masks is None:
            masks = self._equal[both] = (*both, ())
        self.masks[number] = masks

    def _number(self, rule: Rule, obj: str, *, is_own: bool) -> int:
        """The cell that *rule* goes to, with *rule* among its rows."""
        tables = self._own if is_own else self._shared
        domains = tables.get(rule.act)
        if domains is None:
            domains = tables[rule.act] = {}
        numbers = domains.get(rule.dom)
        if numbers is None:
            numbers = domains[rule.dom] = {}
        key: Key = obj
        if is_own:
            self.ids.add(rule.sub)
            key = (rule.sub, obj)
        number = numbers.get(key)
        if number is None:
            number = numbers[key] = len(self.masks)
            self.masks.append((0, 0, ()))
            self.rows.append(rule)
            return number
        rows = self.rows[number]
        self.rows[number] = (*rows, rule) if isinstance(rows, tuple) and len(rows) < _FEW else self._more(number, rule)
        return number

    def _more(self, number: int, rule: Rule) -> Rule | tuple[Rule, ...]:
        """What stands for the rows of a cell with *rule* too: a pair, or for now a list that `finish` makes a tuple."""
        rows = self.rows[number]
        if not isinstance(rows, tuple):
            return (rows, rule)
        self._many.setdefault(number, []).append(rule)
        return rows
