"""
Where does one attempt stop? The stages (a) to (h), each giving the problems of one attempt as (status, field).

Inside a stage all problems are found; which status wins is the caller's to say.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from reference.arguments import narrowing_errors, schema_errors, unknown_names
from reference.attempt import Attempt, caller_sources, named, record_of, settings_of
from reference.grants import denies_some
from reference.references import Unfilled, as_pointer, fill, is_unfilled
from reference.schema import Judge, kind

STAGES = ("schema", "authority", "narrowing", "rules", "facts", "context", "resource", "state", "budget")
Problem = tuple[str, str]


def is_off(attempt: Attempt, unless: Mapping[str, Any]) -> bool:
    try:
        block = fill(unless, caller_sources(attempt.call.policies, attempt.call.caller))
    except Unfilled:
        return False
    data = {"facts": attempt.known, "context": attempt.call.context}
    problems = [
        *(_unmet(attempt, block.get(part, {}), data[part]) for part in data),
        *(
            _unmet_records(attempt, name, {name: block[part][name]})
            for part in ("resource", "state")
            for name in block.get(part, {})
        ),
        list(narrowing_errors({}, [block.get("arguments", {})], attempt.filled, attempt.grants, attempt.sources)),
    ]
    return bool(unless) and not any(problems)


def cuts_of(attempt: Attempt) -> list[Mapping[str, Any]]:
    return [block.get("arguments", {}) for block in attempt.blocks]


def _schema(attempt: Attempt) -> list[Problem]:
    base = attempt.call.spec["schema"]
    errors = schema_errors(base, attempt.filled)
    unknown = unknown_names(base, cuts_of(attempt), attempt.sent)
    return [("invalid_arguments", place) for place in [*(as_pointer(error.path) for error in errors), *unknown]]


def _authority(attempt: Attempt) -> list[Problem]:
    errors = narrowing_errors(
        attempt.call.spec["schema"], cuts_of(attempt), attempt.filled, attempt.grants, attempt.sources
    )
    return [("forbidden", as_pointer(error.path)) for error in errors if error.authority]


def _narrowing(attempt: Attempt) -> list[Problem]:
    errors = narrowing_errors(
        attempt.call.spec["schema"], cuts_of(attempt), attempt.filled, attempt.grants, attempt.sources
    )
    found = [("forbidden" if error.forbids else "invalid_arguments", as_pointer(error.path)) for error in errors]
    asks = any(block.get("duties", {}).get("reason") for block in attempt.blocks)
    if (asks and not attempt.reasons) or not all(isinstance(text, str) and text for text in attempt.reasons):
        found.append(("invalid_arguments", "/_reason"))
    return found


def _rules(attempt: Attempt) -> list[Problem]:
    settings = settings_of(attempt.call.policies, attempt.call.who.tenant)
    arguments = copy.deepcopy(attempt.filled)
    for rule in attempt.call.rules:
        try:
            arguments = rule(arguments, settings)
        except Exception as problem:  # noqa: BLE001 - a rule refuses by raising
            return [("invalid_arguments", getattr(problem, "field", ""))]
    return []


def _facts(attempt: Attempt) -> list[Problem]:
    found = []
    for block in attempt.blocks:
        for name, forbids in _unmet(attempt, block.get("facts", {}), attempt.known):
            place = attempt.call.spec["facts"].get(name, {}).get("field", "")
            found.append(("forbidden" if forbids else "invalid_arguments", place))
    return found


def _context_holds(attempt: Attempt) -> list[Problem]:
    blocks = [block.get("context", {}) for block in attempt.blocks]
    return [("forbidden", "") for block in blocks if _unmet(attempt, block, attempt.call.context)]


def _resource(attempt: Attempt) -> list[Problem]:
    found, absent, all_qualify = [], False, True
    for name, declared in attempt.call.spec.get("resources", {}).items():
        conditions = _conditions(attempt, "resource", name)
        keys = named(attempt, declared)
        records = [record_of(attempt, declared, key) for key in keys]
        absent = absent or None in records
        all_qualify = all_qualify and (not keys or _qualifies(attempt, declared, bool(conditions)))
        granted = all(attempt.may_touch(declared["type"], key) for key in keys)
        fits = all(record is None or _fits(declared, record) for record in records)
        if not (granted and fits) or any(_unmet_records(attempt, name, condition) for condition in conditions):
            found.append(("forbidden", ""))
    return found or ([("not_found" if all_qualify else "forbidden", "")] if absent else [])


def _qualifies(attempt: Attempt, declared: Mapping[str, Any], conditioned: bool) -> bool:
    """Whether an absent record of this resource may be told from a foreign one."""
    denied = denies_some(attempt.call.who, declared["type"], attempt.call.spec["action"])
    return declared.get("scope") == "tenant" and not conditioned and not denied


def _fits(declared: Mapping[str, Any], record: Mapping[str, Any]) -> bool:
    return declared.get("attributes") is None or Judge("base").accepts(declared["attributes"], record)


def _state(attempt: Attempt) -> list[Problem]:
    found = []
    for name in attempt.call.spec.get("resources", {}):
        for condition in _conditions(attempt, "state", name):
            unmet = _unmet_records(attempt, name, condition)
            found += [("forbidden" if forbids else "conflict", "") for _, forbids in unmet]
    return found


def _budget(attempt: Attempt) -> list[Problem]:
    used = attempt.call.used.get(attempt.call.spec["name"], {})
    found = []
    for budget in (block["duties"]["budget"] for block in attempt.blocks if "budget" in block.get("duties", {})):
        if "calls" in budget and used.get("calls", 0) + 1 > budget["calls"]:
            found.append(("rate_limited", ""))
        if "sum" in budget:
            amount = {**attempt.filled, **attempt.known}.get(budget["sum"])
            if kind(amount) != "number" or used.get("sum", 0) + amount > budget["max"]:
                found.append(("rate_limited", ""))
    return found


JUDGES: Mapping[str, Callable[[Attempt], list[Problem]]] = {
    "schema": _schema,
    "authority": _authority,
    "narrowing": _narrowing,
    "rules": _rules,
    "facts": _facts,
    "context": _context_holds,
    "resource": _resource,
    "state": _state,
    "budget": _budget,
}


def _conditions(attempt: Attempt, part: str, name: str) -> list[Mapping[str, Any]]:
    return [block[part][name] for block in attempt.blocks if name in block.get(part, {})]


def _unmet(attempt: Attempt, conditions: Mapping[str, Any], data: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """The names whose condition does not hold in *data*, and whether that forbids."""
    found = []
    for name, raw in conditions.items():
        try:
            schema = fill(raw, attempt.sources)
        except Unfilled:
            found.append((name, True))
            continue
        forbids = isinstance(schema, dict) and schema.get("on_violation") == "forbidden"
        if name not in data or is_unfilled(schema):
            found.append((name, forbids or is_unfilled(schema)))
        elif errors := list(Judge("condition").errors(schema, data[name])):
            found.append((name, any(error.forbids for error in errors)))
    return found


def _unmet_records(attempt: Attempt, name: str, conditions: Mapping[str, Any]) -> list[tuple[str, bool]]:
    """As _unmet, over every record that the resource *name* names; naming nothing fails."""
    declared = attempt.call.spec.get("resources", {}).get(name)
    keys = [] if declared is None else named(attempt, declared)
    if not keys:
        return [(name, False)]
    records = [record_of(attempt, declared or {}, key) for key in keys]
    return [problem for record in records for problem in _unmet(attempt, conditions, record or {})]
