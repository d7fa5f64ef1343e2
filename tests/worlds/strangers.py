"""
What lies further away from a world's cases? Calls of the right types, and calls of no type at all.

Between the two are the `neighbours`. Deterministic: the same seed gives the same calls on every machine.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

from worlds.neighbours import Situation, situation_of
from worlds.reader import World

WORDS = (
    "",
    "*",
    "call",
    "ann\n",
    "é",
    "a" * 200,
    "../x",
    "null",
    "tools/desk",
    "subject:ann",
    "__class__",
    "0",
    "$identity",
)
NUMBERS = (0, -0.0, 1, -1, 0.1, 1e300, 2**53 - 1, -(2**53) + 1, 3.0, True, False)
_BLANKS: dict[str, Any] = {"integer": 7, "number": 2.5, "boolean": True, "string": "x", "array": [], "object": {}}


def well_typed(world: World, seed: int, count: int) -> Iterator[Situation]:
    """*count* calls whose every argument is of its type, with values that other cases have, by any of the callers."""
    chance = random.Random(f"typed {world.name} {seed}")
    for _ in range(count):
        situation = situation_of(world, chance.choice(world.cases))
        if chance.random() < 0.5:
            situation.person = chance.choice(list(world.callers))
            situation.caller = copy.deepcopy(world.callers[situation.person])
        properties = world.catalog.get(situation.tool, {}).get("schema", {}).get("properties", {})
        for name in [*situation.arguments]:
            if name in properties and chance.random() < 0.4:
                situation.arguments[name] = _value_of(world, name, properties[name], chance)
        yield situation


def _value_of(world: World, name: str, schema: dict[str, Any], chance: random.Random) -> Any:
    seen = [case.arguments[name] for case in world.cases if name in case.arguments]
    found = [*seen, *schema.get("enum", ()), _BLANKS.get(str(schema.get("type")), "x")]
    return copy.deepcopy(chance.choice(found))


def garbage(world: World, seed: int, count: int) -> Iterator[Situation]:
    """*count* calls with values, names, roles and contexts of any kind in any place."""
    chance = random.Random(f"garbage {world.name} {seed}")
    for _ in range(count):
        situation = situation_of(world, chance.choice(world.cases))
        for _ in range(chance.randint(1, 3)):
            chance.choice((_garble_argument, _garble_argument, _garble_all, _garble_tool, _garble_caller))(
                situation, chance
            )
        yield situation


def _garble_argument(situation: Situation, chance: random.Random) -> None:
    names = [*situation.arguments, chance.choice(WORDS)]
    situation.arguments[chance.choice(names)] = _anything(chance, 3)


def _garble_all(situation: Situation, chance: random.Random) -> None:
    situation.arguments = {chance.choice(WORDS): _anything(chance, 3) for _ in range(chance.randint(0, 4))}


def _garble_tool(situation: Situation, chance: random.Random) -> None:
    situation.tool = chance.choice((*WORDS, situation.tool.upper(), f"{situation.tool} ", situation.tool[:-1]))


def _garble_caller(situation: Situation, chance: random.Random) -> None:
    key = chance.choice(("subject", "tenant", "roles"))
    word = chance.choice(WORDS)
    situation.caller[key] = [word, *situation.caller["roles"]] if key == "roles" else word


def _anything(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(6 if depth else 4)
    if kind < 2:
        return chance.choice(WORDS)
    if kind < 4:
        return chance.choice((*NUMBERS, None))
    if kind == 4:
        return [_anything(chance, depth - 1) for _ in range(chance.randint(0, 3))]
    return {chance.choice(WORDS): _anything(chance, depth - 1) for _ in range(chance.randint(0, 3))}
