"""
Which issuers are believed, and what may each of them say? The meaning of identity.yaml.

In come its plain data and the declared names; out come one frozen profile per issuer, or `PolicyInvalid` with
every fault. Reads no token and opens no file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeGuard, TypeVar

from gatewright.policy.dialect import SchemaInvalid, SchemaValidator, compile_schema
from gatewright.policy.errors import Finding, Place, PolicyInvalid
from gatewright.policy.model import Json, JsonObject, Names

__all__ = ["ALGORITHMS", "ActorClaim", "KeysAt", "Profile", "Profiles", "TenantRule", "read_profiles"]

ALGORITHMS: Final = {
    **{f"{family}{size}": ("RSA", None) for family in ("RS", "PS") for size in (256, 384, 512)},
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
    **{f"HS{size}": ("oct", None) for size in (256, 384, 512)},
}
"""Every algorithm a profile may list → the key type and curve it needs (RFC 7518, RFC 8037)."""

_DEFAULT_LIFETIME: Final = 3600.0
_DEFAULT_LEEWAY: Final = 5.0
_MOST_LEEWAY: Final = 120.0
_FILE: Final = "identity.yaml"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DURATION: Final = re.compile(r"([0-9]{1,9})(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SHARED: Final = ("tenant_claim", "roles", "actor", "claims", "lifetime", "leeway")
_RESERVED_CLAIMS: Final = frozenset({"subject", "tenant"})
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class KeysAt:
    """Where an issuer's keys are: exactly one of a file beside identity.yaml, an https URL, or the key set itself."""

    file: str | None = None
    url: str | None = None
    inline: JsonObject | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ActorClaim:
    """The claim that names the actor, and the name in it that holds the actor's roles; None: g rows only."""

    claim: str
    roles: str | None = None


@dataclass(frozen=True, slots=True)
class TenantRule:
    """The tenants an issuer may assert: listed, or matching a pattern as a whole."""

    listed: frozenset[str] = frozenset()
    pattern: SchemaValidator | None = None

    def admits(self, tenant: str) -> bool:
        """Answer whether *tenant* may be asserted."""
        return self.pattern.accepts(tenant) if self.pattern is not None else tenant in self.listed


@dataclass(frozen=True, slots=True)
class Profile:
    """What one issuer's tokens must look like. *lifetime* and *leeway* are in seconds."""

    alias: str
    issuer: str
    audience: str
    keys: KeysAt
    algorithms: frozenset[str]
    typ: str
    tenants: TenantRule
    tenant_claim: str
    roles_claim: str | None
    actor: ActorClaim | None
    claims: SchemaValidator | None
    claim_names: frozenset[str]
    lifetime: float
    leeway: float


@dataclass(frozen=True)
class Profiles:
    """Every profile, and the names that tokens may speak of."""

    listed: tuple[Profile, ...]
    roles: frozenset[str]
    actor_roles: frozenset[str]
    production: bool = False

    @cached_property
    def by_issuer(self) -> Mapping[str, Profile]:
        """Issuer → its profile."""
        return {profile.issuer: profile for profile in self.listed}

    def is_shared(self, tenant: str) -> bool:
        """Answer whether more than one issuer may assert *tenant*."""
        return sum(profile.tenants.admits(tenant) for profile in self.listed) > 1


def read_profiles(data: JsonObject, names: Names) -> Profiles:
    """
    Give identity.yaml its meaning.

    Raises:
        PolicyInvalid: with everything that is wrong with it.
    """
    issuers = data.get("issuers", ())
    shared = {name: data[name] for name in _SHARED if name in data}
    findings: list[Finding] = []
    profiles = []
    for position, item in enumerate(issuers if _is_list(issuers) else ()):
        reading = _Reading({**shared, **item} if isinstance(item, Mapping) else {}, position, names)
        profile = reading.profile()
        findings += reading.findings
        profiles.append(profile)
    findings += _repeated("alias", [profile.alias for profile in profiles])
    findings += _repeated("issuer", [profile.issuer for profile in profiles])
    if findings:
        raise PolicyInvalid(findings)
    return Profiles(tuple(profiles), frozenset(names.roles), names.actors, data.get("production") is True)


def _repeated(what: str, values: Sequence[str]) -> list[Finding]:
    names = sorted({value for value in values if value and values.count(value) > 1})
    return [_finding(f"{what}_repeated", f"the {what} {name!r} stands twice") for name in names]


def _finding(code: str, message: str, hint: str = "") -> Finding:
    return Finding(Place(_FILE), code, message, hint)


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


