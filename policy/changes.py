"""
What changed between two revisions, in numbers? Rows, entries and limits that came, went or say something else.

In come two policy sets; out come counts for events and health, and no names. Decides nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from gatewright.policy.errors import Place
from gatewright.policy.pacing import in_slices
from gatewright.policy.policyset import PolicySet
from gatewright.policy.toolfile import Entry, Limit

__all__ = ["Change", "Changes", "count_changes"]

_NOWHERE = Place("")


@dataclass(frozen=True, slots=True)
class Change:
    """How many there are now, and how many came, went, and stand under their name but say something else."""

    now: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed; rows have no names, so that one which says something else has gone and come."""

    rows: Change
    entries: Change
    limits: Change


def count_changes(old: PolicySet | None, new: PolicySet) -> Changes:
    """Count what is otherwise in *new* than in *old*; where a thing stands in its file does not matter."""
    return Changes(
        _rows(old, new),
        _named(dict(_entries(old)), dict(_entries(new))),
        _named(dict(_limits(old)), dict(_limits(new))),
    )


def _rows(old: PolicySet | None, new: PolicySet) -> Change:
    total = len(new.rules) + len(new.links) + len(new.memberships)
    if old is None:
        return Change(total, total)
    balance = Counter(in_slices(_digests(new)))
    balance.subtract(in_slices(_digests(old)))
    came = sum(count for count in balance.values() if count > 0)
    went = -sum(count for count in balance.values() if count < 0)
    return Change(total, came, went)


def _digests(policies: PolicySet) -> Iterator[int]:
    """A number for each row, equal for equal rows; should two others share one, a count is wrong and nothing else."""
    for rule in policies.rules:
        yield hash((rule.sub, rule.dom, rule.obj, rule.act, rule.eft, rule.until, rule.ref))
    for link in policies.links:
        yield hash((link.member, link.role, link.dom, link.until, link.ref, "g"))
    for member in policies.memberships:
        yield hash((member.tool, member.group, member.until, member.ref, "g2"))


def _entries(policies: PolicySet | None) -> Iterator[tuple[Hashable, Entry]]:
    for name, tool in policies.tools.items() if policies else ():
        yield from (((name, entry.id), replace(entry, place=_NOWHERE)) for entry in tool.allow or ())


def _limits(policies: PolicySet | None) -> Iterator[tuple[Hashable, Limit]]:
    if policies is None:
        return
    for name, tool in policies.tools.items():
        yield from _placeless("", name, tool.limits)
    for tenant, own in policies.tenants.items():
        for name, limits in own.limits.items():
            yield from _placeless(tenant, name, limits)


def _placeless(tenant: str, tool: str, limits: Iterable[Limit]) -> Iterator[tuple[Hashable, Limit]]:
    return (((tenant, tool, limit.id), replace(limit, place=_NOWHERE)) for limit in limits)


def _named(old: Mapping[Hashable, Entry | Limit], new: Mapping[Hashable, Entry | Limit]) -> Change:
    both = old.keys() & new.keys()
    changed = sum(1 for name in in_slices(both) if _said(old[name]) != _said(new[name]))
    return Change(len(new), len(new) - len(both), len(old) - len(both), changed)


def _said(each: Entry | Limit) -> Entry | Limit:
    """What an entry or a limit says, wherever its arguments stand."""
    cuts = {pointer: replace(cut, place=None) for pointer, cut in each.arguments.items()}
    return replace(each, arguments=cuts)
