"""Approvals: who may answer, what exactly is agreed to, that it is used once, and that nothing else gets through."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from databases import new_store
from desk import WORDS, Desk, open_desk
from gatewright import Caller
from gatewright.middleware.approve import MOST_WAITING
from gatewright.middleware.results import FORBIDDEN, ApprovalRequired, Result

NAMES = """\
roles: { agent: {}, lead: {}, chief: {} }
actors: [bot]
tenants: { acme: {}, globex: {} }
types: {}
delegate: {}
"""
ROWS = """\
p, agent, *, money.send, call, allow
p, agent, *, money.show, call, allow
p, lead, *, money.send, call, allow
p, lead, *, money.send, approve, allow
p, lead, *, money.show, approve, allow
p, chief, *, money.send, approve, allow
p, bot, *, money.send, call, allow
p, bot, *, money.send, approve, allow
"""
TOOLS = """\
tool: money.send
allow:
  - { id: small, roles: [agent], arguments: { note: {} }, facts: { size: { maximum: 10 } } }
  - id: large
    roles: [agent, lead]
    arguments: { note: {} }
    facts: { size: { maximum: 1000 } }
    duties: { approval: { by: [lead, chief], within: 15m } }
  - id: huge
    roles: [agent]
    arguments: { note: {} }
    duties: { approval: { by: [lead, chief], count: 2, within: 15m } }
