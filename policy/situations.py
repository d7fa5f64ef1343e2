"""
What is true while a test's call is judged? Who calls what, when, over which records, with what used: all stated.

In come the plain data of a test and the developer's functions where they are at hand; out come a verdict, and what
the call would be shown and given. The one way from stated data to `judge`; nothing is loaded and no tool runs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from gatewright.policy.calendars import context_at
from gatewright.policy.caller import Caller
from gatewright.policy.conditions import ConditionSet
from gatewright.policy.cuts import CutResult, cut_result
from gatewright.policy.model import Conditions, Json, JsonObject, Schema, ToolSpec
from gatewright.policy.references import Unfilled, substitute
from gatewright.policy.screening import Supply, call_lookup
from gatewright.policy.settlement import NOT_LOADED, Record, Spent
from gatewright.policy.snapshot import Snapshot
from gatewright.policy.toolfile import Budget
from gatewright.policy.verdict import Verdict, judge
from gatewright.policy.view import View

__all__ = ["Situation", "Stated", "Unknown"]

_HASH_KEY: Final = b"tests"


class Unknown(Exception):
    """A fact that is neither stated nor computed by a function at hand; *name* is its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(name)


@dataclass(slots=True)
class Situation:
    """
    One call and all that it is judged by.

    *now* has a zone. *context* is what the application declares, with `called` where it matters. *things* are records
    by `type:id`; one of another tenant is absent to a loader of scope `tenant`. *used* says how much of the tool's
    budgets is used: `calls` and `sum`. *facts* are stated values; *supply* are the tool's own functions, None where
    they are not at hand.
    """

    caller: Caller
    tool: str
    arguments: JsonObject
    now: dt.datetime
    context: JsonObject = field(default_factory=dict)
    things: Mapping[str, JsonObject] = field(default_factory=dict)
    used: Mapping[str, float] = field(default_factory=dict)
    facts: JsonObject = field(default_factory=dict)
    supply: Supply | None = None

    def context_in(self, snapshot: Snapshot) -> dict[str, Json]:
        """The context that the call is judged by."""
        declared = {name: value for name, value in self.context.items() if name != "called"}
        called = tuple(cast("list[str]", self.context.get("called", ())))
        return context_at(snapshot.policies.names.calendars, self.now, called, declared)

    def view(self, snapshot: Snapshot) -> View | None:
        """What the caller has of the tool, stages asked."""
        view = snapshot.view(self.caller, self.tool, self.now.astimezone(dt.UTC).date())
        policy = snapshot.policies.tools.get(self.tool)
        if view is None or policy is None:
            return None
        return view if policy.stages is None or self.context.get("stage") in policy.stages else None

    def judge(self, snapshot: Snapshot) -> tuple[Verdict, Stated]:
        """The verdict, and the facts it was made of, which say what was not known."""
        stated = Stated(self, snapshot.policies.catalog.get(self.tool))
        return judge(snapshot, self.caller, self.tool, self.arguments, stated, self.context_in(snapshot)), stated

    def cut(self, snapshot: Snapshot, verdict: Verdict, value: Json) -> CutResult:
        """What may leave of *value*, which the tool returned to an allowed call."""
        candidate, view = verdict.candidate, self.view(snapshot)
        if candidate is None or view is None:
            return CutResult(None, outcome="forbidden")
        stated = Stated(self, view.spec)
        lookup = call_lookup(view, candidate, stated, self.context_in(snapshot))

        def satisfies(conditions: Conditions, data: JsonObject) -> bool:
            try:
                filled = {name: cast("Schema", substitute(schema, lookup)) for name, schema in conditions.items()}
            except Unfilled:
                return False
            return not ConditionSet(filled).unmet(data, lookup)

        return cut_result(value, verdict.cuts, _HASH_KEY, satisfies)


class Stated:
    """
    All that a judgement may ask for, from a situation: `Facts` of `verdict`.

    *unknown* names the facts that were asked for and could not be told, *untrue* those whose function says otherwise
    than was stated.
    """

    def __init__(self, situation: Situation, spec: ToolSpec | None) -> None:
        self._situation = situation
        self._spec = spec
        self.unknown: set[str] = set()
        self.untrue: set[str] = set()

    def rules(self, arguments: dict[str, Json], settings: JsonObject) -> Mapping[str, object]:
        """The business rules where they are at hand, else the arguments as they are."""
        supply = self._situation.supply
        return arguments if supply is None else supply.rules(arguments, settings)

    def fact(self, name: str, arguments: JsonObject) -> Json:
        """The fact as its function computes it, else as it is stated."""
        stated, supply = self._situation.facts, self._situation.supply
        if supply is not None:
            found = supply.fact(name, arguments)
            if name in stated and stated[name] != found:
                self.untrue.add(name)
            return found
        if name not in stated:
            self.unknown.add(name)
            raise Unknown(name)
        return stated[name]

    def record(self, name: str, identity: str) -> Record:
        """The record that the tool's loader would find; a tenant that its type does not declare is left out."""
        if self._spec is None:
            return NOT_LOADED
        resource = self._spec.resources[name]
        record = self._situation.things.get(f"{resource.type}:{identity}")
        if record is None:
            return None
        tenant = record.get("tenant", self._situation.caller.tenant)
        if resource.scope == "tenant" and tenant != self._situation.caller.tenant:
            return None
        declared = cast("JsonObject", (resource.attributes or {}).get("properties", {}))
        is_said = resource.attributes is None or "tenant" in declared
        return record if is_said else {key: value for key, value in record.items() if key != "tenant"}

    def spent(self, budget: Budget) -> Spent:  # noqa: ARG002 - one figure is stated for all budgets
        """What is stated as used."""
        used = self._situation.used
        return Spent(int(used.get("calls", 0)), used.get("sum", 0))
