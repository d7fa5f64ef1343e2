"""The order of the steps, how they print, and what steps of an application can do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from desk import open_desk
from gatewright import Failed, Misuse
from gatewright.middleware.call import Inspection
from gatewright.middleware.chain import Chain
from gatewright.middleware.failures import stop
from gatewright.middleware.results import FORBIDDEN, ConflictResult, Ok
from gatewright.middleware.steps import BUILT_IN

ORDER = (
    *("authenticate", "admit", "decode", "validate", "authorize"),
    *("approve", "reserve", "recheck", "execute", "release"),
)


def test_the_steps_stand_in_the_order_of_the_design() -> None:
    """The chain is data, and its order is the one that is documented."""
    assert tuple(step.name for step in BUILT_IN) == ORDER


def test_the_chain_prints_as_its_own_documentation() -> None:
    """Each step with its number, its question and what it may stop a call with."""
    lines = str(BUILT_IN).splitlines()
    assert len(lines) == len(ORDER)
    assert lines[0].split() == ["1", "authenticate", "Who", "is", "calling?", "→", "unauthenticated"]
    assert all(
        step.question.endswith("?") and step.question in line for step, line in zip(BUILT_IN, lines, strict=True)
    )


def test_the_page_about_the_chain_names_the_same_steps() -> None:
    """docs/chain.md lists every built-in step, in order."""
    from pathlib import Path

    page = (Path(__file__).parents[2] / "docs" / "chain.md").read_text("utf-8")
    rows = [line.split("|")[1].strip() for line in page.splitlines() if line.startswith("| ")]
    assert tuple(row for row in rows if row in ORDER) == ORDER


def test_own_steps_stand_behind_validate_and_authorize_and_print() -> None:
    """A step of the application is part of what the guard prints."""

    def freeze_window(call: Inspection) -> None:
        """Is this not a night of a release?"""

    def risk(call: Inspection) -> None:
        """Is the risk low?"""

    with open_desk(after_validate=[freeze_window], after_authorize=[risk]).guard as guard:
        names = [step.name for step in guard.chain]
        assert names == [*ORDER[:4], "freeze_window", "authorize", "risk", *ORDER[5:]]
        assert "Is this not a night of a release?" in str(guard.chain)


def test_a_step_can_only_be_added_at_two_places() -> None:
    """Anywhere else it could see or do what the chain does not want it to."""
    with pytest.raises(Misuse, match="after authenticate"):
        BUILT_IN.with_steps("authenticate", [])


def test_execute_must_follow_recheck() -> None:
    """Nothing may happen between the last look and the body."""
    steps = [step for step in BUILT_IN if step.name != "execute"]
    with pytest.raises((Misuse, ValueError)):
        Chain([*steps, next(step for step in BUILT_IN if step.name == "execute")])


def test_a_step_that_is_no_function_is_misuse() -> None:
    """Found when the guard is made, not when a call comes."""
    with pytest.raises(Misuse, match="a step is a function"):
        open_desk(after_validate=["freeze"])


@pytest.mark.parametrize("answer", [FORBIDDEN, ConflictResult("resource_state"), stop(FORBIDDEN)])
def test_an_own_step_stops_a_call_with_a_result(answer: Any) -> None:
    """A result other than ok, or a Stopped of one, is the answer; the body is not entered."""

    def never(call: Inspection) -> Any:
        return answer

    desk = open_desk(after_authorize=[never])
    result = desk.call("note.echo", {"text": "x"})
    assert result == getattr(answer, "result", answer)
    assert desk.ran == []
    assert desk.event("call_answered")["step"] == "never"


@pytest.mark.parametrize("answer", [True, "yes", Ok(1), 0, ""])
def test_an_own_step_cannot_allow_anything(answer: Any) -> None:
    """Only None lets a call go on: what is no refusal is one all the same."""

    def generous(call: Inspection) -> Any:
        return answer

    desk = open_desk(after_validate=[generous])
    assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN
    assert desk.ran == []
    assert desk.event("call_answered")["cause"].startswith("TypeError at chain.py")


@pytest.mark.promise("P1")
@pytest.mark.parametrize("is_async", [False, True])
def test_an_own_step_that_raises_is_a_refusal_and_an_event(is_async: bool) -> None:
    """An exception is never an allow, and its text is nowhere."""

    def broken(call: Inspection) -> None:
        raise Failed("timeout") if is_async else RuntimeError("secret")

    async def broken_later(call: Inspection) -> None:
        await asyncio.sleep(0)
        broken(call)

    desk = open_desk(after_authorize=[broken_later if is_async else broken])
    assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN
    assert desk.acall("note.echo", {"text": "x"}) == FORBIDDEN
    assert desk.ran == []
    assert "secret" not in repr(desk.events())
    assert desk.event("call_answered")["cause"].split(" at ")[1].startswith("test_chain.py:")


@pytest.mark.case(80)
def test_an_own_step_sees_copies_and_changes_nothing() -> None:
    """Whatever a step does to what it is shown, the body gets what was judged."""

    def meddle(call: Inspection) -> None:
        call.arguments["text"] = "other"  # type: ignore[index]
        call.arguments["tags"].append("more")  # type: ignore[attr-defined]
        call.context["date"] = 0  # type: ignore[index]

    desk = open_desk(after_validate=[meddle], after_authorize=[meddle])
    assert desk.call("note.echo", {"text": "x", "tags": ["a"]}).to_json()["data"] == {"text": "x", "tags": ["a"]}
    assert desk.ran == [("note.echo", {"text": "x", "tags": ["a"]})]


def test_an_own_step_after_authorize_sees_the_records() -> None:
    """The records that the decision was made with, as copies."""
    seen: list[Inspection] = []
    desk = open_desk(after_authorize=[seen.append])
    desk.call("order.find", {"order": "a-1"})
    assert seen[0].resources == {"order": {"id": "a-1", "total": 50, "email": "ann@example.org"}}
    assert seen[0].caller.subject == "amy"
    assert (seen[0].tool, seen[0].arguments) == ("order.find", {"order": "a-1"})
