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

from gatewright.policy.model import Caller, Link, PolicySet

__all__ = ["EVERYONE", "Roles", "Standing"]

EVERYONE: Final = 1
"""The bit of `*`, which every mask holds when rows are asked."""
_MOST_MASKS: Final = 8192


@dataclass(frozen=True, slots=True)
class Standing:
    """
    One caller on one day (UTC).

    *roles* and *actor_roles* are held or inherited; *mask* and *actor_mask* are the same as bits. *subject* and *actor*
    are the prefixed ids that rows may name; *actor* is empty where nobody acts. *excluded* callers have no tool at all:
    they hold roles that exclude each other, or are not named as callers are.
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


class Roles:
    """The declared roles as bits, and who inherits from whom."""

    def __init__(self, policies: PolicySet) -> None:
        names = policies.names
        declared = sorted({*names.roles, *names.actors})
        self._bits = {name: 2 << index for index, name in enumerate(declared)} | {"*": EVERYONE}
        self._subject_roles = frozenset(names.roles)
        self._actor_roles = names.actors
        self._excludes = {role: others for role, others in names.roles.items() if others}
        self._links: dict[str, list[Link]] = {}
        for link in policies.links:
            self._links.setdefault(link.member, []).append(link)
        self._masks: dict[tuple[str, str, int], int] = {}

    def bit(self, name: str) -> int:
        """The bit of a role or of `*`; 0 for an id."""
        return self._bits.get(name, 0)

    def mask(self, roles: Iterable[str], standing: Standing) -> int:
        """The bits of those of *roles* that *standing* holds, with what they inherit."""
        mask = 0
        for role in roles:
            if role in standing.roles:
                mask |= self._mask_of(role, standing.tenant, standing.today)
        return mask

    def standing(self, caller: Caller, today: dt.date) -> Standing:
        """Return what *caller* is on the day *today*; names that are not declared grant nothing."""
        if not _is_named(caller):
            return Standing("", "", frozenset(), 0, "", frozenset(), 0, True, today)
        subject = f"subject:{caller.subject}"
        declared = caller.roles & self._subject_roles
        roles = self._closure({*declared, subject}, caller.tenant, today) & self._subject_roles
        actor = "" if caller.actor is None else f"actor:{caller.actor.id}"
        acting: frozenset[str] = frozenset()
        if caller.actor is not None:
            start = {*(caller.actor.roles & self._actor_roles), actor}
            acting = self._closure(start, caller.tenant, today) & self._actor_roles
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
        )

    def _mask_of(self, role: str, tenant: str, today: dt.date) -> int:
        """The bits of one role with what it inherits, remembered: links do not change, but days and tenants do."""
        key = (role, tenant, today.toordinal())
        mask = self._masks.get(key)
        if mask is None:
            mask = self._bits_of(self._closure({role}, tenant, today) & self._subject_roles)
            if len(self._masks) >= _MOST_MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def _closure(self, start: Iterable[str], tenant: str, today: dt.date) -> frozenset[str]:
        found = set(start)
        waiting = list(found)
        while waiting:
            for link in self._links.get(waiting.pop(), ()):
                live = link.until is None or today <= link.until
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
    """Whether the names of *caller* are texts that a request may hold."""
    words: list[object] = [caller.tenant, caller.subject]
    sets: list[object] = [caller.roles]
    if caller.actor is not None:
        words.append(caller.actor.id)
        sets.append(caller.actor.roles)
    return all(isinstance(word, str) and word and "*" not in word for word in words) and all(
        isinstance(each, Set) for each in sets
    )
