"""P9: every call has exactly one terminal event, and no secret is in any of them, nor in logs or answers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from gatewright import Failed, NoEffect
from gatewright.middleware.record import Event, expand
from promises.shop import GOOD, Line, Shop, open_shop

pytestmark = pytest.mark.promise("P9")
CANARY = "c4nary-7e1f"
ROUND: tuple[tuple[str, Any, str], ...] = (
    *((tool, None, role) for tool in (*GOOD, "made.up") for role in ("clerk", "manager", "intern", "guest")),
    ("basket.find", "{", "clerk"),
    ("basket.find", b"\xff", "clerk"),
    ("basket.find", {"basket": "b-2", "limit": 1}, "clerk"),
    ("basket.find", {"basket": "no-such", "limit": 1}, "manager"),
    ("basket.pay", {"basket": "no-such", "amount": 1}, "clerk"),
    ("basket.pay", {"basket": "a-1", "amount": 1.0}, "clerk"),
)
STATUSES = {"ok", "forbidden", "invalid_arguments", "not_found", "unauthenticated", "failed", "unknown"}
ERRORS: tuple[BaseException | None, ...] = (
    None,
    RuntimeError(CANARY),
    PermissionError(CANARY),
    TimeoutError(CANARY),
    KeyError(CANARY),
    Failed("business_rule", reason=CANARY),
    NoEffect(Failed("unavailable", reason=CANARY)),
)


def all_lines(shop: Shop) -> list[bytes]:
    """Every line that was written anywhere."""
    shop.guard._runtime.journal.flush()
    return [*shop.journal.lines, *shop.guard._runtime.ledger.iter_lines()]


def calls_of(shop: Shop) -> dict[str, list[Event]]:
    """Call → its events."""
    calls: dict[str, list[Event]] = {}
    for line in all_lines(shop):
        for event in expand(line):
            if event.call is not None:
                calls.setdefault(event.call, []).append(event)
    return calls


def raising(error: BaseException | None) -> Callable[[], object]:
    """What a body does."""

    def inside() -> None:
        if error is not None:
            raise error

    return inside


@pytest.mark.parametrize("is_async", [False, True])
def test_every_call_has_exactly_one_terminal_event(is_async: bool) -> None:
    """Whatever was asked, whoever asked, whatever the body did: one call_answered, and it is the last."""
    shop = open_shop()
    statuses = Counter[str]()
    for error in ERRORS:
        shop.inside = raising(error)
        for tool, arguments, role in ROUND:
            statuses[shop.call(tool, arguments, role, is_async=is_async).status] += 1
    for token in (None, "", "a.b.c"):
        statuses[shop.call("basket.find", token=token, is_async=is_async).status] += 1
    calls = calls_of(shop)
    assert len(calls) == statuses.total()
    assert set(statuses) >= {
        "ok",
        "forbidden",
        "invalid_arguments",
        "not_found",
        "unauthenticated",
        "failed",
        "unknown",
    }
    for events in calls.values():
        assert [event.kind for event in events].count("call_answered") == 1
        assert events[-1].kind == "call_answered"
    assert statuses == Counter(events[-1].fields["status"] for events in calls.values())


def test_a_call_that_is_cancelled_has_its_terminal_event() -> None:
    """A task that is cancelled inside the body, at the wait before it, and a call that nobody continued."""
    shop = open_shop()

    async def cancel() -> None:
        for tool in ("stock.rows", "basket.pay", "basket.find"):
            task = asyncio.ensure_future(shop.guard.acall(tool, GOOD[tool], token=shop.token()))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(cancel())
    with shop.guard.opened("basket.pay", GOOD["basket.pay"], token=shop.token()):
        pass
    calls = calls_of(shop)
    assert len(calls) == 4
    assert all([event.kind for event in events].count("call_answered") == 1 for events in calls.values())


@pytest.mark.parametrize("is_async", [False, True])
def test_no_secret_is_in_an_event_a_log_or_an_answer(is_async: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Of arguments, exceptions, the token, a claim and a record's hidden and masked fields: nowhere at all."""
    caplog.set_level(logging.DEBUG)
    shop = open_shop()
    shop.lines = [Line(name="pen", buyer=CANARY, cost=1)]
    tokens = [shop.token("clerk", branch="one"), shop.token("clerk", branch=CANARY)]
    asked: list[tuple[str, Any]] = [
        *GOOD.items(),
        ("basket.pay", {**GOOD["basket.pay"], "memo": CANARY}),
        ("basket.pay", {**GOOD["basket.pay"], "currency": CANARY}),
        ("basket.find", {**GOOD["basket.find"], "colour": CANARY}),
        ("basket.find", {**GOOD["basket.find"], "limit": CANARY}),
        ("stock.rows", {"region": CANARY, "limit": 1}),
        ("shop.close", {"everything": CANARY}),
        ("basket.find", f'{{"basket":"{CANARY}"'),
        ("basket.find", f'{{"basket":"a-1","basket":"{CANARY}","limit":1}}'),
        ("basket.find", f"{CANARY}"),
    ]
    answers = []
    for error in ERRORS:
        shop.inside = raising(error)
        for token in tokens:
            for tool, arguments in asked:
                result = shop.call(tool, arguments, token=token, is_async=is_async)
                answers.append(result.to_bytes() + json.dumps(result.to_message("openai", "c")).encode())
    shop.call("basket.find", token=f"{CANARY}.{CANARY}.{CANARY}")
    assert len(caplog.records) > 5, "what raised was logged"
    logged = caplog.text + "".join(f"{record.__dict__} {record.getMessage()}" for record in caplog.records)
    assert len(answers) > 150
    secrets = [CANARY, *tokens, *(token.split(".")[2] for token in tokens)]
    for secret in secrets:
        assert not any(secret.encode() in text for text in (*all_lines(shop), *answers))
        assert secret not in logged


@pytest.mark.parametrize("tool", ["basket.find", "basket.pay"])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_body_that_wants_to_end_the_process_is_answered(tool: str, is_async: bool) -> None:
    """SystemExit is an exception of a tool like any other: an answer, one terminal event, and the process goes on."""
    shop = open_shop()
    shop.inside = raising(SystemExit(CANARY))
    assert shop.call(tool, is_async=is_async).status == ("unknown" if tool == "basket.pay" else "failed")
    assert shop.kinds().count("call_answered") == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_a_coroutine_that_wants_to_end_the_process_is_answered(is_async: bool) -> None:
    """The same of a body that is a coroutine."""
    shop = open_shop()
    shop.inside = raising(SystemExit(CANARY))
    assert shop.call("stock.rows", is_async=is_async).status == "failed"


def test_what_is_hidden_from_a_role_is_in_no_event_of_its_calls() -> None:
    """A price that a clerk does not see: not in the answer, not in the events, and its name is in neither."""
    shop = open_shop()
    shop.lines = [Line(name="pen", buyer="Ann Smith", cost=918_273)]
    text = shop.call("basket.find").to_bytes().decode() + repr(shop.guard.events(shop.last))
    for secret in ("918273", "Ann Smith", "cost"):
        assert secret not in text
    assert "918273" in shop.call("basket.find", role="manager").to_bytes().decode()
