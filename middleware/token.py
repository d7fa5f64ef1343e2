"""
Whose token is this? Verification of session tokens: the only file that imports `jwt`.

In come a token's text and the time; out comes a frozen caller, or `Unverified` with a constant reason. PyJWT checks
the signature and nothing else: what is read before and after it is stricter than the library, and has a clock.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeVar, cast

import jwt

from gatewright.middleware.claims import resolve_caller
from gatewright.middleware.compact import Compact, read_compact
from gatewright.middleware.decode import Malformed
from gatewright.middleware.fetch import HttpsFetch
from gatewright.middleware.issuers import locate, read_profiles
from gatewright.middleware.keyset import Fetch, Key, KeySource, KeysRead, KeyUnfit, RemoteKeys, StaticKeys, read_keys
from gatewright.middleware.profiles import Profile, Profiles
from gatewright.middleware.unverified import Unverified
from gatewright.policy.caller import Caller
from gatewright.policy.errors import Finding, Place, PolicyInvalid
from gatewright.policy.model import JsonObject, Names
from gatewright.policy.validator import thaw

__all__ = ["Verifier", "build_verifier", "import_key"]

_KEYS_HINT: Final = 'a JSON Web Key Set, {"keys": [ … ]}, of public keys'
_FAULTS: Final = {
    "absent": "there is no such file",
    "unreadable": "no key set",
    "unfit": "no key fits, or one is broken or too short",
    "ambiguous": "a key says no `alg`, and several would fit",
    "private_key": "a private key",
    "repeated_id": "two keys of one id",
}
_EVENT_TYPE: Final = "secevent+jwt"
T = TypeVar("T")


class Verifier:
    """
    Verifies tokens under one set of profiles; immutable but for the keys behind URLs, and free to share.

    *digest* names all that it was built from. *is_remote* says that verifying may wait for the network.
    """

    def __init__(self, profiles: Profiles, sources: Mapping[str, KeySource], digest: bytes = b"") -> None:
        self.profiles = profiles
        self.sources: dict[str, KeySource] = dict(sources)
        self.digest = digest
        self.is_remote: bool = any(source.is_remote for source in self.sources.values())

    @property
    def editions(self) -> tuple[bytes, ...]:
        """What the keys behind URLs are at this moment; whoever was verified under others must be verified again."""
        return tuple(source.edition for source in self.sources.values()) if self.is_remote else ()

    def fresh_for(self, caller: Caller) -> float:
        """Return for how many seconds nobody needs to ask the issuer of *caller* for its keys."""
        return self.sources[self.profiles.by_issuer[caller.issuer].alias].fresh_for

    def verify(self, token: str | None, now: float) -> Caller:
        """
        Return who *token* says is calling at *now* (seconds since the epoch).

        May fetch keys where an issuer's are behind a URL.

        Raises:
            Unverified: nobody. Whatever else goes wrong inside is `token_invalid`, with no cause and no context.
        """
        return _guarded(lambda: self._verify(token, now))

    def verify_event(self, text: str, now: float) -> tuple[Profile, JsonObject]:
        """
        Return the profile of the issuer of a Security Event Token (RFC 8417), and what it says.

        The profile must say `events`. Such a token has a type of its own and no `exp`, so that neither kind passes for
        the other.

        Raises:
            Unverified: it is none, or not for us.
        """
        return _guarded(lambda: self._verify_event(text, now))

    def _verify_event(self, text: str, now: float) -> tuple[Profile, JsonObject]:
        profile, payload = self._open(text, lambda profile: None if profile.events is None else _EVENT_TYPE)
        issued, audience = payload.get("iat"), payload.get("aud")
        if audience != profile.events and audience != [profile.events]:
            raise Unverified("token_invalid", "audience")
        if isinstance(issued, bool) or not isinstance(issued, int | float) or issued > now + profile.leeway:
            raise Unverified("token_invalid", "time")
        if "exp" in payload or not isinstance(payload.get("jti"), str):
            raise Unverified("token_invalid", "payload")
        return profile, payload

    def _verify(self, token: str | None, now: float) -> Caller:
        profile, payload = self._open(token, lambda profile: profile.typ)
        return resolve_caller(payload, profile, self.profiles, now)

    def _open(self, token: str | None, type_of: Callable[[Profile], str | None]) -> tuple[Profile, JsonObject]:
        if token is None or token == "":
            raise Unverified("token_missing", "absent")
        if not isinstance(token, str):
            raise Unverified("token_malformed", "form")
        compact = read_compact(token)
        issuer = compact.payload.get("iss")
        profile = self.profiles.by_issuer.get(issuer) if isinstance(issuer, str) else None
        if profile is None:
            raise Unverified("token_invalid", "issuer")
        if compact.algorithm not in profile.algorithms:
            raise Unverified("token_invalid", "algorithm")
        if compact.type != type_of(profile):
            raise Unverified("token_invalid", "type")
        key = self.sources[profile.alias].find(compact.key_id, compact.algorithm)
        if key is None:
            raise Unverified("token_invalid", "key")
        _check_signature(compact, key)
        return profile, compact.payload


def import_key(jwk: JsonObject, algorithm: str) -> object:
    """
    Return *jwk* as PyJWT's key, bound to *algorithm*.

    Raises:
        KeyUnfit: it is broken, or shorter than its algorithm needs (RFC 7518 sections 3.2 and 3.3).
    """
    key: jwt.PyJWK | None = None
    try:
        made = jwt.PyJWK(dict(jwk), algorithm=algorithm)
        key = made if made.Algorithm.check_key_length(made.key) is None else None
    except (jwt.PyJWTError, ValueError, TypeError):
        pass  # raised below, outside: PyJWT's errors quote the key
    if key is None:
        raise KeyUnfit("unfit")
    return key


def build_verifier(
    data: JsonObject,
    names: Names,
    read_file: Callable[[str], bytes],
    *,
    fetch: Fetch | None = None,
    timer: Callable[[], float] = time.monotonic,
    previous: Verifier | None = None,
) -> Verifier:
    """
    Return the verifier of an identity.yaml, whose plain data is *data*.

    *read_file* gives the bytes of it and of the files beside it, or raises. *previous* itself is returned where nothing
    has changed, and keys that it fetched are kept. Nothing is fetched here: an issuer whose URL is down keeps no
    process from starting.

    Raises:
        PolicyInvalid: identity.yaml or a key set of the folder is wrong.
    """
    profiles = read_profiles(data, names, locate(_read(read_file, "identity.yaml")))
    findings: list[Finding] = []
    sources: dict[str, KeySource] = {}
    digest = hashlib.sha256(repr([thaw(data), sorted(names.roles), sorted(names.actors)]).encode())
    for profile in profiles.listed:
        if profile.keys.url is not None:
            sources[profile.alias] = _remote_keys(profile, fetch or HttpsFetch(), timer, previous)
            continue
        raw = profile.keys.inline if profile.keys.file is None else _read(read_file, profile.keys.file)
        digest.update(repr(raw).encode())
        sources[profile.alias] = _static_keys(profile, raw, findings)
    if findings:
        raise PolicyInvalid(findings)
    if previous is not None and previous.digest == digest.digest():
        return previous
    return Verifier(profiles, sources, digest.digest())


def _remote_keys(profile: Profile, fetch: Fetch, timer: Callable[[], float], previous: Verifier | None) -> KeySource:
    before = None if previous is None else previous.profiles.by_issuer.get(profile.issuer)
    same = before is not None and (before.keys, before.algorithms) == (profile.keys, profile.algorithms)
    if previous is not None and before is not None and same:
        return previous.sources[before.alias]
    reading = partial(read_keys, algorithms=profile.algorithms, import_key=import_key)
    return RemoteKeys(profile.keys.url or "", fetch, reading, timer=timer)


def _read(read_file: Callable[[str], bytes], name: str) -> bytes | None:
    try:
        return read_file(name)
    except (OSError, LookupError, ValueError, PolicyInvalid):
        return None


def _static_keys(profile: Profile, raw: bytes | JsonObject | None, findings: list[Finding]) -> StaticKeys:
    place = Place(profile.keys.file or "identity.yaml")
    whose = f"issuer {profile.alias}"
    try:
        read = KeysRead(faults=("absent",)) if raw is None else read_keys(raw, profile.algorithms, import_key)
    except Malformed:
        read = KeysRead(faults=("unreadable",))
    faults = read.faults or (() if read.keys else ("unfit",))
    for fault in faults:
        findings.append(Finding(place, f"keys_{fault}", f"{_FAULTS[fault]}: the keys of {whose}", _KEYS_HINT))
    return StaticKeys(read.keys)


def _guarded(verify: Callable[[], T]) -> T:
    """Verify; whatever goes wrong is `Unverified`, with no cause and no context."""
    try:
        return verify()
    except Unverified as error:
        refusal = Unverified(error.reason, error.detail)
    except Exception:  # noqa: BLE001 - whatever a library raises on crafted input, nobody is calling
        refusal = Unverified("token_invalid", "error")
    raise refusal


def _check_signature(compact: Compact, key: Key) -> None:
    """Verify by the key's own algorithm, whatever the token says; the key was fitted to it when it was imported."""
    material = cast("jwt.PyJWK", key.material)
    try:
        is_good = material.Algorithm.verify(compact.signed, material.key, compact.signature)
    except (jwt.PyJWTError, ValueError, TypeError):
        is_good = False
    if is_good is not True:
        raise Unverified("token_invalid", "signature")
