"""
Which objects of a type do rows name? Rows by effect, type, action, domain and whom they speak of.

In come rows; out come the objects that those of some names and one effect say. A pattern that reaches into a type
counts as one of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TypeAlias

from gatewright.policy.model import Rule
from gatewright.policy.pacing import in_slices
from gatewright.policy.standing import Standing

__all__ = ["Grants"]

_BySubject: TypeAlias = "dict[str, tuple[Rule, ...]]"


class Grants:
    """The rows of one policy set that name objects of a type."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        found: dict[tuple[str, str], dict[tuple[str, str], dict[str, list[Rule]]]] = {}
        for rule in in_slices(rules):
            kind, colon, _ = rule.obj.partition(":")
            if colon or rule.obj.endswith("*"):
                of_type = found.setdefault((rule.eft, kind if colon else ""), {})
                of_type.setdefault((rule.act, rule.dom), {}).setdefault(rule.sub, []).append(rule)
        self._rows: dict[tuple[str, str], dict[tuple[str, str], _BySubject]] = {
            kind: {where: {sub: tuple(of_sub) for sub, of_sub in of_row.items()} for where, of_row in of_kind.items()}
            for kind, of_kind in found.items()
        }

    def objects(self, standing: Standing, names: Collection[str], effect: str, type: str, action: str) -> Iterator[str]:
        """The objects of *type* that rows of *effect* about *names* name today, in the caller's tenant."""
        for kind in (type, ""):
            of_type = self._rows.get((effect, kind), {})
            for act in (action, "*"):
                for domain in (standing.tenant, "*"):
                    by_subject = of_type.get((act, domain), {})
                    for rule in _rules_of(by_subject, names):
                        if _is_live(rule, standing.day) and (kind or f"{type}:".startswith(rule.obj[:-1])):
                            yield rule.obj


def _rules_of(by_subject: _BySubject, names: Collection[str]) -> Iterator[Rule]:
    for name in names:
        yield from by_subject.get(name, ())


def _is_live(rule: Rule, day: int) -> bool:
    return rule.until is None or day <= rule.until.toordinal()
