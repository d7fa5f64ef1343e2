"""Every request is its own caller's: identified at the door, never mixed with another, and nobody else's afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import pytest

from desk import Desk, open_desk
from gatewright.middleware.adapters.asgi import BearerMiddleware, request_token
from gatewright.middleware.failures import Stopped

Sent = list[dict[str, Any]]


@pytest.fixture
def desk() -> Desk:
    """A desk of its own for each test."""
    return open_desk()


class Server:
    """An application that calls a tool for each request, behind the middleware."""

    def __init__(self, desk: Desk, **options: Any) -> None:
        self.desk = desk
        self.seen: list[Any] = []
        self.app = BearerMiddleware(self.answer, desk.guard, **options)

    async def answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Call a tool directly and through the guard, with a pause between; say whose calls they were."""
        self.seen.append(scope.get("gatewright.caller"))
        if scope["type"] == "lifespan":
            return
        try:
            self.desk.tools["note.echo"]("x")
            await asyncio.sleep(0)
            result = await self.desk.guard.acall("note.echo", '{"text":"y"}')
            body = result.to_bytes()
        except Stopped as stopped:
            body = stopped.result.to_bytes()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    def ask(self, *headers: bytes, **scope: Any) -> Sent:
        """Send one request with these Authorization headers."""
        return asyncio.run(ask(self.app, headers, **scope))


async def ask(app: Any, headers: Iterable[bytes], **scope: Any) -> Sent:
    """Send one request to *app*; return what it sent."""
    sent: Sent = []

    async def receive() -> dict[str, Any]:
        return {"type": f"{asked['type']}.connect" if asked["type"] == "websocket" else "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    asked = {"type": "http", "query_string": b"", "headers": [(b"authorization", each) for each in headers], **scope}
    await app(asked, receive, send)
    return sent


def bearer(token: str) -> bytes:
    """The header of a token."""
    return f"Bearer {token}".encode()


def test_a_request_runs_in_a_session_of_its_token(desk: Desk) -> None:
    """Direct calls and calls of the guard are the request's; its caller is in the scope, its token is not."""
    server = Server(desk)
    sent = server.ask(bearer(desk.token(sub="ann")))
    assert [message.get("status") for message in sent] == [200, None]
    assert json.loads(sent[1]["body"])["status"] == "ok"
    assert server.seen[0].subject == "ann"
    assert [event.fields["subject"] for event in desk.journal.events() if event.kind == "identity_resolved"] == [
        "ann"
    ] * 2
    with pytest.raises(Stopped):
        desk.tools["note.echo"]("x")


def test_nobody_is_answered_at_the_door(desk: Desk) -> None:
    """401 with the challenge, the constant result as body, and an event; the application is not entered."""
    server = Server(desk)
    for header, reason in (
        ((), "token_missing"),
        ((b"Basic YTpi",), "token_missing"),
        ((b"Bearer x",), "token_malformed"),
    ):
        start, body = server.ask(*header)
        assert (start["status"], json.loads(body["body"])["reason"]) == (401, reason)
        assert dict(start["headers"])[b"www-authenticate"].startswith(b'Bearer realm="gatewright"')
    expired = bearer(desk.token(lifetime=60))
    desk.clock.advance(120)
    start, body = server.ask(expired)
    assert json.loads(body["body"])["reason"] == "token_expired"
    assert server.seen == desk.ran == []
    told = [event.fields["outcome"] for event in desk.journal.events() if event.kind == "identity_resolved"]
    assert told == ["token_missing", "token_missing", "token_malformed", "token_expired"]


@pytest.mark.parametrize("optional", [False, True])
def test_a_token_that_is_brought_wrongly_is_a_bad_request(desk: Desk, optional: bool) -> None:
    """Two tokens, one in the query, a header without one."""
    server, good = Server(desk, optional=optional), bearer(desk.token())
    for sent in (server.ask(good, good), server.ask(good, query_string=b"access_token=x"), server.ask(b"Bearer")):
        assert sent[0]["status"] == 400
        assert b'error="invalid_request"' in dict(sent[0]["headers"])[b"www-authenticate"]
    assert server.seen == []


def test_where_a_token_is_optional_its_absence_is_nobody(desk: Desk) -> None:
    """The application is entered, its tools are not; a bad token is answered all the same."""
    server = Server(desk, optional=True)
    assert json.loads(server.ask()[1]["body"])["reason"] == "token_missing"
    assert server.ask(b"Bearer x")[0]["status"] == 401
    assert (server.seen, desk.ran) == ([None], [])


def test_nobody_never_falls_back_on_the_process(desk: Desk) -> None:
    """A guard with a source of its own behind the middleware: a request without a token is nobody's."""
    sourced = open_desk(token=lambda: desk.token("supervisor"))
    server = Server(sourced, optional=True)
    assert json.loads(server.ask()[1]["body"])["status"] == "unauthenticated"
    assert sourced.ran == []


def test_a_websocket_of_nobody_is_not_opened(desk: Desk) -> None:
    """Closed before it is accepted, or answered where the server can; other kinds of scope pass."""
    server = Server(desk)
    assert server.ask(type="websocket") == [{"type": "websocket.close", "code": 1008, "reason": ""}]
    start, _ = server.ask(type="websocket", extensions={"websocket.http.response": {}})
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 401)
    assert server.ask(type="lifespan") == []
    assert server.seen == [None]


@pytest.mark.case(45)
@pytest.mark.promise("P7")
def test_what_outlives_the_first_request_is_not_its_caller_s(desk: Desk) -> None:
    """A task that the first request started handles later ones: with their own token, or nobody's."""

    async def talk() -> list[str]:
        inbox: asyncio.Queue[tuple[Any, asyncio.Future[bytes]]] = asyncio.Queue()
        workers: list[asyncio.Task[None]] = []

        async def work() -> None:  # in the context of whoever came first
            while True:
                scope, answered = await inbox.get()
                token = {} if scope.get("path") == "/careless" else {"token": request_token(scope)}
                result = await desk.guard.acall("note.echo", '{"text":"x"}', **token)  # type: ignore[arg-type]
                answered.set_result(result.to_bytes())

        async def conversation(scope: Any, receive: Any, send: Any) -> None:
            if not workers:
                workers.append(asyncio.create_task(work()))
            answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
            await inbox.put((scope, answered))
            await send({"type": "http.response.body", "body": await answered})

        app = BearerMiddleware(conversation, desk.guard)
        found = []
        for sub, path in (("ann", "/"), ("bob", "/"), ("ann", "/"), ("bob", "/careless")):
            (sent,) = await ask(app, [bearer(desk.token(sub=sub))], path=path)
            found.append(json.loads(sent["body"])["status"])
        workers[0].cancel()
        return found

    assert asyncio.run(talk()) == ["ok", "ok", "ok", "unauthenticated"]
    subjects = [event.fields.get("subject") for event in desk.journal.events() if event.kind == "identity_resolved"]
    assert subjects == ["ann", "bob", "ann", None]
