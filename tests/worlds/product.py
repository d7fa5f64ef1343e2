"""
What does the product say of a situation? The worlds' plain data as the product's own records, and `judge` on them.

The one place in these tests where gatewright and the worlds meet.
"""

from __future__ import annotations

from typing import Any

from gatewright.policy import situations as policy
from gatewright.policy.caller import Actor, Caller
from gatewright.policy.catalog import spec_from_json
from gatewright.policy.folder import load_policies
from gatewright.policy.model import Json, JsonObject
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import Source
from gatewright.policy.verdict import Verdict
from worlds.neighbours import Situation
from worlds.reader import World


class Functions:
    """A tool's functions as its developers wrote them; no business rules."""

    def __init__(self, world: World) -> None:
        self.world = world

    def rules(self, arguments: dict[str, Json], settings: JsonObject) -> dict[str, Json]:
        """No business rules."""
        return arguments

    def fact(self, name: str, arguments: JsonObject) -> Any:
        """The developer's function."""
        return self.world.facts[name](dict(arguments))


def snapshot_of(world: World) -> Snapshot:
    """The world's policies, loaded and compiled; raises PolicyInvalid."""
    catalog = {name: spec_from_json(spec) for name, spec in world.catalog.items()}
    return compile_snapshot(load_policies(Source.from_texts(world.texts), catalog))


def caller_of(plain: dict[str, Any]) -> Caller:
    """The product's record of a caller."""
    actor = plain["actor"] and Actor(plain["actor"]["id"], frozenset(plain["actor"]["roles"]))
    return Caller(plain["subject"], plain["tenant"], frozenset(plain["roles"]), actor or None, plain["claims"])


def stated_by(situation: Situation) -> policy.Situation:
    """The product's record of a situation."""
    return policy.Situation(
        caller=caller_of(situation.caller),
        tool=situation.tool,
        arguments=situation.arguments,
        now=situation.now,
        context=situation.context,
        things=situation.things,
        used=situation.used.get(situation.tool, {}),
        supply=Functions(situation.world),
    )


def verdict_of(snapshot: Snapshot, situation: Situation) -> Verdict:
    """The product's verdict."""
    verdict, _ = stated_by(situation).judge(snapshot)
    return verdict
