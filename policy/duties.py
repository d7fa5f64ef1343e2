"""
What must be done with an allow? The `duties` of an entry or limit.

In comes a node; out come `Duties`, with findings.
"""

from __future__ import annotations

from typing import Final, Literal

from gatewright.policy.declared import Declared, read_conditions
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.knowledge import widened
from gatewright.policy.toolfile import Approval, Budget, Duties

__all__ = ["read_duties"]

_KEYS: Final = ("approval", "reason", "budget", "notify", "timeout")
_DEFAULT_WITHIN: Final = 900.0
_WHOSE: Final[dict[str, Literal["subject", "tenant", "actor"]]] = {
    "subject": "subject",
    "tenant": "tenant",
    "actor": "actor",
}


def read_duties(node: Node | None, declared: Declared, reader: Reader, whose: str = "") -> Duties:
    """Return the duties of *node*; None has none. *whose* names the entry or limit, and with it its budget."""
    parts = reader.mapping(node, _KEYS, "map of duties")
    approval = _approval(parts["approval"], declared, reader) if "approval" in parts else None
    budget = _budget(parts["budget"], declared, reader, whose) if "budget" in parts else None
    return Duties(
        approvals=(approval,) if approval else (),
        reason=reader.flag(parts.get("reason"), "reason"),
        budgets=(budget,) if budget else (),
        notify=_notify(parts.get("notify"), reader),
        timeout=reader.seconds(parts.get("timeout"), "timeout"),
    )


def _approval(node: Node, declared: Declared, reader: Reader) -> Approval:
    parts = reader.mapping(node, ("by", "count", "within", "where"), "approval", ("by",))
    by = reader.names(parts.get("by"), declared.names.roles, "unknown_role", "role")
    reader.not_empty(parts.get("by"), "nobody can give this approval")
    return Approval(
        by=by,
        count=reader.count(parts.get("count"), "count", 1) or 1,
        within=reader.seconds(parts.get("within"), "within") or _DEFAULT_WITHIN,
        where=read_conditions(parts.get("where"), declared.known("claim"), declared, reader),
    )


def _budget(node: Node, declared: Declared, reader: Reader, whose: str) -> Budget | None:
    parts = reader.mapping(node, ("calls", "sum", "max", "per", "window"), "budget", ("per", "window"))
    if ("sum" in parts) != ("max" in parts) or not {"calls", "sum"} & set(parts):
        reader.findings.add(node.place, "empty_budget", "a budget counts calls, or a sum with its max")
    amount = reader.text(parts["sum"], "sum") if "sum" in parts else None
    if amount:
        _check_sum(amount, parts["sum"], declared, reader)
    maximum = reader.number(parts.get("max"), "max")
    if maximum is not None and maximum < 0:
        reader.findings.add(parts["max"].place, "wrong_kind", "max is a number of at least 0")
    per = reader.choice(parts.get("per"), _WHOSE, "budget's holder")
    window = reader.seconds(parts.get("window"), "window")
    calls = reader.count(parts.get("calls"), "calls", 1)
    if per not in _WHOSE or window is None:
        return None
    return Budget(_WHOSE[per], window, calls, amount, maximum, whose)


def _check_sum(name: str, node: Node, declared: Declared, reader: Reader) -> None:
    facts, arguments = declared.known("fact"), declared.known("argument")
    if facts.has(name):
        return
    if not arguments.has(name):
        known = [*facts.names(), *arguments.names()]
        reader.unknown(node.place, "unknown_fact", name, known, "fact or argument")
    elif (kinds := arguments.at(name).kinds()) and "number" not in widened(kinds):
        reader.findings.add(node.place, "wrong_type", f"the argument {name!r} is no number")


def _notify(node: Node | None, reader: Reader) -> tuple[str, ...]:
    if node is not None and isinstance(node.value, str):
        return (reader.text(node, "notify"),)
    return reader.names(node, None, "", "receiver")
