"""
Where do the rows of one action, domain and object stand? In a numbered cell, with masks of whom it allows and denies.

In come rows one by one; out come tables and masks that nothing changes any more. Decides nothing.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from gatewright.policy.groups import Groups
from gatewright.policy.model import Rule
from gatewright.policy.standing import EVERYONE, Roles

__all__ = ["Cells", "Key", "Masks", "Tables"]

Masks: TypeAlias = "tuple[int, int, tuple[tuple[int, int, int], ...]]"
"""Bits allowed, bits denied, and the same again until a day: (last day, allowed, denied)."""

Key: TypeAlias = "str | tuple[str, str]"
"""An object; for rows about one id, the id and an object."""

Tables: TypeAlias = "dict[str, dict[str, dict[Key, int]]]"
"""Action → domain → key → number of the cell."""

_NEVER_ENDS: Final = 4_000_000
"""No day has so high an ordinal."""


class Cells:
    """
    All cells of one policy set.

    *shared* are of rows about roles and `*`, *own* of rows about one id, where the bit of `*` stands for that one;
    *ids* are those that have some. A row about a group is in the cell of each of its tools as well.
    """

    def __init__(self, roles: Roles, groups: Groups) -> None:
        self.shared: Tables = {}
        self.own: Tables = {}
        self.ids: set[str] = set()
        self.masks: list[Masks] = []
        self.rows: list[Rule | list[Rule]] = []
        self._roles = roles
        self._groups = groups
        self._equal: dict[tuple[int, int], Masks] = {}
        self._dated: dict[int, dict[int, tuple[int, int]]] = {}

    def add(self, rule: Rule) -> None:
        """Take *rule* in, also for the tools of the group it may be about."""
        bit = self._roles.bit(rule.sub)
        last = _NEVER_ENDS if rule.until is None else rule.until.toordinal()
        self._put(rule, rule.obj, bit, last)
        for tool, until in self._groups.tools_of(rule.obj).items():
            self._put(rule, tool, bit, min(last, until))

    def finish(self) -> None:
        """Write the masks of rows that end, once all rows are in."""
        for number, by_day in self._dated.items():
            allow, deny, _ = self.masks[number]
            self.masks[number] = (allow, deny, tuple((last, *bits) for last, bits in sorted(by_day.items())))
        self._dated.clear()

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
        tables = self.own if is_own else self.shared
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
        if isinstance(rows, list):
            rows.append(rule)
        else:
            self.rows[number] = [rows, rule]
        return number
