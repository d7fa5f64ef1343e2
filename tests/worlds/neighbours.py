"""
What lies next to a world's cases? Seeded variations of them: another value, name, caller, tool, time, thing or use.

Deterministic: the same seed gives the same variations on every machine.
"""

from __future__ import annotations

import copy
import datetime as dt
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from worlds.reader import Case, World

ODD = [0, -1, 1, 2.5, 3.0, True, False, None, "", "*", "x", "x\n", "a*", [], {}, 10**6, "no", [1], {"a": 1}]
DAYS = [-40, -1, 1, 3, 4, 53, 55, 58, 67]
HOURS = [-23, -3, -2, 1, 8, 9, 11, 14]


@dataclass
class Situation:
    """One call and all that it is judged by."""

    world: World
    person: str
    caller: dict[str, Any]
    tool: str
    arguments: dict[str, Any]
    now: dt.datetime
    context: dict[str, Any] = field(default_factory=dict)
    things: dict[str, dict[str, Any]] = field(default_factory=dict)
    used: dict[str, Any] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)


def situation_of(world: World, case: Case) -> Situation:
    """The case itself, free to be varied."""
    extra = copy.deepcopy(case.extra)
    return Situation(
        world=world,
        person=case.person,
        caller=copy.deepcopy(world.callers[case.person]),
        tool=case.tool,
        arguments=copy.deepcopy(case.arguments),
        now=world.time_of(case),
        context=extra.get("context", {}),
        things=copy.deepcopy(world.things_of(case)),
        used=extra.get("used", {}),
    )


def neighbours(world: World, seed: int, count: int) -> Iterator[Situation]:
    """*count* variations of the world's cases, one to three changes each."""
    chance = random.Random(f"{world.name} {seed}")
    for _ in range(count):
        situation = situation_of(world, chance.choice(world.cases))
        for _ in range(chance.choice((1, 1, 1, 2, 2, 3))):
            change = chance.choices(CHANGES, WEIGHTS)[0]
            change(situation, chance)
            situation.steps.append(change.__name__)
        yield situation


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from _leaves(item, (*path, key))


def _place(value: Any, path: tuple[Any, ...]) -> tuple[Any, Any]:
    for key in path[:-1]:
        value = value[key]
    return value, path[-1]


def _values(situation: Situation, like: Any) -> list[Any]:
    """Values of the kind of *like* that the world's cases, things and schemas hold."""
    world = situation.world
    found: list[Any] = [key.split(":", 1)[1] for key in situation.things] if isinstance(like, str) else []
    for case in world.cases:
        for path in _leaves(case.arguments):
            holder, key = _place(case.arguments, path)
            if type(holder[key]) is type(like):
                found.append(holder[key])
    return found


def change_value(situation: Situation, chance: random.Random) -> None:
    """Another value at one place of the arguments, likely of the same kind."""
    paths = list(_leaves(situation.arguments))
    if not paths:
        return
    holder, key = _place(situation.arguments, chance.choice(paths))
    old = holder[key]
    number = isinstance(old, int | float) and not isinstance(old, bool)
    near = [old + step for step in (-100, -10, -1, 1, 10, 100, 1000)] + [-old, old * 3] if number else []
    pool = near + _values(situation, old)
    holder[key] = copy.deepcopy(chance.choice(pool if pool and chance.random() < 0.75 else ODD))


def drop_value(situation: Situation, chance: random.Random) -> None:
    """One argument, member or element less."""
    if paths := list(_leaves(situation.arguments)):
        holder, key = _place(situation.arguments, chance.choice(paths))
        del holder[key]


def repeat_element(situation: Situation, chance: random.Random) -> None:
    """One element of a list twice."""
    lists = [path for path in _leaves(situation.arguments) if isinstance(path[-1], int)]
    if lists:
        holder, key = _place(situation.arguments, chance.choice(lists))
        holder.append(copy.deepcopy(holder[key]))


def add_argument(situation: Situation, chance: random.Random) -> None:
    """An argument that the base schema has, a made-up one, or a reason."""
    schema = situation.world.catalog.get(situation.tool, {}).get("schema", {}).get("properties", {})
    name = chance.choice([*schema, *schema, "_reason", "tenant"])
    part = schema.get(name, {"type": "string"})
    kinds = {"integer": 1, "number": 1, "boolean": True, "string": "x", "array": [], "object": {}}
    pool = part.get("enum") or _values(situation, kinds.get(part.get("type"), "x"))
    pool = [*pool, *([part["default"]] if "default" in part else []), "because it must be"]
    situation.arguments[name] = copy.deepcopy(chance.choice(pool if chance.random() < 0.8 else ODD))


