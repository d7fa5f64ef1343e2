"""
Whose token is this? Verification of session tokens: the only file that imports `jwt`.

In come a token's text and the time; out comes a frozen caller, or `Unverified` with a constant reason. PyJWT checks
the signature and nothing else: what is read before and after it is stricter than the library, and has a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, cast

import jwt

from gatewright.middleware.claims import resolve_caller
from gatewright.middleware.compact import read_compact
from gatewright.middleware.decode import Malformed
from gatewright.middleware.keyset import Fetch, Key, KeySource, KeyUnfit, RemoteKeys, StaticKeys, read_keys
from gatewright.middleware.profiles import ALGORITHMS, Profile, Profiles, read_profiles
from gatewright.middleware.unverified import Unverified
from gatewright.policy.errors import Finding, Place, PolicyInvalid
from gatewright.policy.model import Caller, JsonObject, PolicySet

__all__ = ["Verifier", "build_verifier", "import_key"]

_JWS: Final = jwt.PyJWS(algorithms=list(ALGORITHMS), options=cast("Any", {"enforce_minimum_key_length": True}))


class Verifier:
    """Verifies tokens under one set of profiles; immutable but for the keys behind URLs, and free to share."""

    def __init__(self, profiles: Profiles, sources: Mapping[str, KeySource]) -> None:
        self.profiles = profiles
        self.sources = dict(sources)

    def verify(self, token: str | None, now: float) -> Caller:
        """
        Return who *token* says is calling at *now* (seconds since the epoch).

        May fetch keys where an issuer's are behind a URL.

        Raises:
            Unverified: nobody. Whatever else goes wrong inside is `token_invalid`, with no cause and no context.
        """
        try:
            return self._verify(token, now)
        except Unverified as error:
            refusal = Unverified(error.reason, error.detail)
        except Exception:  # noqa: BLE001 - whatever a library raises on crafted input, nobody is calling
            refusal = Unverified("token_invalid", "error")
        raise refusal

    def _verify(self, token: str | None, now: float) -> Caller:
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
        if compact.type != profile.typ:
            raise Unverified("token_invalid", "type")
        key = self.sources[profile.alias].find(compact.key_id, compact.algorithm)
        if key is None:
            raise Unverified("token_invalid", "key")
        _check_signature(token, key)
        return resolve_caller(compact.payload, profile, self.profiles, now)


def import_key(jwk: JsonObject, algorithm: str) -> object:
    """
    Return *jwk* as PyJWT's key, bound to *algorithm*.

    Raises:
        KeyUnfit: it is broken, or shorter than its algorithm needs (RFC 7518 sections 3.2 and 3.3).
    """
    try:
        key = jwt.PyJWK(dict(jwk), algorithm=algorithm)
        fits = key.Algorithm.check_key_length(key.key) is None
    except (jwt.PyJWTError, ValueError, TypeError):
        fits = False
    if not fits:
        raise KeyUnfit("unfit")
    return key


def build_verifier(
    policies: PolicySet,
    read_file: Callable[[str], bytes],
    *,
    fetch: Fetch,
    timer: Callable[[], float],
) -> Verifier:
    """
    Return the verifier of *policies*; *read_file* gives the bytes of a file beside identity.yaml.

    Nothing is fetched yet: an issuer whose URL is down keeps no process from starting.

    Raises:
        PolicyInvalid: identity.yaml or a key set of the folder is wrong.
    """
    profiles = read_profiles(policies.profiles, policies.names)
    findings: list[Finding] = []
    sources: dict[str, KeySource] = {}
    for profile in profiles.listed:
        reading = partial(read_keys, algorithms=profile.algorithms, import_key=import_key)
        if profile.keys.url is not None:
            sources[profile.alias] = RemoteKeys(profile.keys.url, fetch, reading, timer=timer)
        else:
            sources[profile.alias] = _static_keys(profile, read_file, findings)
    if findings:
        raise PolicyInvalid(findings)
    return Verifier(profiles, sources)


def _static_keys(profile: Profile, read_file: Callable[[str], bytes], findings: list[Finding]) -> StaticKeys:
    place = Place(profile.keys.file or "identity.yaml")
    try:
        raw = read_file(profile.keys.file) if profile.keys.file is not None else profile.keys.inline or {}
        read = read_keys(raw, profile.algorithms, import_key)
    except (OSError, LookupError, ValueError, Malformed, PolicyInvalid):
        hint = 'a JSON Web Key Set: {"keys": [ … ]}'
        findings.append(Finding(place, "keys_unreadable", f"the keys of issuer {profile.alias} do not read", hint))
        return StaticKeys(())
    for fault in read.faults:
        findings.append(Finding(place, f"key_{fault}", f"a key of issuer {profile.alias} cannot be used"))
    if not read.keys and not read.faults:
        findings.append(Finding(place, "keys_absent", f"no key for an algorithm of issuer {profile.alias}"))
    return StaticKeys(read.keys)


def _check_signature(token: str, key: Key) -> None:
    try:
        _JWS.decode(token, key=cast("Any", key.material), algorithms=[key.algorithm])
    except (jwt.PyJWTError, ValueError, TypeError):
        pass
    else:
        return
    raise Unverified("token_invalid", "signature")
