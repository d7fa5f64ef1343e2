"""
Does an entry that accepted the arguments hold for this call? Stages (d) to (h) of POLICY.md.

In comes a candidate; out comes its failure, or None. What needs data from outside is asked for by yielding: a
`Records` or a `Usage` need, answered by whoever drives the generator. Does no I/O itself.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias, cast

from gatewright.policy.complaints import business_complaint
from gatewright.policy.conditions import ConditionSet, Unmet
from gatewright.policy.model import Json, JsonObject, Schema
from gatewright.policy.parts import merge_duties
from gatewright.policy.pointers import resource_ids
from gatewright.policy.references import MISSING, Lookup, Missing, Unfilled, has_references, substitute
from gatewright.policy.screening import Candidate, Failure, Supply, call_lookup, compute_fact, without_hidden
from gatewright.policy.toolfile import Approval, Budget, Duties
from gatewright.policy.view import View

__all__ = [
    "NOT_LOADED",
    "Answer",
    "Broken",
    "Need",
    "NotLoaded",
    "Record",
    "Records",
    "Spent",
    "Usage",
    "budget_amount",
    "may_say_not_found",
    "settle_candidate",
]


class NotLoaded:
    """The type of `NOT_LOADED`: the tool has no loader for this resource, so nothing can be asked of it."""

    def __repr__(self) -> str:
        return "NOT_LOADED"


NOT_LOADED: Final = NotLoaded()


@dataclass(frozen=True, slots=True)
class Broken:
    """A record that its loader could not give: refused on the way of a foreign one. *why* is for the event log."""

    why: str


Record: TypeAlias = "JsonObject | NotLoaded | Broken | None"
"""A loaded record; None when it is absent, which includes records outside a tenant-scoped loader's tenant."""


