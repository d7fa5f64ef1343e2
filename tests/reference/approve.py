"""May this person approve that call? The approver's side of an approval duty, judged from the requester's call."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from reference.attempt import Attempt, caller_sources
from reference.grants import is_granted, standing
from reference.references import Unfilled, fill, is_unfilled
from reference.schema import Judge


def may_approve(attempt: Attempt, duty: Mapping[str, Any], approver: Mapping[str, Any], now: dt.datetime) -> bool:
    """Whether *approver* may answer the approval *duty* of the judged call *attempt*."""
    call = attempt.call
    requester, actor = call.caller, call.caller.get("actor")
    if approver.get("actor") is not None or approver["tenant"] != requester["tenant"]:
        return False
    if approver["subject"] in (requester["subject"], actor and actor["id"]):
        return False
    who = standing(call.policies, approver, now.astimezone(dt.UTC).date())
    if who.excluded or not any(
        role in who.roles and is_granted(who, [role], call.spec["name"], "approve") for role in duty["by"]
    ):
        return False
    return _holds(attempt, duty.get("where", {}), approver)


def _holds(attempt: Attempt, where: Mapping[str, Any], approver: Mapping[str, Any]) -> bool:
    data = {**approver.get("claims", {}), "subject": approver["subject"], "tenant": approver["tenant"]}
    try:
        filled = fill(where, {**caller_sources(attempt.call.policies, attempt.call.caller), **attempt.sources})
    except Unfilled:
        return False
    return not is_unfilled(filled) and all(
        name in data and Judge("condition").accepts(schema, data[name]) for name, schema in filled.items()
    )
