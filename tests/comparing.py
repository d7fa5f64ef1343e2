"""Jobs of the long comparison with the reference decider, for processes of their own: counts and faults come out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator

from casbin_questions import Request, ask
from casbin_questions import invent as invent_rows
from gatewright.policy.engine import Engine
from reference.folder import read_policies
from reference.grants import Standing, is_granted, standing
from small_policies import TODAY, caller, engine_of, names_yaml
from worlds.invented import invent
from worlds.neighbours import Situation, neighbours
from worlds.reader import World
from worlds.shelf import world_named
from worlds.strangers import garbage, well_typed
from worlds.test_agreement import disagreements

Makes = Callable[[World, int, int], Iterator[Situation]]
KINDS: dict[str, Makes] = {"near": neighbours, "typed": well_typed, "garbage": garbage}


def compare(job: tuple[str, str, int, int]) -> tuple[Counter[str], list[str]]:
    """Compare the calls of (kind, name of a world or number of an invented one, seed, count)."""
    kind, name, seed, count = job
    if kind == "rows":
        return _compare_rows(seed, count)
    world = invent(int(name)) if name.isdigit() else world_named(name)
    seen: Counter[str] = Counter()
    faults = list(disagreements(world, KINDS[kind](world, seed, count), seen))
    return seen, faults


def _compare_rows(seed: int, count: int) -> tuple[Counter[str], list[str]]:
    """Casbin's half alone: random rows, and *count* questions about them."""
    dice = random.Random(seed)
    rows = invent_rows(dice)
    engine = engine_of("\n".join(rows))
    plain = read_policies({"policy.csv": "\n".join(rows), "names.yaml": names_yaml()})
    seen: Counter[str] = Counter()
    faults = []
    for asked in (ask(dice, rows) for _ in range(count)):
        ours, theirs = _ours(engine, asked), _theirs(plain, asked)
        seen["allowed" if theirs else "denied"] += 1
        if ours is not theirs:
            faults.append(f"{asked}\n  ours {ours}, reference {theirs}, over\n" + "\n".join(rows))
    return seen, faults


def _ours(engine: Engine, asked: Request) -> bool:
    who = caller(*asked.roles, subject=asked.subject, tenant=asked.tenant, actor=asked.actor)
    return engine.decide(engine.standing(who, TODAY), asked.obj, asked.act, asked.through).allowed


def _theirs(plain: dict[str, object], asked: Request) -> bool:
    actor = asked.actor and {"id": asked.actor.id, "roles": sorted(asked.actor.roles)}
    who: Standing = standing(
        plain,
        {"tenant": asked.tenant, "subject": asked.subject, "roles": sorted(asked.roles), "actor": actor},
        TODAY,
    )
    through = who.roles if asked.through is None else [role for role in asked.through if role in who.roles]
    return is_granted(who, through, asked.obj, asked.act)
