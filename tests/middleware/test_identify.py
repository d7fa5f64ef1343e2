"""A token is verified once and remembered for a while, and what is remembered never outlives it."""

from __future__ import annotations

import json
import threading

import pytest

from crafting import NOW, login, names, no_file, partner, verifier
from gatewright.middleware.identify import VerifiedTokens
from gatewright.middleware.token import Verifier, build_verifier
from gatewright.middleware.unverified import Unverified
from gatewright.policy.caller import Caller
from gatewright.testing import FakeClock, FakeIssuer


class Counting(Verifier):
    """A verifier that counts, and waits where it is told to."""

    def __init__(self) -> None:
        super().__init__(verifier().profiles, verifier().sources)
        self.verified = 0
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self.go_on.set()

    def verify(self, token: str | None, now: float) -> Caller:
        self.verified += 1
        self.entered.set()
        self.go_on.wait(10)
        return super().verify(token, now)


@pytest.fixture
def counting() -> Counting:
    """A counting verifier."""
    return Counting()


def test_a_token_is_verified_once(counting: Counting) -> None:
    """The same caller comes back, not an equal one."""
    tokens = VerifiedTokens(counting)
    token = login().token()
    assert tokens.recall(token, NOW) is None
    first = tokens.resolve(token, NOW)
    assert tokens.resolve(token, NOW) is first
    assert tokens.recall(token, NOW) is first
    assert counting.verified == 1


@pytest.mark.promise("P6")
def test_a_remembered_token_expires_to_the_second(counting: Counting) -> None:
    """Remembering does not make a token live longer."""
    tokens = VerifiedTokens(counting)
    token = login().token(lifetime=60)
    tokens.resolve(token, NOW)
    assert tokens.recall(token, NOW + 64.999) is not None
    assert tokens.recall(token, NOW + 65) is None
    with pytest.raises(Unverified) as caught:
        tokens.resolve(token, NOW + 65)
    assert caught.value.reason == "token_expired"


def test_a_long_lived_token_is_verified_again_after_the_bound(counting: Counting) -> None:
    """So that a key removed by its issuer stops counting."""
    tokens = VerifiedTokens(counting, longest=300)
    token = login().token(lifetime=3600)
    for now in (NOW, NOW + 299, NOW + 300, NOW + 301):
        tokens.resolve(token, now)
    assert counting.verified == 2


def test_a_refusal_is_not_remembered(counting: Counting) -> None:
    """A token that is not valid yet becomes valid."""
    tokens = VerifiedTokens(counting)
    token = login().token(nbf=NOW + 60)
    with pytest.raises(Unverified):
        tokens.resolve(token, NOW)
    assert tokens.resolve(token, NOW + 60).subject == "ann"


@pytest.mark.parametrize("token", [None, "", "x" * 20_000, "\ud800", b"bytes", 7])
def test_what_can_not_be_a_token_is_refused_and_not_remembered(token: object, counting: Counting) -> None:
    """Whatever is handed in, the answer is a reason."""
    tokens = VerifiedTokens(counting)
    with pytest.raises(Unverified):
        tokens.resolve(token, NOW)  # type: ignore[arg-type]
    assert tokens.recall(token, NOW) is None  # type: ignore[arg-type]


@pytest.mark.case(91)
@pytest.mark.parametrize("good", [True, False])
def test_concurrent_identical_tokens_are_verified_once(counting: Counting, good: bool) -> None:
    """Twenty threads with one new token get one answer; all that come while it is verified wait for that."""
    tokens = VerifiedTokens(counting)
    token = login().token(aud="tools" if good else "billing")
    counting.go_on.clear()
    here = threading.Semaphore(0)
    answers: list[str] = []

    def ask() -> None:
        here.release()
        try:
            answers.append(tokens.resolve(token, NOW).subject)
        except Unverified as error:
            answers.append(error.reason)

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    assert all(here.acquire(timeout=10) for _ in threads)
    assert counting.entered.wait(10)
    assert counting.verified == 1
    counting.go_on.set()
    for thread in threads:
        thread.join(10)
    assert answers == (["ann"] if good else ["token_invalid"]) * 20
    assert counting.verified == 1 or not good  # one that comes late asks again about a token that is no good


@pytest.mark.case(90)
@pytest.mark.promise("P7")
def test_threads_never_get_each_other_s_caller(counting: Counting) -> None:
    """Sixteen threads, six callers, a cache of two: every answer is the token's own."""
    tokens = VerifiedTokens(counting, most=2)
    mine = {f"sub{number}": login().token(sub=f"sub{number}") for number in range(6)}
    wrong: list[str] = []

    def ask(start: int) -> None:
        names = list(mine)
        for turn in range(60):
            name = names[(start + turn * 5) % 6]
            if tokens.resolve(mine[name], NOW).subject != name:
                wrong.append(name)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_nothing_of_a_token_is_kept(counting: Counting) -> None:
    """The cache holds digests and callers."""
    tokens = VerifiedTokens(counting)
    token = partner().token(tenant="initech")
    tokens.resolve(token, NOW)
    kept = repr(vars(tokens)) + "".join(repr(item) for item in vars(tokens)["_known"].items())
    assert not any(part in kept for part in token.split("."))


@pytest.mark.case(34)
@pytest.mark.promise("P6")
def test_a_remembered_token_ends_with_the_key_that_signed_it() -> None:
    """Its issuer removed the key: at the fetch that shows it, and within the refresh interval without one."""
    for waits, brings_new in ((30, True), (300, False)):
        clock = FakeClock(NOW)
        issuer = FakeIssuer(algorithm="EdDSA", clock=clock)
        profile = {**issuer.profile(["acme"]), "keys": {"url": "https://login.example/keys"}}
        checking = build_verifier(
            {"issuers": [profile]},
            names(),
            no_file,
            fetch=lambda url, issuer=issuer: json.dumps(issuer.jwks()).encode(),  # type: ignore[misc]
            timer=clock.time,
        )
        tokens = VerifiedTokens(checking, longest=3600)
        token = issuer.token(lifetime=3000)
        assert tokens.resolve(token, clock.time()).subject == "ann"
        assert tokens.recall(token, clock.time()) is not None
        issuer.rotate()
        clock.advance(waits)
        if brings_new:
            assert tokens.recall(token, clock.time()) is not None
            assert tokens.resolve(issuer.token(), clock.time()).subject == "ann"
        assert tokens.recall(token, clock.time()) is None
        with pytest.raises(Unverified) as caught:
            tokens.resolve(token, clock.time())
        assert caught.value.detail == "key"
