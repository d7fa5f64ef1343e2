"""
May this call be made, and who says so? The whole of "how a call is judged", one entry after another.

Policies, catalog, caller, things, facts and the time come in as plain data; a mapping with status, stage, entry,
fields, duties and the filled arguments goes out. Nothing here is fast.
"""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

from reference.arguments import fill_arguments
from reference.attempt import Attempt, Call, Rule
from reference.grants import standing
from reference.opening import context_of, open_entries
from reference.stages import JUDGES, STAGES, cuts_of, is_off
from reference.texts import read_json


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
    held = context_of(policies, context or {}, now)
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
        attempt.reasons = [sent.pop("_reason")] if "_reason" in sent else []
    attempt.sent = sent
    every = attempt.limits
    attempt.limits = [limit for limit in every if "unless" not in limit]
    _fill(attempt)
    off = [limit for limit in every if "unless" in limit and is_off(attempt, limit["unless"])]
    attempt.limits = [limit for limit in every if limit not in off]
    _fill(attempt)


def _fill(attempt: Attempt) -> None:
    base = attempt.call.spec["schema"]
    attempt.filled = fill_arguments(base, cuts_of(attempt), attempt.sent, attempt.grants)
    attempt.known = {}
    for name in attempt.call.spec.get("facts", {}):
        try:
            attempt.known[name] = attempt.call.facts[name](copy.deepcopy(attempt.filled))
        except Exception:  # noqa: BLE001 - whatever a fact raises, it is absent
            continue
