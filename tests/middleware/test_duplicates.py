"""Calls that name the same write at the same moment, and checks that answer instead of raising."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import desk as desks


@pytest.mark.case(87)
@pytest.mark.promise("P8")
def test_a_duplicate_that_gives_up_waiting_says_unknown() -> None:
    """The write that runs may still happen; nobody is told that nothing did."""
    release, entered = threading.Event(), threading.Event()

    def body(x: int) -> int:
        entered.set()
        release.wait(10)
        return x

    desk, _ = desks.open_one(body, kind="write", timeout=0.2, description="d")
    answers: list[dict[str, Any]] = []

    def call() -> None:
        answers.append(desk.guard.call("some.thing", {"x": 1}, token=desk.token(), operation="k").to_json())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    release.set()
    assert entered.is_set()
    assert [answer["status"] for answer in answers] == ["unknown"] * 4
    assert len({answer["operation_id"] for answer in answers}) == 1


@pytest.mark.case(25)
@pytest.mark.promise("P1")
@pytest.mark.parametrize("answer", [False, True, "no", object(), {}])
def test_a_check_that_answers_anything_refuses(answer: object) -> None:
    """A check goes on by returning nothing; whatever else it says is no allow."""
    ran: list[int] = []

    def check(_arguments: dict[str, Any], _resources: dict[str, Any]) -> object:
        return answer

    def body(x: int) -> int:
        ran.append(x)
        return x

    desk, _ = desks.open_one(body, kind="read", description="d", checks=[check])
    assert desk.guard.call("some.thing", {"x": 1}, token=desk.token()).to_json()["status"] == "forbidden"
    assert ran == []
