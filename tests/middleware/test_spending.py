"""Budgets count executed calls, and calls at the same moment never spend the same money."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from gatewright import Guard, KeyRing, NoEffect
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.spending import Charge, charge_of
from gatewright.policy.caller import Actor, Caller
from gatewright.policy.settlement import Spent
from gatewright.policy.toolfile import Budget
from gatewright.testing import FakeClock, FakeIssuer

DAY = Budget("subject", 86_400.0, calls=2, sum="amount", maximum=100.0, id="pay:every:0")
AMY = Caller("amy", "acme", frozenset())
POLICIES = {
    "names.yaml": "roles: { payer: {} }\ntenants: { acme: {} }\n",
    "policy.csv": "p, payer, *, pay, call, allow\np, payer, *, look, call, allow\n",
    "tools/all.yaml": (
        "tools: [pay, look]\n"
        "limits: [ { id: every, duties: { budget: { calls: 2, sum: amount, max: 100, per: subject, window: 1d } } } ]\n"
        "allow: [ { id: all, roles: [payer], arguments: {} } ]\n"
    ),
}


class Desk:
    """A guard with a write and a read under one kind of budget; the body does what the test says."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        issuer = FakeIssuer(clock=self.clock, algorithm="EdDSA")
        identity = json.dumps({"issuers": [issuer.profile(["acme"])]})
        self.guard = Guard({**POLICIES, "identity.yaml": identity}, clock=self.clock, keys="k" * 32)
        self.issuer = issuer
        self.fails = False
        words = {"use_when": "u", "not_for": "n", "description": "d"}
        self.guard.tool("pay", kind="write", **words)(self._pay)
        self.guard.tool("look", kind="read", **words)(self._look)

    def _pay(self, amount: int) -> dict[str, int]:
        if self.fails:
            raise NoEffect("failed")
        return {"paid": amount}

    def _look(self, amount: int) -> dict[str, int]:
        return {"seen": amount}

    def ask(self, tool: str, amount: int, sub: str = "amy") -> str:
        """The status, or the code of a failure."""
        token = self.issuer.token(sub=sub, tenant="acme", roles=["payer"])
        answer = self.guard.call(tool, {"amount": amount}, token=token).to_json()
        return str(answer.get("code", answer["status"]))


@pytest.fixture
def desk() -> Desk:
    """A fresh desk."""
    return Desk()


@pytest.mark.parametrize("tool", ["pay", "look"])
def test_a_budget_counts_calls_and_sums(desk: Desk, tool: str) -> None:
    """What was executed counts; what was refused does not; another subject has a budget of its own."""
    assert desk.ask(tool, 101) == "rate_limited"
    assert desk.ask(tool, 60) == "ok"
    assert desk.ask(tool, 41) == "rate_limited"
    assert desk.ask(tool, 40) == "ok"
    assert desk.ask(tool, 0) == "rate_limited"
    assert desk.ask(tool, 60, sub="bob") == "ok"


def test_a_budget_rolls_with_its_window(desk: Desk) -> None:
    """What is older than the window counts no more."""
    assert [desk.ask("pay", 50), desk.ask("pay", 50), desk.ask("pay", 1)] == ["ok", "ok", "rate_limited"]
    desk.clock.advance(86_401)
    assert desk.ask("pay", 100) == "ok"


def charge(amount: float, caller: Caller = AMY, budget: Budget = DAY) -> Charge:
    return charge_of(budget, caller, amount)


def test_holders_of_different_tenants_and_kinds_never_meet() -> None:
    """The same name elsewhere is somebody else."""
    bot = Caller("amy", "acme", frozenset(), Actor("amy"))
    holders = {
        charge(1, caller, Budget(per, 1.0, id="b")).holder  # type: ignore[arg-type]
        for caller in (AMY, Caller("amy", "globex", frozenset()), bot)
        for per in ("subject", "tenant", "actor")
    }
    assert len(holders) == 7


@pytest.mark.promise("P8")
def test_two_calls_at_one_moment_never_spend_the_same_money(tmp_path: Path) -> None:
    """Eight threads, room for two: exactly two are charged."""
    ledger = Ledger(tmp_path / "ledger.db", KeyRing.from_secret(b"k" * 32))
    together = threading.Barrier(8)
    taken: list[bool] = []

    def take() -> None:
        together.wait()
        taken.append(ledger.charge([charge(50)]) is None)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == [False] * 6 + [True] * 2
    assert ledger.spent([charge(0)]) == (Spent(2, 100.0),)
    ledger.close()
