"""
What does identity.yaml mean? Its plain data read into profiles, with a finding for everything that is wrong.

In come its data and the declared names; out come the profiles, or `PolicyInvalid`. Reads no token and no key.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias, TypeGuard, TypeVar

from gatewright.middleware.profiles import ActorClaim, KeysAt, Profile, Profiles, TenantRule
from gatewright.policy.algorithms import ALGORITHMS
from gatewright.policy.dialect import SchemaInvalid, SchemaValidator, compile_schema
from gatewright.policy.errors import Finding, Place, PolicyInvalid
from gatewright.policy.formats import Findings, Node, read_documents
from gatewright.policy.model import Json, JsonObject, Names

__all__ = ["Where", "locate", "read_profiles"]

Where: TypeAlias = "Callable[[int, str], Place]"
"""(position of an issuer, key) → where that stands in identity.yaml."""

_DEFAULT_LIFETIME: Final = 3600.0
_DEFAULT_LEEWAY: Final = 5.0
_MOST_LEEWAY: Final = 120.0
_FILE: Final = "identity.yaml"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_DURATION: Final = re.compile(r"([0-9]{1,9})(s|m|h|d)")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SHARED: Final = ("tenant_claim", "roles", "actor", "claims", "lifetime", "leeway")
_RESERVED_CLAIMS: Final = frozenset({"subject", "tenant"})
_KEYS: Final = frozenset({"alias", "issuer", "audience", "keys", "algorithms", "typ", "tenants", "events", *_SHARED})
_T = TypeVar("_T")


def read_profiles(data: JsonObject, names: Names, where: Where | None = None) -> Profiles:
    """
    Give identity.yaml, whose plain data is *data*, its meaning; *where* places its findings, as `locate` does.

    Raises:
        PolicyInvalid: with everything that is wrong with it.
    """
    where = where or locate(None)
    issuers = data.get("issuers", ())
    shared = {name: data[name] for name in _SHARED if name in data}
    findings: list[Finding] = []
    profiles = []
    for position, item in enumerate(issuers if _is_list(issuers) else ()):
        reading = _Reading({**shared, **item} if isinstance(item, Mapping) else {}, position, names, where)
        profile = reading.profile()
        findings += reading.findings
        profiles.append(profile)
    findings += _repeated("alias", [profile.alias for profile in profiles], where)
    findings += _repeated("issuer", [profile.issuer for profile in profiles], where)
    if findings:
        raise PolicyInvalid(findings)
    return Profiles(tuple(profiles), frozenset(names.roles), names.actors, data.get("production") is True)


def locate(content: bytes | None) -> Where:
    """
    Return where things stand in an identity.yaml with *content*; without one, its first line stands for all.

    A known key's fault is at its value, as everywhere in a folder; an unknown key's at the key.
    """
    documents = [] if content is None else read_documents(_FILE, content, Findings())
    top = documents[0] if documents else Node(None, Place(_FILE), {})
    issuers = top.value.get("issuers") if isinstance(top.value, dict) else None
    listed = issuers.value if issuers is not None and isinstance(issuers.value, list) else []

    def where(position: int, name: str) -> Place:
        issuer = listed[position] if position < len(listed) else top
        for holder in (issuer, top):
            value = holder.value.get(name) if isinstance(holder.value, dict) else None
            if value is not None:
                return value.place if name in _KEYS else holder.keys[name]
        return issuer.place

    return where


def _repeated(what: str, values: Sequence[str], where: Where) -> list[Finding]:
    return [
        Finding(where(position, what), f"{what}_repeated", f"the {what} {value!r} stands twice")
        for position, value in enumerate(values)
        if value and value in values[:position]
    ]


def _is_list(value: Json) -> TypeGuard[Sequence[Json]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


class _Reading:
    """One issuer being read; faults are collected, and a faulty field is read as what believes nothing."""

    def __init__(self, item: JsonObject, position: int, names: Names, where: Where) -> None:
        self.item = item
        self.position = position
        self.names = names
        self.where = where
        self.findings: list[Finding] = []

    def profile(self) -> Profile:
        for name in sorted(set(self.item) - _KEYS):
            near = difflib.get_close_matches(name, _KEYS, 1)
            self._fault(name, "there is no such key", None, f"did you mean {near[0]!r}?" if near else "")
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
            events=self._text("events") if "events" in self.item else None,
        )

    def _fault(self, name: str, message: str, fallback: _T, hint: str = "") -> _T:
        place = self.where(self.position, name)
        self.findings.append(Finding(place, "identity_invalid", f"issuers[{self.position}].{name}: {message}", hint))
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
