"""
What does the product say of a situation? The worlds' plain data as the product's own records, and `judge` on them.

The one place in these tests where gatewright and the worlds meet.
"""

from __future__ import annotations

from typing import Any

from gatewright.policy.calendars import context_at
from gatewright.policy.catalog import spec_from_json
from gatewright.policy.folder import load_policies
from gatewright.policy.model import Actor, Budget, Caller, Json, JsonObject
from gatewright.policy.settlement import Spent
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import Source
from gatewright.policy.verdict import Verdict, judge
from worlds.neighbours import Situation
from worlds.reader import World


class AtHand:
    """All that a judgement may ask for, from a situation's plain data."""

    def __init__(self, situation: Situation) -> None:
        self.situation = situation
        self.tool = situation.world.catalog.get(situation.tool, {})

    def rules(self, arguments: dict[str, Json], settings: JsonObject) -> dict[str, Json]:
        """No business rules."""
        return arguments

    def fact(self, name: str, arguments: JsonObject) -> Any:
        """The developer's function."""
        return self.situation.world.facts[name](dict(arguments))

    def record(self, name: str, identity: str) -> Any:
        """The record that the tool's loader would find."""
        declared = self.tool["resources"][name]
        record = self.situation.things.get(f"{declared['type']}:{identity}")
        foreign = record is not None and record.get("tenant") != self.situation.caller["tenant"]
        return None if declared["scope"] == "tenant" and foreign else record

    def spent(self, budget: Budget) -> Spent:
        """What the situation says is used."""
        used = self.situation.used.get(self.situation.tool, {})
        return Spent(used.get("calls", 0), used.get("sum", 0))


def snapshot_of(world: World) -> Snapshot:
    """The world's policies, loaded and compiled; raises PolicyInvalid."""
    catalog = {name: spec_from_json(spec) for name, spec in world.catalog.items()}
    return compile_snapshot(load_policies(Source.from_texts(world.texts), catalog))


def caller_of(plain: dict[str, Any]) -> Caller:
    """The product's record of a caller."""
    actor = plain["actor"] and Actor(plain["actor"]["id"], frozenset(plain["actor"]["roles"]))
    return Caller(plain["subject"], plain["tenant"], frozenset(plain["roles"]), actor or None, plain["claims"])


def verdict_of(snapshot: Snapshot, situation: Situation) -> Verdict:
    """The product's verdict."""
    declared = {name: item for name, item in situation.context.items() if name != "called"}
    called = tuple(situation.context.get("called", ()))
    context = context_at(snapshot.policies.names.calendars, situation.now, called, declared)
    caller, facts = caller_of(situation.caller), AtHand(situation)
    return judge(snapshot, caller, situation.tool, situation.arguments, facts, context)
