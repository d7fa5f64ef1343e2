"""
What does Casbin say of one request? The policy rows compiled into masks, asked by any number of threads.

In comes a policy set; out comes an immutable `Engine`. Roles are bits: a row is found by action, object and domain, and
whether it speaks of a caller is one `and` of two integers. Source: POLICY.md, "Casbin".
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import Final

from cachetools import LRUCache

from gatewright.policy.matcher import check_distribution, check_model
from gatewright.policy.model import Caller, PolicySet, Rule
from gatewright.policy.standing import EVERYONE, Roles, Standing

__all__ = ["Decision", "Engine", "Granted", "Standing", "compile_engine"]

_SEPARATOR: Final = re.compile(r"[.:/-]")
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


class _Cell:
    """
    The rows about one object, with one action and domain.

    *allow* and *deny* are the bits of the roles that *rows* name; *ids* are the rows that name a subject or an actor.
    """

    __slots__ = ("allow", "deny", "ids", "rows")

    def __init__(self) -> None:
        self.allow = 0
        self.deny = 0
        self.rows: list[tuple[int, Rule]] = []
        self.ids: dict[str, list[Rule]] = {}

    def add(self, rule: Rule, bit: int) -> None:
        """Take *rule* in; *bit* is that of the role it names, 0 for an id."""
        if not bit:
            self.ids.setdefault(rule.sub, []).append(rule)
            return
        self.rows.append((bit, rule))
        if rule.eft == "allow":
            self.allow |= bit
        else:
            self.deny |= bit

    def first(self, effect: str, mask: int, own: str, today: dt.date) -> Rule | None:
        """The first live row of *effect* that names a role of *mask* or the id *own*."""
        if (self.allow if effect == "allow" else self.deny) & mask:
            for bit, rule in self.rows:
                if bit & mask and rule.eft == effect and _is_live(rule, today):
                    return rule
        for rule in self.ids.get(own, ()):
            if rule.eft == effect and _is_live(rule, today):
                return rule
        return None


_DENIED: Final = Decision(False)


class Engine:
    """A compiled policy set. Nothing in it changes but two bounded caches."""

    def __init__(self, policies: PolicySet) -> None:
        self._roles = Roles(policies)
        self._cells: dict[str, dict[tuple[str, str], _Cell]] = {}
        self._groups: dict[str, list[tuple[str, dt.date | None]]] = {}
        self._of_type: dict[tuple[str, str], list[Rule]] = {}
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
        return frozenset(
            role for role in roles if role in standing.roles and self.decide(standing, obj, "call", (role,)).allowed
        )

    def granted(self, standing: Standing, roles: Iterable[str], type: str, action: str) -> Granted:
        """Return what *roles* and the subject are granted of a resource type, denies and actor's bounds taken off."""
        if standing.excluded:
            return Granted(frozenset(), False)
        roles = tuple(roles)
        given = self._roles.mask(roles, standing) | EVERYONE
        named = self._allowed_objects(standing, given, standing.subject, type, action)
        literals = {obj for obj in named if not obj.endswith("*")}
        ids = frozenset(obj.partition(":")[2] for obj in literals if self.decide(standing, obj, action, roles).allowed)
        return Granted(ids, len(literals) < len(named) and self._reaches_actor(standing, roles, type, action))

    def denies_type(self, standing: Standing, type: str, action: str) -> bool:
        """Answer whether some deny row that can match this caller names ids of *type*."""
        return any(
            rule.eft == "deny" and (self._names(rule, held, own))
            for rule in (*self._about(standing, type, action), *self._about(standing, "*", action))
            for held, own in self._sides(standing)
        )

    def _add(self, rule: Rule) -> None:
        cells = self._cells.setdefault(rule.obj, {})
        cells.setdefault((rule.act, rule.dom), _Cell()).add(rule, self._roles.bit(rule.sub))
        kind, colon, _ = rule.obj.partition(":")
        if colon or rule.obj == "*":
            self._of_type.setdefault((kind, rule.dom), []).append(rule)

    def _decide(self, standing: Standing, obj: str, act: str, roles: Iterable[str] | None) -> Decision:
        if standing.excluded or not _is_word(obj) or not _is_word(act):
            return _DENIED
        cells = self._candidates(standing, obj, act)
        held = standing.mask | EVERYONE
        given = held if roles is None else self._roles.mask(roles, standing) | EVERYONE
        decision = _side(cells, held, given, standing.subject, standing.today)
        if not decision.allowed or not standing.actor:
            return decision
        acting = standing.actor_mask | EVERYONE
        answer = _side(cells, acting, acting, standing.actor, standing.today)
        return Decision(True, (*decision.rows, *answer.rows)) if answer.allowed else answer

    def _candidates(self, standing: Standing, obj: str, act: str) -> list[_Cell]:
        """The cells whose rows are about this request, whoever asks."""
        tenant = standing.tenant
        found = []
        for name in self._objects(obj, standing.today):
            cells = self._cells.get(name)
            if cells is not None:
                for key in ((act, tenant), (act, "*"), ("*", tenant), ("*", "*")):
                    if key in cells:
                        found.append(cells[key])
        return found

    def _objects(self, obj: str, today: dt.date) -> list[str]:
        """The spellings in which a row may name *obj*: itself, its groups, and its prefixes with a star."""
        groups = [group for group, until in self._groups.get(obj, ()) if until is None or today <= until]
        starred = [f"{obj[: found.end()]}*" for found in _SEPARATOR.finditer(obj, 0, len(obj) - 1)]
        return [obj, *groups, "*", *starred]

    def _sides(self, standing: Standing) -> list[tuple[int, str]]:
        """The bits and the id of the subject, and of the actor where somebody acts."""
        sides = [(standing.mask | EVERYONE, standing.subject)]
        return [*sides, (standing.actor_mask | EVERYONE, standing.actor)] if standing.actor else sides

    def _about(self, standing: Standing, type: str, action: str) -> Iterator[Rule]:
        """The live rows about ids of *type* that count in the caller's tenant."""
        for domain in (standing.tenant, "*"):
            for rule in self._of_type.get((type, domain), ()):
                if rule.act in (action, "*") and _is_live(rule, standing.today):
                    yield rule

    def _allowed_objects(self, standing: Standing, mask: int, own: str, type: str, action: str) -> set[str]:
        about = self._about(standing, type, action)
        return {rule.obj for rule in about if rule.eft == "allow" and self._names(rule, mask, own)}

    def _reaches_actor(self, standing: Standing, roles: tuple[str, ...], type: str, action: str) -> bool:
        """Whether a pattern of the subject's leaves something to whoever acts: another pattern, or a granted id."""
        if not standing.actor:
            return True
        named = self._allowed_objects(standing, standing.actor_mask | EVERYONE, standing.actor, type, action)
        return any(obj.endswith("*") or self.decide(standing, obj, action, roles).allowed for obj in named)

    def _names(self, rule: Rule, mask: int, own: str) -> bool:
        return bool(self._roles.bit(rule.sub) & mask) or rule.sub == own


def _side(cells: list[_Cell], held: int, given: int, own: str, today: dt.date) -> Decision:
    """The answer for the subject's or the actor's side: *own* is its prefixed id."""
    for cell in cells:
        rule = cell.first("deny", held, own, today)
        if rule is not None:
            return Decision(False, (rule.id,))
    for cell in cells:
        rule = cell.first("allow", given, own, today)
        if rule is not None:
            return Decision(True, (rule.id,))
    return _DENIED


def _is_live(rule: Rule, today: dt.date) -> bool:
    return rule.until is None or today <= rule.until


def _is_word(word: object) -> bool:
    """Whether a request may hold *word*: a text that is not empty and is no pattern."""
    return isinstance(word, str) and word != "" and "*" not in word


def compile_engine(policies: PolicySet) -> Engine:
    """
    Compile the rows of *policies*.

    Raises:
        PolicyInvalid: the model is not one the engine can mean. Misuse: the wrong casbin is installed.
    """
    check_distribution()
    check_model(policies.model)
    return Engine(policies)