---
tool: money.show
allow: [ { id: asked, roles: [agent], duties: { approval: { by: [lead], within: 1h } } } ]
"""


class Bank:
    """A desk whose tools ask for approvals; tokens by name."""

    def __init__(self, desk: Desk, **stated: Any) -> None:
        self.desk = desk
        self.guard = desk.guard
        self.inside: Callable[[], None] = lambda: None

        def send(to: str, amount: int, note: str = "") -> int:
            """Send money."""
            desk.entered("money.send", to=to, amount=amount)
            self.inside()
            return amount

        def show(to: str, caller: Caller) -> str:
            """Show an account."""
            desk.entered("money.show", to=to)
            return caller.subject

        facts = {"size": lambda arguments: arguments["amount"]}
        self.guard.tool("money.send", kind="write", facts=facts, **WORDS, **stated)(send)
        self.guard.tool("money.show", kind="read", **WORDS)(show)

    def token(self, who: str, role: str, tenant: str = "acme", **more: Any) -> str:
        """A good token."""
        return self.desk.issuer.token(who, tenant, [role], **more)

    def send(self, amount: int, *, to: str = "bob", who: str = "amy", role: str = "agent", **options: Any) -> Result:
        """Ask for money to be sent."""
        options.setdefault("token", self.token(who, role))
        return self.guard.call("money.send", {"to": to, "amount": amount, **options.pop("more", {})}, **options)

    def asked(self, amount: int, **options: Any) -> str:
        """The id of the approval that this call waits for."""
        result = self.send(amount, **options)
        assert isinstance(result, ApprovalRequired)
        return result.approval_id

    def approve(self, id: str, who: str = "lou", role: str = "lead", **more: Any) -> Result:
        """Say yes."""
        return self.guard.approvals.approve(id, self.token(who, role, **more))


@pytest.fixture(params=["sqlite", "postgresql"])
def bank(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bank]:
    """A bank on each store."""
    texts = {"names": NAMES, "rows": ROWS, "tools": TOOLS}
    desk = open_desk(texts, tools=False, ledger=new_store(request.param, tmp_path))
    yield Bank(desk)
    desk.guard.close()


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Bank]:
    """A bank on SQLite alone, for what does not depend on the store."""
    desk = open_desk({"names": NAMES, "rows": ROWS, "tools": TOOLS}, tools=False, ledger=new_store("sqlite", tmp_path))
    yield Bank(desk)
    desk.guard.close()


@pytest.mark.promise("P8")
def test_an_approved_call_runs_once(bank: Bank) -> None:
    """It waits under one id, runs when it comes again after the yes, and asks anew when it comes once more."""
    id = bank.asked(500)
    assert bank.asked(500) == id
    assert bank.desk.ran == []
    assert bank.approve(id).to_json() == {
        "status": "ok",
        "data": {"approval_id": id, "state": "granted", "missing": 0},
    }
    assert bank.desk.ran == []
    assert bank.send(500).status == "ok"
    assert bank.asked(500) != id
    assert len(bank.desk.ran) == 1


def test_a_read_uses_its_approval_too(bank: Bank) -> None:
    """Once, as a write does."""
    first = bank.guard.call("money.show", {"to": "bob"}, token=bank.token("amy", "agent"))
    assert isinstance(first, ApprovalRequired)
    assert bank.approve(first.approval_id).status == "ok"
    assert bank.guard.call("money.show", {"to": "bob"}, token=bank.token("amy", "agent")).status == "ok"
    again = bank.guard.call("money.show", {"to": "bob"}, token=bank.token("amy", "agent"))
    assert isinstance(again, ApprovalRequired)
    assert again.approval_id != first.approval_id


@pytest.mark.case(80)
@pytest.mark.parametrize(
    "changed",
    [
        {"amount": 501},
        {"to": "eve"},
        {"who": "ann"},
        {"more": {"note": "x"}},
        {"operation": "refund 1"},
        {"role": "lead"},
    ],
)
def test_every_changed_field_asks_anew(quick: Bank, changed: dict[str, Any]) -> None:
    """An approval is for one subject, one set of arguments, one operation and one view."""
    assert quick.approve(quick.asked(500)).status == "ok"
    result = quick.send(**{"amount": 500, **changed})
    assert isinstance(result, ApprovalRequired)
    assert quick.desk.ran == []


def test_an_agent_of_the_subject_asks_for_itself(quick: Bank) -> None:
    """What was agreed to for the subject alone is not agreed to for an agent acting for it, nor the other way."""
    assert quick.approve(quick.asked(500)).status == "ok"
    acting = quick.token("amy", "agent", act={"sub": "desk-bot", "roles": ["bot"]})
    assert quick.send(500, token=acting).status in ("approval_required", "forbidden")
    assert quick.desk.ran == []


@pytest.mark.parametrize(
    ("who", "role", "more"),
    [
        ("amy", "lead", {}),
        ("lou", "agent", {}),
        ("lou", "lead", {"tenant": "globex"}),
        ("lou", "lead", {"act": {"sub": "desk-bot", "roles": ["bot"]}}),
    ],
)
def test_nobody_else_can_approve(quick: Bank, who: str, role: str, more: dict[str, Any]) -> None:
    """The requester under whatever role, one without the right, another tenant, an agent: one constant refusal."""
    id = quick.asked(500)
    refused = quick.approve(id, who, role, **more)
    assert refused.to_bytes() == FORBIDDEN.to_bytes() == quick.approve("0" * 32, who, role, **more).to_bytes()
    assert quick.guard.approvals.reject(id, quick.token(who, role, **more)) == FORBIDDEN
    assert quick.guard.approvals.waiting(quick.token(who, role, **more)) == ()
    assert quick.asked(500) == id


def test_a_bad_token_approves_nothing(quick: Bank) -> None:
    """Whoever answers is verified like any caller."""
    id = quick.asked(500)
    assert quick.guard.approvals.approve(id, "nonsense").status == "unauthenticated"
    assert quick.guard.approvals.approve(id, None).status == "unauthenticated"
    assert quick.asked(500) == id


def test_two_distinct_people_are_two(bank: Bank) -> None:
    """One person who says yes twice is one; the second person grants it."""
    id = bank.asked(5000)
    for _ in range(2):
        assert bank.approve(id).to_json()["data"] == {"approval_id": id, "state": "pending", "missing": 1}
    assert bank.asked(5000) == id
    assert bank.approve(id, "cat", "chief").to_json()["data"]["state"] == "granted"
    assert bank.send(5000).status == "ok"


def test_a_rejected_call_may_be_asked_for_again(quick: Bank) -> None:
    """Under another id; the old one is over for everybody."""
    id = quick.asked(500)
    assert quick.guard.approvals.reject(id, quick.token("lou", "lead")).to_json()["data"]["state"] == "rejected"
    assert quick.approve(id, "cat", "chief") == FORBIDDEN
    assert quick.asked(500) != id


@pytest.mark.promise("P6")
def test_what_is_withdrawn_before_its_use_does_not_run(quick: Bank) -> None:
    """By the approver, then by whoever asked."""
    id = quick.asked(500)
    quick.approve(id)
    withdraw = quick.guard.approvals.withdraw
    assert withdraw(id, quick.token("lou", "lead")).to_json()["data"] == {
        "approval_id": id,
        "state": "pending",
        "missing": 1,
    }
    assert quick.asked(500) == id
    assert withdraw(id, quick.token("lou", "lead")) == FORBIDDEN
    quick.approve(id)
    assert withdraw(id, quick.token("amy", "agent")).to_json()["data"]["state"] == "withdrawn"
    assert quick.asked(500) != id
    assert quick.desk.ran == []


@pytest.mark.promise("P6")
def test_an_approval_ends_with_its_time(quick: Bank) -> None:
    """Fifteen minutes after the request it is over, granted or not."""
    id = quick.asked(500)
    quick.approve(id)
    quick.desk.clock.advance(15 * 60)
    assert quick.asked(500) != id
    assert quick.approve(id) == FORBIDDEN
    assert quick.desk.ran == []


def test_an_approver_sees_what_would_run(quick: Bank) -> None:
    """Tool, who asks, the very arguments, and how many are missing."""
    id = quick.asked(500)
    (waiting,) = quick.guard.approvals.waiting(quick.token("lou", "lead"))
    assert (waiting.id, waiting.tool, waiting.subject, waiting.missing) == (id, "money.send", "amy", 1)
    assert waiting.arguments == {"to": "bob", "amount": 500, "note": ""}
    assert "bob" not in repr(waiting)


def open_bank(tools: str = TOOLS, **options: Any) -> Bank:
    """A bank in memory."""
    return Bank(open_desk({"names": NAMES, "rows": ROWS, "tools": tools}, tools=False), **options)


def test_an_approver_sees_no_secret_argument() -> None:
    """What the catalog marks secret is asterisks to everybody."""
    bank = open_bank(secret=["/to"])
    bank.asked(500, to="canary")
    (waiting,) = bank.guard.approvals.waiting(bank.token("lou", "lead"))
    assert waiting.arguments == {"to": "***", "amount": 500, "note": ""}


def test_where_is_filled_from_the_requesters_call() -> None:
    """`$argument` means the call that waits; an approver who does not fit it does not count."""
    where = "within: 15m, where: { subject: { const: { $argument: to } } } }"
    bank = open_bank(TOOLS.replace("within: 15m }", where))
    id = bank.asked(500, to="lou")
    assert bank.approve(id, "cat") == FORBIDDEN
    assert bank.approve(id, "lou").status == "ok"
    assert bank.send(500, to="lou").status == "ok"


def test_arguments_do_not_lie_open_in_the_store(quick: Bank, tmp_path: Path) -> None:
    """They are sealed with the tenant's key."""
    quick.asked(500, to="canary-7f3a")
    quick.guard.close()
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"approval" in stored
    assert b"canary-7f3a" not in stored


