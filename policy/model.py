"""
The nouns of the policy half: what a policies folder says and what one call is judged by, as frozen records.

Built by `folder` (policy files), `catalog` (tools) and `token` (callers); read by everything else. No behaviour
beyond what can be derived from the fields.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, TypeAlias

from gatewright.policy.errors import Finding, Place

__all__ = [
    "Actor",
    "Approval",
    "ArgumentCut",
    "Budget",
    "Calendar",
    "Caller",
    "Conditions",
    "Delegation",
    "Duties",
    "Entry",
    "FactSpec",
    "Json",
    "JsonObject",
    "Limit",
    "Link",
    "Membership",
    "Names",
    "Pointer",
    "PolicySet",
    "ResourceSpec",
    "ResultCuts",
    "Rule",
    "Schema",
    "TenantPolicy",
    "ToolPolicy",
    "ToolSpec",
]

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = "Mapping[str, Json]"
Schema: TypeAlias = "Mapping[str, Json]"
Pointer: TypeAlias = "tuple[str, ...]"
"""A JSON pointer's decoded tokens; `*` stands for every element or every property."""

Conditions: TypeAlias = "Mapping[str, Schema]"
"""Name → JSON Schema with `$use` already put in; references (`{"$identity": …}`) still stand in it."""

_EMPTY: Mapping[str, Json] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Actor:
    """
    The agent acting for the subject (`act` claim, RFC 8693 section 4.1); only the outermost decides.

    *prior* are the ids of those it acts for in turn, the nearest first: history, recorded and never asked.
    """

    id: str
    roles: frozenset[str] = frozenset()
    prior: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Caller:
    """
    The resolved record of one verified token.

    *subject* is what `subject:` rows and `$identity: subject` mean. *claims* are the declared further claims only.
    *issued_at* and *expires_at* are in seconds since the epoch: the token identifies its caller while the time is
    before *expires_at*, which has the profile's leeway in it. *session* is the issuer's session (`sid`), "" where it
    names none. *key* names everything of the caller that can change a decision: two callers with equal keys are
    decided alike; it is computed by whoever builds the caller.
    """

    subject: str
    tenant: str
    roles: frozenset[str]
    actor: Actor | None = None
    claims: JsonObject = field(default_factory=lambda: _EMPTY, hash=False)
    token_id: str = ""
    issuer: str = ""
    expires_at: float = 0.0
    key: bytes = b""
    issued_at: float = 0.0
    session: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A `p` row. *until* is the last valid day (UTC). Its id in events, explain and tests is file:line."""

    sub: str
    dom: str
    obj: str
    act: str
    eft: Literal["allow", "deny"]
    until: dt.date | None
    ref: str
    place: Place

    @property
    def id(self) -> str:
        """Where the row stands, as `file:line`."""
        return f"{self.place.file}:{self.place.line}"


@dataclass(frozen=True, slots=True)
class Link:
    """A `g` row: *member* (a role, `subject:ID` or `actor:ID`) holds *role* in *dom* (`*` everywhere)."""

    member: str
    role: str
    dom: str
    until: dt.date | None
    ref: str
    place: Place


@dataclass(frozen=True, slots=True)
class Membership:
    """A `g2` row: *tool* belongs to *group* (`tools/…`)."""

    tool: str
    group: str
    until: dt.date | None
    ref: str
    place: Place


@dataclass(frozen=True, slots=True)
class Calendar:
    """
    Named hours or days: weekly (*days*, *start* inclusive, *end* exclusive) or *dates* (first and last inclusive).

    Weekdays count from Monday = 0. *exceptions* are dates on which a weekly calendar does not hold.
    """

    tz: str
    days: frozenset[int] = frozenset()
    start: dt.time | None = None
    end: dt.time | None = None
    dates: tuple[dt.date, dt.date] | None = None
    exceptions: frozenset[dt.date] = frozenset()


@dataclass(frozen=True, slots=True)
class Delegation:
    """What tenant folders may allow on tools (*tools*: tool names or groups) or give out with g (*roles*)."""

    tools: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Names:
    """
    The closed names of names.yaml.

    *roles* maps each role to the roles it excludes, written one way in the file and held both ways here.
    *types* maps each resource type to its actions. *settings* is the schema of every tenant's settings.
    """

    roles: Mapping[str, frozenset[str]]
    actors: frozenset[str]
    tenants: frozenset[str]
    types: Mapping[str, frozenset[str]]
    delegate: Delegation
    calendars: Mapping[str, Calendar]
    settings: Schema


@dataclass(frozen=True, slots=True)
class FactSpec:
    """A declared fact. *field* is the argument (JSON pointer) that an unmet condition on it is reported at."""

    name: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class ResourceSpec:
    """
    A resource a call names.

    *at* is a JSON pointer into the arguments (may hold `*`), or several joined with `@` whose values are joined the
    same way. *scope* `tenant` says that its loader looks only inside the caller's tenant. *attributes* is the
    JSON Schema of a loaded record, or None where nothing was declared.
    """

    name: str
    type: str
    at: str
    scope: Literal["tenant", "any"] = "any"
    attributes: Schema | None = None


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """
    A tool as its catalog file states it: data only, no functions.

    *schema* is the closed base schema of its arguments, *result* the schema of its results or None. *flags* maps an
    argument's JSON pointer to the flags set on it (`echo`, `secret`, `loggable`, `cursor`). *context* is what the
    application declares beside date, calendar, called and stage. *digest* is over all of it (SHA-256, RFC 8785 form).
    *schema_source* pins the file that *schema* was read from: its name, and the SHA-256 of its bytes.
    """

    name: str
    kind: Literal["read", "write"]
    action: str
    description: str
    use_when: str
    not_for: str
    schema: Schema
    result: Schema | None = None
    facts: Mapping[str, FactSpec] = field(default_factory=dict)
    resources: Mapping[str, ResourceSpec] = field(default_factory=dict)
    flags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    reasons: frozenset[str] = frozenset()
    context: Mapping[str, Schema] = field(default_factory=dict)
    digest: str = ""
    schema_source: Mapping[str, str] = field(default_factory=dict)


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


@dataclass(frozen=True, slots=True)
class TenantPolicy:
    """One tenant's folder: its limits by tool, and its settings with the defaults of names.yaml filled in."""

    limits: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict)
    settings: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicySet:
    """
    A whole policies folder, read and checked.

    *revision* is the content hash of everything that decides. *tenants* has every declared tenant; *any_tenant*
    stands for those that an issuer may assert by pattern. *profiles* is identity.yaml as plain data, checked for
    shape (`token` gives it meaning). *tests* holds the test files as data. *warnings* are findings that do not keep
    the folder from loading.
    """

    revision: str
    model: str
    names: Names
    rules: tuple[Rule, ...]
    links: tuple[Link, ...]
    memberships: tuple[Membership, ...]
    tools: Mapping[str, ToolPolicy]
    catalog: Mapping[str, ToolSpec]
    tenants: Mapping[str, TenantPolicy]
    profiles: JsonObject
    any_tenant: TenantPolicy = field(default_factory=TenantPolicy)
    tests: Mapping[str, JsonObject] = field(default_factory=dict)
    warnings: tuple[Finding, ...] = ()
