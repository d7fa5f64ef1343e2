"""
Do these arguments pass an open entry's schemas? Stages (a) to (c) of POLICY.md, then the tool's business rules.

In come a view, decoded arguments and the tool's rules; out come the entries that accept them, with the arguments
filled, and the failure of each that does not. Pure: the rules are the developer's pure functions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from gatewright.policy.complaints import Complaint, business_complaint, schema_complaints
from gatewright.policy.dialect import SchemaValidator
from gatewright.policy.errors import Invalid
from gatewright.policy.model import Json, JsonObject, Pointer
from gatewright.policy.parts import Part
from gatewright.policy.pointers import format_pointer, parse_pointer, read
from gatewright.policy.references import MISSING, Lookup, Missing
from gatewright.policy.stages import Stage
from gatewright.policy.template import REASON, ArgumentTemplate, Conditional, OpenEntry
from gatewright.policy.toolfile import Duties
from gatewright.policy.view import View
from gatewright.policy.wanted import is_declared

__all__ = [
    "Candidate",
    "Failure",
    "Screened",
    "Supply",
    "call_lookup",
    "compute_fact",
    "screen",
    "without_hidden",
]


class Supply(Protocol):
    """The developer's pure functions of one tool."""

    def rules(self, arguments: dict[str, Json], settings: JsonObject) -> Mapping[str, object]:
        """Return the arguments after the business rules; raises `Invalid` where one refuses."""
        ...

    def fact(self, name: str, arguments: JsonObject) -> Json:
        """Return the fact *name* of the filled arguments; raising means that it is absent."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """Where and how one entry stopped. *errors* are for `invalid_arguments` only; *reason* is for the event log."""

    entry: str
    stage: Stage
    status: Literal["invalid_arguments", "forbidden", "not_found", "conflict", "rate_limited"]
    errors: tuple[Complaint, ...] = ()
    reason: str = ""


@dataclass(slots=True)
class Candidate:
    """
    An entry that accepts the arguments so far.

    *filled* is JSON with pins and defaults; *arguments* is what the business rules made of it. *parts* are the entry,
    its limits and the conditional limits that are on. *duties* are those of all its parts, known once it is settled.
    """

    entry: OpenEntry
    position: int
    filled: dict[str, Json]
    arguments: Mapping[str, object]
    parts: tuple[Part, ...]
    facts: dict[str, Json]
    duties: Duties = field(default_factory=Duties)


@dataclass(slots=True)
class Screened:
    """The outcome of stages (a) to (c) and the rules: who goes on, and who stopped where."""

    view: View
    candidates: list[Candidate]
    failures: list[tuple[int, Failure]]


def screen(
    view: View, arguments: JsonObject, supply: Supply, context: JsonObject, *, integral_floats: bool = True
) -> Screened:
    """
    Put *arguments* through stages (a) to (c) and the rules of every open entry, top to bottom.

    *integral_floats* says whether a float with an integral value may be among the arguments; False is faster.
    """
    screened = Screened(view, [], [])
    for position, entry in enumerate(view.entries):
        outcome = _screen_entry(view, entry, position, arguments, supply, context, integral_floats)
        if isinstance(outcome, Failure):
            screened.failures.append((position, outcome))
        else:
            screened.candidates.append(outcome)
    return screened


def _screen_entry(
    view: View,
    entry: OpenEntry,
    position: int,
    arguments: JsonObject,
    supply: Supply,
    context: JsonObject,
    integral_floats: bool,
) -> Candidate | Failure:
    template = entry.arguments
    sent = arguments
    if entry.may_reason:
        sent = {name: value for name, value in arguments.items() if name != REASON}
    filled = entry.filling.fill(sent)
    candidate = Candidate(entry, position, filled, filled, entry.parts, {})
    accepted = template.accepts_shown.accepts(arguments, integral_floats=integral_floats) and (
        not entry.fixed or template.accepts_filled.accepts(filled, integral_floats=integral_floats)
    )
    if not accepted:
        errors = _base_errors(entry, template, sent, filled)
        if errors:
            return Failure(entry.id, "schema", "invalid_arguments", errors)
    templates = _switch_limits(view, candidate, supply, context) if entry.conditional else ()
    if not accepted or templates or template.granted or template.late or entry.may_reason:
        lookup = call_lookup(view, candidate, supply, context)
        failure = _ask(view, candidate, (template, *templates), accepted, _is_reasoned(arguments), lookup)
        if failure is not None:
            return failure
    return _apply_rules(view, candidate, supply)


def _base_errors(
    entry: OpenEntry, template: ArgumentTemplate, sent: JsonObject, filled: JsonObject
) -> tuple[Complaint, ...]:
    """Stage (a): the base schema and unknown names, over what was sent; then over pins and hidden defaults."""
    errors = schema_complaints(template.accepts_visible.errors(sent), template.shown)
    if not errors and entry.fixed and not template.accepts_base.accepts(filled, integral_floats=True):
        return (_unseen(),)
    return errors


def _ask(
    view: View,
    candidate: Candidate,
    templates: tuple[ArgumentTemplate, ...],
    accepted: bool,
    reasoned: bool,
    lookup: Lookup,
) -> Failure | None:
    """
    Stages (b) and (c) of the entry's own template and those of the conditional limits that are on.

    *accepted* says that the role schema took the arguments already, which leaves only what it cannot show.
    """
    entry, filled = candidate.entry, candidate.filled
    asked = templates[1:] if accepted else templates
    whose = all(_all_accept(template.authority, filled) for template in asked)
    if not whose or not all(_granted(view, entry, template, filled) for template in templates):
        return Failure(entry.id, "authority", "forbidden", reason="not_theirs" if not whose else "not_granted")
    if not all(_all_accept(template.forbidding, filled) for template in asked):
        return Failure(entry.id, "narrowing", "forbidden", reason="on_violation")
    errors = [error for template in asked for error in _narrowing_errors(template, filled)]
    for template in templates:
        for place, forbidden in _late_failures(template, filled, lookup):
            if forbidden:
                return Failure(entry.id, "narrowing", "forbidden", reason="on_violation")
            errors.append(_seen(template, business_complaint(format_pointer(place), "not_accepted", layer="schema")))
    if not reasoned and any(part.duties.reason for part in candidate.parts):
        errors.append(business_complaint(f"/{REASON}", "missing", "a reason for this call, in words"))
    errors = list(dict.fromkeys(errors))
    if errors or not accepted:
        return Failure(entry.id, "narrowing", "invalid_arguments", tuple(errors) or (_unseen(),))
    return None


def _late_failures(template: ArgumentTemplate, filled: JsonObject, lookup: Lookup) -> Iterator[tuple[Pointer, bool]]:
    """Yield (place, whether it forbids) of every value that narrowing with late references does not take."""
    for late in template.late:
        for place, value in read(filled, late.pointer):
            for unmet in late.condition.unmet({"value": value}, lookup):
                yield place, unmet.forbidden or late.forbidden


def _is_reasoned(arguments: JsonObject) -> bool:
    reason = arguments.get(REASON)
    return isinstance(reason, str) and reason != ""


def _narrowing_errors(template: ArgumentTemplate, filled: JsonObject) -> list[Complaint]:
    found = [item for each in template.narrowing for item in schema_complaints(each.errors(filled), template.shown)]
    return [_seen(template, item) for item in found]


def _seen(template: ArgumentTemplate, complaint: Complaint) -> Complaint:
    """Return *complaint* where it speaks of a shown argument, else one that names nothing."""
    return complaint if _speaks_of_shown(template, complaint) else _unseen()


def _speaks_of_shown(template: ArgumentTemplate, complaint: Complaint) -> bool:
    return is_declared(template.visible, parse_pointer(complaint.field))


def _unseen() -> Complaint:
    """What is said of a pin or a hidden default that does not pass: no name, no value."""
    return business_complaint("", "not_accepted", None, layer="schema")


def _granted(view: View, entry: OpenEntry, template: ArgumentTemplate, filled: JsonObject) -> bool:
    for pointer, kind, action in template.granted:
        for _, value in read(filled, pointer):
            if not isinstance(value, str):
                return False
            if not view.engine.decide(view.standing, f"{kind}:{value}", action, entry.roles).allowed:
                return False
    return True


def _switch_limits(
    view: View, candidate: Candidate, supply: Supply, context: JsonObject
) -> tuple[ArgumentTemplate, ...]:
    """Add the conditional limits that are on to the candidate's parts; return those of their templates there are."""
    lookup = call_lookup(view, candidate, supply, context)
    on = [each for each in candidate.entry.conditional if not _is_off(each, candidate, supply, context, lookup)]
    candidate.parts = (*candidate.parts, *(each.part for each in on))
    return tuple(each.arguments for each in on if each.arguments is not None)


