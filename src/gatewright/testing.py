"""
Doubles for tests of guarded tools: a clock that stands still, an issuer that signs anything, a journal in a list.

In comes what a test wants to be true; out come tokens, key sets and events. Signs with `cryptography` alone, so
that what verifies tokens is never what made them. Nothing here belongs in production.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import Any, Final, Protocol, cast

from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

from gatewright.middleware.record import Event, expand, header_of

__all__ = ["FakeClock", "FakeIssuer", "ListJournal", "encode_part"]

_UNIX_2026: Final = 1_767_225_600.0


class FakeClock:
    """A clock that stands still until it is told to move; seconds since the epoch."""

    def __init__(self, now: float = _UNIX_2026) -> None:
        self.now: float = float(now)
        self._gone: float = 0.0

    def monotonic(self) -> float:
        """Return the seconds that it has moved on in all; moving back takes none away."""
        return self._gone

    def time(self) -> float:
        """Return the time."""
        return self.now

    def advance(self, seconds: float) -> None:
        """Move on by *seconds*; negative ones move it back, as a corrected clock does."""
        self.now += seconds
        self._gone += max(0.0, seconds)


class _Clock(Protocol):
    def time(self) -> float: ...


class _Signer(Protocol):
    def jwk(self) -> dict[str, str]: ...

    def private_key(self) -> bytes: ...

    def sign(self, data: bytes) -> bytes: ...


class FakeIssuer:
    """
    An issuer of access tokens, with a key made on the spot.

    *algorithm* is RS256, ES256 or EdDSA; *clock* is the machine's unless one is given. The names of the claims follow
    the profile under test. Each issuer, and each `rotate`, has a key of its own, unless a private *key* is given (PEM,
    as `private_key` returns it). The key id is derived from the key.
    """

    def __init__(
        self,
        issuer: str = "https://login.example",
        audience: str = "tools",
        algorithm: str = "RS256",
        *,
        tenant_claim: str = "tenant",
        roles_claim: str = "roles",
        actor_claim: str = "act",
        clock: _Clock | None = None,
        key: bytes | None = None,
    ) -> None:
        self.issuer = issuer
        self.audience = audience
        self.algorithm = algorithm
        self.tenant_claim = tenant_claim
        self.roles_claim = roles_claim
        self.actor_claim = actor_claim
        self.clock: _Clock = time if clock is None else clock
        self._numbers = count(1)
        self._use(key)

    def rotate(self) -> None:
        """Make a new key; from now on tokens are signed with it, and `jwks` holds it alone."""
        self._use(None)

    def private_key(self) -> bytes:
        """Return the private key as PEM, not encrypted: for local work, so that tokens outlive the process."""
        return self._signer.private_key()

    def _use(self, key: bytes | None) -> None:
        self._signer = _SIGNERS[self.algorithm](key)
        thumbprint = hashlib.sha256(json.dumps(self._signer.jwk(), sort_keys=True).encode()).hexdigest()
        self.key_id: str = f"{self.algorithm.lower()}-{thumbprint[:12]}"

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """Return the public key as a JSON Web Key Set."""
        return {"keys": [{**self._signer.jwk(), "kid": self.key_id, "alg": self.algorithm, "use": "sig"}]}

    def profile(self, tenants: Iterable[str] | Mapping[str, str], alias: str = "login", **more: Any) -> dict[str, Any]:
        """Return the issuer's part of an identity.yaml that believes this issuer, its key inline."""
        return {
            "alias": alias,
            "issuer": self.issuer,
            "audience": self.audience,
            "keys": self.jwks(),
            "algorithms": [self.algorithm],
            "tenants": dict(tenants) if isinstance(tenants, Mapping) else list(tenants),
            "tenant_claim": self.tenant_claim,
            "roles": self.roles_claim,
            "actor": {"claim": self.actor_claim, "roles": self.roles_claim},
            **more,
        }

    def claims(
        self,
        sub: str,
        tenant: str,
        roles: Iterable[str] = (),
        *,
        act: Mapping[str, Any] | str | None = None,
        lifetime: float = 600.0,
        **claims: Any,
    ) -> dict[str, Any]:
        """Return the claims of a good token; *claims* are added or put in the place of others."""
        now = math.floor(self.clock.time())
        acting = {"sub": act} if isinstance(act, str) else act
        return {
            "iss": self.issuer,
            "aud": self.audience,
            "sub": sub,
            "iat": now,
            "exp": now + lifetime,
            "jti": f"{self.key_id}-{next(self._numbers)}",
            "client_id": "tests",
            self.tenant_claim: tenant,
            self.roles_claim: list(roles),
            **({} if acting is None else {self.actor_claim: acting}),
            **claims,
        }

    def token(
        self,
        sub: str = "ann",
        tenant: str = "acme",
        roles: Iterable[str] = (),
        *,
        act: Mapping[str, Any] | str | None = None,
        lifetime: float = 600.0,
        typ: str = "at+jwt",
        without: Iterable[str] = (),
        **claims: Any,
    ) -> str:
        """
        Return a signed access token (RFC 9068), good in everything that is not overridden.

        *act* is the actor's id or a whole `act` claim; *lifetime* is in seconds; *claims* are added or replace others,
        and the claims named in *without* are left out.
        """
        payload = self.claims(sub, tenant, roles, act=act, lifetime=lifetime, **claims)
        for name in without:
            payload.pop(name, None)
        return self.sign(payload, {"typ": typ})

    def sign(self, payload: Mapping[str, Any] | bytes, header: Mapping[str, Any] | bytes | None = None) -> str:
        """
        Return *payload* signed, whatever it says; bytes are taken as they are.

        A mapping as *header* is laid over the usual one, a value of None takes a name away.
        """
        usual = {"alg": self.algorithm, "typ": "at+jwt", "kid": self.key_id}
        if not isinstance(header, bytes):
            merged = {**usual, **(header or {})}
            header = _json({name: value for name, value in merged.items() if value is not None})
        signed = f"{encode_part(header)}.{encode_part(payload if isinstance(payload, bytes) else _json(payload))}"
        return f"{signed}.{encode_part(self._signer.sign(signed.encode()))}"


