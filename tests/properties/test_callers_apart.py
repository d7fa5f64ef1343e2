"""
Calls of several callers at once, on one connection and in worker threads: each is judged on its own token, always.

Whose call it was is asked three times: of the body, of the result, and of the events.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
from typing import Any

import pytest

from gatewright import Caller, Guard
from gatewright.middleware.adapters.asgi import BearerMiddleware
from gatewright.testing import FakeIssuer, ListJournal

pytestmark = [pytest.mark.promise("P7"), pytest.mark.promise("P12"), pytest.mark.case(45)]

SUBJECTS = [(f"sub-{number}", tenant) for tenant in ("acme", "globex") for number in range(3)]
NAMES = "roles: { agent: {} }\nactors: []\ntenants: { acme: {}, globex: {} }\ntypes: {}\n"
WORDS: dict[str, Any] = {"use_when": "asked", "not_for": "anything else"}


class Office:
    """One guard with two tools that say whose call they run for: one in a thread, one in a task that waits inside."""

    def __init__(self) -> None:
        self.issuer = FakeIssuer(algorithm="EdDSA")
        self.journal = ListJournal()
        identity = json.dumps({"issuers": [self.issuer.profile(["acme", "globex"])]})
        rows = "p, agent, *, who.sync, call, allow\np, agent, *, who.async, call, allow\n"
        tools = "".join(
            f"tool: who.{kind}\nallow: [ {{ id: a, roles: [agent] }} ]\n---\n" for kind in ("sync", "async")
        )
        texts = {"names.yaml": NAMES, "policy.csv": rows, "tools/who.yaml": tools[:-4], "identity.yaml": identity}
        self.guard = Guard(texts, journal=self.journal, ledger=":memory:", keys="k" * 32)
        self.tokens = {who: self.token(*who) for who in SUBJECTS}
        guard = self.guard

        @guard.tool("who.sync", kind="read", **WORDS)
        def sync(caller: Caller, number: int) -> list[str]:
            """Say who calls."""
            return [caller.subject, caller.tenant]

        @guard.tool("who.async", kind="read", **WORDS)
        async def later(caller: Caller, number: int) -> list[str]:
            """Say who calls, after others had their turn."""
            await asyncio.sleep(0)
            return [caller.subject, caller.tenant]

        self.sync, self.later = sync, later

    def token(self, sub: str, tenant: str) -> str:
        """A new token of one of them."""
        return self.issuer.token(sub, tenant, ["agent"], lifetime=3000)

    def mixed_events(self) -> int:
        """How many calls have an event of somebody else than their tenant's."""
        found = 0
        for event in self.journal.events():
            if event.kind == "identity_resolved":
                found += event.tenant != event.fields["tenant"]
        return found


@pytest.fixture
def office() -> Office:
    """An office of its own for each test."""
    return Office()


async def on_one_connection(office: Office, calls: int) -> int:
    """
    Serve *calls* requests of six callers, thirty at a time, in every way a request may call tools; return those mixed.

    Now and then a caller's token is refreshed, in the middle of everything.
    """
    dice = random.Random(45)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        way = scope["way"]
        await asyncio.sleep(0)
        if way == 0:
            found = office.sync(number=1)  # type: ignore[call-arg]
        elif way == 1:
            found = await office.later(number=1)  # type: ignore[call-arg]
        else:
            tool, given = ("who.async", {}) if way == 2 else ("who.sync", {"token": office.tokens[scope["other"]]})
            found = (await office.guard.acall(tool, '{"number":1}', **given)).to_json()["data"]  # type: ignore[typeddict-item]
        await send({"type": "http.response.body", "found": found})

    app = BearerMiddleware(application, office.guard)

    async def request() -> bool:
        who, other, way = dice.choice(SUBJECTS), dice.choice(SUBJECTS), dice.randrange(4)
        if dice.random() < 0.01:
            office.tokens[who] = office.token(*who)
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(b"authorization", f"Bearer {office.tokens[who]}".encode())]
        scope = {"type": "http", "headers": headers, "query_string": b"", "way": way, "other": other}
        await app(scope, send, send)  # type: ignore[arg-type]
        return sent[0].get("found") != list(other if way == 3 else who)

    mixed = 0
    for _ in range(calls // 30):
        mixed += sum(await asyncio.gather(*(request() for _ in range(30))))
    return mixed


def in_threads(office: Office, calls: int, threads: int = 8) -> int:
    """Make *calls* calls in worker threads, each of another caller than the one before; return those mixed."""
    mixed: list[int] = []

    def work(start: int) -> None:
        wrong = 0
        for turn in range(calls // threads):
            who = SUBJECTS[(start + turn) % len(SUBJECTS)]
            wrong += _asked(office, who, turn) != list(who)
        mixed.append(wrong)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    assert len(mixed) == threads
    return sum(mixed)


def _asked(office: Office, who: tuple[str, str], turn: int) -> Any:
    if turn % 2:
        result = office.guard.call("who.sync", '{"number":1}', token=office.tokens[who])
        return result.to_json()["data"]
    with office.guard.session(office.tokens[who]):
        return office.sync(number=1)  # type: ignore[call-arg]


def serve(office: Office, where: str, times: int) -> int:
    """Make this way's share of ten thousand calls, *times* over; return those mixed."""
    if where == "threads":
        return in_threads(office, 7_000 * times)
    return asyncio.run(on_one_connection(office, 3_000 * times))


@pytest.mark.parametrize("where", ["threads", "one connection"])
def test_no_call_is_another_caller_s(office: Office, where: str) -> None:
    """Ten thousand calls in all: no body, no result and no event of somebody else."""
    assert serve(office, where, 1) == 0
    assert office.mixed_events() == 0


@pytest.mark.long
@pytest.mark.parametrize("where", ["threads", "one connection"])
def test_no_call_of_a_hundred_thousand_is_another_caller_s(office: Office, where: str) -> None:
    """The same, ten times as often."""
    assert serve(office, where, 10) == 0
    assert office.mixed_events() == 0
