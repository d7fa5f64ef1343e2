"""P8: one operation, at most one effect, or `unknown`."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from gatewright import Failed, NoEffect
from gatewright.middleware.results import Result
from promises.shop import GOOD, Shop, open_shop

pytestmark = pytest.mark.promise("P8")
CALLERS = 8
each_way = pytest.mark.parametrize("is_async", [False, True])


@pytest.fixture
def order(request: pytest.FixtureRequest) -> str:
    """The name of an operation that no other test has used."""
    return str(request.node.name)


def fail_with(error: BaseException) -> object:
    """Something that raises *error*."""

    def fail() -> None:
        raise error

    return fail


@each_way
def test_a_repeat_of_an_operation_is_answered_and_not_done_again(shop: Shop, order: str, is_async: bool) -> None:
    """The same name, the same arguments: one body, and both answers are the same bytes."""
    answers = [shop.call("basket.pay", operation=order, is_async=is_async).to_bytes() for _ in range(3)]
    assert answers == [b'{"status":"ok","data":{"paid":5}}'] * 3
    assert len(shop.ran) == 1
    assert "execution_started" not in shop.kinds(), "the repeat started nothing"


@each_way
def test_an_operation_is_not_used_for_other_arguments(shop: Shop, order: str, is_async: bool) -> None:
    """A name that was used is a conflict with anything else, and nothing is done."""
    assert shop.call("basket.pay", operation=order, is_async=is_async).status == "ok"
    shop.ran.clear()
    result = shop.call("basket.pay", {**GOOD["basket.pay"], "amount": 6}, operation=order, is_async=is_async)
    told = "operation: its name was used for other arguments"
    kind = "permission_rechecked" if "permission_rechecked" in shop.kinds() else "permission_decided"
    answer = b'{"status":"conflict","code":"key_reused","reason":null,"retryable":false,"next":"reread_state"}'
    shop.check_refused(result, kind, told, answer)


@each_way
@pytest.mark.parametrize(
    "error", [RuntimeError("x"), TimeoutError(), ConnectionError(), Failed("unavailable"), SystemExit(1)]
)
def test_a_write_that_was_entered_and_raised_is_unknown_and_stays_so(
    shop: Shop, order: str, error: BaseException, is_async: bool
) -> None:
    """Whatever it raised: nobody says that it failed, and a repeat does not enter the body again."""
    shop.inside = fail_with(error)  # type: ignore[assignment]
    results = [shop.call("basket.pay", operation=order, is_async=is_async) for _ in range(3)]
    assert {result.status for result in results} == {"unknown"}
    assert len({result.to_json()["operation_id"] for result in results}) == 1
    assert len(shop.ran) == 1


@each_way
def test_a_write_that_says_it_had_no_effect_may_be_done_again(shop: Shop, order: str, is_async: bool) -> None:
    """The one exception, and it is the tool's own word."""
    shop.inside = fail_with(NoEffect(Failed("unavailable")))  # type: ignore[assignment]
    assert shop.call("basket.pay", operation=order, is_async=is_async).status == "failed"
    shop.inside = lambda: None
    assert shop.call("basket.pay", operation=order, is_async=is_async).status == "ok"
    assert len(shop.ran) == 2


def test_callers_at_one_moment_have_one_effect(shop: Shop, order: str) -> None:
    """Eight threads, three operations each: every operation is done once, every answer is that of the one."""
    together = threading.Barrier(CALLERS)
    answers: list[tuple[int, Result]] = []
    token = shop.token()

    def ask() -> None:
        together.wait()
        for number in range(3):
            asked = {**GOOD["basket.pay"], "amount": number + 1}
            answers.append((number, shop.guard.call("basket.pay", asked, token=token, operation=f"{order}-{number}")))

    threads = [threading.Thread(target=ask) for _ in range(CALLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(arguments["amount"] for _, arguments in shop.ran) == {1: 1, 2: 1, 3: 1}
    assert all(result.to_json() == {"status": "ok", "data": {"paid": number + 1}} for number, result in answers)
    assert len(answers) == CALLERS * 3


def test_tasks_at_one_moment_have_one_effect(shop: Shop, order: str) -> None:
    """The same of tasks."""

    async def ask() -> list[Result]:
        token = shop.token()
        calls = [shop.guard.acall("basket.pay", GOOD["basket.pay"], token=token, operation=order) for _ in range(8)]
        return list(await asyncio.gather(*calls))

    assert {result.to_bytes() for result in asyncio.run(ask())} == {b'{"status":"ok","data":{"paid":5}}'}
    assert len(shop.ran) == 1


@each_way
def test_what_cannot_be_recorded_before_it_happens_does_not_happen(tmp_path: Path, is_async: bool) -> None:
    """The ledger loses its table: the write is answered failed with no effect, and its body is not entered."""
    shop = open_shop(more={"ledger": tmp_path / "ledger.db"})
    assert shop.call("basket.pay").status == "ok"
    shop.ran.clear()
    with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
        connection.execute("DROP TABLE operation")
        connection.commit()
    answer = shop.call("basket.pay", is_async=is_async).to_json()
    assert (answer["status"], answer["code"], answer["effect"]) == ("failed", "unavailable", "none")
    assert shop.ran == []
    answered = [event for event in shop.journal.events() if event.kind == "call_answered"]
    assert [event.fields["code"] for event in answered] == ["unavailable"]
    shop.guard.close()


def test_an_outcome_that_somebody_else_resolved_is_not_told(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledger holds another outcome, which stands: the caller is told that nobody can say."""
    monkeypatch.setattr(shop.guard._runtime.ledger, "finish", lambda *_, **__: False)
    assert shop.call("basket.pay", operation="resolved-otherwise").status == "unknown"
