"""
Which tools are in which group? The `g2` rows, followed as far as they go, each with its last day.

In come memberships; out come a group's tools and a tool's groups. Cycles are harmless.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from gatewright.policy.model import Membership

__all__ = ["Groups"]

_NONE: Final[Mapping[str, int]] = MappingProxyType({})
_FOREVER: Final = dt.date.max.toordinal()


class Groups:
    """The memberships of one policy set, both ways; a day is an ordinal."""

    def __init__(self, memberships: Iterable[Membership]) -> None:
        self._tools: dict[str, dict[str, int]] = {}
        self._groups: dict[str, dict[str, int]] = {}
        for each in memberships:
            last = _FOREVER if each.until is None else each.until.toordinal()
            _keep_longest(self._tools.setdefault(each.group, {}), each.tool, last)
            _keep_longest(self._groups.setdefault(each.tool, {}), each.group, last)

    def tools_of(self, group: str) -> Mapping[str, int]:
        """The tools in *group*, each with the last day on which it is."""
        return _follow(group, self._tools) if group in self._tools else _NONE

    def groups_of(self, tool: str) -> Mapping[str, int]:
        """The groups that *tool* is in, each with the last day on which it is."""
        return _follow(tool, self._groups) if tool in self._groups else _NONE

    def is_linked(self, tool: str, group: str, day: int) -> bool:
        """Whether *tool* is *group* or is in it on *day*."""
        return tool == group or day <= self.groups_of(tool).get(group, 0)


def _keep_longest(held: dict[str, int], name: str, last: int) -> None:
    held[name] = max(last, held.get(name, 0))


def _follow(start: str, links: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """All that is reached from *start*, each with the last day of the longest-lived way."""
    found: dict[str, int] = {}
    waiting = [(start, _FOREVER)]
    while waiting:
        name, until = waiting.pop()
        for other, last in links.get(name, {}).items():
            alive = min(until, last)
            if other != start and alive > found.get(other, 0):
                found[other] = alive
                waiting.append((other, alive))
    return found
