"""
Which rows settle a request under an unusual matcher? The matcher's function, run on the rows that may match.

In come rows, a plan and the compiled matcher; out come decisions. Only `True` matches; an error is nobody's answer and
goes to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import product
from typing import TypeAlias

from gatewright.policy.decision import DENIED, Asked, Decision
from gatewright.policy.groups import Groups
from gatewright.policy.model import Rule
from gatewright.policy.pacing import in_slices
from gatewright.policy.plan import Plan
from gatewright.policy.policyset import PolicySet
from gatewright.policy.predicate import Predicate
from gatewright.policy.standing import Roles, Standing

__all__ = ["Scan"]

_Key: TypeAlias = "tuple[str, ...]"
_LOOKED_UP = ("dom", "obj", "act")


class Scan:
    """The rows of one policy set under one matcher. Nothing in it changes, so that any number of threads may ask."""

    def __init__(self, policies: PolicySet, plan: Plan, predicate: Predicate, roles: Roles) -> None:
        self._plan = plan
        self._predicate = predicate
        self._roles = roles
        self._groups = Groups(policies.memberships)
        self._rows: dict[_Key, list[Rule]] = {}
        self._fields = tuple(field for field in _LOOKED_UP if plan.is_exact(field))
        self._rules = policies.rules
        for rule in in_slices(policies.rules):
            self._rows.setdefault(tuple(getattr(rule, field) for field in self._fields), []).append(rule)

    def ask(self, standing: Standing, roles: Iterable[str] | None, obj: str, act: str) -> Decision:
        """Answer one request: denies for all that *standing* holds, allows for *roles* (None: all) and the subject."""
        if not obj.isprintable() or not act.isprintable():
            return DENIED
        given = standing.roles if roles is None else frozenset(roles) & standing.roles
        asked: Asked = (self, standing, 0, given, obj, act)
        rows = [*self._candidates(asked)]
        for denied, allowed in _sides(asked):
            if any(rule.eft == "deny" and self._matches(rule, denied, asked) for rule in rows):
                return Decision(False, asked)
            if not any(rule.eft == "allow" and self._matches(rule, allowed, asked) for rule in rows):
                return DENIED
        return Decision(True, asked)

    def settling_rows(self, asked: Asked, allowed: bool) -> tuple[str, ...]:
        """The ids of the first rows, in the order of files and lines, that settled *asked*."""
        effect = "allow" if allowed else "deny"
        rows = sorted((rule for rule in self._candidates(asked) if rule.eft == effect), key=lambda rule: rule.place)
        found = []
        for denied, given in _sides(asked):
            names = given if allowed else denied
            found += [rule.id for rule in rows if self._matches(rule, names, asked)][:1]
        return tuple(dict.fromkeys(found)) if allowed else tuple(found[:1])

    def objects(
        self,
        standing: Standing,
        names: Collection[str],  # noqa: ARG002 - what is not narrowed is too much, never too little
        effect: str,
        type: str,
        action: str,  # noqa: ARG002
    ) -> Iterable[str]:
        """
        The objects of *type* that live rows of *effect* may name, whoever they are about; patterns end in `*`.

        More than there are, never fewer: what a matcher of any form says of a type is only known id by id.
        """
        ways = self._plan.ways.get("obj")
        for rule in self._rules:
            if rule.eft != effect or (rule.until is not None and standing.day > rule.until.toordinal()):
                continue
            if ways is None:
                yield f"{type}:*"
            elif rule.obj.startswith(f"{type}:") or (ways.prefix and _reaches(rule.obj, type)):
                yield rule.obj

    def _candidates(self, asked: Asked) -> Iterator[Rule]:
        """The rows that count today and have the cells that can be looked up."""
        _, who, _, _, obj, act = asked
        request = {"dom": who.tenant, "obj": obj, "act": act}
        cells = [(request[field], "*") if self._plan.ways[field].star else (request[field],) for field in self._fields]
        for key in product(*cells):
            for rule in self._rows.get(key, ()):
                if rule.until is None or who.day <= rule.until.toordinal():
                    yield rule

    def _matches(self, rule: Rule, names: Iterable[str], asked: Asked) -> bool:
        """Whether the matcher is True of *rule* for any of *names*."""
        _, who, _, _, obj, act = asked
        row = (rule.sub, rule.dom, rule.obj, rule.act)
        linked, grouped = self._linked(who.tenant, who.day), self._grouped(who.day)
        return any(self._predicate(name, who.tenant, obj, act, *row, linked, grouped) is True for name in names)

    def _linked(self, tenant: str, day: int) -> Callable[..., bool]:
        """Casbin's g on one day: whether the first is or inherits the second. Ids are nothing but themselves here."""

        def is_linked(name: str, role: str, domain: str = tenant) -> bool:
            return name == role or (":" not in name and role in self._roles.reach(name, domain, day)[0])

        return is_linked

    def _grouped(self, day: int) -> Callable[[str, str], bool]:
        return lambda tool, group: self._groups.is_linked(tool, group, day)


def _sides(asked: Asked) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
    """The names that are asked for, the subject's side and then the actor's: those that take, those that give."""
    _, who, _, given, *_ = asked
    yield who.roles | {who.subject}, given | {who.subject}
    if who.actor:
        acting = who.actor_roles | {who.actor}
        yield acting, acting


def _reaches(pattern: str, type: str) -> bool:
    return pattern.endswith("*") and f"{type}:".startswith(pattern[:-1])
