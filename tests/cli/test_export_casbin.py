"""What `gatewright export casbin` writes is read by stock Casbin, which decides as the engine over every world."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
from collections.abc import Iterator
from pathlib import Path

import casbin
import pytest

from commands import run
from gatewright.policy.caller import Actor, Caller
from gatewright.policy.catalog import spec_from_json
from gatewright.policy.engine import Engine, compile_engine
from gatewright.policy.folder import load_policies
from gatewright.policy.policyset import PolicySet
from gatewright.policy.source import read_folder
from worlds.reader import World
from worlds.shelf import worlds

DAY = dt.date(2026, 10, 28)
WORLDS = [pytest.param(world, id=world.name) for world in worlds()]


class Stock:
    """Stock pycasbin over exported files. *denying* has an allow for everything besides: it is false on a deny."""

    def __init__(self, folder: Path) -> None:
        self.known: dict[tuple[str, ...], bool] = {}
        self.rows = self._enforcer(folder / "model.conf", folder / "policy.csv")
        every = folder / "every.csv"
        every.write_text((folder / "policy.csv").read_text().rstrip() + "\np, *, *, *, *, allow, -, -\n")
        self.denying = self._enforcer(folder / "model.conf", every)

    @staticmethod
    def _enforcer(model: Path, rows: Path) -> casbin.Enforcer:
        enforcer = casbin.Enforcer(str(model), str(rows))
        enforcer.add_named_domain_matching_func("g", lambda asked, stated: stated == "*" or asked == stated)
        enforcer.build_role_links()
        return enforcer

    def _enforced(self, side: str, *asked: str) -> bool:
        known = self.known.get((side, *asked))
        if known is None:
            known = self.known[side, *asked] = bool(getattr(self, side).enforce(*asked))
        return known

    def decide(self, people: list[str], tenant: str, obj: str, act: str) -> bool:
        """Whether one of *people* is allowed and none denied."""
        rest = (tenant, obj, act)
        denied = any(not self._enforced("denying", name, *rest) for name in people)
        return not denied and any(self._enforced("rows", name, *rest) for name in people)


def write(world: World, folder: Path) -> PolicySet:
    """Write the world with its catalog as a policies folder, and load it."""
    texts = world.texts | {f"catalog/{name}.json": json.dumps(spec) for name, spec in world.catalog.items()}
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return load_policies(read_folder(folder))


def requests_of(world: World, policies: PolicySet) -> Iterator[tuple[str, str]]:
    """Every tool and resource of the world, and words near them, with every action of its kind."""
    tools = [*world.catalog, *(f"{name}x" for name in world.catalog), "made.up"]
    yield from itertools.product(tools, ("call", "approve", "nothing"))
    for kind, actions in policies.names.types.items():
        ids = [key for key in world.things if key.startswith(f"{kind}:")] + [f"{kind}:nobody-s"]
        ids += [rule.obj.removesuffix("*") + "x" for rule in policies.rules if rule.obj.startswith(f"{kind}:")]
        yield from itertools.product(sorted(set(ids)), (*sorted(actions), "call"))


@pytest.mark.parametrize("world", WORLDS)
def test_stock_casbin_decides_a_world_as_the_engine_does(world: World, tmp_path: Path) -> None:
    """Callers of the world and what there is to ask, drawn by chance; no difference."""
    answers = list(compared(world, tmp_path, 120))
    assert [asked for mine, theirs, asked in answers if mine is not theirs] == []
    assert sum(mine for mine, _, _ in answers) > 5


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS)
def test_stock_casbin_decides_all_of_a_world_as_the_engine_does(world: World, tmp_path: Path) -> None:
    """Every caller and everything there is to ask."""
    assert [asked for mine, theirs, asked in compared(world, tmp_path, 10**6) if mine is not theirs] == []


def compared(world: World, folder: Path, most: int) -> Iterator[tuple[bool, bool, object]]:
    """What both say of at most *most* questions, a third of them about what some row allows."""
    policies = write(world, folder / "policies")
    assert run("export", "casbin", str(folder / "policies"), "--to", str(folder / "out"), "--day", str(DAY)) == 0
    engine, stock = compile_engine(policies), Stock(folder / "out")
    people = {_key(plain): plain for plain in world.callers.values()}.values()
    asked = [(plain, *request) for plain in people for request in requests_of(world, policies)]
    dice = random.Random(1)
    dice.shuffle(asked)
    likely = [each for each in asked if ours(engine, *each)]
    for each in [*likely[: most // 3], *asked][:most]:
        yield ours(engine, *each), _stock(stock, policies, engine, *each), each


def _key(plain: dict[str, object]) -> str:
    return json.dumps([plain["subject"], plain["tenant"], plain["roles"], plain["actor"]], sort_keys=True)


def ours(engine: Engine, plain: dict[str, object], obj: str, act: str) -> bool:
    """What the engine says."""
    standing = engine.standing(_caller(plain), DAY)
    return engine.decide(standing, obj, act).allowed


def _caller(plain: dict[str, object]) -> Caller:
    actor = plain["actor"]
    acting = Actor(actor["id"], frozenset(actor["roles"])) if isinstance(actor, dict) else None
    return Caller(str(plain["subject"]), str(plain["tenant"]), frozenset(map(str, plain["roles"] or ())), acting)  # type: ignore[call-overload]


def _stock(stock: Stock, policies: PolicySet, engine: Engine, plain: dict[str, object], obj: str, act: str) -> bool:
    caller = _caller(plain)
    if engine.standing(caller, DAY).excluded:
        return False
    subject = [*(caller.roles & frozenset(policies.names.roles)), f"subject:{caller.subject}"]
    if not stock.decide(subject, caller.tenant, obj, act):
        return False
    if caller.actor is None:
        return True
    acting = [*(caller.actor.roles & policies.names.actors), f"actor:{caller.actor.id}"]
    return stock.decide(acting, caller.tenant, obj, act)


def test_the_worlds_are_told_as_their_specs() -> None:
    """The catalog that is written is the one that is decided by."""
    assert all(spec_from_json(spec).name == name for world in worlds() for name, spec in world.catalog.items())


@pytest.mark.case(8)
def test_a_row_that_cannot_be_told_writes_nothing(tmp_path: Path) -> None:
    """A cell with a comma: exit 2, with its place."""
    world = worlds()[0]
    write(world, tmp_path / "policies")
    with (tmp_path / "policies/policy.csv").open("a") as rows:
        rows.write('p, "subject:a,b", *, logs.query, call, deny\n')
    assert run("export", "casbin", str(tmp_path / "policies"), "--to", str(tmp_path / "out")) == 2
    assert not (tmp_path / "out").exists()
    assert run("export", "casbin", str(tmp_path / "policies"), "--day", "tomorrow") == 2
