"""
What do an entry and its limits ask for, besides arguments? Conditions, duties and cuts, early references filled.

In comes an entry or a limit with a caller's claims; out come parts compiled to be asked. Asks none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast

from gatewright.policy.conditions import NO_CONDITIONS, ConditionSet
from gatewright.policy.model import Conditions, Json
from gatewright.policy.references import EARLY, Lookup, substitute
from gatewright.policy.toolfile import Approval, Budget, Duties, Entry, Limit, ResultCuts

__all__ = ["Part", "compile_part", "fill_cuts", "merge_duties"]


@dataclass(frozen=True, slots=True)
class Part:
    """The conditions and duties of an entry or of one limit, early references filled."""

    id: str
    facts: ConditionSet
    context: ConditionSet
    resource: Mapping[str, ConditionSet]
    state: Mapping[str, ConditionSet]
    duties: Duties


def compile_part(tool: str, source: Entry | Limit, lookup: Lookup) -> Part:
    """
    Return what *source*, an item of the file of *tool*, asks for.

    Raises:
        Unfilled: an early reference has no value.
    """
    return Part(
        id=source.id,
        facts=_conditions(source.facts, lookup),
        context=_conditions(source.context, lookup),
        resource={name: _conditions(conditions, lookup) for name, conditions in source.resource.items()},
        state={name: _conditions(conditions, lookup) for name, conditions in source.state.items()},
        duties=_duties(tool, source, lookup),
    )


def merge_duties(all_duties: Iterable[Duties]) -> Duties:
    """Return the duties of an entry and all its limits together; the shortest timeout counts."""
    whole = Duties()
    for duties in all_duties:
        timeouts = [timeout for timeout in (whole.timeout, duties.timeout) if timeout is not None]
        whole = Duties(
            approvals=whole.approvals + duties.approvals,
            reason=whole.reason or duties.reason,
            budgets=whole.budgets + duties.budgets,
            notify=tuple(dict.fromkeys(whole.notify + duties.notify)),
            timeout=min(timeouts) if timeouts else None,
        )
    return whole


def fill_cuts(cuts: ResultCuts, lookup: Lookup) -> ResultCuts:
    """
    Return *cuts* with early references filled.

    Raises:
        Unfilled: one of them has no value.
    """
    if not (cuts.only_if or cuts.keep):
        return cuts
    return replace(
        cuts,
        only_if=_filled(cuts.only_if, lookup),
        keep={pointer: _filled(conditions, lookup) for pointer, conditions in cuts.keep.items()},
    )


def _conditions(conditions: Conditions, lookup: Lookup) -> ConditionSet:
    return ConditionSet(_filled(conditions, lookup)) if conditions else NO_CONDITIONS


def _filled(conditions: Conditions, lookup: Lookup) -> Conditions:
    return cast("Conditions", substitute(cast("Json", conditions), lookup, EARLY))


def _duties(tool: str, source: Entry | Limit, lookup: Lookup) -> Duties:
    duties = source.duties
    if not (duties.approvals or duties.budgets):
        return duties
    approvals = tuple(_approval(approval, lookup) for approval in duties.approvals)
    budgets = tuple(_budget(budget, f"{tool}:{source.id}:{index}") for index, budget in enumerate(duties.budgets))
    return replace(duties, approvals=approvals, budgets=budgets)


def _approval(approval: Approval, lookup: Lookup) -> Approval:
    return replace(approval, where=_filled(approval.where, lookup))


def _budget(budget: Budget, name: str) -> Budget:
    return budget if budget.id else replace(budget, id=name)
