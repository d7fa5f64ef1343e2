"""Where a call's token comes from: what is said, else the session, else the guard's own source, else nobody."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from desk import Desk, open_desk
from gatewright.middleware.credential import TokenFile, TokenVariable
from gatewright.middleware.failures import CallUnauthenticated
from gatewright.middleware.results import Result

ECHO = ("note.echo", '{"text":"x"}')


def opened(source: Callable[[], str | None] | None = None) -> Desk:
    """A desk whose guard takes tokens from *source*."""
    return open_desk(token=source)


def subject(desk: Desk) -> str | None:
    """Whose the last call was."""
    told = [event.fields for event in desk.journal.events() if event.kind == "identity_resolved"][-1]
    return cast("str | None", told.get("subject"))


@pytest.mark.promise("P7")
@pytest.mark.parametrize("is_async", [False, True])
def test_what_is_said_comes_before_the_session_and_that_before_the_source(is_async: bool) -> None:
    """Explicit wins, also where it says nobody; a session without a token is nobody too."""
    desk = opened(lambda: desk.token(sub="source"))

    def call(**options: Any) -> Result:
        if is_async:
            return asyncio.run(desk.guard.acall(*ECHO, **options))
        return desk.guard.call(*ECHO, **options)

    assert call().status == "ok"
    assert subject(desk) == "source"
    assert call(token=None).status == "unauthenticated"
    with desk.guard.session(desk.token(sub="session")):
        assert call().status == "ok"
        assert subject(desk) == "session"
        assert call(token=desk.token(sub="said")).status == "ok"
        assert subject(desk) == "said"
        assert call(token=None).status == "unauthenticated"
    with desk.guard.session(None):
        assert call().status == "unauthenticated"
    assert call(token="").status == "unauthenticated"
    assert len(desk.ran) == 3


def test_without_any_nobody_is_calling() -> None:
    """Missing is `unauthenticated`, in a call, in a batch and in a list."""
    desk = opened()
    answers = [desk.guard.call(*ECHO), *desk.guard.call_many([ECHO, ECHO])]
    assert {answer.to_json()["reason"] for answer in answers} == {"token_missing"}
    with pytest.raises(CallUnauthenticated):
        desk.guard.tools()
    assert desk.ran == []


def test_a_source_is_not_for_direct_calls() -> None:
    """A guarded function outside of any session is refused whatever the process could be."""
    desk = opened(lambda: desk.token())
    with pytest.raises(CallUnauthenticated):
        desk.tools["note.echo"]("x")
    assert desk.ran == []


def test_a_call_that_names_no_token_belongs_to_its_session() -> None:
    """With its stage and its interaction, and to the call whose body makes it."""
    desk = opened()
    with desk.guard.session(desk.token(), context={"stage": "work"}, interaction="talk"):
        assert desk.guard.call("order.list", '{"limit":2}').status == "ok"
        assert desk.guard.call("order.list", '{"limit":2}', context={"stage": "rest"}).status == "forbidden"
    assert desk.guard.events(desk.guard.last_call_id or "")[0].interaction == "talk"
    inner_call = ["order.find"]
    desk.on_run = lambda: inner_call and desk.guard.call(inner_call.pop(), '{"order":"a-1"}')
    assert desk.call("note.echo", {"text": "x"}).status == "ok"
    outer, inner = [event for event in desk.journal.events() if event.kind == "call_answered"][:-3:-1]
    assert inner.parent == outer.call
    assert [name for name, _ in desk.ran] == ["order.list", "note.echo", "order.find"]


@pytest.mark.case(45)
def test_a_source_is_asked_for_each_call(tmp_path: Path) -> None:
    """Whoever refreshes the file tells nobody; a call is its own token's, in a session too."""
    file = tmp_path / "token"
    desk = opened(TokenFile(file))
    assert desk.guard.call(*ECHO).status == "unauthenticated"
    with desk.guard.session(TokenFile(file)):
        for sub in ("ann", "bob", "cyd"):
            file.write_text(desk.token(sub=sub) + "\n")
            assert desk.guard.call(*ECHO).status == "ok"
            assert subject(desk) == sub
            desk.tools["note.echo"]("y")
            assert subject(desk) == sub
        file.unlink()
        assert desk.guard.call(*ECHO).status == "unauthenticated"


def test_a_variable_is_read_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is ours unless another is given; empty is not set."""
    desk = opened(TokenVariable())
    monkeypatch.delenv("GATEWRIGHT_TOKEN", raising=False)
    assert desk.guard.call(*ECHO).status == "unauthenticated"
    monkeypatch.setenv("GATEWRIGHT_TOKEN", " \n")
    assert desk.guard.call(*ECHO).to_json()["reason"] == "token_missing"
    monkeypatch.setenv("GATEWRIGHT_TOKEN", desk.token())
    assert desk.guard.call(*ECHO).status == "ok"
    assert TokenVariable("OTHER")() is None


@pytest.mark.promise("P11")
def test_what_is_no_plain_small_file_holds_no_token(tmp_path: Path) -> None:
    """A folder, a pipe that nobody writes to, a device, a broken link, a name that is none, bytes that are no text."""
    pipe, link, huge, odd = (tmp_path / name for name in ("pipe", "link", "huge", "odd"))
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "nowhere")
    huge.write_bytes(b"a" * 100_000)
    odd.write_bytes(b"\xff\xfe.\x00.a")
    for path in (tmp_path, pipe, link, Path("/dev/null"), Path("nul\0l"), tmp_path / "absent"):
        assert TokenFile(path)() is None
    for path, reason in ((huge, "token_malformed"), (odd, "token_malformed")):
        assert opened(TokenFile(path)).guard.call(*ECHO).to_json()["reason"] == reason
    assert len(TokenFile(huge)() or "") < 20_000


def test_a_source_that_fails_names_nobody(caplog: pytest.LogCaptureFixture) -> None:
    """And what it raised, which may hold anything, is told nowhere."""

    def broken() -> str:
        raise RuntimeError("canary-4711")

    desk = opened(broken)
    result = desk.guard.call(*ECHO)
    assert result.to_json()["reason"] == "token_missing"
    assert "canary" not in caplog.text + repr(result) + str(desk.journal.lines)


def test_a_source_shows_where_it_looks_and_not_what_it_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its text is for logs."""
    file = tmp_path / "token"
    file.write_text("secret-4711")
    monkeypatch.setenv("A_TOKEN", "secret-4711")
    for source in (TokenFile(file), TokenVariable("A_TOKEN")):
        assert source() == "secret-4711"
        assert "secret" not in repr(source)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_server_may_ask_at_its_door(is_async: bool) -> None:
    """Who it is, or an event and the reason; no tool is looked at and nothing is allowed."""
    desk = opened()

    def identify(token: str | None) -> str:
        found = asyncio.run(desk.guard.aidentify(token)) if is_async else desk.guard.identify(token)
        return found.subject

    assert identify(desk.token(sub="bob")) == "bob"
    desk.journal.lines.clear()
    assert identify(desk.token(sub="ann")) == "ann"
    assert desk.journal.lines == []
    with pytest.raises(CallUnauthenticated) as caught:
        identify(desk.token(aud="others"))
    assert caught.value.result.to_json()["reason"] == "token_invalid"
    kinds = [event.kind for event in desk.journal.events()]
    assert kinds == ["request_received", "identity_resolved", "call_answered"]
