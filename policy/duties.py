"""
What must be done with an allow? The `duties` of an entry or limit.

In comes a node; out come `Duties`, with findings.
"""

from __future__ import annotations

from typing import cast

from gatewright.policy.declared import Declared
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.model import Approval, Budget, Conditions, Duties, Json

__all__ = ["read_duties"]

_KEYS = ("approval", "reason", "budget", "notify", "timeout")


def read_duties(node: Node | None, declared: Declared, reader: Reader) -> Duties:
    """Return the duties of *node*; None has none."""
    parts = reader.mapping(node, _KEYS, "duty")
    approval = _approval(parts["approval"], declared, reader) if "approval" in parts else None
    budget = _budget(parts["budget"], declared, reader) if "budget" in parts else None
    return Duties(
        approvals=(approval,) if approval else (),
        reason=reader.flag(parts.get("reason"), "reason"),
        budgets=(budget,) if budget else (),
        notify=_notify(parts.get("notify"), reader),
        timeout=reader.seconds(parts.get("timeout"), "timeout"),
    )


def _approval(node: Node, declared: Declared, reader: Reader) -> Approval:
    parts = reader.mapping(node, ("by", "count", "within", "where"), "approval")
    by = reader.names(parts.get("by"), declared.names.roles, "unknown_role", "role")
    if not by:
        reader.findings.add(node.place, "missing_key", "an approval says by whom: by")
    where = parts.get("where")
    known = declared.claims | {"subject", "tenant"}
    for name, schema in reader.mapping(where).items():
        if where is not None and name not in known:
            reader.unknown(where.keys[name], "unknown_claim", name, known, "claim of the approver")
        declared.check_schema(schema, reader)
    return Approval(
        by=by,
        count=reader.count(parts.get("count"), "count", 1) or 1,
        within=reader.seconds(parts.get("within"), "within") or 900.0,
        where=cast("Conditions", reader.plain(where) or {}),
    )


def _budget(node: Node, declared: Declared, reader: Reader) -> Budget | None:
    parts = reader.mapping(node, ("calls", "sum", "max", "per", "window"), "budget")
    amount = reader.text(parts.get("sum"), "sum") if "sum" in parts else None
    maximum = reader.number(parts.get("max"), "max")
    if "window" not in parts or "per" not in parts:
        reader.findings.add(node.place, "missing_key", "a budget says per whom and in which window")
    if ("sum" in parts) != ("max" in parts) or not {"calls", "sum"} & set(parts):
        reader.findings.add(node.place, "empty_budget", "a budget counts calls, or a sum with its max")
    if amount and declared.tool is not None:
        known = {*declared.tool.facts, *cast("dict[str, Json]", declared.tool.schema.get("properties", {}))}
        if amount not in known:
            reader.unknown(parts["sum"].place, "unknown_fact", amount, known, "fact or argument")
    per = reader.choice(parts.get("per"), ("subject", "tenant", "actor"), "budget's holder")
    window = reader.seconds(parts.get("window"), "window")
    calls = reader.count(parts.get("calls"), "calls")
    if not per or window is None:
        return None
    return Budget(
        "tenant" if per == "tenant" else "actor" if per == "actor" else "subject", window, calls, amount, maximum
    )


def _notify(node: Node | None, reader: Reader) -> tuple[str, ...]:
    if node is not None and isinstance(node.value, str):
        return (reader.text(node, "notify"),)
    return reader.names(node, None, "", "receiver")
