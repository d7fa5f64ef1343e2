"""
What do rows, names.yaml and the catalog state? The plain records, and the JSON, that everything else is made of.

Built by `rows`, `names` and `catalog`; read by everything. No behaviour beyond what can be derived from the fields.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from gatewright.policy.errors import Place

__all__ = [
    "Calendar",
    "Conditions",
    "Delegation",
    "FactSpec",
    "Json",
    "JsonObject",
    "Link",
    "Membership",
    "Names",
    "Pointer",
    "ResourceSpec",
    "Rule",
    "Schema",
    "ToolSpec",
]

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = "Mapping[str, Json]"
Schema: TypeAlias = "Mapping[str, Json]"
Pointer: TypeAlias = "tuple[str, ...]"
"""A JSON pointer's decoded tokens; `*` stands for every element or every property."""

Conditions: TypeAlias = "Mapping[str, Schema]"
"""Name → JSON Schema with `$use` already put in; references (`{"$identity": …}`) still stand in it."""


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
