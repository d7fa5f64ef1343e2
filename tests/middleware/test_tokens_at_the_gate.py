"""Every crafted token at a whole guard, and what becomes of good ones: nobody gets in, and no token gets out."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import pickle
import random
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from crafting import CLAIMS, NOW, craft, login, names, no_file, partner, read_corpus
from gatewright import Caller, Guard, Resource
from gatewright.middleware.adapters.asgi import BearerMiddleware
from gatewright.middleware.failures import Stopped
from gatewright.middleware.identify import VerifiedTokens
from gatewright.middleware.results import Unauthenticated
from gatewright.middleware.token import build_verifier
from gatewright.middleware.unverified import Reason, Unverified
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

CORPUS = read_corpus(Path(__file__).parents[1] / "data")
CONSTANT = {Unauthenticated(reason).to_bytes() for reason in get_args(Reason)}
NAMES = """\
roles: { analyst: {}, lead: {} }
actors: [copilot]
tenants: { acme: {}, globex: {}, initech: {} }
types: { row: [read] }
"""
ROWS = """\
p, *, *, desk.look, call, allow
p, analyst, *, desk.read, call, allow
p, analyst, *, desk.write, call, allow
p, *, *, row:*, read, allow
"""
WORDS: dict[str, Any] = {"use_when": "asked", "not_for": "anything else"}


class Desk:
    """A guard whose tools keep everything that they are handed."""

    def __init__(self, folder: Path | None = None) -> None:
        self.handed: list[object] = []
        self.journal = ListJournal()
        issuers = [
            login().profile(["acme", "globex"], "login", claims=CLAIMS, leeway="5s"),
            partner().profile(["globex", "initech"], "partner"),
        ]
        tools = "---\n".join(
            f"tool: desk.{name}\nallow: [ {{ id: a, roles: [{roles}] }} ]\n"
            for name, roles in (("look", "analyst, lead"), ("read", "analyst"), ("write", "analyst"))
        )
        texts = {
            "names.yaml": NAMES,
            "policy.csv": ROWS,
            "tools/desk.yaml": tools,
            "identity.yaml": json.dumps({"issuers": issuers}),
        }
        ledger = ":memory:" if folder is None else f"sqlite:///{folder / 'ledger.db'}"
        self.guard = Guard(texts, journal=self.journal, ledger=ledger, keys="k" * 32, clock=FakeClock(NOW))
        _add_tools(self)

    def lines(self) -> bytes:
        """Everything that was recorded."""
        return b"\n".join(self.journal.lines)


def _add_tools(desk: Desk) -> None:
    guard = desk.guard

    def load(id: str, tenant: str) -> dict[str, str]:
        desk.handed += [id, tenant]
        if id == "broken":
            raise RuntimeError("no such shelf")
        return {"id": id}

    attributes: dict[str, Any] = {"type": "object", "properties": {"id": {"type": "string"}}}
    row = {"row": Resource("row", at="/row", load=load, scope="tenant", attributes=attributes)}

    @guard.tool("desk.look", kind="read", **WORDS)
    async def look(caller: Caller) -> str:
        """Look."""
        desk.handed.append(caller)
        return caller.subject

    @guard.tool("desk.read", kind="read", resources=row, **WORDS)
    def read(row: str, caller: Caller) -> str:
        """Read a row."""
        desk.handed += [row, caller]
        if row == "raises":
            raise ValueError("a fault")
        return caller.subject

    @guard.tool("desk.write", kind="write", timeout=5, **WORDS)
    def write(text: str, caller: Caller) -> str:
        """Write a text."""
        desk.handed += [text, caller]
        if text == "raises":
            raise ValueError("a fault")
        return caller.subject


@pytest.fixture
def desk() -> Desk:
    """A desk of its own for each test."""
    return Desk()


def parts(token: str) -> Iterator[bytes]:
    """What of a token must be nowhere: its parts, and pieces of each."""
    for part in token.encode("utf-8", "replace").split(b"."):
        if len(part) > 24:
            yield from (part, part[:24], part[-24:])


@pytest.mark.promise("P7")
@pytest.mark.promise("P9")
def test_no_token_of_the_corpus_enters_a_body(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """Called from threads and tasks: one constant answer for each reason, one event, nothing echoed, no exception."""
    caplog.set_level(logging.DEBUG)
    answers = set()
    for case in CORPUS:
        token = craft(case)
        results = [
            desk.guard.call("desk.look", "{}", token=token),
            asyncio.run(desk.guard.acall("desk.write", '{"text":"x"}', token=token)),
        ]
        for result in results:
            assert result.to_bytes() == Unauthenticated(case["reason"]).to_bytes(), case["name"]
            answers.add(result.to_bytes())
        told = desk.lines() + caplog.text.encode("utf-8", "replace")
        assert not any(piece in told for piece in parts(token)), case["name"]
        desk.journal.lines.clear()
        caplog.clear()
    assert answers < CONSTANT
    assert desk.handed == []
    assert desk.guard.call("desk.look", "{}", token=craft({})).status == "ok"


@pytest.mark.case(42)
@pytest.mark.parametrize(
    "claims",
    [
        {"roles": []},
        {"roles": ["pwned"]},
        {"roles": ["Analyst"]},
        {"roles": ["analyst2", "2analyst", "not-analyst"]},
        {"roles": ["copilot"]},
        {"scope": "analyst", "roles": []},
        {"realm_access": {"roles": ["analyst"]}, "roles": []},
        {"groups": ["analyst"], "roles": []},
        {"sub": "analyst", "roles": []},
        {"sub": "role:analyst", "roles": []},
        {"client_id": "analyst", "roles": []},
    ],
)
def test_a_token_without_the_role_has_nothing_of_it(desk: Desk, claims: dict[str, Any]) -> None:
    """Good tokens that say the role in another name, another claim, another case: a caller, without the right."""
    token = login().token(**claims)
    assert desk.guard.identify(token).roles == frozenset()
    assert desk.guard.call("desk.look", "{}", token=token).status == "forbidden"
    assert desk.guard.tools(token) == []
    assert desk.handed == []


@pytest.mark.promise("P12")
def test_two_issuers_of_one_sub_are_two_subjects(desk: Desk) -> None:
    """In a tenant that both may assert; neither is the other, whatever it calls itself."""
    ours = login().token("ann", "globex", ["analyst"])
    theirs = partner().token("ann", "globex", ["analyst"])
    pretending = partner().token("login/ann", "globex", ["analyst"])
    subjects = [
        desk.guard.call("desk.look", "{}", token=token).to_json()["data"] for token in (ours, theirs, pretending)
    ]
    assert subjects == ["login/ann", "partner/ann", "partner/login/ann"]


@pytest.mark.case(30)
@pytest.mark.parametrize(
    "claimed", ["https://login.example", ["https://login.example"], "https://login.example\x00", ""]
)
def test_an_issuer_never_speaks_for_another(desk: Desk, claimed: object) -> None:
    """Signed by a believed issuer under another's name, or under both."""
    for token in (partner().token(tenant="globex", iss=claimed), partner().token(tenant="acme", iss=claimed)):
        assert desk.guard.call("desk.look", "{}", token=token).status == "unauthenticated"


