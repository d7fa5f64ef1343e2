"""A key belongs to one algorithm, and no token makes us fetch more often than the cooldown allows."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from gatewright.middleware.decode import Malformed
from gatewright.middleware.keyset import KeysRead, RemoteKeys, StaticKeys, read_keys
from gatewright.middleware.token import import_key
from gatewright.testing import FakeClock, FakeIssuer

RSA, EC, ED = (FakeIssuer(algorithm=name) for name in ("RS256", "ES256", "EdDSA"))


def jwk(issuer: FakeIssuer, **changes: Any) -> dict[str, Any]:
    """Return an issuer's public JWK; a change to None takes a member away."""
    merged = {**issuer.jwks()["keys"][0], **changes}
    return {name: value for name, value in merged.items() if value is not None}


def read(*keys: object, algorithms: tuple[str, ...] = ("RS256",)) -> KeysRead:
    """Return what a key set of *keys* holds for a profile with *algorithms*."""
    return read_keys(json.dumps({"keys": keys}).encode(), algorithms, import_key)


def octets(size: int) -> dict[str, str]:
    """Return a symmetric JWK."""
    return {"kty": "oct", "k": base64.urlsafe_b64encode(b"k" * size).rstrip(b"=").decode(), "kid": "shared"}


@pytest.mark.parametrize(
    ("key", "algorithms", "bound"),
    [
        (jwk(RSA), ("RS256",), "RS256"),
        (jwk(RSA, alg=None), ("RS256", "EdDSA"), "RS256"),
        (jwk(RSA, alg="PS256"), ("PS256", "RS256"), "PS256"),
        (jwk(EC), ("ES256",), "ES256"),
        (jwk(ED, alg=None), ("RS256", "EdDSA"), "EdDSA"),
        (jwk(RSA, use=None, key_ops=["verify"]), ("RS256",), "RS256"),
        (octets(32), ("HS256",), "HS256"),
    ],
)
def test_a_key_is_bound_to_one_algorithm(key: dict[str, Any], algorithms: tuple[str, ...], bound: str) -> None:
    """Its own `alg` says which, or the only listed one that its type and curve fit."""
    found = read(key, algorithms=algorithms)
    assert ([item.algorithm for item in found.keys], found.faults) == ([bound], ())


@pytest.mark.parametrize(
    ("key", "algorithms"),
    [
        (jwk(RSA, use="enc"), ("RS256",)),
        (jwk(RSA, key_ops=["encrypt"]), ("RS256",)),
        (jwk(RSA, alg="RS512"), ("RS256",)),
        (jwk(RSA, alg=None), ("ES256",)),
        (jwk(RSA, alg=None), ("HS256",)),
        (jwk(EC, alg=None), ("ES384",)),
        (octets(64), ("RS256",)),
        ({"kty": "unheard-of", "kid": "x"}, ("RS256",)),
    ],
)
def test_a_key_for_something_else_is_passed_over(key: dict[str, Any], algorithms: tuple[str, ...]) -> None:
    """Issuers publish keys for other uses; they are no faults and never verify a token."""
    assert read(key, algorithms=algorithms) == KeysRead()


def short_rsa() -> dict[str, Any]:
    """Return an RSA key of 1,024 bits."""
    numbers = rsa.generate_private_key(65537, 1024).public_key().public_numbers()
    n = base64.urlsafe_b64encode(numbers.n.to_bytes(128, "big")).rstrip(b"=").decode()
    return {"kty": "RSA", "n": n, "e": "AQAB", "kid": "short"}


