"""
Which keys does Gatewright itself use? One ring of secrets, from which a key is derived for each purpose and tenant.

In come values to digest, seal or sign; out come texts that name the secret they were made with, so that secrets can
be rotated. Never shows a secret or a key, in text, pickle or error.
"""

from __future__ import annotations

import base64
import hmac
import logging
import os
from collections.abc import Iterable, Mapping
from typing import Final, Literal, NoReturn, TypeAlias

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gatewright.policy.errors import GatewrightError, Misuse

__all__ = ["KeyRing", "PublicKeys", "Purpose", "SealBroken"]

Purpose: TypeAlias = Literal[
    "arguments", "approval", "raw_call", "cursor", "result", "mask", "checkpoint", "operation", "webhook"
]
"""What a key is for; a key of one purpose says nothing about any other."""

_SHORTEST: Final = 32
_MOST_KEYS: Final = 4_096
_log = logging.getLogger("gatewright.seal")


class SealBroken(GatewrightError):
    """A sealed text was changed, cut, made for something else, or with a secret that the ring no longer holds."""

    code = "seal_broken"

    def __str__(self) -> str:
        return "the seal does not hold (changed, made for something else, or its key was rotated out)"


class PublicKeys:
    """What signatures are checked with, by those who hold no secret: raw Ed25519 *keys* by the id of their secret."""

    __slots__ = ("_keys",)

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        self._keys = {number: Ed25519PublicKey.from_public_bytes(key) for number, key in keys.items()}

    def is_signed(self, data: bytes, signature: str) -> bool:
        """Return whether *signature* is that of *data* under one of the keys."""
        number, _, stated = signature.partition(".")
        try:
            self._keys[number].verify(bytes.fromhex(stated), data)
        except (KeyError, ValueError, InvalidSignature):
            return False
        return True


class KeyRing:
    """
    Secrets, newest first: the first makes, all of them check. Any number of threads.

    Attributes:
        is_lasting: the secrets outlive the process; what is digested or sealed now can be checked after a restart.
    """

    __slots__ = ("_ids", "_keys", "_secrets", "is_lasting")

    def __init__(self, secrets: Iterable[bytes], *, is_lasting: bool = True) -> None:
        self._secrets: dict[str, bytes] = {}
        for secret in secrets:
            if len(secret) < _SHORTEST:
                raise Misuse(f"a secret of a KeyRing has at least {_SHORTEST} bytes", "draw it: openssl rand -hex 32")
            self._secrets.setdefault(hmac.digest(secret, b"gatewright key id", "sha256").hex()[:8], secret)
        if not self._secrets:
            raise Misuse("a KeyRing without a secret", "KeyRing.from_secret(…)")
        self._ids = tuple(self._secrets)
        self._keys: dict[tuple[str, str, str], bytes] = {}
        self.is_lasting: bool = is_lasting

    @classmethod
    def from_secret(cls, secret: str | bytes, *previous: str | bytes) -> KeyRing:
        """
        Return the ring of *secret* and of the *previous* ones that it replaced.

        Raises:
            Misuse: one of them is shorter than 32 bytes.
        """
        return cls(one.encode() if isinstance(one, str) else one for one in (secret, *previous))

    @classmethod
    def random(cls) -> KeyRing:
        """Return a ring for this process alone, and log a warning of what that means."""
        _log.warning(
            "no key ring is configured: keys are random and end with this process; cursors, approvals and the "
            "arguments of operations cannot be checked by another process or after a restart"
        )
        return cls([os.urandom(_SHORTEST)], is_lasting=False)

    def digest(self, tenant: str, purpose: Purpose, data: bytes) -> str:
        """Return HMAC-SHA256 of *data* under the tenant's key, as `<secret id>.<64 hexadecimal digits>`."""
        number = self._ids[0]
        return f"{number}.{hmac.digest(self._key(number, purpose, tenant), data, 'sha256').hex()}"

    def matches(self, digest: str, tenant: str, purpose: Purpose, data: bytes) -> bool | None:
        """Return whether *digest* is that of *data*; None where the ring no longer holds its secret."""
        number, _, stated = digest.partition(".")
        if number not in self._secrets:
            return None
        found = hmac.digest(self._key(number, purpose, tenant), data, "sha256").hex()
        return hmac.compare_digest(stated.encode(), found.encode())

    def key(self, tenant: str, purpose: Purpose) -> bytes:
        """Return the 32 bytes that a purpose computes with itself, such as `mask: hash`; newest secret."""
        return self._key(self._ids[0], purpose, tenant)

    def seal(self, tenant: str, purpose: Purpose, payload: bytes, bound: bytes = b"") -> str:
        """Return *payload* encrypted (AES-256-GCM), readable only together with the same *bound*; base64url."""
        number, nonce = self._ids[0], os.urandom(12)
        sealed = AESGCM(self._key(number, purpose, tenant)).encrypt(nonce, payload, bound)
        return base64.urlsafe_b64encode(bytes.fromhex(number) + nonce + sealed).rstrip(b"=").decode()

    def unseal(self, tenant: str, purpose: Purpose, sealed: str, bound: bytes = b"") -> bytes:
        """
        Return the payload of *sealed*.

        Raises:
            SealBroken: for whatever reason; which one is not told.
        """
        try:
            whole = base64.b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4), altchars=b"-_", validate=True)
            if base64.urlsafe_b64encode(whole).rstrip(b"=").decode() != sealed:
                raise SealBroken  # other bytes for the same seal
            key = self._key(whole[:4].hex(), purpose, tenant)
            return AESGCM(key).decrypt(whole[4:16], whole[16:], bound)
        except (ValueError, KeyError, InvalidTag):
            raise SealBroken from None

    def sign(self, data: bytes) -> str:
        """Return the Ed25519 signature of *data*, as `<secret id>.<128 hexadecimal digits>`."""
        return f"{self._ids[0]}.{self._signer(self._ids[0]).sign(data).hex()}"

    def is_signed(self, data: bytes, signature: str) -> bool:
        """Return whether *signature* is that of *data* under a secret of the ring."""
        return PublicKeys(self.public_keys()).is_signed(data, signature)

    def public_keys(self) -> dict[str, bytes]:
        """Return each secret's id and the raw Ed25519 public key that others check signatures with."""
        return {
            number: self._signer(number).public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            for number in self._ids
        }

    def _signer(self, number: str) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(self._key(number, "checkpoint", ""))

    def _key(self, number: str, purpose: Purpose, tenant: str) -> bytes:
        named = (number, purpose, tenant)
        key = self._keys.get(named)
        if key is None:
            info = b"gatewright v1\0%s\0%s" % (purpose.encode(), tenant.encode("utf-8", "surrogatepass"))
            key = HKDF(SHA256(), 32, None, info).derive(self._secrets[number])
            if len(self._keys) >= _MOST_KEYS:
                self._keys.clear()
            self._keys[named] = key
        return key

    def __repr__(self) -> str:
        return f"KeyRing(secrets: {', '.join(self._ids)})"

    def __reduce__(self) -> NoReturn:
        raise Misuse("a KeyRing is not pickled", "make it from its secret in each process")
