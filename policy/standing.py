"""
What is a caller to the policies? The roles held, with what they inherit, as bit masks for one day.

In come callers, `g` rows and the declared names; out comes a `Standing`. Role chains may be of any depth, and cycles
are harmless. Subjects, actors and roles are name spaces of their own: prefixes are added here and nowhere else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import Final

from gatewright.policy.caller import Caller
from gatewright.policy.model import Link
from gatewright.policy.policyset import PolicySet

__all__ = ["EVERYONE", "Roles", "Standing"]

EVERYONE: Final = 1
"""The bit of `*`, which every mask holds when rows are asked."""
_MOST_MASKS: Final = 8192


@dataclass(frozen=True, slots=True)
class Standing:
    """
    One caller on one day (UTC).

    *roles* and *actor_roles* are held or inherited; *mask* and *actor_mask* are the same as bits.
    *subject* and *actor* are the prefixed ids that rows may name; *actor* is empty where nobody acts. *excluded*
    callers have no tool at all: they hold roles that exclude each other, or are not named as callers are. *day* is
    *today* as an ordinal.
    """

    tenant: str
    subject: str
    roles: frozenset[str]
    mask: int
    actor: str
    actor_roles: frozenset[str]
    actor_mask: int
    excluded: bool
    today: dt.date
    day: int


class Roles:
    """
    The declared roles as bits, and who inherits from whom.

    *inherits* False says that the matcher asks for the very role: what a role inherits is then not given with it.
    *only_tenant*, where it is given, is the one tenant whose callers are known.
    """

    def __init__(self, policies: PolicySet, *, inherits: bool = True, only_tenant: str = "") -> None:
        names = policies.names
        self._only_tenant = only_tenant
        declared = sorted({*names.roles, *names.actors})
        self._bits = {name: 2 << index for index, name in enumerate(declared)} | {"*": EVERYONE}
        self._subject_roles = frozenset(names.roles)
        self._actor_roles = names.actors
        self._excludes = {role: others for role, others in names.roles.items() if others}
        self._inherits = inherits
        self._links: dict[str, list[Link]] = {}
        for link in policies.links:
            self._links.setdefault(link.member, []).append(link)
        self._domains = frozenset(link.dom for link in policies.links)
        self._masks: dict[tuple[str, str, int], tuple[frozenset[str], int]] = {}

    def bit(self, name: str) -> int:
        """The bit of a role or of `*`; 0 for an id."""
        return self._bits.get(name, 0)

    def mask(self, roles: Iterable[str], standing: Standing) -> int:
        """The bits of those of *roles* that *standing* holds, with what they inherit."""
        mask = 0
        for role in roles:
            if role in standing.roles:
                mask |= self.reach(role, standing.tenant, standing.day)[1]
        return mask

    def names(self, roles: Iterable[str], standing: Standing) -> frozenset[str]:
        """The names behind the bits of `mask`, and `*`."""
        held = [role for role in roles if role in standing.roles]
        return frozenset({"*"}.union(*(self.reach(role, standing.tenant, standing.day)[0] for role in held)))

    def reach(self, role: str, tenant: str, day: int) -> tuple[frozenset[str], int]:
        """One role with what it inherits, as names and as bits; remembered, for links do not change."""
        key = (role, tenant if tenant in self._domains else "*", day)
        found = self._masks.get(key)
        if found is None:
            names = self._closure({role}, tenant, day) if self._inherits else frozenset({role})
            found = (names, self._bits_of(names))
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            self._masks[key] = found
        return found

    def standing(self, caller: Caller, today: dt.date) -> Standing:
        """Return what *caller* is on the day *today*; names that are not declared grant nothing."""
        day = today.toordinal()
        if not _is_named(caller) or (self._only_tenant and caller.tenant != self._only_tenant):
            return Standing("", "", frozenset(), 0, "", frozenset(), 0, True, today, day)
        subject = f"subject:{caller.subject}"
        declared = caller.roles & self._subject_roles
        roles = self._closure({*declared, subject}, caller.tenant, day) & self._subject_roles
        actor = "" if caller.actor is None else f"actor:{caller.actor.id}"
        acting: frozenset[str] = frozenset()
        if caller.actor is not None:
            start = {*(caller.actor.roles & self._actor_roles), actor}
            acting = self._closure(start, caller.tenant, day) & self._actor_roles
        return Standing(
            tenant=caller.tenant,
            subject=subject,
            roles=roles,
            mask=self._bits_of(roles),
            actor=actor,
            actor_roles=acting,
            actor_mask=self._bits_of(acting),
            excluded=any(self._excludes.get(role, frozenset()) & roles for role in roles),
            today=today,
            day=day,
        )

    def _closure(self, start: Iterable[str], tenant: str, day: int) -> frozenset[str]:
        found = set(start)
        waiting = list(found)
        while waiting:
            for link in self._links.get(waiting.pop(), ()):
                live = link.until is None or day <= link.until.toordinal()
                if live and link.dom in (tenant, "*") and link.role not in found:
                    found.add(link.role)
                    waiting.append(link.role)
        return frozenset(found)

    def _bits_of(self, roles: Iterable[str]) -> int:
        mask = 0
        for role in roles:
            mask |= self._bits.get(role, 0)
        return mask


def _is_named(caller: Caller) -> bool:
    """Whether the names of *caller* are words, and its roles sets of them."""
    words: list[object] = [caller.tenant, caller.subject]
    sets: list[object] = [caller.roles]
    if caller.actor is not None:
        words.append(caller.actor.id)
        sets.append(caller.actor.roles)
    return all(isinstance(word, str) and word and "*" not in word for word in words) and all(
        isinstance(each, Set) for each in sets
    )
