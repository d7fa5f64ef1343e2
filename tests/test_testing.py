"""The doubles that Gatewright ships do what they say."""

from __future__ import annotations

import base64
import json

import pytest

from gatewright.middleware.record import Trail
from gatewright.testing import FakeClock, FakeIssuer, ListJournal


def part(token: str, position: int) -> dict[str, object]:
    """Return one part of a token as JSON."""
    text = token.split(".")[position]
    value: dict[str, object] = json.loads(base64.urlsafe_b64decode(text + "=="))
    return value


def test_a_fake_clock_stands_still_until_told() -> None:
    """And goes back as a corrected clock does."""
    clock = FakeClock(100)
    assert (clock.time(), clock.time()) == (100.0, 100.0)
    clock.advance(5)
    assert clock.time() == 105.0
    clock.advance(-10)
    assert clock.time() == 95.0


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_an_issuer_publishes_no_private_key(algorithm: str) -> None:
    """Its key set is what a real issuer would show."""
    (key,) = FakeIssuer(algorithm=algorithm).jwks()["keys"]
    assert key["alg"] == algorithm
    assert {"d", "p", "q", "k"} & set(key) == set()


def test_a_token_says_what_it_was_told_to_say() -> None:
    """Claims are added, replaced and left out; each token has an id of its own."""
    issuer = FakeIssuer(algorithm="EdDSA", tenant_claim="org", roles_claim="groups", clock=FakeClock(1000))
    token = issuer.token("ann", "acme", ["lead"], act="bot", lifetime=60, branch="zh1", without=["client_id"])
    payload = part(token, 1)
    assert payload.pop("jti") != part(issuer.token(), 1)["jti"]
    assert payload == {
        "iss": "https://login.example",
        "aud": "tools",
        "sub": "ann",
        "iat": 1000,
        "exp": 1060,
        "org": "acme",
        "groups": ["lead"],
        "act": {"sub": "bot"},
        "branch": "zh1",
    }
    assert part(token, 0) == {"alg": "EdDSA", "typ": "at+jwt", "kid": issuer.key_id}
    assert part(issuer.token(exp=5), 1)["exp"] == 5


def test_an_issuer_rotates_its_key() -> None:
    """Another id, another key."""
    issuer = FakeIssuer(algorithm="EdDSA")
    before = issuer.jwks()["keys"][0]
    issuer.rotate()
    after = issuer.jwks()["keys"][0]
    assert before["kid"] != after["kid"]
    assert before["x"] != after["x"]


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "EdDSA"])
def test_an_issuer_can_be_made_again_from_its_key(algorithm: str) -> None:
    """The same key has the same id, so that a key file written once stays true."""
    issuer = FakeIssuer(algorithm=algorithm)
    assert FakeIssuer(algorithm=algorithm, key=issuer.private_key()).jwks() == issuer.jwks()


def test_a_list_journal_tells_its_events() -> None:
    """Lines stay as they were appended, and expand to numbered events, also after it was closed."""
    journal = ListJournal()
    trail = Trail(1000.0)
    trail.add("request_received", tool="logs.query")
    line = bytearray(trail.line())
    trail.mark()
    journal.append(line)
    line.clear()
    trail.answer("ok")
    journal.append(trail.line())
    journal.close()
    assert [(event.kind, event.sequence) for event in journal.events()] == [
        ("request_received", 0),
        ("call_answered", 1),
    ]
    assert journal.closed