def change_member(situation: Situation, chance: random.Random) -> None:
    """A member more in one of the objects inside the arguments."""
    objects = [path for path in _leaves(situation.arguments) if _is_object(situation.arguments, path)]
    if objects:
        holder, key = _place(situation.arguments, chance.choice(objects))
        holder[key][chance.choice(["tax", "express", "SKIP_TESTS", "extra"])] = chance.choice([0, True, "x", 1])


def _is_object(arguments: Any, path: tuple[Any, ...]) -> bool:
    holder, key = _place(arguments, path)
    return isinstance(holder[key], dict)


def change_person(situation: Situation, chance: random.Random) -> None:
    """Another caller."""
    situation.person = chance.choice(list(situation.world.callers))
    situation.caller = copy.deepcopy(situation.world.callers[situation.person])


def change_caller(situation: Situation, chance: random.Random) -> None:
    """The same caller with another role, claim, tenant or actor."""
    caller, others = situation.caller, list(situation.world.callers.values())
    other = chance.choice(others)
    what = chance.choice(["roles", "more roles", "claims", "claim", "tenant", "actor"])
    if what == "more roles":
        caller["roles"] = [*caller["roles"], *other["roles"]]
    elif what == "claim":
        if caller["claims"]:
            caller["claims"].pop(chance.choice(sorted(caller["claims"])))
    else:
        caller[what] = copy.deepcopy(other[what])


def change_tool(situation: Situation, chance: random.Random) -> None:
    """The same arguments to another tool, or to a made-up one."""
    situation.tool = chance.choice([*situation.world.catalog, "made.up"])


def change_time(situation: Situation, chance: random.Random) -> None:
    """Some days or hours on or back."""
    days = chance.choice([*DAYS, 0])
    situation.now += dt.timedelta(days=days, hours=chance.choice(HOURS) if days == 0 or chance.random() < 0.3 else 0)


def change_thing(situation: Situation, chance: random.Random) -> None:
    """Another record at an id, another attribute of a record, or no record."""
    key = chance.choice(_touched(situation) or list(situation.things))
    alike = [other for name, other in situation.things.items() if name.split(":")[0] == key.split(":")[0]]
    if chance.random() < 0.25:
        del situation.things[key]
    elif chance.random() < 0.3:
        situation.things[key] = copy.deepcopy(chance.choice(alike))
    else:
        name = chance.choice(sorted(situation.things[key]))
        old = situation.things[key][name]
        pool = [other[name] for other in alike if name in other] + ([not old] if isinstance(old, bool) else [])
        pool += [old + 1, old - 1, 0] if isinstance(old, int) and not isinstance(old, bool) else []
        pool += (
            [situation.caller["subject"], *map(str, situation.caller["claims"].values())]
            if isinstance(old, str)
            else []
        )
        situation.things[key][name] = chance.choice(pool)


def _touched(situation: Situation) -> list[str]:
    """The things whose id stands somewhere in the arguments."""
    text = repr(situation.arguments)
    return [key for key in situation.things if repr(key.split(":", 1)[1]) in text]


def change_context(situation: Situation, chance: random.Random) -> None:
    """Other tools called, or another stage."""
    situation.context["called"] = chance.sample([*situation.world.catalog], chance.randint(0, 2))
    if chance.random() < 0.4:
        stages = [
            case.extra["context"]["stage"] for case in situation.world.cases if "stage" in case.extra.get("context", {})
        ]
        situation.context["stage"] = chance.choice([*stages, "", "nowhere"])


def change_use(situation: Situation, chance: random.Random) -> None:
    """More or less of a budget used."""
    situation.used = {situation.tool: {"calls": chance.choice([0, 19, 20, 21]), "sum": chance.choice([0, 900, 59900])}}


CHANGES: list[Callable[[Situation, random.Random], None]] = [
    change_value,
    drop_value,
    repeat_element,
    add_argument,
    change_member,
    change_person,
    change_caller,
    change_tool,
    change_time,
    change_thing,
    change_context,
    change_use,
]
WEIGHTS = [8, 3, 1, 4, 2, 3, 2, 1, 2, 4, 2, 1]
