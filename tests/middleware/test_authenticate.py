"""The first step of every call: a caller and an event, or `unauthenticated` and an event."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

import pytest

from crafting import NOW, craft, login, names, no_file, partner, verifier
from gatewright.middleware.authenticate import authenticate
from gatewright.middleware.call import Call
from gatewright.middleware.drive import answer_waits
from gatewright.middleware.failures import Stopped
from gatewright.middleware.identify import VerifiedTokens
from gatewright.middleware.notice import Notices
from gatewright.middleware.record import Trail, expand
from gatewright.middleware.results import Unauthenticated
from gatewright.middleware.revocation import Revocations
from gatewright.middleware.token import Verifier, build_verifier
from gatewright.middleware.transactions import Transactions
from gatewright.policy.snapshot import Snapshot

if TYPE_CHECKING:
    from gatewright.middleware.runtime import Runtime

SNAPSHOT = cast("Snapshot", object())


def no_revocations() -> Revocations:
    """A view of a store in which nothing is revoked."""
    return Revocations(Transactions(":memory:"), lambda: float(NOW))


@dataclass
class Here:
    """The policies and identity of one moment, as a guard's runtime holds them."""

    tokens: VerifiedTokens
    revocations: Revocations = field(default_factory=no_revocations)

    @property
    def notices(self) -> Notices:
        """Who looks for revocations."""
        return Notices(self.revocations)

    @property
    def live(self) -> Here:
        """The runtime's live policies."""
        return self

    @property
    def current(self) -> tuple[Snapshot, VerifiedTokens]:
        """Policies and identity of one moment."""
        return SNAPSHOT, self.tokens


def call_with(token: str | None, of: Verifier | None = None, tokens: VerifiedTokens | None = None) -> Call:
    """Return a call that has just come in with *token*."""
    runtime = cast("Runtime", Here(tokens or VerifiedTokens(of or verifier())))
    return Call(runtime, "logs.query", "{}", token, {}, None, None, "en", Trail(NOW))


def stopped(call: Call) -> Stopped | None:
    """Return what authenticate says of *call*, having done what it waits for."""
    outcome = authenticate(call)
    return outcome if outcome is None or isinstance(outcome, Stopped) else answer_waits(outcome)


@pytest.mark.promise("P7")
def test_a_good_token_gives_the_call_its_caller() -> None:
    """With the policies of the same moment, and an event that names who it is, never the token."""
    token = login().token("ann", "acme", ["lead", "analyst"], act={"sub": "bot", "roles": ["copilot"]})
    call = call_with(token)
    assert stopped(call) is None
    assert call.snapshot is SNAPSHOT
    assert (call.caller.subject, call.trail.tenant) == ("ann", "acme")
    (event,) = expand(call.trail.line())
    assert event.kind == "identity_resolved"
    assert event.fields == {
        "actor": "bot",
        "actor_roles": ["copilot"],
        "caller": call.caller.key.hex(),
        "expires_at": NOW + 605,
        "issuer": "https://login.example",
        "outcome": "verified",
        "profile": "login",
        "roles": ["analyst", "lead"],
        "subject": "ann",
        "tenant": "acme",
        "token_id": call.caller.token_id,
    }


@pytest.mark.promise("P7")
@pytest.mark.parametrize(
    ("token", "reason", "detail"),
    [
        (None, "token_missing", "absent"),
        ("ann", "token_malformed", "form"),
        (craft({"claims": {"aud": "billing"}}), "token_invalid", "audience"),
        (craft({"claims": {"iat": 0, "exp": 10}}), "token_expired", "time"),
        (craft({"claims": {"iat": {"now": 60}}}), "token_not_yet_valid", "time"),
    ],
)
def test_a_bad_token_stops_the_call(token: str | None, reason: str, detail: str) -> None:
    """The result has the coarse reason, the event also the check; nobody is the caller."""
    call = call_with(token)
    answer = stopped(call)
    assert answer is not None
    assert answer.result.to_json() == {
        "status": "unauthenticated",
        "reason": reason,
        "retryable": False,
        "next": "refresh_credential",
    }
    line = call.trail.line()
    (event,) = expand(line)
    assert event.fields == {"outcome": reason, "reason": detail}
    assert not hasattr(call, "caller")
    assert call.trail.tenant is None
    if token:
        assert not any(part.encode() in line for part in token.split(".") if len(part) > 8)


def test_only_an_issuer_behind_a_url_makes_the_step_wait() -> None:
    """And only for a token that was not verified before."""
    issuer = partner()
    profile = {**issuer.profile(["initech"]), "keys": {"url": "https://partner.example/keys"}}
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return json.dumps(issuer.jwks()).encode()

    tokens = VerifiedTokens(build_verifier({"issuers": [profile]}, names(), no_file, fetch=fetch))
    token = issuer.token(tenant="initech")
    first = call_with(token, tokens=tokens)
    outcome = authenticate(first)
    assert outcome is not None
    assert not isinstance(outcome, Stopped)
    assert asked == []
    assert answer_waits(outcome) is None
    assert asked == ["https://partner.example/keys"]
    second = call_with(token, tokens=tokens)
    assert authenticate(second) is None
    assert second.caller is first.caller
    refused = stopped(call_with(token[:-4] + "AAAA", tokens=tokens))
    assert refused is not None
    assert refused.status == "unauthenticated"


@pytest.mark.promise("P6")
def test_a_revoked_token_identifies_nobody() -> None:
    """It is told so, and the event says why."""
    call = call_with(login().token("ann", "acme", ["lead"]))
    assert stopped(call) is None
    call.runtime.revocations.revoke_token(call.caller.token_id)
    again = call_with(call.token)
    again.runtime = call.runtime
    answer = stopped(again)
    assert answer is not None
    assert answer.result == Unauthenticated("token_revoked")
    assert expand(again.trail.line())[0].fields["outcome"] == "token_revoked"
