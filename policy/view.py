"""
What has one caller of one tool? The open entries, the role schema and a digest of it all.

In come a snapshot's policies, a caller and a tool's name; out comes a `View`, or None where nothing is open. The same
steps run for a hidden and a made-up name.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, cast

from gatewright.policy.caller import Caller
from gatewright.policy.dialect import SchemaValidator, compile_schema
from gatewright.policy.digests import digest_of
from gatewright.policy.engine import Engine, Standing
from gatewright.policy.model import Json, JsonObject, Schema, ToolSpec
from gatewright.policy.narrowing import any_of, narrow
from gatewright.policy.policyset import PolicySet
from gatewright.policy.references import Lookup, Unfilled, early_lookup
from gatewright.policy.strict import Nulls, make_strict
from gatewright.policy.template import OpenEntry, open_entry, with_reason
from gatewright.policy.toolfile import Limit, ToolPolicy

__all__ = ["View", "applies", "caller_key", "open_view"]

_MOST_SHOWN = 256
_CLOSED = ToolPolicy("")
_TEXT: Final = "\x7f"
_BLANKS: Final[Mapping[str, Json]] = {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}


class View:
    """
    What one caller has of one tool under one revision. Immutable; compiled schemas are made when first asked.

    *entries* stand in the order of the tool file. *rows* are the ids of the Casbin rows that settled the call.
    """

    def __init__(
        self,
        caller: Caller,
        standing: Standing,
        spec: ToolSpec,
        entries: tuple[OpenEntry, ...],
        policies: PolicySet,
        engine: Engine,
        refusal: str | None,
        rows: tuple[str, ...],
    ) -> None:
        self.caller = caller
        self.standing = standing
        self.spec = spec
        self.entries = entries
        self.engine = engine
        self.revision: str = policies.revision
        self.settings: JsonObject = policies.tenants.get(caller.tenant, policies.any_tenant).settings
        self.refusal = refusal
        self.rows = rows
        self.lookup: Lookup = early_lookup(caller, self.settings)

    @cached_property
    def schema(self) -> Schema:
        """
        The role schema: exactly what an entry accepts, for any of the open entries.

        A limit with `unless` counts as on here: what is shown is accepted whether or not it is off.
        """
        return any_of([_shown(entry) for entry in self.entries])

    @cached_property
    def attributes(self) -> dict[str, SchemaValidator]:
        """What the catalog declares of each resource's records, compiled; what declares nothing is left out."""
        stated = {name: each.attributes for name, each in self.spec.resources.items()}
        return {name: compile_schema(schema) for name, schema in stated.items() if schema is not None}

    @cached_property
    def dummies(self) -> dict[str, JsonObject]:
        """A record of the declared shape for each resource, to go the way of one that is absent."""
        return {name: _dummy(each.attributes or {}) for name, each in self.spec.resources.items()}

    @cached_property
    def blanks(self) -> dict[str, JsonObject]:
        """What an absent record says where a condition on another one asks: the dummies, no text of them empty."""
        return {
            name: {attribute: _TEXT if value == "" else value for attribute, value in dummy.items()}
            for name, dummy in self.dummies.items()
        }

    @cached_property
    def schema_digest(self) -> str:
        """SHA-256 over the role schema in RFC 8785 form, in hex."""
        return digest_of(self.schema)

    @cached_property
    def nulls(self) -> Nulls:
        """Where null means "left out" in arguments of the strict rendering."""
        return make_strict(self.schema).nulls

    @cached_property
    def digest(self) -> str:
        """Digest of all that this caller has of the tool; cursors, approvals and lists bind to it."""
        parts = [
            [entry.id, sorted(entry.roles), repr(entry.cuts), repr(entry.duties), digest_of(entry.arguments.shown)]
            for entry in self.entries
        ]
        return digest_of([self.spec.name, self.spec.digest, self.schema_digest, parts])


def open_view(policies: PolicySet, engine: Engine, caller: Caller, tool: str, today: dt.date) -> View | None:
    """
    Return what *caller* has of *tool* on the day *today* (UTC), or None where no entry is open.

    Stages are not asked here; they belong to the call.
    """
    standing = engine.standing(caller, today)
    spec = policies.catalog.get(tool)
    policy = policies.tools.get(tool, _CLOSED)
    tenant = policies.tenants.get(caller.tenant, policies.any_tenant)
    decision = engine.decide(standing, tool, "call")
    if not decision.allowed or standing.excluded or spec is None:
        return None
    limits = (*policy.limits, *tenant.limits.get(tool, ()))
    entries = []
    for entry in policy.allow or ():
        roles = engine.opening_roles(standing, entry.roles, tool)
        if not roles:
            continue
        try:
            applying = [limit for limit in limits if applies(limit, entry.id, standing)]
            lookup = early_lookup(caller, tenant.settings)
            entries.append(open_entry(spec, entry, roles, applying, lookup, _Granted(engine, standing, roles)))
        except Unfilled:
            continue
    if not entries:
        return None
    return View(caller, standing, spec, tuple(entries), policies, engine, policy.refusal, decision.rows)


def _dummy(attributes: Schema) -> JsonObject:
    properties = cast("Mapping[str, Schema]", attributes.get("properties", {}))
    return {name: _BLANKS.get(str(each.get("type")), "") for name, each in properties.items()}


def caller_key(caller: Caller) -> bytes:
    """Everything of *caller* that can change a decision, as bytes; typed, so that 1, 1.0 and True differ."""
    if caller.key:
        return caller.key
    actor = None if caller.actor is None else [caller.actor.id, sorted(caller.actor.roles)]
    return repr(
        [caller.issuer, caller.subject, caller.tenant, sorted(caller.roles), actor, sorted(caller.claims.items())]
    ).encode("utf-8", "surrogatepass")


def applies(limit: Limit, entry: str, standing: Standing) -> bool:
    """Answer whether *limit* takes from the entry with the id *entry* for who *standing* is, `unless` aside."""
    if limit.tenant is not None and limit.tenant != standing.tenant:
        return False
    if limit.entries is not None and entry not in limit.entries:
        return False
    if limit.roles is not None and not limit.roles & standing.roles:
        return False
    return limit.actors is None or bool(limit.actors & standing.actor_roles)


@dataclass(frozen=True, slots=True)
class _Granted:
    """What is granted to the roles that opened an entry: an enum of literal ids where no grant is by pattern."""

    engine: Engine
    standing: Standing
    roles: frozenset[str]

    def show(self, kind: str, action: str) -> Schema:
        granted = self.engine.granted(self.standing, self.roles, kind, action)
        if not (granted.open or granted.ids):
            raise Unfilled("$granted")
        if granted.open or len(granted.ids) > _MOST_SHOWN:
            return {"type": "string"}
        return {"type": "string", "enum": sorted(granted.ids)}

    def allow(self, kind: str, action: str, value: Json) -> bool:
        if not isinstance(value, str):
            return False
        return self.engine.decide(self.standing, f"{kind}:{value}", action, self.roles).allowed


def _shown(entry: OpenEntry) -> Schema:
    shown = entry.arguments.shown
    for conditional in entry.conditional:
        for overlay in conditional.arguments.overlaid if conditional.arguments else ():
            shown = narrow(shown, overlay)
        if conditional.part.duties.reason:
            shown = with_reason(shown, required=True)
    return shown
