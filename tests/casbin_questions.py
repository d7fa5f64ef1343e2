"""Random rows of a policy with roles and tenants, and questions about what they say or come near to saying."""

from __future__ import annotations

import random
from dataclasses import dataclass

from gatewright.policy.caller import Actor
from small_policies import ACTORS, ROLES, TENANTS, TOOLS, TYPES

SUBJECTS = ("ann", "bea", "viewer")
BOTS = ("bot", "copilot")
GROUPS = ("tools/reading", "tools/desk")
IDS = ("a", "a-1", "a-12", "eu/a", "eu/b", "eu:a", "a.b")
PATTERNS = {"tools": ("logs.*", "notes-*", "p.*", "notes-add-*"), "ids": ("*", "a-*", "eu/*", "eu:*", "a.*")}


@dataclass(frozen=True)
class Request:
    """One question. *through* None asks through every role held."""

    tenant: str
    subject: str
    roles: frozenset[str]
    actor: Actor | None
    obj: str
    act: str
    through: tuple[str, ...] | None


def invent(dice: random.Random) -> list[str]:
    """A policy.csv of at most 30 rows, in any order."""
    rows = [f"g2, {dice.choice(TOOLS)}, {group}" for group in GROUPS for _ in range(dice.randint(1, 2))]
    rows += [_link(dice) for _ in range(dice.randint(1, 8))]
    rows += [_rule(dice) for _ in range(dice.randint(6, 18))]
    rows = list(dict.fromkeys(rows))
    dice.shuffle(rows)
    return rows


def _link(dice: random.Random) -> str:
    if dice.random() < 0.2:
        return f"g, actor:{dice.choice(BOTS)}, {dice.choice(ACTORS)}, {dice.choice(TENANTS)}"
    member, role = dice.sample(ROLES, 2)
    if dice.random() < 0.3:
        member = f"subject:{dice.choice(SUBJECTS)}"
    return f"g, {member}, {role}, {dice.choice(('*', *TENANTS))}"


def _rule(dice: random.Random) -> str:
    ids = (f"subject:{dice.choice(SUBJECTS)}", f"actor:{dice.choice(BOTS)}", "*")
    sub = dice.choice(ROLES + ROLES + ACTORS + ids)
    effect = "deny" if dice.random() < 0.25 else "allow"
    domain = dice.choice(("*", "*", *TENANTS))
    if effect == "deny" and dice.random() < 0.1:
        return f"p, {sub}, {domain}, *, {dice.choice(('*', 'call', 'read'))}, deny"
    if dice.random() < 0.5:
        obj, acts = dice.choice((*TOOLS, *GROUPS, *PATTERNS["tools"])), ("call", "call", "approve", "*")
        return f"p, {sub}, {domain}, {obj}, {dice.choice(acts)}, {effect}"
    kind = dice.choice(list(TYPES))
    return (
        f"p, {sub}, {domain}, {kind}:{dice.choice(IDS + PATTERNS['ids'])}, {dice.choice((*TYPES[kind], '*'))}, {effect}"
    )


def ask(dice: random.Random, rows: list[str]) -> Request:
    """A question about what one of *rows* says, or near it."""
    sub, dom, obj, act, _ = dice.choice([row for row in rows if row.startswith("p, ")]).split(", ")[1:]
    roles = set(dice.sample(ROLES, dice.randint(0, 3))) | ({sub} if sub in ROLES and dice.random() < 0.8 else set())
    actor = Actor(dice.choice(BOTS), frozenset(dice.sample(ACTORS, dice.randint(0, 2))))
    asked = [*sorted(roles), dice.choice(ROLES)]
    return Request(
        tenant=dom if dom != "*" and dice.random() < 0.8 else dice.choice((*TENANTS, "elsewhere")),
        subject=sub.partition(":")[2] if sub.startswith("subject:") else dice.choice((*SUBJECTS, "stranger")),
        roles=frozenset(roles),
        actor=actor if sub in ACTORS or dice.random() < 0.2 else None,
        obj=_object(dice, obj),
        act=_action(dice, obj) if act == "*" or dice.random() < 0.2 else act,
        through=tuple(dice.sample(asked, dice.randint(1, len(asked)))) if dice.random() < 0.6 else None,
    )


def _object(dice: random.Random, obj: str) -> str:
    """Something that a row about *obj* is about, or something near that."""
    if obj == "*" or obj.startswith("tools/"):
        obj = dice.choice(TOOLS)
    elif obj.endswith("*"):
        obj = obj.removesuffix("*") + dice.choice(IDS)
    return _near(dice, obj) if dice.random() < 0.2 else obj


def _action(dice: random.Random, obj: str) -> str:
    return dice.choice((*TYPES.get(obj.partition(":")[0], ("call", "approve")), "Call", "nothing"))


def _near(dice: random.Random, obj: str) -> str:
    at = dice.randrange(len(obj))
    return dice.choice((obj[:at] + obj[at + 1 :], obj[:at] + "x" + obj[at + 1 :], f"{obj}\n", obj.upper(), f"{obj}/x"))
