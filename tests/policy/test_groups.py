"""Groups of tools: followed as far as they go, each link until its last day."""

from __future__ import annotations

import datetime as dt

import pytest

from gatewright.policy.errors import Place
from gatewright.policy.groups import Groups
from gatewright.policy.model import Membership

FIRST, SECOND, THIRD = (dt.date(2026, 9, day) for day in (1, 2, 3))


def groups_of(*rows: tuple[str, str, dt.date | None]) -> Groups:
    """The groups that rows of tool, group and last day make."""
    return Groups(Membership(tool, group, until, "", Place("policy.csv")) for tool, group, until in rows)


def last_day(groups: Groups, tool: str, group: str) -> dt.date | None:
    """The last day on which *tool* is in *group*, as both sides say."""
    ordinal = groups.groups_of(tool).get(group)
    assert groups.tools_of(group).get(tool) == ordinal
    return None if ordinal is None else dt.date.fromordinal(ordinal)


def test_a_group_in_a_group_is_followed() -> None:
    """As stock Casbin's g2 does; a way is as long-lived as its shortest link."""
    groups = groups_of(("a", "g1", FIRST), ("g1", "g2", SECOND), ("g2", "g3", None))
    assert [last_day(groups, "a", group) for group in ("g1", "g2", "g3", "g4")] == [FIRST, FIRST, FIRST, None]
    assert last_day(groups, "g1", "g3") == SECOND
    assert last_day(groups, "g2", "g3") == dt.date.max


@pytest.mark.parametrize("turn", [1, -1])
def test_of_two_ways_the_longer_lived_counts(turn: int) -> None:
    """In any order of rows, directly and through other groups."""
    rows = [("a", "g1", FIRST), ("a", "g1", THIRD), ("a", "g2", SECOND), ("g1", "g2", None), ("g2", "g3", None)]
    groups = groups_of(*rows[::turn])
    assert [last_day(groups, "a", group) for group in ("g1", "g2", "g3")] == [THIRD, THIRD, THIRD]


def test_cycles_are_harmless() -> None:
    """And nothing is in itself by way of one, for it is itself."""
    groups = groups_of(("g1", "g2", None), ("g2", "g1", FIRST))
    assert groups.is_linked("g1", "g2", THIRD.toordinal())
    assert not groups.is_linked("g2", "g1", THIRD.toordinal())
    assert groups.is_linked("g1", "g1", THIRD.toordinal())
    assert "g1" not in groups.groups_of("g1")


def test_what_is_in_no_group_is_only_itself() -> None:
    """A made-up tool too."""
    groups = groups_of(("a", "g1", FIRST))
    assert groups.is_linked("b", "b", 1)
    assert not groups.is_linked("b", "g1", 1)
    assert not groups.groups_of("b")
