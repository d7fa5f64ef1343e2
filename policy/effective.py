"""
What do the policies come to? One line for each role, tool and entry that is open to it, and whether it asks.

In comes a `PolicySet`; out comes the text of EFFECTIVE.txt, the same for the same folder on every machine and day. A
change of the policies that widens anything shows in its difference.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from gatewright.policy.caller import Actor, Caller
from gatewright.policy.engine import Engine, Standing, compile_engine
from gatewright.policy.model import Link, Membership, Rule
from gatewright.policy.policyset import PolicySet
from gatewright.policy.toolfile import Entry, Limit
from gatewright.policy.view import applies

__all__ = ["EFFECTIVE_FILE", "IN_PRODUCTION", "effective_text"]

EFFECTIVE_FILE: Final = "EFFECTIVE.txt"
IN_PRODUCTION: Final = "(in production)"
"""The first line of the file of a folder that says `production: true`: one that stops saying so is still held to it."""

_NOBODY: Final = "\n"
"""An id that no row can name, for callers who have nothing but their roles."""
_OTHERS: Final = "tenants by pattern"
_FIRST: Final = dt.date(1, 1, 1)
_ASKS: Final = {True: "asks", False: "does not ask"}

_Days: TypeAlias = "tuple[tuple[dt.date, dt.date | None], ...]"
"""Spans of days on which an answer holds, first and last; None is for ever."""


class _Line(NamedTuple):
    """What a line is about: *whom* is empty for a role alone, else who acts or which id has rows of its own."""

    role: str
    tool: str
    entry: str
    asks: bool
    whom: str


class _Who(NamedTuple):
    """A caller of one role, and what lines call it besides the role."""

    whom: str
    subject: str = _NOBODY
    actor: Actor | None = None


def effective_text(policies: PolicySet) -> str:
    """
    Return the text of EFFECTIVE.txt: `ROLE TOOL ENTRY asks` or `does not ask`, sorted; the last line is the revision.

    A line is for every tenant unless it says `in`, for every day unless it says `from` or `until`. `for` names an
    actor who acts for the role, or a subject who opens more than the role does. A limit that `unless` may switch off
    counts as on.

    Raises:
        PolicyInvalid: the model does not compile.
    """
    lines = sorted(_Effect(policies, compile_engine(policies)).lines())
    head = [IN_PRODUCTION] if policies.profiles.get("production") is True else []
    return "\n".join([*head, *lines, policies.revision]) + "\n"


class _Effect:
    """One policy set while its lines are being found."""

    def __init__(self, policies: PolicySet, engine: Engine) -> None:
        self.policies = policies
        self.engine = engine
        self.rules = [rule for rule in policies.rules if _is_of_tools(rule)]
        self.days = self._turning_days()
        self.tenants = self._tenants()

    def lines(self) -> Iterator[str]:
        found: dict[_Line, dict[str, _Days]] = {}
        for tenant in self.tenants:
            for line, days in self._of_tenant(tenant).items():
                found.setdefault(line, {})[tenant] = days
        for line, by_tenant in found.items():
            for days in sorted({*by_tenant.values()}, key=repr):
                yield from self._said(line, [tenant for tenant in by_tenant if by_tenant[tenant] == days], days)

    def _said(self, line: _Line, tenants: list[str], days: _Days) -> Iterator[str]:
        whom = f" for {line.whom}" if line.whom else ""
        named = sorted(name for tenant in tenants for name in self.tenants[tenant])
        where = "" if len(tenants) == len(self.tenants) else f" in {', '.join(named)}"
        for first, last in days:
            start = "" if first == _FIRST else f" from {first}"
            end = "" if last is None else f" until {last}"
            yield f"{line.role} {line.tool} {line.entry} {_ASKS[line.asks]}{whom}{where}{start}{end}"

    def _of_tenant(self, tenant: str) -> dict[_Line, _Days]:
        """The lines of one tenant, each with the days on which it holds."""
        by_day = [set(self._of_day(tenant, day)) for day in self.days]
        return {line: self._spans([line in found for found in by_day]) for found in by_day for line in found}

    def _spans(self, holds: list[bool]) -> _Days:
        spans: list[tuple[dt.date, dt.date | None]] = []
        for at, held in enumerate(holds):
            last = self.days[at + 1] - dt.timedelta(1) if at + 1 < len(self.days) else None
            if held and at and holds[at - 1]:
                spans[-1] = (spans[-1][0], last)
            elif held:
                spans.append((self.days[at], last))
        return tuple(spans)

    def _of_day(self, tenant: str, day: dt.date) -> Iterator[_Line]:
        limits = self.policies.tenants.get(tenant, self.policies.any_tenant).limits
        for role in sorted(self.policies.names.roles):
            alone: set[_Line] = set()
            for who in self._callers():
                caller = Caller(who.subject, tenant, frozenset({role}), who.actor)
                standing = self.engine.standing(caller, day)
                lines = {_Line(role, *line, who.whom) for line in self._open(standing, limits)}
                if not who.whom:
                    alone = lines
                elif who.actor is None:
                    lines = {line for line in lines if line._replace(whom="") not in alone}
                yield from lines

    def _callers(self) -> Iterator[_Who]:
        """A role by itself, with each actor, and with each subject whose rows allow tools."""
        yield _Who("")
        for name in sorted(self.policies.names.actors):
            yield _Who(name, actor=Actor(_NOBODY, frozenset({name})))
        ids = {rule.sub for rule in self.rules if rule.eft == "allow"}
        ids |= {link.member for link in self.policies.links if link.member.startswith("actor:")}
        for each in sorted(ids):
            kind, colon, name = each.partition(":")
            if colon:
                yield _Who(each, actor=Actor(name)) if kind == "actor" else _Who(each, subject=name)

    def _open(self, standing: Standing, limits: Mapping[str, tuple[Limit, ...]]) -> Iterator[tuple[str, str, bool]]:
        """Tool, entry and whether it asks, of each entry that is open to *standing*."""
        for tool, policy in self.policies.tools.items():
            for entry in policy.allow or ():
                if standing.roles.isdisjoint(entry.roles):
                    continue
                if self.engine.opening_roles(standing, entry.roles, tool):
                    taking = (*policy.limits, *limits.get(tool, ()))
                    yield tool, entry.id, _asks(entry, taking, standing)

    def _tenants(self) -> dict[str, list[str]]:
        """Each tenant that may differ from the rest → its name; one of the rest → the names of all of them."""
        named = {rule.dom for rule in self.rules} | {link.dom for link in self.policies.links}
        named -= {"*"}
        named |= {tenant for tenant, own in self.policies.tenants.items() if own.limits}
        rest = sorted(self.policies.names.tenants - named)
        found = {tenant: [tenant] for tenant in sorted(named)}
        pattern = [_OTHERS] if _has_pattern(self.policies) else []
        if rest or pattern:
            found[rest[0] if rest else _NOBODY] = [*rest, *pattern]
        return found

    def _turning_days(self) -> list[dt.date]:
        """The first day of all, and each day on which a row counts no more."""
        rows: tuple[Rule | Link | Membership, ...] = (
            *self.rules,
            *self.policies.links,
            *self.policies.memberships,
        )
        return sorted({_FIRST, *(row.until + dt.timedelta(1) for row in rows if row.until is not None)})


def _asks(entry: Entry, limits: Iterable[Limit], standing: Standing) -> bool:
    """Whether *entry*, or a limit that takes from it, asks for an approval."""
    taking = (limit for limit in limits if applies(limit, entry.id, standing))
    return bool(entry.duties.approvals) or any(limit.duties.approvals for limit in taking)


def _is_of_tools(rule: Rule) -> bool:
    """Whether *rule* may be about tools: its object names no type."""
    return ":" not in rule.obj or rule.obj.startswith("tools/")


def _has_pattern(policies: PolicySet) -> bool:
    issuers = policies.profiles.get("issuers")
    listed = issuers if isinstance(issuers, list | tuple) else ()
    return any(isinstance(each, Mapping) and isinstance(each.get("tenants"), Mapping) for each in listed)