@pytest.mark.parametrize(
    ("key", "algorithms", "fault"),
    [
        (jwk(RSA, alg=None), ("RS256", "RS512"), "ambiguous"),
        (jwk(RSA, d="AQAB"), ("RS256",), "private_key"),
        (short_rsa(), ("RS256",), "unfit"),
        (octets(31), ("HS256",), "unfit"),
        (octets(0), ("HS256",), "unfit"),
        (jwk(RSA, n=7), ("RS256",), "unfit"),
        (jwk(RSA, n=None), ("RS256",), "unfit"),
        (jwk(EC, y=jwk(EC)["x"]), ("ES256",), "unfit"),
        (jwk(ED, x="AA"), ("EdDSA",), "unfit"),
        (jwk(RSA, kid=7), ("RS256",), "unfit"),
        ("a key", ("RS256",), "unfit"),
    ],
)
def test_a_key_that_can_not_be_used_is_a_fault(key: object, algorithms: tuple[str, ...], fault: str) -> None:
    """Short, broken, private or ambiguous: named by a constant, and the others stay usable."""
    found = read(key, jwk(ED), algorithms=(*algorithms, "EdDSA"))
    assert found.faults == (fault,)
    assert "EdDSA" in [item.algorithm for item in found.keys]


def test_two_keys_of_one_id_are_both_refused() -> None:
    """Which of them was meant is not ours to guess."""
    found = read(jwk(RSA, kid="k"), jwk(FakeIssuer(), kid="k"))
    assert (found.keys, found.faults) == ((), ("repeated_id",))


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"keys": {}}', b'{"keys": [], "keys": []}', b"\xff"])
def test_what_is_no_key_set_is_malformed(raw: bytes) -> None:
    """The same strict decoder reads it as reads everything else."""
    with pytest.raises(Malformed):
        read_keys(raw, ["RS256"], import_key)


def test_a_key_is_found_by_id_and_algorithm() -> None:
    """Without an id the only key of the algorithm counts; with several, none does."""
    one, two = read(jwk(RSA), jwk(ED), algorithms=("RS256", "EdDSA")).keys
    keys = StaticKeys((one, two))
    assert keys.find(one.id, one.algorithm) is one
    assert keys.find(None, two.algorithm) is two
    assert keys.find(one.id, two.algorithm) is None
    assert keys.find("", one.algorithm) is None
    other = read(jwk(FakeIssuer())).keys
    assert StaticKeys((one, *other)).find(None, "RS256") is None


class Endpoint:
    """An issuer's key endpoint: what it answers, and how often it was asked."""

    def __init__(self, issuer: FakeIssuer) -> None:
        self.issuer = issuer
        self.asked: list[float] = []
        self.clock = FakeClock(1000.0)
        self.body: Callable[[], bytes] = lambda: json.dumps(issuer.jwks()).encode()
        self.keys = RemoteKeys("https://login.example/keys", self, self._read, timer=self.clock.time)

    def __call__(self, url: str) -> bytes:
        self.asked.append(self.clock.time())
        return self.body()

    def _read(self, raw: bytes) -> KeysRead:
        return read_keys(raw, [self.issuer.algorithm], import_key)

    def has(self, key_id: str) -> bool:
        """Answer whether that key counts now."""
        return self.keys.find(key_id, self.issuer.algorithm) is not None

    def fail(self) -> bytes:
        """Stand for a server that does not answer."""
        raise OSError("down")


@pytest.fixture
def endpoint() -> Endpoint:
    """An endpoint that answers with the key of an issuer."""
    return Endpoint(FakeIssuer(algorithm="EdDSA"))


def test_keys_are_fetched_when_first_needed_and_when_stale(endpoint: Endpoint) -> None:
    """Once for any number of tokens, again after the refresh interval."""
    assert endpoint.asked == []
    assert all(endpoint.has(endpoint.issuer.key_id) for _ in range(100))
    assert len(endpoint.asked) == 1
    endpoint.clock.advance(300)
    assert endpoint.has(endpoint.issuer.key_id)
    assert len(endpoint.asked) == 2


@pytest.mark.case(34)
@pytest.mark.promise("P11")
def test_random_key_ids_cause_at_most_two_fetches_a_minute(endpoint: Endpoint) -> None:
    """A thousand tokens over a minute, each with a key id of its own; then a real rotation is picked up."""
    for number in range(1000):
        assert not endpoint.has(f"random-{number}")
        endpoint.clock.advance(0.0599)
    assert len(endpoint.asked) <= 2
    endpoint.issuer.rotate()
    endpoint.clock.advance(30)
    assert endpoint.has(endpoint.issuer.key_id)


