"""What may a body ask about its own call? Its ids, a note for its events, and whether it is still allowed (P6, P9)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from desk import Desk, open_desk, open_one
from gatewright import Failed, Misuse, NoEffect, current_call, still_allowed
from gatewright.middleware.results import FailedResult, Ok, Unauthenticated, Unknown


def only_event(desk: Desk, kind: str) -> dict[str, Any]:
    """The last event of a kind of the last call."""
    return desk.event(kind)


def test_there_is_no_call_outside_a_body() -> None:
    """Asking for one is a mistake that says so; a thread without the context is outside."""
    with pytest.raises(Misuse, match="no call runs here"):
        current_call()
    with pytest.raises(Misuse, match="no call runs here"):
        still_allowed()


def test_a_body_knows_its_own_call_and_nothing_of_another() -> None:
    """The ids are the runtime's; after the body there is none."""
    seen: list[tuple[str, str]] = []
    desk = open_desk()
    desk.on_run = lambda: seen.append((current_call().tool, current_call().id))

    desk.call("note.echo", {"text": "x"})
    assert seen == [("note.echo", desk.guard.last_call_id)]
    with pytest.raises(Misuse):
        current_call()


def test_the_traceparent_is_that_of_w3c() -> None:
    """32 and 16 hexadecimal digits, of the call's trace and id."""
    seen: list[str] = []

    def body(count: int) -> int:
        """Note the header."""
        seen.append(current_call().traceparent)
        return count

    desk, _ = open_one(body)
    desk.call("some.thing", {"count": 1})
    call = str(desk.guard.last_call_id)
    assert seen == [f"00-{call}-{call[:16]}-01"]


@pytest.mark.promise("P9")
@pytest.mark.parametrize("ends", ["returns", "raises", "times out"])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_what_the_backend_said_is_in_the_events_however_it_ends(kind: str, ends: str) -> None:
    """Status, code and backend stand in `execution_finished`; what is noted last counts."""
    release = threading.Event()

    def body(count: int) -> int:
        """Note, then end."""
        current_call().note(http_status=200, backend="payments")
        current_call().note(http_status=503, code="E-42")
        if ends == "raises":
            raise RuntimeError
        if ends == "times out":
            release.wait(30)
        return count

    desk, _ = open_one(body, kind=kind, timeout=0.3)
    desk.call("some.thing", {"count": 1})
    release.set()
    noted = only_event(desk, "execution_finished")
    assert (noted["http_status"], noted["code"], noted["backend"]) == (503, "E-42", "payments")


@pytest.mark.promise("P9")
@pytest.mark.parametrize(
    "note",
    [
        {"code": "a secret with blanks"},
        {"code": "x" * 65},
        {"code": ""},
        {"code": "a\nb"},
        {"code": 7},
        {"backend": "\ud800"},
        {"http_status": 99},
        {"http_status": 600},
        {"http_status": True},
        {"http_status": "200"},
    ],
)
def test_a_note_that_could_be_data_is_left_out(note: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """It stops nothing, stands in no event, and the log names the field alone."""

    def body(count: int) -> int:
        """Note something else."""
        current_call().note(**note)
        return count

    desk, _ = open_one(body, kind="write")
    assert desk.call("some.thing", {"count": 1}) == Ok(1)
    assert not {"code", "backend", "http_status"} & only_event(desk, "execution_finished").keys()
    assert "secret" not in caplog.text
    assert len(caplog.records) == 1


def _revoke(desk: Desk) -> None:
    desk.guard.revocations.revoke_subject("amy", until=desk.clock.time() + 1)


@pytest.mark.promise("P6")
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("raises", [False, True])
def test_a_read_that_is_not_allowed_any_more_is_refused_whatever_it_returns(is_async: bool, raises: bool) -> None:
    """It is told so in the midst of its body; a body that goes on regardless gives nothing away."""
    told: list[bool] = []
    between: list[Callable[[], None]] = []

    def after() -> int:
        if raises:
            raise RuntimeError
        return 7

    def body(count: int) -> int:
        """Ask before and after."""
        told.append(still_allowed())
        between[0]()
        told.extend([still_allowed(), still_allowed()])
        return after()

    async def abody(count: int) -> int:
        """Ask before and after."""
        told.append(await current_call().astill_allowed())
        between[0]()
        told.extend([await current_call().astill_allowed(), still_allowed()])
        return after()

    desk, _ = open_one(abody if is_async else body)
    between.append(lambda: _revoke(desk))
    assert desk.call("some.thing", {"count": 1}) == Unauthenticated("token_revoked")
    assert told == [True, False, False]
    assert [event["event"] for event in desk.events()].count("call_answered") == 1


@pytest.mark.promise("P6")
def test_a_write_is_told_and_says_itself_what_it_has_done() -> None:
    """`NoEffect` where it has done nothing; what returned was done."""
    for ends, expected in (("done", Ok(1)), ("nothing", FailedResult("cancelled")), ("lost", None)):

        def body(count: int, ends: str = ends) -> int:
            """Look, then end."""
            _revoke(desk)  # noqa: B023 - called in this round of the loop only
            assert not still_allowed()
            if ends == "nothing":
                raise NoEffect(Failed("cancelled"))
            if ends == "lost":
                raise RuntimeError
            return count

        desk, _ = open_one(body, kind="write")
        result = desk.call("some.thing", {"count": 1})
        assert result == expected if expected is not None else isinstance(result, Unknown)


def test_a_body_that_was_given_up_is_not_allowed_any_more() -> None:
    """Its thread goes on after the answer; it learns that nobody waits."""
    given_up, told, done = threading.Event(), [], threading.Event()

    def body(count: int) -> int:
        """Ask long after the timeout."""
        given_up.wait(30)
        told.append(still_allowed())
        done.set()
        return count

    desk, _ = open_one(body, timeout=0.1)
    assert desk.call("some.thing", {"count": 1}) == FailedResult("timeout")
    given_up.set()
    assert done.wait(10)
    assert told == [False]


@pytest.mark.promise("P6")
def test_a_stream_is_asked_every_hundred_items() -> None:
    """Revoked in mid-stream, nothing of it is given away, and it is not read to its end."""
    read: list[int] = []

    async def body(count: int) -> Any:
        """Give numbers, and be revoked at the 150th."""
        for number in range(count):
            if number == 150:
                _revoke(desk)
            read.append(number)
            yield number

    desk, _ = open_one(body)
    assert desk.call("some.thing", {"count": 1000}) == Unauthenticated("token_revoked")
    assert len(read) == 200
    assert asyncio.run(desk.guard.acall("some.thing", {"count": 5}, token=desk.token())).status == "unauthenticated"