@pytest.mark.case(34)
@pytest.mark.promise("P11")
def test_a_thousand_tokens_with_random_key_ids_cost_two_fetches_a_minute() -> None:
    """Whole tokens, good ones among them; then a rotation is picked up and the removed key is refused."""
    clock = FakeClock(NOW)
    issuer = FakeIssuer(algorithm="EdDSA", clock=clock)
    asked: list[float] = []

    def fetch(url: str) -> bytes:
        asked.append(clock.time())
        return json.dumps(issuer.jwks()).encode()

    profile = {**issuer.profile(["acme"]), "keys": {"url": "https://login.example/keys"}}
    checking = build_verifier({"issuers": [profile]}, names(), no_file, fetch=fetch, timer=clock.time)
    tokens, dice = VerifiedTokens(checking), random.Random(34)
    payload = issuer.claims("ann", "acme")
    for number in range(1_000):
        if number % 50 == 0:
            assert tokens.resolve(issuer.token(), clock.time()).subject == "ann"
        token = issuer.sign(payload, {"kid": dice.choice(["../", "", "x" * 300, "é"]) + str(dice.random())})
        with pytest.raises(Unverified) as caught:
            tokens.resolve(token, clock.time())
        assert caught.value.detail == "key"
        clock.advance(0.0599)
    assert len(asked) <= 2
    old = issuer.token()
    assert tokens.resolve(old, clock.time()).subject == "ann"
    issuer.rotate()
    clock.advance(30)
    assert tokens.resolve(issuer.token(), clock.time()).subject == "ann"
    with pytest.raises(Unverified):
        tokens.resolve(old, clock.time())


