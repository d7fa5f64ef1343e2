"""Guessing has a bound that tells nothing, and refusals may leave on a grid."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from gatewright import Guard, Page, Resource
from gatewright.middleware.bounds import GUESSES, pause_of
from gatewright.middleware.interaction import GUESSING_SECONDS
from gatewright.middleware.results import FORBIDDEN, NOT_FOUND, FailedResult, Ok, Result
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

CONSTANT = b'{"status":"forbidden","retryable":false}'
POLICIES = {
    "names.yaml": "roles: { clerk: {} }\ntenants: { acme: {}, globex: {} }\ntypes: { order: [read] }\n",
    "policy.csv": "p, clerk, *, order.find, call, allow\np, clerk, *, order:*, read, allow\n",
    "tools/order.yaml": """
tool: order.find
refusal: No such order.
allow:
  - id: clerk
    roles: [clerk]
    resource: { order: { mine: { const: true } } }
---
tool: order.drop
allow: []
""",
}


class Desk:
    """A guard with one tool over one order, and one hidden tool."""

    def __init__(self, **bounds: Any) -> None:
        self.clock = FakeClock(1_800_000_000.0)
        issuer = FakeIssuer(algorithm="EdDSA", clock=self.clock)
        self.issuer = issuer
        self.journal = ListJournal()
        self.loaded = 0
        identity = json.dumps({"issuers": [issuer.profile(["acme", "globex"], lifetime="9h")]})
        self.guard = Guard(
            {**POLICIES, "identity.yaml": identity},
            journal=self.journal,
            ledger=":memory:",
            keys="k" * 32,
            clock=self.clock,
            watch=False,
            **bounds,
        )
        words: dict[str, Any] = {"use_when": "Asked for.", "not_for": "Anything else."}
        told = {"type": "object", "properties": {"mine": {"type": "boolean"}}}
        order = Resource("order", at="/id", load=self.load, scope="tenant", attributes=told)

        @self.guard.tool("order.find", kind="read", resources={"order": order}, **words)
        def find(id: str) -> Page[str]:
            """Find an order."""
            return Page(items=[id])

        @self.guard.tool("order.drop", kind="write", **words)
        def drop(id: str) -> None:
            """Drop an order."""

    def load(self, identity: str, tenant: str) -> dict[str, bool] | None:
        """One order is the caller's, one is not, others are not there."""
        self.loaded += 1
        return {"a": {"mine": True}, "b": {"mine": False}}.get(identity)

    def token(self, sub: str = "amy", tenant: str = "acme") -> str:
        """A token for the day."""
        return self.issuer.token(sub, tenant, ["clerk"], lifetime=8 * 3600)

    def ask(self, id: str, interaction: Any = "i", tool: str = "order.find", **who: str) -> Result:
        """One call as a model makes it."""
        return self.guard.call(tool, json.dumps({"id": id}), token=self.token(**who), interaction=interaction)

    def reason(self) -> Any:
        """The true reason of the last call's admission."""
        events = self.guard.events(self.guard.last_call_id or "")
        return [event.fields.get("reason") for event in events if event.kind == "tool_selected"][-1]


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A desk that bears five refusals, closed afterwards."""
    made = Desk(guesses=5)
    yield made
    made.guard.close()


@pytest.mark.case(78)
def test_after_so_many_refusals_every_call_of_the_interaction_is_refused(desk: Desk) -> None:
    """The right guess too, in the same bytes, and before any data is touched; the event says why."""
    for number in range(5):
        assert desk.ask(f"guess-{number}").to_bytes() == CONSTANT
    loaded = desk.loaded
    for id, tool in (("a", "order.find"), ("b", "order.find"), ("x", "order.drop"), ("x", "made.up")):
        answer = desk.ask(id, tool=tool)
        assert answer.to_bytes() == CONSTANT
        assert answer.to_json()["retryable"] is False
        assert desk.reason() == "guessing"
    assert desk.loaded == loaded


@pytest.mark.case(78)
def test_a_loop_of_denied_calls_hears_one_stable_answer(desk: Desk) -> None:
    """Four hundred calls with a changing argument: one result, one message for the model."""
    answers = {desk.ask(f"guess-{number}", tool="order.drop").to_bytes() for number in range(400)}
    assert answers == {CONSTANT}
    assert {json.dumps(FORBIDDEN.to_message("openai", "c"))} == {
        json.dumps(desk.ask(str(number), tool="order.drop").to_message("openai", "c")) for number in range(9)
    }


@pytest.mark.promise("P12")
def test_the_bound_is_of_one_subject_in_one_interaction(desk: Desk) -> None:
    """Neither another interaction, nor another subject, nor another tenant hears of it."""
    for number in range(6):
        desk.ask(f"guess-{number}")
    assert desk.ask("a").to_bytes() == CONSTANT
    assert desk.ask("a", interaction="other").status == "ok"
    assert desk.ask("a", sub="bob").status == "ok"
    assert desk.ask("a", tenant="globex").status == "ok"
    assert desk.ask("a", interaction=None).status == "ok"


@pytest.mark.promise("P4")
def test_the_bound_counts_foreign_absent_hidden_and_made_up_alike(desk: Desk) -> None:
    """So when it is reached tells nothing of what there is."""
    kinds = (("b", "order.find"), ("none", "order.find"), ("b", "order.drop"), ("b", "made.up"))
    for id, tool in kinds:
        interaction = f"{id} {tool}"
        heard = [desk.ask(id, interaction, tool).to_bytes() for _ in range(4)] + [desk.ask("a", interaction).status]
        assert heard == [CONSTANT] * 4 + ["ok"]
        desk.ask(id, interaction, tool)
        assert desk.ask("a", interaction).status == "forbidden"


def test_what_is_allowed_or_invalid_does_not_count(desk: Desk) -> None:
    """A long conversation that does no wrong goes on."""
    for _ in range(9):
        assert desk.ask("a").status == "ok"
        assert desk.guard.call("order.find", "{}", token=desk.token(), interaction="i").status == "invalid_arguments"
    assert desk.ask("a").status == "ok"


def test_the_count_ends_an_hour_after_its_first_refusal(desk: Desk) -> None:
    """And begins anew."""
    for number in range(5):
        desk.ask(f"guess-{number}")
    desk.clock.advance(GUESSING_SECONDS - 1)
    assert desk.ask("a").status == "forbidden"
    desk.clock.advance(1)
    assert desk.ask("a").status == "ok"
    for number in range(4):
        desk.ask(f"guess-{number}")
    assert desk.ask("a").status == "ok"


def test_the_bound_is_on_unless_it_is_taken_away() -> None:
    """Fifty by default."""
    for bounds, status in (({}, "forbidden"), ({"guesses": None}, "ok")):
        desk = Desk(**bounds)
        for number in range(GUESSES):
            desk.ask(str(number))
        assert desk.ask("a").status == status
        desk.guard.close()


@pytest.mark.promise("P4")
@pytest.mark.parametrize("elapsed", [0.0, 0.0001, 0.0049, 0.005, 0.0051, 0.3])
def test_a_refusal_leaves_at_a_multiple_of_the_grid(elapsed: float) -> None:
    """The next one after it is there; anything but a refusal leaves at once."""
    grid = 0.005
    for result in (FORBIDDEN, NOT_FOUND):
        left = elapsed + pause_of(result, elapsed, grid)
        assert left >= elapsed
        assert abs(left / grid - round(left / grid)) < 1e-9
        assert left - elapsed < grid
        assert pause_of(result, elapsed, 0.0) == 0.0
    for told in (Ok(1), FailedResult("timeout")):
        assert pause_of(told, elapsed, grid) == 0.0


@pytest.mark.parametrize("is_async", [False, True])
def test_only_refusals_that_touched_data_wait_for_the_grid(is_async: bool) -> None:
    """Foreign and absent records wait; a hidden tool, which no data was asked about, does not."""
    desk = Desk(refusal_grid=0.05)
    token = desk.token()

    def ask(id: str, tool: str = "order.find") -> float:
        began = time.perf_counter()
        if is_async:
            asyncio.run(desk.guard.acall(tool, json.dumps({"id": id}), token=token))
        else:
            desk.guard.call(tool, json.dumps({"id": id}), token=token)
        return time.perf_counter() - began

    ask("a")
    assert ask("b") >= 0.05
    assert ask("none") >= 0.05
    assert min(ask("x", "order.drop") for _ in range(5)) < 0.05
    assert min(ask("a") for _ in range(5)) < 0.05
    desk.guard.close()
