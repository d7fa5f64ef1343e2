"""A FastAPI endpoint calls tools as its request's caller, whether it is async or not, and is not entered for nobody."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from desk import Desk, open_desk
from gatewright import Caller

fastapi = pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")


def served(desk: Desk) -> Any:
    """An application with an async and a plain endpoint."""
    from gatewright.middleware.adapters.fastapi import bearer_session

    app = fastapi.FastAPI()
    who = fastapi.Depends(bearer_session(desk.guard, realm="desk"))

    @app.get("/async")
    async def asynchronous(caller: Caller = who) -> dict[str, str]:
        await asyncio.sleep(0)
        found = desk.tools["note.echo"]("x")
        return {"caller": caller.subject, "text": found.text if hasattr(found, "text") else str(found)}

    @app.get("/plain")
    def plain(caller: Caller = who) -> dict[str, str]:
        return {"caller": caller.subject, "text": desk.guard.call("note.echo", '{"text":"x"}').status}

    return app


def asked(app: Any, *requests: tuple[str, dict[str, str]]) -> list[Any]:
    """Send *requests* at once."""

    async def run() -> list[Any]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://tools.example") as client:
            return list(await asyncio.gather(*(client.get(path, headers=headers) for path, headers in requests)))

    return asyncio.run(run())


@pytest.fixture
def desk() -> Desk:
    """A desk of its own for each test."""
    return open_desk()


@pytest.mark.case(45)
def test_an_endpoint_calls_tools_as_its_request_s_caller(desk: Desk) -> None:
    """Async and plain endpoints, forty requests of two callers at once."""
    headers = {sub: {"Authorization": f"Bearer {desk.token(sub=sub)}"} for sub in ("ann", "bob")}
    wanted = [(path, sub) for _ in range(10) for path in ("/async", "/plain") for sub in headers]
    answers = asked(served(desk), *((path, headers[sub]) for path, sub in wanted))
    assert [answer.status_code for answer in answers] == [200] * len(wanted)
    assert [answer.json()["caller"] for answer in answers] == [sub for _, sub in wanted]
    subjects = [event.fields["subject"] for event in desk.journal.events() if event.kind == "identity_resolved"]
    assert sorted(subjects) == ["ann"] * 20 + ["bob"] * 20
    assert len(desk.ran) == 40


def test_an_endpoint_is_not_entered_for_nobody(desk: Desk) -> None:
    """401 with the challenge and the constant result, 400 for a token that is brought wrongly."""
    app = served(desk)
    missing, bad, wrong = asked(
        app, ("/async", {}), ("/plain", {"Authorization": "Bearer x"}), ("/async", {"Authorization": "Bearer"})
    )
    assert (missing.status_code, missing.headers["www-authenticate"]) == (401, 'Bearer realm="desk"')
    assert missing.json()["detail"]["reason"] == "token_missing"
    assert (bad.status_code, bad.json()["detail"]["reason"]) == (401, "token_malformed")
    assert 'error="invalid_token"' in bad.headers["www-authenticate"]
    assert (wrong.status_code, wrong.headers["cache-control"]) == (400, "no-store")
    assert desk.ran == []


def test_the_scheme_is_in_the_schema_of_the_application(desk: Desk) -> None:
    """So that generated clients know how to authenticate."""
    schema = served(desk).openapi()
    assert schema["components"]["securitySchemes"]["gatewright"]["scheme"] == "bearer"
    assert schema["paths"]["/async"]["get"]["security"] == [{"gatewright": []}]
