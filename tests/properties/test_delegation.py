"""
What an agent may do for a subject is what both may do: random policies, subjects, agents and chains of agents.

Each caller comes from a payload, through the same reading of claims as a token's. What an agent may do by itself is
asked with a subject that every asked row is granted to.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from crafting import NOW, no_file
from gatewright.middleware.claims import resolve_caller
from gatewright.middleware.delegation import MOST_ACTORS
from gatewright.middleware.profiles import Profile, Profiles
from gatewright.middleware.token import build_verifier
from gatewright.middleware.unverified import Unverified
from gatewright.policy.engine import Engine, compile_engine
from gatewright.testing import FakeClock, FakeIssuer
from small_policies import ACTORS, ROLES, TENANTS, TODAY, TOOLS, policies_of

pytestmark = pytest.mark.promise("P7")

ISSUER = FakeIssuer(algorithm="EdDSA", clock=FakeClock(NOW))
SUBJECTS = ("ann", "bea", "bot", "analyst")
AGENTS = ("bot", "desk-bot", "ann", "copilot")
GROUPS = ("tools/reading", "tools/desk")
OBJECTS = [
    *((tool, "call") for tool in TOOLS),
    ("service:a", "read"),
    ("service:a-1", "mute"),
    ("invoice:eu/a", "read"),
]
PATTERNS = ("logs.*", "service:*", "service:a-*", "invoice:*", *GROUPS, *(obj for obj, _ in OBJECTS))
HOLDERS = (*ROLES, *ACTORS, "*", *(f"subject:{name}" for name in SUBJECTS), *(f"actor:{name}" for name in AGENTS))


def invent(dice: random.Random) -> str:
    """A policy.csv with rows for subjects, roles, agents and everyone, and a subject `root` that may do all."""
    rows = [f"g2, {dice.choice(TOOLS)}, {group}" for group in GROUPS for _ in range(2)]
    rows += [f"g, actor:{dice.choice(AGENTS)}, {dice.choice(ACTORS)}, {dice.choice(TENANTS)}" for _ in range(3)]
    rows += [f"g, {', '.join(dice.sample(ROLES, 2))}, *"]
    rows += [_rule(dice) for _ in range(dice.randint(15, 40))]
    rows += [f"p, subject:root, *, {obj}, {act}, allow" for obj, act in OBJECTS]
    return "\n".join(dict.fromkeys(rows)) + "\n"


def _rule(dice: random.Random) -> str:
    pattern = dice.choice(PATTERNS)
    action = (
        "call" if ":" not in pattern else ("read" if pattern.startswith("invoice") else dice.choice(["read", "mute"]))
    )
    tenant = dice.choice([*TENANTS, "*"])
    effect = "deny" if dice.random() < 0.15 else "allow"
    return f"p, {dice.choice(HOLDERS)}, {tenant}, {pattern}, {action}, {effect}"


class World:
    """One policy with the profile that its callers come from."""

    def __init__(self, dice: random.Random) -> None:
        policies = policies_of(invent(dice))
        self.engine: Engine = compile_engine(policies)
        data: Any = {"issuers": [ISSUER.profile(TENANTS)]}
        self.profiles: Profiles = build_verifier(data, policies.names, no_file).profiles
        self.profile: Profile = self.profiles.by_issuer[ISSUER.issuer]

    def may(self, sub: str, tenant: str, roles: list[str], act: Any) -> frozenset[tuple[str, str]]:
        """What the caller of a token with these claims may do. Raises Unverified."""
        payload = ISSUER.claims(sub, tenant, roles, act=act)
        caller = resolve_caller(payload, self.profile, self.profiles, NOW)
        standing = self.engine.standing(caller, TODAY)
        return frozenset(asked for asked in OBJECTS if self.engine.decide(standing, *asked).allowed)


def chain_of(dice: random.Random, depth: int) -> dict[str, Any]:
    """A chain of random agents, the outermost first, each with roles of its own."""
    chain: dict[str, Any] | None = None
    for _ in range(depth):
        roles = dice.sample([*ACTORS, *ROLES], dice.randint(0, 3))
        chain = {"sub": dice.choice(AGENTS), "roles": roles, **({} if chain is None else {"act": chain})}
    return chain or {}


def compare(seed: int, worlds: int, callers: int) -> tuple[int, int, int]:
    """Return how many triples were tried, refused as too deep, and in how many an agent could do something."""
    dice = random.Random(seed)
    tried = deep = able = 0
    for _ in range(worlds):
        world = World(dice)
        for _ in range(callers):
            tried += 1
            sub, tenant = dice.choice(SUBJECTS), dice.choice(TENANTS)
            roles = dice.sample(ROLES, dice.randint(0, 3))
            depth = dice.randint(1, MOST_ACTORS + 1)
            chain = chain_of(dice, depth)
            if depth > MOST_ACTORS:
                deep += 1
                with pytest.raises(Unverified):
                    world.may(sub, tenant, roles, chain)
                continue
            together = world.may(sub, tenant, roles, chain)
            outermost = {"sub": chain["sub"], "roles": chain["roles"]}
            assert together <= world.may(sub, tenant, roles, None), (sub, tenant, roles, chain)
            assert together <= world.may("root", tenant, [], outermost), (sub, tenant, roles, chain)
            assert together == world.may(sub, tenant, roles, outermost), "an inner agent decided"
            able += bool(together)
    return tried, deep, able


def test_no_agent_exceeds_its_subject_or_itself() -> None:
    """Ten thousand random triples of subject, agent and chain; the agents inside change nothing, five are refused."""
    tried, deep, able = compare(8693, 50, 200)
    assert tried == 10_000
    assert deep > 1_000
    assert able > 500


@pytest.mark.long
def test_no_agent_exceeds_its_subject_or_itself_in_a_hundred_thousand_triples() -> None:
    """The same, ten times as often."""
    assert compare(9068, 500, 200)[0] == 100_000