def test_nobody_floods_the_approvers(quick: Bank) -> None:
    """Beyond the quota a further call is refused; one that waits still gets its id."""
    first = quick.asked(500)
    for number in range(MOST_WAITING - 1):
        quick.asked(501 + number)
    assert quick.send(900) == FORBIDDEN
    assert quick.asked(500) == first
    assert quick.asked(900, who="ann")


@pytest.mark.promise("P8")
def test_many_uses_at_once_are_one(bank: Bank) -> None:
    """Of as many identical calls as there are threads, one runs."""
    assert bank.approve(bank.asked(500)).status == "ok"
    token, results = bank.token("amy", "agent"), []
    start = threading.Barrier(8)

    def call() -> None:
        start.wait(10)
        for _ in range(5):
            results.append(bank.send(500, token=token).status)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(bank.desk.ran) == 1
    assert results.count("ok") == 1
    assert set(results) <= {"ok", "forbidden", "approval_required"}


def test_a_repeat_of_a_named_write_is_answered_without_asking_again(bank: Bank) -> None:
    """It has been done: its stored result is released, and no second approval is asked for."""
    assert bank.approve(bank.asked(500, operation="refund 7")).status == "ok"
    first = bank.send(500, operation="refund 7")
    assert first.status == "ok"
    assert bank.send(500, operation="refund 7") == first
    assert len(bank.desk.ran) == 1


@pytest.mark.promise("P6")
def test_an_approval_withdrawn_between_decision_and_start_is_not_used(quick: Bank) -> None:
    """The use is part of the start: what is gone by then stops the call."""
    id = quick.asked(500)
    quick.approve(id)
    ledger = quick.guard._runtime.ledger
    start = ledger.start

    def late(*arguments: Any) -> Any:
        ledger.start = start  # type: ignore[method-assign]
        quick.guard.approvals.withdraw(id, quick.token("lou", "lead"))
        return start(*arguments)

    ledger.start = late  # type: ignore[method-assign]
    assert quick.send(500) == FORBIDDEN
    assert quick.desk.ran == []


def test_what_was_decided_is_an_event_in_the_same_transaction(quick: Bank) -> None:
    """Of a yes with the approver and the state; of a refusal with its true reason."""
    id = quick.asked(500)
    quick.approve(id)
    (decided,) = [each for each in quick.desk.events() if each["event"] == "approval_decided"]
    assert decided["approval"] == id
    assert (decided["approver"], decided["outcome"], decided["missing"]) == ("lou", "granted", 0)
    quick.approve(id, "amy", "lead")
    (refused,) = [each for each in quick.desk.events() if each["event"] == "approval_decided"]
    assert (refused["outcome"], refused["reason"]) == ("refused", "the requester cannot approve")


def test_the_call_that_uses_an_approval_says_so(quick: Bank) -> None:
    """Before its body is entered, in the line of its start; what only waits says that it repeats."""
    id = quick.asked(500)
    quick.asked(500)
    assert quick.desk.event("approval_requested")["outcome"] == "repeated"
    quick.approve(id)
    quick.send(500)
    told = [(each["event"], each.get("outcome")) for each in quick.desk.events()]
    assert told.index(("approval_requested", "granted")) < told.index(("approval_decided", "used"))
    assert told.index(("approval_decided", "used")) < told.index(("execution_started", None))
