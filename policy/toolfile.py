"""
What do the tool files say of one tool? Its entries and limits, with the cuts, duties and results that stand in them.

Built by `entries` and `documents`, as frozen records; read by everything that decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gatewright.policy.errors import Place
from gatewright.policy.model import Conditions, Json, JsonObject, Pointer, Schema

__all__ = ["Approval", "ArgumentCut", "Budget", "Duties", "Entry", "Limit", "ResultCuts", "ToolPolicy"]


@dataclass(frozen=True, slots=True)
class ArgumentCut:
    """
    What an entry or limit does to one argument.

    *how* is `hidden`, `pin` (*value*: JSON or a reference) or `narrow` (*schema*: keywords, with references; empty
    for `{}`). *granted* is the (type, action) of `$granted`. *forbidden* says `on_violation: forbidden` stands there.
    *texts* holds description, examples and default where given.
    """

    how: Literal["hidden", "pin", "narrow"]
    value: Json = None
    schema: Schema = field(default_factory=dict)
    granted: tuple[str, str] | None = None
    forbidden: bool = False
    texts: JsonObject = field(default_factory=dict)
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """Who must approve: any one of the roles *by*, *count* distinct approvers, *within* seconds, *where* holds."""

    by: tuple[str, ...]
    count: int = 1
    within: float = 900.0
    where: Conditions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Budget:
    """At most *calls* executed calls, and at most *maximum* as the total of *sum*, *per* whom, in *window* seconds."""

    per: Literal["subject", "tenant", "actor"]
    window: float
    calls: int | None = None
    sum: str | None = None
    maximum: float | None = None
    id: str = ""


@dataclass(frozen=True, slots=True)
class Duties:
    """What must be done with an allow; of an entry and all its limits together. *timeout* is in seconds."""

    approvals: tuple[Approval, ...] = ()
    reason: bool = False
    budgets: tuple[Budget, ...] = ()
    notify: tuple[str, ...] = ()
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ResultCuts:
    """
    How a result is cut, in this order: only_if, keep, show or hidden, mask, rows.

    *mask* maps a pointer to `redact`, `last4`, `prefix2`, `year` or `hash`. *show* is None where not given.
    """

    only_if: Conditions = field(default_factory=dict)
    keep: Mapping[Pointer, Conditions] = field(default_factory=dict)
    show: tuple[Pointer, ...] | None = None
    hidden: tuple[Pointer, ...] = ()
    mask: Mapping[Pointer, str] = field(default_factory=dict)
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Limit:
    """An item of `limits`: it takes, and every one that applies must accept. *tenant* is whose folder it came from."""

    id: str
    place: Place
    roles: frozenset[str] | None = None
    actors: frozenset[str] | None = None
    entries: frozenset[str] | None = None
    unless: Mapping[str, Mapping[str, Json]] | None = None
    arguments: Mapping[Pointer, ArgumentCut] = field(default_factory=dict)
    facts: Conditions = field(default_factory=dict)
    context: Conditions = field(default_factory=dict)
    resource: Mapping[str, Conditions] = field(default_factory=dict)
    state: Mapping[str, Conditions] = field(default_factory=dict)
    duties: Duties = field(default_factory=Duties)
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of `allow`: it gives, and the first that accepts decides."""

    id: str
    place: Place
    roles: tuple[str, ...]
    arguments: Mapping[Pointer, ArgumentCut] = field(default_factory=dict)
    facts: Conditions = field(default_factory=dict)
    context: Conditions = field(default_factory=dict)
    resource: Mapping[str, Conditions] = field(default_factory=dict)
    state: Mapping[str, Conditions] = field(default_factory=dict)
    duties: Duties = field(default_factory=Duties)
    result: ResultCuts = field(default_factory=ResultCuts)
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class ToolPolicy:
    """All that the tool files say of one tool. *stages* None: any; *allow* None: no allow list, open to nobody."""

    tool: str
    stages: frozenset[str] | None = None
    limits: tuple[Limit, ...] = ()
    allow: tuple[Entry, ...] | None = None
    refusal: str | None = None
