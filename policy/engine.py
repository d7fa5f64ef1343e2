"""
What does Casbin say of one request? The policy rows compiled into masks, asked by any number of threads.

In comes a policy set; out comes an immutable `Engine`. Roles are bits: a row is found by action, object and domain, and
whether it speaks of a caller is one `and` of two integers. Source: POLICY.md, "Casbin".
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Final

from cachetools import LRUCache

from gatewright.policy.matcher import check_distribution, check_model
from gatewright.policy.model import Caller, PolicySet, Rule
from gatewright.policy.standing import EVERYONE, Roles, Standing

__all__ = ["Decision", "Engine", "Granted", "Standing", "compile_engine"]

_SEPARATORS: Final = frozenset(".:/-")
_MOST_STANDINGS: Final = 4096


@dataclass(frozen=True, slots=True)
class Decision:
    """The answer to one request. *rows* are the ids (file:line) of the rows that settled it, the first of its kind."""

    allowed: bool
    rows: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Granted:
    """What Casbin grants of one type: *ids* literally, and whether anything is granted by a pattern (*open*)."""

    ids: frozenset[str]
    open: bool


@dataclass(slots=True)
class _Cell:
    """The rows of one action, object and domain: masks of those that name roles, and the rest one by one."""

    allow: int = 0
    deny: int = 0
    others: tuple[Rule, ...] = ()
    rows: tuple[Rule, ...] = ()


_DENIED: Final = Decision(False)


class Engine:
    """A compiled policy set. Nothing in it changes but two bounded caches."""

    def __init__(self, policies: PolicySet) -> None:
        self._roles = Roles(policies)
        self._cells: dict[tuple[str, str, str], _Cell] = {}
        self._groups: dict[str, list[tuple[str, dt.date | None]]] = {}
        self._of_type: dict[str, list[Rule]] = {}
        for membership in policies.memberships:
            self._groups.setdefault(membership.tool, []).append((membership.group, membership.until))
        for rule in policies.rules:
            self._add(rule)
        self._standings: LRUCache[tuple[bytes, int], Standing] = LRUCache(maxsize=_MOST_STANDINGS)
        self._lock = Lock()

    def standing(self, caller: Caller, today: dt.date) -> Standing:
        """Return what *caller* is to the policies on the day *today* (UTC): roles, masks and exclusion."""
        if not caller.key:
            return self._roles.standing(caller, today)
        key = (caller.key, today.toordinal())
        with self._lock:
            found = self._standings.get(key)
        if found is None:
            found = self._roles.standing(caller, today)
            with self._lock:
                self._standings[key] = found
        return found

    def decide(self, standing: Standing, obj: str, act: str, roles: Iterable[str] | None = None) -> Decision:
        """
        Answer whether *standing* may do *act* to *obj*.

        Allows count for *roles* (those held of them, with what they inherit; None: every role held), the subject and
        `*`; denies for every role held. With an actor, the actor must be allowed too. Never raises: an exception is a
        denial (P1).
        """
        try:
            return self._decide(standing, obj, act, roles)
        except Exception:  # noqa: BLE001 - whatever went wrong while deciding, nothing was allowed
            return _DENIED

    def opening_roles(self, standing: Standing, roles: Iterable[str], obj: str) -> frozenset[str]:
        """Return those of *roles* that *standing* holds and that Casbin lets `call` the tool *obj*."""
        if standing.excluded:
            return frozenset()
        return frozenset(
            role for role in roles if role in standing.roles and self.decide(standing, obj, "call", (role,)).allowed
        )

    def granted(self, standing: Standing, roles: Iterable[str], type: str, action: str) -> Granted:
        """Return what *roles* and the subject are granted of a resource type, denies and actor's bounds taken off."""
        ids: set[str] = set()
        is_open = False
        roles = tuple(roles)
        mask = self._roles.mask(roles, standing)
        for rule in self._of_type.get(type, ()):
            if rule.eft != "allow" or not self._is_about(rule, standing, action):
                continue
            if not self._speaks_of(rule, mask | EVERYONE, standing.subject):
                continue
            if rule.obj.endswith("*"):
                is_open = is_open or self._actor_is_granted(standing, type, action)
            elif self.decide(standing, rule.obj, action, roles).allowed:
                ids.add(rule.obj.partition(":")[2])
        return Granted(frozenset(ids), is_open)

    def _actor_is_granted(self, standing: Standing, type: str, action: str) -> bool:
        """Whether nobody acts, or whoever acts has some grant of his own."""
        return not standing.actor or any(
            rule.eft == "allow"
            and self._is_about(rule, standing, action)
            and self._speaks_of(rule, standing.actor_mask | EVERYONE, standing.actor)
            for rule in self._of_type.get(type, ())
        )

    def denies_type(self, standing: Standing, type: str, action: str) -> bool:
        """Answer whether some deny row that can match this caller names ids of *type*."""
        for rule in (*self._of_type.get(type, ()), *self._of_type.get("*", ())):
            if rule.eft == "deny" and self._is_about(rule, standing, action):
                if self._speaks_of(rule, standing.mask | EVERYONE, standing.subject):
                    return True
                if standing.actor and self._speaks_of(rule, standing.actor_mask | EVERYONE, standing.actor):
                    return True
        return False

    def _add(self, rule: Rule) -> None:
        cell = self._cells.setdefault((rule.act, rule.obj, rule.dom), _Cell())
        cell.rows = (*cell.rows, rule)
        bit = self._roles.bit(rule.sub)
        if rule.until is not None or bit == 0:
            cell.others = (*cell.others, rule)
        elif rule.eft == "allow":
            cell.allow |= bit
        else:
            cell.deny |= bit
        kind, colon, _ = rule.obj.partition(":")
        if colon or rule.obj == "*":
            self._of_type.setdefault(kind, []).append(rule)

    def _decide(self, standing: Standing, obj: str, act: str, roles: Iterable[str] | None) -> Decision:
        if not obj or not act or "*" in obj or "*" in act or not standing.tenant:
            return _DENIED
        cells = [*self._candidates(standing, obj, act)]
        held = standing.mask | EVERYONE
        given = held if roles is None else self._roles.mask(roles, standing) | EVERYONE
        decision = self._side(cells, held, given, standing.subject, standing.today)
        if not decision.allowed or not standing.actor:
            return decision
        acting = standing.actor_mask | EVERYONE
        answer = self._side(cells, acting, acting, standing.actor, standing.today)
        return Decision(True, (*decision.rows, *answer.rows)) if answer.allowed else answer

    def _candidates(self, standing: Standing, obj: str, act: str) -> Iterator[_Cell]:
        for name in self._objects(obj, standing.today):
            for action in (act, "*"):
                for domain in (standing.tenant, "*"):
                    cell = self._cells.get((action, name, domain))
                    if cell is not None:
                        yield cell

    def _objects(self, obj: str, today: dt.date) -> Iterator[str]:
        """The spellings in which a row may name *obj*: itself, its groups, and its prefixes with a star."""
        yield obj
        for group, until in self._groups.get(obj, ()):
            if until is None or today <= until:
                yield group
        yield "*"
        for index in range(1, len(obj)):
            if obj[index - 1] in _SEPARATORS:
                yield f"{obj[:index]}*"

    def _side(self, cells: list[_Cell], held: int, given: int, own: str, today: dt.date) -> Decision:
        """The answer for the subject's or the actor's side: *own* is its prefixed id."""
        denied = any(cell.deny & held for cell in cells) or any(
            self._settles(rule, "deny", held, own, today) for cell in cells for rule in cell.others
        )
        if denied:
            return Decision(False, self._first(cells, "deny", held, own, today))
        allowed = any(cell.allow & given for cell in cells) or any(
            self._settles(rule, "allow", given, own, today) for cell in cells for rule in cell.others
        )
        return Decision(True, self._first(cells, "allow", given, own, today)) if allowed else _DENIED

    def _first(self, cells: list[_Cell], effect: str, mask: int, own: str, today: dt.date) -> tuple[str, ...]:
        for cell in cells:
            for rule in cell.rows:
                if self._settles(rule, effect, mask, own, today):
                    return (rule.id,)
        return ()

    def _settles(self, rule: Rule, effect: str, mask: int, own: str, today: dt.date) -> bool:
        live = rule.until is None or today <= rule.until
        return live and rule.eft == effect and self._speaks_of(rule, mask, own)

    def _speaks_of(self, rule: Rule, mask: int, own: str) -> bool:
        return bool(self._roles.bit(rule.sub) & mask) or rule.sub == own

    def _is_about(self, rule: Rule, standing: Standing, action: str) -> bool:
        live = rule.until is None or standing.today <= rule.until
        return live and rule.dom in (standing.tenant, "*") and rule.act in (action, "*")


def compile_engine(policies: PolicySet) -> Engine:
    """
    Compile the rows of *policies*.

    Raises:
        PolicyInvalid: the model is not one the engine can mean. Misuse: the wrong casbin is installed.
    """
    check_distribution()
    check_model(policies.model)
    return Engine(policies)
