"""
May this call be made, and who says so? The whole of "how a call is judged", one entry after another.

Policies, catalog, caller, things, facts and the time come in as plain data; a mapping with status, stage, entry,
fields, duties and the filled arguments goes out. Nothing here is fast.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from reference.arguments import fill_arguments, narrowing_errors, schema_errors, unknown_names
from reference.grants import Standing, denies_some, grants_any, is_granted, opening_roles, standing
from reference.references import Sources, Unfilled, as_pointer, at, fill, is_unfilled, places, tokens
from reference.schema import Judge, kind
from reference.texts import read_json

STAGES = ("schema", "authority", "narrowing", "rules", "facts", "context", "resource", "state", "budget")
WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
Problem = tuple[str, str]
Rule = Callable[[dict[str, Any], Mapping[str, Any]], dict[str, Any]]


@dataclass
class Call:
    """Everything one call is judged by."""

    policies: Mapping[str, Any]
    spec: Mapping[str, Any]
    caller: Mapping[str, Any]
    who: Standing
    context: Mapping[str, Any]
    things: Mapping[str, Mapping[str, Any]]
    facts: Mapping[str, Callable[[dict[str, Any]], Any]]
    used: Mapping[str, Any]
    rules: tuple[Rule, ...]


@dataclass
class Attempt:
    """One open entry with the limits that apply to it, on its way through the stages."""

    call: Call
    entry: dict[str, Any]
    limits: list[dict[str, Any]]
    roles: list[str]
    sent: dict[str, Any] = field(default_factory=dict)
    reason: Any = None
    filled: dict[str, Any] = field(default_factory=dict)
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def blocks(self) -> list[dict[str, Any]]:
        """The entry and its limits."""
        return [self.entry, *self.limits]

    @property
    def sources(self) -> Sources:
        """Where the references that need the call come from."""
        return {
            "$argument": lambda name: at(tokens(name), self.filled),
            "$fact": self.known.__getitem__,
            "$context": self.call.context.__getitem__,
            "$resource": lambda name: _attribute(self, *name.split(".", 1)),
        }

    def grants(self, wanted: Mapping[str, str], value: Any) -> bool:
        """Whether Casbin grants the id *value* for the roles that opened the entry."""
        name = f"{wanted['type']}:{value}"
        return isinstance(value, str) and value != "" and is_granted(self.call.who, self.roles, name, wanted["action"])


def decide(
    policies: Mapping[str, Any],
    catalog: Mapping[str, Mapping[str, Any]],
    caller: Mapping[str, Any],
    tool: str,
    arguments: Mapping[str, Any] | str | bytes,
    *,
    now: dt.datetime,
    context: Mapping[str, Any] | None = None,
    things: Mapping[str, Mapping[str, Any]] | None = None,
    facts: Mapping[str, Callable[[dict[str, Any]], Any]] | None = None,
    used: Mapping[str, Any] | None = None,
    rules: tuple[Rule, ...] = (),
) -> dict[str, Any]:
    """Judge one call; *policies* as `read_policies` gives them."""
    who = standing(policies, caller, now.astimezone(dt.UTC).date())
    held = _context(policies, context or {}, now)
    call = Call(policies, catalog.get(tool, {}), caller, who, held, things or {}, facts or {}, used or {}, rules)
    attempts = open_entries(call, tool)
    if not attempts:
        return {"status": "forbidden", "stage": "call", "entry": None, "fields": []}
    try:
        sent = read_json(arguments) if isinstance(arguments, str | bytes) else copy.deepcopy(dict(arguments))
    except ValueError:
        return {"status": "invalid_arguments", "stage": "decode", "entry": None, "fields": [""]}
    answers = []
    for attempt in attempts:
        answers.append(_judge(attempt, sent))
        if answers[-1]["stage"] is None:
            return answers[-1]
    return max(answers, key=lambda answer: STAGES.index(answer["stage"]))


def _context(policies: Mapping[str, Any], given: Mapping[str, Any], now: dt.datetime) -> dict[str, Any]:
    calendars = policies["names"].get("calendars", {})
    return {
        "called": [],
        **given,
        "date": int(now.astimezone(dt.UTC).strftime("%Y%m%d")),
        "calendar": [name for name, calendar in calendars.items() if _holds(calendar, now)],
    }


def _holds(calendar: Mapping[str, Any], now: dt.datetime) -> bool:
    local = now.astimezone(ZoneInfo(calendar["tz"]))
    day = local.date().isoformat()
    if "dates" in calendar:
        return bool(calendar["dates"][0] <= day <= calendar["dates"][1])
    in_hours = calendar.get("from", "00:00") <= local.strftime("%H:%M") < calendar.get("to", "24:00")
    return in_hours and WEEK[local.weekday()] in calendar.get("days", WEEK) and day not in calendar.get("except", [])


def open_entries(call: Call, tool: str) -> list[Attempt]:
    """The entries of *tool* open to the caller, top to bottom, identity and tenant put in."""
    policy = call.policies["tools"].get(tool)
    if policy is None or not call.spec or not call.who.tenant:
        return []
    if policy["stages"] is not None and call.context.get("stage") not in policy["stages"]:
        return []
    opened = []
    for entry in policy["allow"] or []:
        roles = opening_roles(call.who, entry["roles"], tool)
        limits = [limit for limit in _limits(call, tool) if _applies(call.who, limit, entry)]
        if roles and (attempt := _opened(call, entry, limits, roles)) is not None:
            opened.append(attempt)
    return opened


def _limits(call: Call, tool: str) -> list[dict[str, Any]]:
    tenant = call.policies["tenants"].get(call.who.tenant, {"limits": {}})
    return [*call.policies["tools"][tool]["limits"], *tenant["limits"].get(tool, [])]


def _applies(who: Standing, limit: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    whom = limit.get("for", {})
    return (
        ("roles" not in whom or bool(who.roles & set(whom["roles"])))
        and ("actors" not in whom or bool(who.actor_roles & set(whom["actors"])))
        and ("entries" not in limit or entry["id"] in limit["entries"])
    )


def _opened(call: Call, entry: dict[str, Any], limits: list[dict[str, Any]], roles: list[str]) -> Attempt | None:
    try:
        filled = [_fill_block(block, caller_sources(call.policies, call.caller)) for block in (entry, *limits)]
    except Unfilled:
        return None
    wanted = [cut["$granted"] for block in filled for cut in block.get("arguments", {}).values() if "$granted" in cut]
    if not all(grants_any(call.who, roles, want["type"], want["action"]) for want in wanted):
        return None
    return Attempt(call, filled[0], filled[1:], roles)


def _fill_block(block: Mapping[str, Any], sources: Sources) -> dict[str, Any]:
    """*block* with identity and tenant put in; `unless` waits for the call, and what it lacks leaves the limit on."""
    return {name: item if name == "unless" else fill(item, sources) for name, item in block.items()}


def caller_sources(policies: Mapping[str, Any], caller: Mapping[str, Any]) -> Sources:
    """Where `$identity` and `$tenant` come from."""
    claims = {name: item for name, item in caller.get("claims", {}).items() if name in policies["claims"]}
    identity = {**claims, "subject": caller["subject"], "tenant": caller["tenant"]}
    settings = policies["tenants"].get(caller["tenant"], {}).get("settings", {})
    return {"$identity": identity.__getitem__, "$tenant": settings.__getitem__}


def _judge(attempt: Attempt, sent: Mapping[str, Any]) -> dict[str, Any]:
    _prepare(attempt, dict(sent))
    for stage in STAGES:
        if problems := JUDGES[stage](attempt):
            statuses = [status for status, _ in problems]
            return {
                "status": "forbidden" if "forbidden" in statuses else statuses[0],
                "stage": stage,
                "entry": attempt.entry["id"],
                "fields": sorted({place for _, place in problems}),
            }
    duties = [block.get("duties", {}) for block in attempt.blocks]
    approvals = [duty["approval"] for duty in duties if "approval" in duty]
    return {
        "status": "approval_required" if approvals else "ok",
        "stage": None,
        "entry": attempt.entry["id"],
        "fields": [],
        "approvals": approvals,
        "notify": [duty["notify"] for duty in duties if "notify" in duty],
        "filled": attempt.filled,
        "result": attempt.entry.get("result", {}),
        "attempt": attempt,
    }


def _prepare(attempt: Attempt, sent: dict[str, Any]) -> None:
    """Cut off the reason, switch limits off by `unless`, and fill the arguments."""
    if any(block.get("duties", {}).get("reason") for block in attempt.blocks):
        attempt.reason = sent.pop("_reason", None)
    attempt.sent = sent
    every = attempt.limits
    attempt.limits = [limit for limit in every if "unless" not in limit]
    _fill(attempt)
    off = [limit for limit in every if "unless" in limit and _is_off(attempt, limit["unless"])]
    attempt.limits = [limit for limit in every if limit not in off]
    _fill(attempt)


def _fill(attempt: Attempt) -> None:
    base = attempt.call.spec["schema"]
    attempt.filled = fill_arguments(base, _cuts(attempt), attempt.sent, attempt.grants)
    attempt.known = {}
    for name in attempt.call.spec.get("facts", {}):
        try:
            attempt.known[name] = attempt.call.facts[name](copy.deepcopy(attempt.filled))
        except Exception:  # noqa: BLE001 - whatever a fact raises, it is absent
            continue


def _cuts(attempt: Attempt) -> list[Mapping[str, Any]]:
    return [block.get("arguments", {}) for block in attempt.blocks]


def _is_off(attempt: Attempt, unless: Mapping[str, Any]) -> bool:
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
        list(narrowing_errors([block.get("arguments", {})], attempt.filled, attempt.grants, attempt.sources)),
    ]
    return bool(unless) and not any(problems)


# stages (a) to (h): each gives the problems of one attempt as (status, field)


def _schema(attempt: Attempt) -> list[Problem]:
    base = attempt.call.spec["schema"]
    errors = schema_errors(base, attempt.filled)
    unknown = unknown_names(base, _cuts(attempt), attempt.sent)
    return [("invalid_arguments", place) for place in [*(as_pointer(error.path) for error in errors), *unknown]]


def _authority(attempt: Attempt) -> list[Problem]:
    errors = narrowing_errors(_cuts(attempt), attempt.filled, attempt.grants, attempt.sources)
    return [("forbidden", as_pointer(error.path)) for error in errors if error.authority]


def _narrowing(attempt: Attempt) -> list[Problem]:
    errors = narrowing_errors(_cuts(attempt), attempt.filled, attempt.grants, attempt.sources)
    found = [("forbidden" if error.forbids else "invalid_arguments", as_pointer(error.path)) for error in errors]
    asks = any(block.get("duties", {}).get("reason") for block in attempt.blocks)
    if asks and not (isinstance(attempt.reason, str) and attempt.reason):
        found.append(("invalid_arguments", "/_reason"))
    return found


def _rules(attempt: Attempt) -> list[Problem]:
    settings = attempt.call.policies["tenants"].get(attempt.call.who.tenant, {}).get("settings", {})
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
    found = []
    for name, declared in attempt.call.spec.get("resources", {}).items():
        conditions = _conditions(attempt, "resource", name)
        for key in _named(attempt, declared):
            found += _one_resource(attempt, declared, key, bool(conditions))
        if any(_unmet_records(attempt, name, condition) for condition in conditions):
            found.append(("forbidden", ""))
    return found


def _one_resource(attempt: Attempt, declared: Mapping[str, str], key: Any, conditioned: bool) -> list[Problem]:
    who, action = attempt.call.who, attempt.call.spec["action"]
    if not attempt.grants({"type": declared["type"], "action": action}, key):
        return [("forbidden", "")]
    record = _record(attempt, declared, key)
    if record is not None:
        attributes = declared.get("attributes")
        return [] if not attributes or Judge("base").accepts(attributes, record) else [("forbidden", "")]
    is_open = declared.get("scope") == "tenant" and not conditioned and not denies_some(who, declared["type"], action)
    return [("not_found" if is_open else "forbidden", "")]


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
            if kind(amount) != "number":
                found.append(("forbidden", ""))
            elif used.get("sum", 0) + amount > budget["max"]:
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
    keys = [] if declared is None else _named(attempt, declared)
    if not keys:
        return [(name, False)]
    records = [_record(attempt, declared or {}, key) for key in keys]
    return [problem for record in records for problem in _unmet(attempt, conditions, record or {})]


def _named(attempt: Attempt, declared: Mapping[str, str]) -> list[Any]:
    """The ids that a resource's pointer (or several joined with @) names in the filled arguments."""
    found: list[Any] = [None]
    for number, pointer in enumerate(declared["at"].split("@")):
        values = [at(path, attempt.filled) for path, present in places(tokens(pointer), attempt.filled) if present]
        found = values if number == 0 else [f"{one}@{other}" for one in found for other in values]
    return found


def _record(attempt: Attempt, declared: Mapping[str, str], key: Any) -> Mapping[str, Any] | None:
    record = attempt.call.things.get(f"{declared['type']}:{key}")
    if record is not None and declared.get("scope") == "tenant" and record.get("tenant") != attempt.call.who.tenant:
        return None
    return record


def _attribute(attempt: Attempt, name: str, attribute: str) -> Any:
    declared = attempt.call.spec["resources"][name]
    (key,) = _named(attempt, declared)
    record = _record(attempt, declared, key)
    if record is None:
        raise KeyError(name)
    return record[attribute]