class _Reading:
    """One issuer being read; faults are collected, and a faulty field is read as what believes nothing."""

    def __init__(self, item: JsonObject, position: int, names: Names) -> None:
        self.item = item
        self.where = f"issuers[{position}]"
        self.names = names
        self.findings: list[Finding] = []

    def profile(self) -> Profile:
        claims = self._claims()
        return Profile(
            alias=self._alias(),
            issuer=self._text("issuer"),
            audience=self._text("audience"),
            keys=self._keys(),
            algorithms=self._algorithms(),
            typ=self._text("typ", "at+jwt").lower().removeprefix("application/"),
            tenants=self._tenants(),
            tenant_claim=self._text("tenant_claim", "tenant"),
            roles_claim=self._text("roles") if "roles" in self.item else None,
            actor=self._actor(),
            claims=claims,
            claim_names=frozenset(_properties(claims)),
            lifetime=self._seconds("lifetime", _DEFAULT_LIFETIME, 1.0, 366 * 86400.0),
            leeway=self._seconds("leeway", _DEFAULT_LEEWAY, 0.0, _MOST_LEEWAY),
        )

    def _fault(self, name: str, message: str, fallback: _T, hint: str = "") -> _T:
        self.findings.append(_finding("identity_invalid", f"{self.where}.{name}: {message}", hint))
        return fallback

    def _text(self, name: str, default: str | None = None) -> str:
        value = self.item.get(name, default)
        if isinstance(value, str) and value and value.isprintable():
            return value
        return self._fault(name, "must be a string that is not empty", "")

    def _alias(self) -> str:
        alias = self._text("alias")
        if not alias or _NAME.fullmatch(alias):
            return alias
        return self._fault("alias", "must be a plain name", "", "letters, digits, '_', '.' and '-'")

    def _keys(self) -> KeysAt:
        keys = self.item.get("keys")
        if _is_list(keys):
            return KeysAt(inline={"keys": keys})
        if isinstance(keys, Mapping):
            file, url = keys.get("file"), keys.get("url")
            if set(keys) == {"file"} and isinstance(file, str) and file:
                return KeysAt(file=file)
            if set(keys) == {"url"} and isinstance(url, str) and url.startswith("https://"):
                return KeysAt(url=url)
            if _is_list(keys.get("keys")) and not {"file", "url"} & set(keys):
                return KeysAt(inline=keys)
        return self._fault("keys", "must be one of {file: …}, {url: https://…} or a JWKS", KeysAt())

    def _algorithms(self) -> frozenset[str]:
        listed = self.item.get("algorithms")
        if _is_list(listed) and listed and all(isinstance(name, str) and name in ALGORITHMS for name in listed):
            return frozenset(str(name) for name in listed)
        return self._fault("algorithms", "must list known signature algorithms", frozenset(), ", ".join(ALGORITHMS))

    def _tenants(self) -> TenantRule:
        tenants = self.item.get("tenants")
        if _is_list(tenants) and tenants and all(isinstance(name, str) for name in tenants):
            unknown = sorted({str(name) for name in tenants} - self.names.tenants)
            if not unknown:
                return TenantRule(frozenset(str(name) for name in tenants))
            return self._fault("tenants", f"not declared in names.yaml: {', '.join(unknown)}", TenantRule())
        pattern = tenants.get("pattern") if isinstance(tenants, Mapping) and set(tenants) == {"pattern"} else None
        if isinstance(pattern, str) and pattern:
            return self._pattern(pattern)
        return self._fault("tenants", "must be a list of tenants or {pattern: …}", TenantRule())

    def _pattern(self, pattern: str) -> TenantRule:
        # each alone must be a pattern too, else `a)|(b` would climb out of the brackets
        for text in (pattern, f"^(?:{pattern})$"):
            try:
                rule = compile_schema({"type": "string", "pattern": text})
            except SchemaInvalid:
                return self._fault("tenants", "is no pattern that takes linear time", TenantRule())
        return TenantRule(pattern=rule)

    def _actor(self) -> ActorClaim | None:
        actor = self.item.get("actor")
        if actor is None:
            return None
        if isinstance(actor, str) and actor:
            return ActorClaim(actor)
        if isinstance(actor, Mapping) and set(actor) <= {"claim", "roles"}:
            claim, roles = actor.get("claim"), actor.get("roles")
            if isinstance(claim, str) and claim and (roles is None or (isinstance(roles, str) and roles)):
                return ActorClaim(claim, roles)
        return self._fault("actor", "must be a claim's name or {claim: …, roles: …}", None)

    def _claims(self) -> SchemaValidator | None:
        schema = self.item.get("claims")
        if schema is None:
            return None
        if not isinstance(schema, Mapping) or not isinstance(schema.get("properties", {}), Mapping):
            return self._fault("claims", "must be a JSON Schema with properties", None)
        try:
            validator = compile_schema(schema)
        except SchemaInvalid as error:
            return self._fault("claims", f"is no schema of the dialect ({error})", None)
        taken = sorted(_RESERVED_CLAIMS & set(_properties(validator)))
        if taken:
            return self._fault("claims", f"these names mean something else: {', '.join(taken)}", None)
        return validator

    def _seconds(self, name: str, default: float, least: float, most: float) -> float:
        value = self.item.get(name)
        seconds = default if value is None else _seconds(value)
        if seconds is not None and least <= seconds <= most:
            return seconds
        return self._fault(name, f"must be a duration from {least:g} s to {most:g} s", default, "such as 30s, 5m or 1h")


def _properties(validator: SchemaValidator | None) -> JsonObject:
    properties = {} if validator is None else validator.schema.get("properties", {})
    return properties if isinstance(properties, Mapping) else {}


def _seconds(value: Json) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    return None if match is None else float(int(match[1]) * _SECONDS[match[2]])
