"""
Our engine and stock pycasbin decide alike: random tenants, roles, groups, wildcards, denies and actors.

Stock pycasbin is asked on the same model text, over rows padded to seven columns, once for each role and once for the
subject; a deny for any of them denies. Two readings are ours alone and left out: a star stands for something, and a
request that holds one is denied.
"""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Iterable

import casbin
import pytest
from casbin.model import Model
from casbin.persist.adapters.string_adapter import StringAdapter

from casbin_questions import Request, ask, invent
from gatewright.policy.engine import Engine, compile_engine
from gatewright.policy.folder import DEFAULT_MODEL
from parallel import spread
from small_policies import TODAY, caller, engine_of, policies_of

SEED = int(os.environ.get("GATEWRIGHT_SEED", "1"))
POLICIES = 200
REQUESTS = 25
ASKED_OF_STOCK = 102


class Stock:
    """Stock pycasbin over one set of rows. *denying* has an allow for everything besides: it is false on a deny."""

    def __init__(self, rows: list[str]) -> None:
        self.stated = self._enforcer(rows)
        self.denying = self._enforcer([*rows, "p, *, *, *, *, allow"])
        self.own = self._enforcer([row for row in rows if not row.startswith("g, subject:")])
        self.enforce = functools.cache(lambda enforcer, *asked: bool(enforcer.enforce(*asked)))

    @staticmethod
    def _enforcer(rows: list[str]) -> casbin.Enforcer:
        model = Model()
        model.load_model_from_text(DEFAULT_MODEL)
        enforcer = casbin.Enforcer(model, StringAdapter("\n".join(_padded(row) for row in rows)))
        enforcer.add_named_domain_matching_func("g", lambda asked, stated: stated == "*" or asked == stated)
        enforcer.build_role_links()
        return enforcer

    def decide(self, asked: Request) -> bool:
        """Whether the subject, and the actor where one acts, is allowed."""
        people = [*asked.roles, f"subject:{asked.subject}"]
        if not self._decide(asked, people, self._given(asked, people)):
            return False
        if asked.actor is None:
            return True
        acting = [*asked.actor.roles, f"actor:{asked.actor.id}"]
        return self._decide(asked, acting, [(self.stated, name) for name in acting])

    def _given(self, asked: Request, people: list[str]) -> list[tuple[casbin.Enforcer, str]]:
        if asked.through is None:
            return [(self.stated, name) for name in people]
        links = self.stated.get_role_manager()
        held = [role for role in asked.through if any(links.has_link(name, role, asked.tenant) for name in people)]
        return [*((self.stated, role) for role in held), (self.own, f"subject:{asked.subject}")]

    def _decide(self, asked: Request, held: Iterable[str], given: Iterable[tuple[casbin.Enforcer, str]]) -> bool:
        rest = (asked.tenant, asked.obj, asked.act)
        return all(self.enforce(self.denying, name, *rest) for name in held) and any(
            self.enforce(enforcer, name, *rest) for enforcer, name in given
        )


def _padded(row: str) -> str:
    """A p row as wide as the model has it; the last two cells are asked by nothing."""
    return f"{row}, -, -" if row.startswith("p, ") else row


def decide(engine: Engine, asked: Request) -> bool:
    """What our engine says."""
    who = caller(*asked.roles, subject=asked.subject, tenant=asked.tenant, actor=asked.actor)
    return engine.decide(engine.standing(who, TODAY), asked.obj, asked.act, asked.through).allowed


def is_shared(rows: list[str], asked: Request) -> bool:
    """Whether both are meant to agree: no star of the rows would stand for nothing."""
    return f"{asked.obj}*" not in {row.split(", ")[3] for row in rows if row.startswith("p, ")}


def compare_with_stock(seed: int) -> tuple[list[bool], list[str]]:
    """What stock says over one invented policy, and what the two decide differently."""
    dice = random.Random(seed)
    rows = invent(dice)
    engine, stock = engine_of("\n".join(rows)), Stock(rows)
    seen: list[bool] = []
    found: list[str] = []
    for asked in (ask(dice, rows) for _ in range(ASKED_OF_STOCK)):
        if not is_shared(rows, asked):
            continue
        ours, theirs = decide(engine, asked), stock.decide(asked)
        seen.append(theirs)
        if ours is not theirs:
            found.append(f"seed {seed}: {asked}\n  ours {ours}, stock {theirs}, over\n" + "\n".join(rows))
    return seen, found


@pytest.mark.promise("P1")
def test_our_engine_and_stock_casbin_decide_alike() -> None:
    """Twenty thousand decisions, of which a good part is allowed; not one differs."""
    answers = spread(compare_with_stock, [SEED * 1000 + number for number in range(POLICIES)])
    found = [difference for _, differences in answers for difference in differences]
    assert not found, f"{len(found)} differences, the first:\n{found[0]}"
    seen = [allowed for decided, _ in answers for allowed in decided]
    assert len(seen) >= 20_000
    assert 0.1 < sum(seen) / len(seen) < 0.6, sum(seen)


def test_a_star_that_would_stand_for_nothing_is_where_the_two_part() -> None:
    """Stock pycasbin lets `service:` match `service:*`; we do not."""
    rows = ["p, viewer, *, service:*, read, allow"]
    asked = Request("acme", "ann", frozenset({"viewer"}), None, "service:", "read", None)
    assert not is_shared(rows, asked)
    assert Stock(rows).decide(asked)
    assert not decide(engine_of("\n".join(rows)), asked)


def unusual(rows: str) -> Engine:
    """The engine of *rows* under a matcher that says the same in a form that cannot be looked up."""
    model = DEFAULT_MODEL.rstrip() + ' && r.act != "*"\n'
    return compile_engine(policies_of(rows, model=model))


def test_a_matcher_that_is_run_decides_as_one_that_is_looked_up() -> None:
    """The same random policies and requests, near misses included; rows and faults are the same too."""
    differing = []
    for number in range(POLICIES):
        dice = random.Random(SEED * 1000 + number)
        rows = invent(dice)
        usual, other = engine_of("\n".join(rows)), unusual("\n".join(rows))
        for asked in (ask(dice, rows) for _ in range(REQUESTS)):
            if asked.obj.isprintable():
                answers = [answer(engine, asked) for engine in (usual, other)]
                differing += [asked] if answers[0] != answers[1] else []
    assert differing == []


def answer(engine: Engine, asked: Request) -> tuple[bool, tuple[str, ...], str]:
    """What *engine* says, by which rows."""
    who = caller(*asked.roles, subject=asked.subject, tenant=asked.tenant, actor=asked.actor)
    decision = engine.decide(engine.standing(who, TODAY), asked.obj, asked.act, asked.through)
    return decision.allowed, decision.rows, decision.fault
