"""An issuer's security events revoke its own tokens, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gatewright import Guard
from gatewright.middleware.receive import EventRefused
from gatewright.testing import FakeClock, FakeIssuer

NOW = 1_796_032_800
HERE = "https://tools.example/events"
CAEP = "https://schemas.openid.net/secevent/caep/event-type/"
POLICIES = {
    "names.yaml": "roles: { reader: {} }\nactors: []\ntenants: { acme: {}, globex: {} }\ntypes: {}\n",
    "policy.csv": "p, reader, *, lines.read, call, allow\n",
    "tools/lines.yaml": "tool: lines.read\nallow: [ { id: all, roles: [reader], arguments: {} } ]\n",
}
CLOCK = FakeClock(NOW)
ISSUER = FakeIssuer(clock=CLOCK)
PARTNER = FakeIssuer("https://partner.example", clock=CLOCK)


@pytest.fixture
def guard() -> Iterator[Guard]:
    """A guard that takes the events of one of its two issuers."""
    issuers = [ISSUER.profile(["acme", "globex"], events=HERE), PARTNER.profile(["globex"], "partner")]
    with Guard({**POLICIES, "identity.yaml": json.dumps({"issuers": issuers})}, clock=CLOCK, keys="k" * 32) as opened:

        @opened.tool("lines.read", kind="read", use_when="needed", not_for="anything else")
        def read_lines() -> str:
            """Read."""
            return "line"

        yield opened


def event(kind: str = "session-revoked", sub_id: Any = None, issuer: FakeIssuer = ISSUER, **changes: Any) -> str:
    """A signed security event."""
    body = {"event_timestamp": NOW}
    payload = {
        "iss": issuer.issuer,
        "jti": "e-1",
        "iat": NOW,
        "aud": HERE,
        "sub_id": sub_id or {"format": "opaque", "id": "s-1"},
        "events": {CAEP + kind: body},
        **changes,
    }
    header = payload.pop("header", {"typ": "secevent+jwt"})
    return issuer.sign({name: value for name, value in payload.items() if value is not None}, header)


def status(guard: Guard, token: str) -> str:
    """How a call with *token* ends."""
    return guard.call("lines.read", "{}", token=token).status


ISS_SUB = {"format": "iss_sub", "iss": ISSUER.issuer, "sub": "ann"}


@pytest.mark.promise("P6")
@pytest.mark.parametrize(
    ("kind", "sub_id"),
    [
        ("session-revoked", {"format": "opaque", "id": "s-1"}),
        ("session-revoked", ISS_SUB),
        ("session-revoked", {"format": "complex", "session": {"format": "opaque", "id": "s-1"}}),
        ("session-revoked", {"format": "complex", "user": ISS_SUB, "tenant": {"format": "opaque", "id": "acme"}}),
        ("token-claims-change", {"format": "jwt_id", "iss": ISSUER.issuer, "jti": "t-1"}),
        ("token-claims-change", ISS_SUB),
        ("credential-change", {"format": "opaque", "id": "ann"}),
    ],
)
def test_an_event_ends_the_tokens_it_is_about(guard: Guard, kind: str, sub_id: dict[str, Any]) -> None:
    """At once; another subject's token, and one of the same subject that is issued afterwards, still count."""
    token = ISSUER.token("ann", "acme", ["reader"], jti="t-1", sid="s-1")
    assert status(guard, token) == "ok"
    assert guard.receive_event(event(kind, sub_id))
    assert status(guard, token) == "unauthenticated"
    assert status(guard, ISSUER.token("bob", "acme", ["reader"], sid="s-2")) == "ok"
    later = ISSUER.token("ann", "acme", ["reader"], iat=NOW + 1, sid="s-3")
    CLOCK.advance(1)
    assert status(guard, later) == "ok"
    CLOCK.advance(-1)


def test_a_subject_of_a_shared_tenant_is_found_under_its_alias(guard: Guard) -> None:
    """The issuer says its own name for it; callers have the alias in front."""
    token = ISSUER.token("ann", "globex", ["reader"])
    partner = PARTNER.token("ann", "globex", ["reader"])
    guard.receive_event(event("credential-change", ISS_SUB))
    assert (status(guard, token), status(guard, partner)) == ("unauthenticated", "ok")