class ListJournal:
    """A journal that keeps its lines in a list, for tests to read."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.closed: bool = False

    def append(self, line: bytes, /) -> None:
        """Keep *line*."""
        self.lines.append(bytes(line))

    def events(self) -> list[Event]:
        """Return the events of every line, in order."""
        numbers: Counter[str | None] = Counter()
        events: list[Event] = []
        for line in self.lines:
            call = header_of(line).call
            found = expand(line, numbers[call])
            numbers[call] += len(found)
            events += found
        return events

    def flush(self) -> None:
        """Do nothing: lines are there at once."""

    def iter_lines(self, *, call: str | None = None, interaction: str | None = None) -> Iterator[bytes]:
        """Give the lines, oldest first; those of one call or one interaction where it is named."""
        heads = [(line, header_of(line)) for line in self.lines]
        return (line for line, head in heads if call in (None, head.call) and interaction in (None, head.interaction))

    def close(self) -> None:
        """Say that no line comes any more; those that are there can still be read."""
        self.closed = True


def encode_part(data: bytes) -> str:
    """Return *data* as one part of a token: base64url without padding (RFC 7515 section 2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _integer(value: int, size: int | None = None) -> str:
    return encode_part(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def _pem(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


class _Rsa:
    def __init__(self, pem: bytes | None) -> None:
        made = rsa.generate_private_key(65537, 2048) if pem is None else load_pem_private_key(pem, None)
        self._key = cast("rsa.RSAPrivateKey", made)

    def jwk(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        return {"kty": "RSA", "n": _integer(numbers.n), "e": _integer(numbers.e)}

    def private_key(self) -> bytes:
        return _pem(self._key)

    def sign(self, data: bytes) -> bytes:
        return self._key.sign(data, padding.PKCS1v15(), SHA256())


class _P256:
    def __init__(self, pem: bytes | None) -> None:
        made = ec.generate_private_key(ec.SECP256R1()) if pem is None else load_pem_private_key(pem, None)
        self._key = cast("ec.EllipticCurvePrivateKey", made)

    def jwk(self) -> dict[str, str]:
        numbers = self._key.public_key().public_numbers()
        return {"kty": "EC", "crv": "P-256", "x": _integer(numbers.x, 32), "y": _integer(numbers.y, 32)}

    def private_key(self) -> bytes:
        return _pem(self._key)

    def sign(self, data: bytes) -> bytes:
        r, s = decode_dss_signature(self._key.sign(data, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class _Ed25519:
    def __init__(self, pem: bytes | None) -> None:
        made = ed25519.Ed25519PrivateKey.generate() if pem is None else load_pem_private_key(pem, None)
        self._key = cast("ed25519.Ed25519PrivateKey", made)

    def jwk(self) -> dict[str, str]:
        return {"kty": "OKP", "crv": "Ed25519", "x": encode_part(self._key.public_key().public_bytes_raw())}

    def private_key(self) -> bytes:
        return _pem(self._key)

    def sign(self, data: bytes) -> bytes:
        return self._key.sign(data)


_SIGNERS: Final[Mapping[str, Callable[[bytes | None], _Signer]]] = {"RS256": _Rsa, "ES256": _P256, "EdDSA": _Ed25519}
