"""
Which rows settle a request? Rows under a matcher of the usual form, as bit masks found by action, domain and object.

In come rows and the plan of their matcher; out come decisions. Whether a row speaks of a caller is one `and` of two
integers, and a name that exists is looked up as often as one that does not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from gatewright.policy.cells import Cells, Key, Table
from gatewright.policy.decision import DENIED, Asked, Decision
from gatewright.policy.grants import Grants
from gatewright.policy.groups import Groups
from gatewright.policy.model import Rule
from gatewright.policy.pacing import in_slices
from gatewright.policy.plan import Plan
from gatewright.policy.policyset import PolicySet
from gatewright.policy.spellings import Spellings
from gatewright.policy.standing import EVERYONE, Roles, Standing

__all__ = ["Index"]


_NOBODY: Final[frozenset[str]] = frozenset()
_NEITHER: Final = (0, 0)


class Index:
    """The rows of one policy set under one plan. Nothing in it changes, so that any number of threads may ask."""

    def __init__(self, policies: PolicySet, plan: Plan, roles: Roles) -> None:
        self._roles = roles
        self._groups = Groups(policies.memberships if plan.ways["obj"].linked else ())
        self._spellings = Spellings(plan.ways["obj"], policies.rules)
        self._cells = Cells(roles, self._groups)
        rules = plan.without_unknown_stars(policies.rules)
        for rule in in_slices(rules):
            self._cells.add(rule)
        self._cells.finish()
        self._grants = Grants(rules)

    def ask(self, standing: Standing, roles: Iterable[str] | None, obj: str, act: str) -> Decision:
        """Answer one request: denies for all that *standing* holds, allows for *roles* (None: all) and the subject."""
        held = standing.mask | EVERYONE
        given = held if roles is None else self._roles.mask(roles, standing) | EVERYONE
        cells, names = self._cells, self._spellings.of(obj)
        allow, deny = self._look(cells.shared.of(act, standing.tenant), names, standing.day)
        own_allow, own_deny = _NEITHER
        if standing.subject in cells.ids:
            own_allow, own_deny = self._own(standing.subject, standing, names, act)
        if deny & held or own_deny:
            return Decision(False, (self, standing, given, _NOBODY, obj, act))
        if not (allow & given or own_allow):
            return DENIED
        if standing.actor:
            acting = standing.actor_mask | EVERYONE
            own_allow, own_deny = self._own(standing.actor, standing, names, act)
            if deny & acting or own_deny:
                return Decision(False, (self, standing, given, _NOBODY, obj, act))
            if not (allow & acting or own_allow):
                return DENIED
        return Decision(True, (self, standing, given, _NOBODY, obj, act))

    def settling_rows(self, asked: Asked, allowed: bool) -> tuple[str, ...]:
        """The ids of the first rows, in the order of files and lines, that settled *asked*."""
        _, who, given, *_ = asked
        sides = [(given if allowed else who.mask | EVERYONE, who.subject)]
        if who.actor:
            sides.append((who.actor_mask | EVERYONE, who.actor))
        rows = sorted(self._live_rows(asked, "allow" if allowed else "deny"), key=lambda rule: rule.place)
        firsts = [next((rule.id for rule in rows if self._speaks_of(rule, *side)), "") for side in sides]
        found = tuple(dict.fromkeys(first for first in firsts if first))
        return found if allowed else found[:1]

    def objects(self, standing: Standing, names: Collection[str], effect: str, type: str, action: str) -> Iterable[str]:
        """The objects of *type* that live rows of *effect* about *names* name; patterns end in `*`."""
        return self._grants.objects(standing, names, effect, type, action)

    def _own(self, own: str, standing: Standing, names: list[str], act: str) -> tuple[int, int]:
        """Whether the rows about the very id *own* allow and deny."""
        keys = [(own, name) for name in names]
        return self._look(self._cells.own.of(act, standing.tenant), keys, standing.day)

    def _look(self, tables: Iterable[Table], keys: Sequence[Key], day: int) -> tuple[int, int]:
        """All masks of a request's cells together: whom they allow and deny on *day*."""
        masks = self._cells.masks
        allow = deny = 0
        for numbers in tables:
            for key in keys:
                number = numbers.get(key)
                if number is None:
                    continue
                allows, denies, dated = masks[number]
                allow |= allows
                deny |= denies
                for last, allows, denies in dated:
                    if day <= last:
                        allow |= allows
                        deny |= denies
        return allow, deny

    def _live_rows(self, asked: Asked, effect: str) -> Iterator[Rule]:
        """The rows of *effect* in the cells of a request that count on its day, whomever they speak of."""
        _, who, _, _, obj, act = asked
        names = self._spellings.of(obj)
        keys: list[Key] = [*names, *((own, name) for own in (who.subject, who.actor) for name in names)]
        for number in self._numbers(act, who.tenant, keys):
            rows = self._cells.rows[number]
            for rule in rows if isinstance(rows, tuple) else (rows,):
                is_named = rule.obj in names or self._groups.is_linked(obj, rule.obj, who.day)
                if rule.eft == effect and is_named and (rule.until is None or who.day <= rule.until.toordinal()):
                    yield rule

    def _numbers(self, act: str, tenant: str, keys: list[Key]) -> Iterator[int]:
        for tables in (self._cells.shared.of(act, tenant), self._cells.own.of(act, tenant)):
            for numbers in tables:
                yield from (numbers[key] for key in keys if key in numbers)

    def _speaks_of(self, rule: Rule, mask: int, own: str) -> bool:
        return bool(self._roles.bit(rule.sub) & mask) or rule.sub == own