def test_an_event_that_means_nothing_here_revokes_nothing(guard: Guard) -> None:
    """It is taken, as RFC 8417 asks, and changes nothing."""
    assert guard.receive_event(event("device-compliance-change")) == ()
    assert guard.receive_event(event(events={"https://example.com/session-revoked": {}})) == ()
    assert guard.revocations.listed() == ()


REFUSED = {
    "an access token": lambda: ISSUER.token("ann", "acme", ["reader"], aud=HERE),
    "another type": lambda: event(header={"typ": "jwt"}),
    "no type": lambda: event(header={"typ": None}),
    "an issuer whose profile takes none": lambda: event(issuer=PARTNER),
    "an unknown issuer": lambda: event(iss="https://evil.example"),
    "another audience": lambda: event(aud="tools"),
    "one audience of two": lambda: event(aud=[HERE, "tools"]),
    "no audience": lambda: event(aud=None),
    "another key": lambda: FakeIssuer(clock=CLOCK).sign({"iss": ISSUER.issuer, "aud": HERE}, {"typ": "secevent+jwt"}),
    "an expiry": lambda: event(exp=NOW + 60),
    "no id": lambda: event(jti=None),
    "no time": lambda: event(iat=None),
    "a time to come": lambda: event(iat=NOW + 60),
    "a time that is a text": lambda: event(iat=str(NOW)),
    "no events": lambda: event(events=None),
    "empty events": lambda: event(events={}),
    "events in a list": lambda: event(events=[CAEP + "session-revoked"]),
    "a body that is none": lambda: event(events={CAEP + "session-revoked": None}),
    "a subject of another issuer": lambda: event(sub_id={**ISS_SUB, "iss": PARTNER.issuer}),
    "a tenant that is not the issuer's": lambda: event(
        sub_id={"format": "complex", "user": ISS_SUB, "tenant": {"format": "opaque", "id": "initech"}}
    ),
    "a part that we do not know": lambda: event(
        sub_id={"format": "complex", "user": ISS_SUB, "device": {"format": "opaque", "id": "d-1"}}
    ),
    "a complex subject of nobody": lambda: event(sub_id={"format": "complex"}),
    "a mail address": lambda: event(sub_id={"format": "email", "email": "ann@example.com"}),
    "an empty id": lambda: event(sub_id={"format": "opaque", "id": ""}),
    "an id of another type": lambda: event(sub_id={"format": "opaque", "id": 7}),
    "a time of the event that is none": lambda: event(events={CAEP + "credential-change": {"event_timestamp": "now"}}),
    "nothing": lambda: "",
    "no token": lambda: "a.b.c",
}


@pytest.mark.promise("P7")
@pytest.mark.parametrize("what", REFUSED)
def test_anything_else_is_refused_and_revokes_nothing(guard: Guard, what: str) -> None:
    """With a code of RFC 8935 and no word of the token."""
    with pytest.raises(EventRefused) as caught:
        guard.receive_event(REFUSED[what]())
    assert guard.revocations.listed() == ()
    assert caught.value.__cause__ is None
    assert "ann" not in str(caught.value)


def test_a_security_event_is_no_access_token(guard: Guard) -> None:
    """Even where it says all that one has."""
    claims = ISSUER.claims("ann", "acme", ["reader"])
    assert status(guard, ISSUER.sign(claims, {"typ": "secevent+jwt"})) == "unauthenticated"


@pytest.mark.parametrize("form", ["opaque", "iss_sub", "jwt_id"])
def test_every_id_that_a_token_may_state_can_be_revoked_by_an_event(guard: Guard, form: str) -> None:
    """The longest one too: 255 characters."""
    longest = "s" * 255
    token = ISSUER.token(longest, "acme", ["reader"], sid=longest, jti=longest)
    named = {"opaque": {"id": longest}, "iss_sub": {"sub": longest}, "jwt_id": {"jti": longest}}[form]
    whose = {} if form == "opaque" else {"iss": ISSUER.issuer}
    assert status(guard, token) == "ok"
    guard.receive_event(event(sub_id={"format": form, **whose, **named}))
    assert status(guard, token) == "unauthenticated"


def test_the_longest_subject_of_a_shared_tenant_can_be_revoked_by_hand(guard: Guard) -> None:
    """It stands behind its issuer's alias there."""
    token = ISSUER.token("s" * 255, "globex", ["reader"])
    assert status(guard, token) == "ok"
    guard.revocations.revoke_subject("login/" + "s" * 255)
    assert status(guard, token) == "unauthenticated"