@dataclass(frozen=True, slots=True)
class Records:
    """A need: load these (resource name, id) pairs. Answered by a mapping of the same pairs to records."""

    wanted: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Usage:
    """A need: how much of these budgets is used. Answered by one `Spent` a budget, in order."""

    budgets: tuple[Budget, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """What executed calls have used of a budget within its window."""

    calls: int = 0
    total: float = 0.0


Need: TypeAlias = "Records | Usage"
Answer: TypeAlias = "Mapping[tuple[str, str], Record] | tuple[Spent, ...]"


@dataclass(slots=True)
class _Settling:
    """One candidate on its way through the stages."""

    view: View
    candidate: Candidate
    supply: Supply
    context: JsonObject
    named: dict[str, tuple[str, ...]] = field(default_factory=dict)
    records: dict[tuple[str, str], Record] = field(default_factory=dict)

    def fail(
        self, stage: Literal["facts", "context", "resource", "state", "budget"], reason: str, status: str = "forbidden"
    ) -> Failure:
        return Failure(self.candidate.entry.id, stage, status, reason=reason)  # type: ignore[arg-type]

    def lookup(self) -> Lookup:
        inner = call_lookup(self.view, self.candidate, self.supply, self.context)

        def lookup(kind: str, path: str) -> Json | Missing:
            return self._of_resource(path) if kind == "$resource" else inner(kind, path)

        return lookup

    def _of_resource(self, path: str) -> Json | Missing:
        """`name.attribute`, where the pointer of *name* names exactly one record."""
        name, _, attribute = path.partition(".")
        ids = self.named.get(name, ())
        if len(ids) != 1:
            return MISSING
        record = self.records.get((name, ids[0]), NOT_LOADED)
        blank = {} if isinstance(record, NotLoaded) else self.view.blanks[name]
        data: JsonObject = record if isinstance(record, Mapping) else blank
        return data.get(attribute, MISSING)


def settle_candidate(
    view: View, candidate: Candidate, supply: Supply, context: JsonObject
) -> Generator[Need, Answer, Failure | None]:
    """Put *candidate* through stages (d) to (h); the generator's value is its failure or None."""
    settling = _Settling(view, candidate, supply, context)
    failure = _ask_facts(settling) or _ask_context(settling)
    if failure is None and view.spec.resources:
        failure = yield from _settle_resources(settling)
    if failure is not None:
        return failure
    budgets = tuple([budget for part in candidate.parts for budget in part.duties.budgets])
    if budgets:
        spent = yield Usage(budgets)
        failure = _ask_budgets(settling, budgets, spent if isinstance(spent, tuple) else ())
        if failure is not None:
            return failure
    candidate.duties = _duties(settling)
    return None


def _settle_resources(settling: _Settling) -> Generator[Need, Answer, Failure | None]:
    """Stages (f) and (g), of a tool that names resources."""
    failure = _ask_casbin(settling)
    if failure is not None:
        return failure
    wanted = tuple((name, each) for name, ids in settling.named.items() for each in ids)
    if wanted:
        answer = yield Records(wanted)
        settling.records = dict(answer) if isinstance(answer, Mapping) else {}
    return _ask_resources(settling) or _ask_state(settling)


def _ask_facts(settling: _Settling) -> Failure | None:
    """Stage (d): the facts that conditions name, reported at the field that the catalog gives."""
    candidate = settling.candidate
    conditions = [part.facts for part in candidate.parts if part.facts.names]
    if not conditions:
        return None
    lookup = settling.lookup()
    for condition in conditions:
        for name in condition.names:
            compute_fact(candidate, settling.supply, name)
    unmet = [item for condition in conditions for item in condition.unmet(candidate.facts, lookup)]
    if any(item.forbidden for item in unmet):
        return settling.fail("facts", _named("fact", unmet))
    if not unmet:
        return None
    specs = settling.view.spec.facts
    told = dict.fromkeys(business_complaint(specs[item.name].field, item.name, None) for item in unmet)
    errors = tuple(without_hidden(candidate.entry, complaint) for complaint in told)
    return Failure(candidate.entry.id, "facts", "invalid_arguments", errors, _named("fact", unmet))


def _ask_context(settling: _Settling) -> Failure | None:
    """Stage (e)."""
    conditions = [part.context for part in settling.candidate.parts if part.context.names]
    if not conditions:
        return None
    lookup = settling.lookup()
    unmet = [item for condition in conditions for item in condition.unmet(settling.context, lookup)]
    return settling.fail("context", _named("context", unmet)) if unmet else None


def _ask_casbin(settling: _Settling) -> Failure | None:
    """The first half of stage (f): Casbin for every named resource, before any data is read."""
    view, entry = settling.view, settling.candidate.entry
    for name, spec in view.spec.resources.items():
        ids = resource_ids(spec.at, settling.candidate.filled)
        settling.named[name] = ids
        for each in ids:
            if not _is_id(each):
                return settling.fail("resource", f"{name}: not an id")
            if not view.engine.decide(view.standing, f"{spec.type}:{each}", view.spec.action, entry.roles).allowed:
                return settling.fail("resource", f"{name}: casbin")
    return None


def _ask_resources(settling: _Settling) -> Failure | None:
    """The second half of stage (f): every record against the conditions on it; an absent one on the same path."""
    lookup = settling.lookup()
    reasons: list[str] = []
    absent = False
    for name in settling.view.spec.resources:
        conditions = _on(settling.candidate, name, "resource")
        if conditions and not settling.named[name]:
            reasons.append(f"{name}: names nothing")
        for each in settling.named[name]:
            record = settling.records.get((name, each))
            absent = absent or record is None
            held = _holds(settling.view, name, record, conditions, lookup)
            why = _refused(name, record)
            reasons.append("" if held else why)
    reason = next(filter(None, reasons), "")
    if not reason:
        return None
    broken = any(isinstance(record, Broken) for record in settling.records.values())
    may_tell = may_say_not_found(settling.view, settling.candidate)
    return settling.fail("resource", *(("absent", "not_found") if absent and may_tell and not broken else (reason,)))


def _refused(name: str, record: Record) -> str:
    """Why a record refuses, for the event log; one outside a condition and an absent one are one case."""
    return f"loader: {name}: {record.why}" if isinstance(record, Broken) else f"{name}: condition or absent"


def _holds(view: View, name: str, record: Record, conditions: list[ConditionSet], lookup: Lookup) -> bool:
    """
    Whether a record is there, fits its declared attributes and satisfies *conditions*.

    A dummy stands for one that is absent and goes the same way, so that the way tells neither from the other.
    """
    is_loaded = not isinstance(record, NotLoaded)
    data: JsonObject = record if isinstance(record, Mapping) else view.dummies[name] if is_loaded else {}
    unmet = [item for condition in conditions for item in condition.unmet(data, lookup)]
    attributes = view.attributes.get(name) if is_loaded else None
    fits = attributes is None or attributes.accepts(data)
    return fits and not unmet and record is not None and not isinstance(record, Broken)


def may_say_not_found(view: View, candidate: Candidate) -> bool:
    """
    Whether this caller may see every id that the loaders could find, for all resources that the call names.

    POLICY.md's rule of `not_found`, for a call that Casbin allows; a call that names nothing has no ids to speak of.
    """
    named = {name: resource_ids(spec.at, candidate.filled) for name, spec in view.spec.resources.items()}
    return any(named.values()) and all(
        not _on(candidate, name, "resource")
        and (not named[name] or spec.scope == "tenant")
        and (not named[name] or not view.engine.denies_type(view.standing, spec.type, view.spec.action))
        for name, spec in view.spec.resources.items()
    )


def _ask_state(settling: _Settling) -> Failure | None:
    """Stage (g): the state of every named record."""
    lookup = settling.lookup()
    for name in settling.view.spec.resources:
        conditions = _on(settling.candidate, name, "state")
        if conditions and not settling.named[name]:
            return settling.fail("state", f"{name}: names nothing", "conflict")
        for each in settling.named[name]:
            record = settling.records.get((name, each))
            data = record if isinstance(record, Mapping) else {}
            unmet = [item for condition in conditions for item in condition.unmet(data, lookup)]
            if any(item.forbidden for item in unmet):
                return settling.fail("state", _named(name, unmet))
            if unmet:
                return settling.fail("state", _named(name, unmet), "conflict")
    return None


def _ask_budgets(settling: _Settling, budgets: tuple[Budget, ...], spent: tuple[Spent, ...]) -> Failure | None:
    """Stage (h): this call must fit into what is left; an unknown usage or amount does not."""
    if len(spent) != len(budgets):
        return settling.fail("budget", "usage unknown", "rate_limited")
    for budget, used in zip(budgets, spent, strict=True):
        if budget.calls is not None and used.calls + 1 > budget.calls:
            return settling.fail("budget", f"{budget.id}: calls", "rate_limited")
        if budget.sum is None or budget.maximum is None:
            continue
        amount = budget_amount(settling.candidate, settling.supply, budget.sum)
        if amount is None or used.total + amount > budget.maximum:
            return settling.fail("budget", f"{budget.id}: sum", "rate_limited")
    return None


def _duties(settling: _Settling) -> Duties:
    """The duties of the candidate's parts together; what an approval asks of its approver has its references filled."""
    candidate = settling.candidate
    duties = candidate.entry.duties
    if len(candidate.parts) != len(candidate.entry.parts):
        duties = merge_duties(part.duties for part in candidate.parts)
    if not duties.approvals or not any(has_references(cast("Json", each.where)) for each in duties.approvals):
        return duties
    lookup = settling.lookup()
    return replace(duties, approvals=tuple(_addressed(approval, lookup) for approval in duties.approvals))


def _addressed(approval: Approval, lookup: Lookup) -> Approval:
    """A reference that cannot be filled stays: nobody's claims ever satisfy it."""
    where: dict[str, Schema] = {}
    for name, schema in approval.where.items():
        try:
            where[name] = cast("Schema", substitute(schema, lookup))
        except Unfilled:
            where[name] = schema
    return replace(approval, where=where)


def budget_amount(candidate: Candidate, supply: Supply, name: str) -> float | None:
    """What one call adds to a sum: the fact *name*, else the top-level argument; None where it is no number."""
    value = compute_fact(candidate, supply, name)
    if value is MISSING:
        value = candidate.filled.get(name)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _on(candidate: Candidate, name: str, kind: Literal["resource", "state"]) -> list[ConditionSet]:
    found = []
    for part in candidate.parts:
        conditions = (part.resource if kind == "resource" else part.state).get(name)
        if conditions is not None:
            found.append(conditions)
    return found


def _is_id(text: str) -> bool:
    return text != "" and text.isprintable()


def _named(kind: str, unmet: list[Unmet]) -> str:
    return f"{kind}: {', '.join(dict.fromkeys(item.name for item in unmet))}"
