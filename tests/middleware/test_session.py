"""Sessions: whose token a direct call uses, and when it does not any more."""

from __future__ import annotations

import asyncio
import pickle
import threading

import pytest

from desk import Desk, open_desk
from gatewright import Misuse
from gatewright.middleware.failures import CallForbidden, CallUnauthenticated, Stopped


@pytest.fixture
def desk() -> Desk:
    """A desk of its own for each test."""
    return open_desk()


def test_a_session_ends_with_its_block(desk: Desk) -> None:
    """After it, a direct call is refused."""
    with desk.guard.session(desk.token()):
        desk.tools["note.echo"]("x")
    with pytest.raises(CallUnauthenticated):
        desk.tools["note.echo"]("y")
    assert [run[1]["text"] for run in desk.ran] == ["x"]


def test_each_call_in_a_session_authenticates_again(desk: Desk) -> None:
    """A token that expires inside the block is not believed any longer."""
    with desk.guard.session(desk.token(lifetime=60)):
        desk.tools["note.echo"]("x")
        desk.clock.advance(120)
        with pytest.raises(CallUnauthenticated) as caught:
            desk.tools["note.echo"]("y")
    assert caught.value.result.to_json()["reason"] == "token_expired"
    assert len(desk.ran) == 1


def test_a_session_belongs_to_one_guard(desk: Desk) -> None:
    """Another guard's tools do not see it; an outer session of their own they do."""
    other = open_desk()
    with desk.guard.session(desk.token()):
        with pytest.raises(CallUnauthenticated):
            other.tools["note.echo"]("x")
        with other.guard.session(other.token()):
            desk.tools["note.echo"]("y")
            other.tools["note.echo"]("z")
    assert [run[1]["text"] for run in desk.ran] == ["y"]
    assert [run[1]["text"] for run in other.ran] == ["z"]


def test_the_innermost_session_counts(desk: Desk) -> None:
    """A narrower token inside a wider one is the one that is used."""
    with desk.guard.session(desk.token("supervisor")):
        with desk.guard.session(desk.token("nothing")), pytest.raises(CallForbidden):
            desk.tools["desk.wipe"](True)
        with desk.guard.session(None), pytest.raises(CallUnauthenticated):
            desk.tools["desk.wipe"](True)
    assert desk.ran == []


def test_a_session_is_seen_in_tasks_and_threads_but_not_after_it(desk: Desk) -> None:
    """A task that outlives the block finds it closed."""

    async def outlive() -> Stopped | None:
        gate = asyncio.Event()

        async def late() -> None:
            await gate.wait()
            desk.tools["note.echo"]("late")

        with desk.guard.session(desk.token()):
            task = asyncio.create_task(late())
            await asyncio.to_thread(desk.tools["note.echo"], "in a thread")
        gate.set()
        try:
            await task
        except Stopped as stopped:
            return stopped
        return None

    assert isinstance(asyncio.run(outlive()), CallUnauthenticated)
    assert [run[1]["text"] for run in desk.ran] == ["in a thread"]


def test_a_new_thread_has_no_session(desk: Desk) -> None:
    """A bare thread starts with an empty context: refused, never somebody else's session."""
    outcome: list[str] = []

    def run() -> None:
        try:
            desk.tools["note.echo"]("x")
        except Stopped as stopped:
            outcome.append(stopped.status)

    with desk.guard.session(desk.token()):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert outcome == ["unauthenticated"]


def test_a_session_shows_nothing_of_its_token(desk: Desk) -> None:
    """Not in its text, and it cannot be pickled."""
    token = desk.token()
    session = desk.guard.session(token)
    assert token not in repr(session)
    with pytest.raises(Misuse, match="not pickled"):
        pickle.dumps(session)


def test_a_session_is_entered_once(desk: Desk) -> None:
    """A second time would be a session whose end nobody sees."""
    session = desk.guard.session(desk.token())
    with session, pytest.raises(Misuse), session:
        pass
    with pytest.raises(Misuse), session:
        pass


def test_context_and_interaction_of_a_session_reach_its_calls(desk: Desk) -> None:
    """Stages and conversations are the session's."""
    with desk.guard.session(desk.token(), context={"stage": "work"}, interaction="chat-1"):
        asyncio.run(desk.tools["order.list"](1))
    events = [event for event in desk.journal.events() if event.kind == "request_received"]
    assert events[-1].interaction == "chat-1"
    assert events[-1].fields["stage"] == "work"