def _all_accept(validators: tuple[SchemaValidator, ...], filled: JsonObject) -> bool:
    return all(validator.accepts(filled, integral_floats=True) for validator in validators)


def _is_off(
    conditional: Conditional, candidate: Candidate, supply: Supply, context: JsonObject, lookup: Lookup
) -> bool:
    """Whether every condition of `unless` holds; what cannot be resolved leaves the limit on."""
    if not conditional.resolvable:
        return False
    for name in conditional.facts.names:
        compute_fact(candidate, supply, name)
    return not conditional.facts.unmet(candidate.facts, lookup) and not conditional.context.unmet(context, lookup)


def _apply_rules(view: View, candidate: Candidate, supply: Supply) -> Candidate | Failure:
    try:
        candidate.arguments = supply.rules(candidate.filled, view.settings)
    except Invalid as refusal:
        told = business_complaint(refusal.field, refusal.reason, refusal.expected)
        complaint = without_hidden(candidate.entry, told)
        return Failure(candidate.entry.id, "rules", "invalid_arguments", (complaint,))
    return candidate


def without_hidden(entry: OpenEntry, complaint: Complaint) -> Complaint:
    """Return *complaint*, at no field where *entry* does not show the one that it names."""
    return complaint if _speaks_of_shown(entry.arguments, complaint) else replace(complaint, field="")


def compute_fact(candidate: Candidate, supply: Supply, name: str) -> Json | Missing:
    """Return the fact *name* of the candidate's filled arguments, computed once; MISSING where it raises."""
    if name not in candidate.facts:
        try:
            candidate.facts[name] = supply.fact(name, candidate.filled)
        except Exception:  # noqa: BLE001 - a fact that raises is absent, whatever it raises
            return MISSING
    return candidate.facts[name]


def call_lookup(view: View, candidate: Candidate, supply: Supply, context: JsonObject) -> Lookup:
    """What references mean within one call, records excluded."""

    def lookup(kind: str, path: str) -> Json | Missing:
        if kind == "$argument":
            return _argument(candidate.filled, path)
        if kind == "$fact":
            return compute_fact(candidate, supply, path)
        if kind == "$context":
            return context.get(path, MISSING)
        return view.lookup(kind, path)

    return lookup


def _argument(filled: JsonObject, path: str) -> Json | Missing:
    if not path.startswith("/"):
        return filled.get(path, MISSING)
    values = [value for _, value in read(filled, parse_pointer(path))]
    return values[0] if len(values) == 1 else MISSING