def test_a_removed_key_counts_no_longer_after_the_next_fetch(endpoint: Endpoint) -> None:
    """A fetched key set replaces the one before it whole; an empty one too."""
    removed = endpoint.issuer.key_id
    assert endpoint.has(removed)
    endpoint.issuer.rotate()
    endpoint.clock.advance(300)
    assert not endpoint.has(removed)
    assert endpoint.has(endpoint.issuer.key_id)
    endpoint.body = lambda: b'{"keys": []}'
    endpoint.clock.advance(300)
    assert not endpoint.has(endpoint.issuer.key_id)


@pytest.mark.parametrize("broken", [b"", b"<html>", b'{"keys": 1}'])
def test_keys_live_through_an_outage_until_their_lifetime(endpoint: Endpoint, broken: bytes) -> None:
    """An answer that is no key set, or none at all, takes nothing away before the lifetime has passed."""
    known = endpoint.issuer.key_id
    assert endpoint.has(known)
    endpoint.body = lambda: broken or endpoint.fail()
    endpoint.clock.advance(3599)
    assert endpoint.has(known)
    endpoint.clock.advance(1)
    assert not endpoint.has(known)
    endpoint.body = lambda: json.dumps(endpoint.issuer.jwks()).encode()
    endpoint.clock.advance(30)
    assert endpoint.has(known)


def test_an_endpoint_that_is_down_is_asked_only_as_often_as_the_cooldown_allows(endpoint: Endpoint) -> None:
    """No key, no storm."""
    endpoint.body = endpoint.fail
    for _ in range(100):
        assert not endpoint.has(endpoint.issuer.key_id)
    assert len(endpoint.asked) == 1


def test_who_needs_the_key_waits_for_the_fetch_under_way(endpoint: Endpoint) -> None:
    """Twenty threads at a cold start: one asks, and all of them find the key."""
    asking, go_on = threading.Event(), threading.Event()
    good = endpoint.body

    def slow() -> bytes:
        asking.set()
        go_on.wait(10)
        return good()

    endpoint.body = slow
    answers: list[bool] = []
    threads = [threading.Thread(target=lambda: answers.append(endpoint.has(endpoint.issuer.key_id))) for _ in range(20)]
    for thread in threads:
        thread.start()
    assert asking.wait(10)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert answers == [True] * 20
    assert len(endpoint.asked) == 1


def test_who_has_the_key_never_waits_for_a_refresh(endpoint: Endpoint) -> None:
    """While one thread refreshes stale keys, the others use what is there."""
    known = endpoint.issuer.key_id
    assert endpoint.has(known)
    endpoint.clock.advance(300)
    during: list[bool] = []
    good = endpoint.body

    def nested() -> bytes:
        thread = threading.Thread(target=lambda: during.append(endpoint.has(known)))
        thread.start()
        thread.join(10)
        return good()

    endpoint.body = nested
    assert endpoint.has(known)
    assert during == [True]


def test_what_was_verified_is_good_until_the_keys_are_to_be_asked_for_again(endpoint: Endpoint) -> None:
    """Until the refresh; in an outage until the next try; never past the keys' lifetime. An edition is its content."""
    keys, known = endpoint.keys, endpoint.issuer.key_id
    assert (keys.fresh_for, keys.edition) == (0.0, b"")
    assert endpoint.has(known)
    edition = keys.edition
    endpoint.clock.advance(100)
    assert keys.fresh_for == 200
    good, endpoint.body = endpoint.body, endpoint.fail
    endpoint.clock.advance(200)
    assert endpoint.has(known)
    endpoint.clock.advance(10)
    assert keys.fresh_for == 20
    endpoint.clock.advance(3270)
    assert endpoint.has(known)
    endpoint.clock.advance(10)
    assert (keys.fresh_for, keys.edition) == (10, edition)
    endpoint.clock.advance(10)
    assert (keys.fresh_for, endpoint.has(known)) == (0, False)
    endpoint.body = good
    endpoint.clock.advance(30)
    assert (endpoint.has(known), keys.edition) == (True, edition)
    endpoint.issuer.rotate()
    endpoint.clock.advance(300)
    assert endpoint.has(endpoint.issuer.key_id)
    assert keys.edition != edition
