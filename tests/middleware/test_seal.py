"""Keys are one for each purpose and tenant, can be rotated, and are never shown."""

from __future__ import annotations

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.middleware.seal import KeyRing, SealBroken
from gatewright.policy.errors import Misuse

OLD, NEW = "o" * 32, "n" * 32


def test_digests_differ_by_tenant_purpose_and_secret() -> None:
    """Equal data has equal digests only under the same key."""
    ring = KeyRing.from_secret(OLD)
    digests = {
        ring.digest("acme", "arguments", b"x"),
        ring.digest("globex", "arguments", b"x"),
        ring.digest("acme", "raw_call", b"x"),
        KeyRing.from_secret(NEW).digest("acme", "arguments", b"x"),
    }
    assert len(digests) == 4
    assert ring.digest("acme", "arguments", b"x") in digests
    assert ring.key("acme", "mask") != ring.key("globex", "mask")


def test_a_digest_outlives_a_rotation_and_no_more() -> None:
    """The ring checks what an older secret made, makes with the newest, and admits when it cannot tell."""
    made = KeyRing.from_secret(OLD).digest("acme", "arguments", b"x")
    rotated = KeyRing.from_secret(NEW, OLD)
    assert rotated.matches(made, "acme", "arguments", b"x") is True
    assert rotated.matches(made, "acme", "arguments", b"y") is False
    assert rotated.digest("acme", "arguments", b"x") != made
    assert KeyRing.from_secret(NEW).matches(made, "acme", "arguments", b"x") is None


@given(st.binary(max_size=200), st.binary(max_size=40))
def test_a_seal_opens_only_with_what_it_was_bound_to(payload: bytes, bound: bytes) -> None:
    """Another tenant, purpose or binding opens nothing."""
    ring = KeyRing.from_secret(NEW, OLD)
    sealed = ring.seal("acme", "cursor", payload, bound)
    assert ring.unseal("acme", "cursor", sealed, bound) == payload
    with pytest.raises(SealBroken):
        ring.unseal("globex", "cursor", sealed, bound)
    with pytest.raises(SealBroken):
        ring.unseal("acme", "raw_call", sealed, bound)
    with pytest.raises(SealBroken):
        ring.unseal("acme", "cursor", sealed, bound + b"x")


def test_every_changed_character_breaks_a_seal() -> None:
    """Bit flips, cuts, additions and other spellings of the same bytes."""
    ring = KeyRing.from_secret(OLD)
    sealed = ring.seal("acme", "cursor", b"page 2")
    for place, character in enumerate(sealed):
        for other in "AQgw_":
            if other != character:
                with pytest.raises(SealBroken):
                    ring.unseal("acme", "cursor", sealed[:place] + other + sealed[place + 1 :])
    for broken in ("", sealed[:-1], sealed + "A", sealed + "=", sealed + "\n", "é" + sealed, "AAAA", sealed.lower()):
        with pytest.raises(SealBroken):
            ring.unseal("acme", "cursor", broken)


def test_a_seal_opens_after_a_rotation() -> None:
    """Until its secret leaves the ring."""
    sealed = KeyRing.from_secret(OLD).seal("acme", "cursor", b"page 2")
    assert KeyRing.from_secret(NEW, OLD).unseal("acme", "cursor", sealed) == b"page 2"
    with pytest.raises(SealBroken):
        KeyRing.from_secret(NEW).unseal("acme", "cursor", sealed)


def test_signatures_are_checked_with_public_keys_alone() -> None:
    """Changed data, a foreign ring and nonsense are not signed."""
    ring = KeyRing.from_secret(NEW, OLD)
    signature = ring.sign(b"checkpoint")
    assert ring.is_signed(b"checkpoint", signature)
    assert not ring.is_signed(b"other", signature)
    assert not KeyRing.from_secret(OLD).is_signed(b"checkpoint", signature)
    assert not ring.is_signed(b"checkpoint", "nonsense")
    assert set(ring.public_keys()) == {signature.partition(".")[0], KeyRing.from_secret(OLD).sign(b"")[:8]}


def test_a_random_ring_warns(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody runs on keys that die with the process without being told."""
    assert not KeyRing.random().is_lasting
    assert "no key ring is configured" in caplog.text
    assert KeyRing.from_secret(OLD).is_lasting


def test_short_secrets_are_refused() -> None:
    """And so is a ring of none."""
    for secrets in (("short",), (OLD, "short")):
        with pytest.raises(Misuse):
            KeyRing.from_secret(*secrets)
    with pytest.raises(Misuse):
        KeyRing([])


def test_a_ring_shows_no_secret() -> None:
    """Neither in text nor in a pickle."""
    ring = KeyRing.from_secret(OLD)
    ring.digest("acme", "arguments", b"x")
    assert OLD not in repr(ring)
    assert OLD not in str(ring)
    for leave in (pickle.dumps, copy.deepcopy):
        with pytest.raises(Misuse):
            leave(ring)
