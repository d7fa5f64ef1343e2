"""The bank example: its policies load, its tests hold, and calls through its guard are answered as they say."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from commands import run
from gatewright import Guard
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

EXAMPLES = Path(__file__).parents[2] / "examples"
POLICIES = EXAMPLES / "bank" / "policies"
ISSUER = FakeIssuer()
OPEN = 1_793_178_000.0
"""Wednesday, 2026-10-28, 09:00 UTC."""


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The example as an application has it: a module on the path."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLES), *sys.path])


class Bank:
    """A guard with the bank's tools, an issuer that the policies trust, and a clock at the desk's hours."""

    def __init__(self) -> None:
        from bank.app import open_bank

        self.clock = FakeClock(OPEN)
        self.issuer = ISSUER
        self.issuer.clock = self.clock
        texts = {
            str(path.relative_to(POLICIES)): path.read_text()
            for path in POLICIES.rglob("*")
            if path.is_file() and path.suffix in (".yaml", ".csv") and "tests" not in path.parts
        }
        identity = {
            "issuers": [self.issuer.profile(["zurich", "geneva", "london"])],
            "claims": {
                "type": "object",
                "properties": {"branch": {"type": "string"}, "refund_limit": {"type": "integer"}},
            },
        }
        texts["identity.yaml"] = json.dumps(identity)
        options: Any = {"clock": self.clock, "journal": ListJournal(), "keys": "k" * 32, "watch": False}
        self.guard: Guard = open_bank(texts, **options)

    def call(self, tool: str, role: str = "agent", tenant: str = "zurich", **arguments: Any) -> dict[str, Any]:
        """One call by a person of the first branch."""
        claims = {"branch": "zh1", "refund_limit": 1000}
        token = self.issuer.token("amy", tenant, [role], **claims)
        return dict(self.guard.call(tool, json.dumps(arguments), token=token).to_json())

    def refund(self, **changed: Any) -> dict[str, Any]:
        """A refund that is right but for what is changed."""
        right = {"customer_id": "c1", "transaction_id": "t1", "amount": 150, "currency": "CHF"}
        return self.call("refund.create", **{**right, **changed})


def test_the_policies_are_sound_and_their_tests_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """`gatewright check` has no finding, the catalog is current, and every case comes out as it is written."""
    assert run("check", str(POLICIES)) == 0
    assert run("catalog", "bank.app:open_bank", "--policies", str(POLICIES)) == 0
    capsys.readouterr()
    assert run("test", str(POLICIES), "--app", "bank.app:open_bank", "--format", "json") == 0
    report = json.loads(capsys.readouterr().out)
    assert report["failures"] == []
    assert report["cases"] >= 300


def test_a_changed_limit_is_noticed_by_the_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A control: with four eyes above 900 francs instead of 200, cases fail."""
    for path in POLICIES.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(POLICIES)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes().replace(b"maximum: 200 ", b"maximum: 900 "))
    assert run("test", str(tmp_path), "--app", "bank.app:open_bank") == 1
    assert "amy middle" in capsys.readouterr().out


def test_a_refund_goes_through_and_its_neighbours_do_not() -> None:
    """Through the whole chain: the right one, an amount that asks for four eyes, and what is refused."""
    bank = Bank()
    assert bank.refund() == {"status": "ok", "data": {"refunded": 150.0}}
    assert bank.refund(amount=500)["status"] == "approval_required"
    assert bank.refund(amount=1500)["field"] == "/amount"
    assert (
        bank.refund(transaction_id="t2")
        == bank.refund(transaction_id="t9")
        == {"status": "forbidden", "retryable": False}
    )
    bank.clock.advance(11 * 3600)
    assert bank.refund() == {"status": "forbidden", "retryable": False}


def test_the_desk_sees_a_customer_after_the_cuts() -> None:
    """No account number, the last digits of the telephone number, the year of birth."""
    told = Bank().call("customer.lookup", customer_id="c1")
    assert told["data"] == {"name": "Ann", "phone": "******4567", "born": "1990"}


def test_a_wrong_currency_is_quoted_and_a_wrong_id_is_not() -> None:
    """The catalog marks the currency, and nothing else."""
    message = bank_message(currency="DKK")
    assert '"DKK"' in message
    assert "EUR" in message
    assert "no/such" not in bank_message(transaction_id="no/such")


def bank_message(**changed: Any) -> str:
    """What a model is told of one wrong argument."""
    return str(Bank().refund(**changed)["errors"][0]["message"])


def test_tasks_are_answered_like_threads() -> None:
    """The same guard, asked from a loop."""
    bank = Bank()
    token = bank.issuer.token("amy", "zurich", ["agent"], branch="zh1", refund_limit=1000)
    result = asyncio.run(bank.guard.acall("customer.lookup", '{"customer_id": "c1"}', token=token))
    assert result.status == "ok"