def everything(desk: Desk, token: str) -> list[object]:
    """Use *token* in every way there is; return whatever came out, exceptions as their printed traces."""
    guard, found = desk.guard, []
    for tool, arguments in (
        ("desk.look", "{}"),
        ("desk.read", '{"row":"a"}'),
        ("desk.read", '{"row":"raises"}'),
        ("desk.read", '{"row":"broken"}'),
        ("desk.read", '{"row":1,"more":2}'),
        ("desk.read", "{"),
        ("desk.write", '{"text":"x"}'),
        ("desk.write", '{"text":"raises"}'),
        ("desk.none", "{}"),
    ):
        found.append(guard.call(tool, arguments, token=token))
        found.append(asyncio.run(guard.acall(tool, arguments, token=token)))
        found.append(guard.story(guard.last_call_id or ""))
    found += [guard.identify(token), guard.tools(token), guard.session(token), repr(guard), repr(guard.chain)]
    with guard.session(token) as session:
        found += [session, guard.call("desk.look", "{}")]
    with guard.opened("desk.look", "{}", token=token) as left:
        found += [left, left.call, left.call.trail]
    changed = token[:-9] + "AAAAAAAAA"
    for bad in (changed, f"{token}.x", token[:-1]):
        found.append(guard.call("desk.look", "{}", token=bad))
        try:
            guard.tools(bad)
        except Stopped as error:
            found += ["".join(traceback.format_exception(error)), error.args]
    found.append(asyncio.run(_served(desk, token)))
    return found


async def _served(desk: Desk, token: str) -> list[Any]:
    sent: list[Any] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await send(scope["gatewright.caller"])

    async def send(message: Any) -> None:
        sent.append(message)

    app = BearerMiddleware(application, desk.guard)
    for value in (token, f"{token}x", f"{token} {token}"):
        headers = [(b"authorization", f"Bearer {value}".encode())]
        await app({"type": "http", "headers": headers, "query_string": b""}, send, send)  # type: ignore[arg-type]
    return sent


@pytest.mark.promise("P9")
def test_no_token_is_stored_logged_shown_or_handed_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Fifty tokens down every path: in no event, row, log record, text, result or trace, nor with any tool."""
    caplog.set_level(logging.DEBUG)
    desk = Desk(tmp_path)
    for number in range(50):
        canary = f"canary-{number}-{random.Random(number).random()}"
        token = login().token("ann", "acme", ["analyst"], secret=canary)
        came_out = everything(desk, token)
        kept = [repr(came_out).encode(), repr(desk.handed).encode()]
        kept += [desk.lines(), caplog.text.encode(), *(file.read_bytes() for file in tmp_path.iterdir())]
        pieces = [canary.encode(), *parts(token)]
        assert not any(piece in each for piece in pieces[:1] + pieces[4:] for each in kept)
        desk.handed.clear()
        desk.journal.lines.clear()
        caplog.clear()


@pytest.mark.promise("P9")
def test_what_holds_a_token_for_a_moment_is_not_pickled(desk: Desk) -> None:
    """A call, an open call, a session and the memory of verified tokens stay in their process."""
    token = login().token("ann", "acme", ["analyst"])
    with desk.guard.opened("desk.look", "{}", token=token) as left:
        for holder in (left.call, left, desk.guard.session(token), desk.guard._runtime.live.current.tokens):
            with pytest.raises(Exception, match=r"pickle"):
                pickle.dumps(holder)


@pytest.mark.promise("P9")
def test_no_token_outlives_its_call(desk: Desk) -> None:
    """Once it was answered nothing of ours refers to it, the memory of verified tokens included."""
    token = login().token("ann", "acme", ["analyst"])
    assert desk.guard.call("desk.read", '{"row":"a"}', token=token).status == "ok"
    assert desk.guard.call("desk.read", '{"row":"raises"}', token=token).status == "failed"
    assert desk.guard.call("desk.none", "{}", token=token).status == "forbidden"
    gc.collect()
    holders = [each for each in gc.get_referrers(token) if type(each).__module__.startswith("gatewright")]
    assert holders == []
