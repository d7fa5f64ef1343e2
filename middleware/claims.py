"""
Who do these claims say is calling? The claims of a token whose signature holds, judged by its profile.

In come a decoded payload, its profile and the time; out comes a frozen caller, or `Unverified`. Believes nothing
that the profile does not let its issuer say, and grants nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from gatewright.middleware.delegation import read_actors
from gatewright.middleware.profiles import Profile, Profiles
from gatewright.middleware.unverified import Detail, Unverified
from gatewright.policy.caller import Actor, Caller
from gatewright.policy.model import Json, JsonObject

__all__ = ["MAX_ID", "caller_digest", "resolve_caller"]

MAX_ID: Final = 255
"""Characters of an id that a token states."""

_MAX_LIST: Final = 256
_RFC_9068: Final = "at+jwt"
_ROLE: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def resolve_caller(payload: JsonObject, profile: Profile, profiles: Profiles, now: float) -> Caller:
    """
    Return the caller that *payload* names at *now* (seconds since the epoch).

    Its time is judged last: only a token that is right in everything else is told that it is early or late.

    Raises:
        Unverified: `token_invalid`, `token_expired` or `token_not_yet_valid`.
    """
    _check_audience(payload.get("aud"), profile.audience)
    issued, expires = _number(payload, "iat"), _number(payload, "exp")
    if not 0 < expires - issued <= profile.lifetime:
        raise Unverified("token_invalid", "lifetime")
    if "client_id" in payload or profile.typ == _RFC_9068:
        _identifier(payload.get("client_id"), "client")
    tenant = _tenant(payload, profile)
    prefix = f"{profile.alias}/" if profiles.is_shared(tenant) else ""
    roles = _role_names(payload, profile.roles_claim, "roles") & profiles.roles
    actor = _actor(payload, profile, prefix, profiles.actor_roles)
    subject = prefix + _identifier(payload.get("sub"), "subject")
    claims = _declared(payload, profile)
    token_id = _identifier(payload.get("jti"), "token_id")
    _check_time(payload, issued, expires, profile.leeway, now)
    return Caller(
        subject=subject,
        tenant=tenant,
        roles=roles,
        actor=actor,
        claims=MappingProxyType({name: _frozen(value) for name, value in claims.items()}),
        token_id=token_id,
        issuer=profile.issuer,
        issued_at=issued,
        expires_at=expires + profile.leeway,
        session=_identifier(payload["sid"], "session") if "sid" in payload else "",
        key=caller_digest(profile.issuer, subject, tenant, roles, actor, claims),
    )


def caller_digest(
    issuer: str, subject: str, tenant: str, roles: frozenset[str], actor: Actor | None, claims: JsonObject
) -> bytes:
    """
    Return SHA-256 over all of a caller that can change a decision.

    The form is JSON with sorted names, but not RFC 8785: that writes 1 and 1.0 alike, and a schema may tell them apart.
    """
    acting = None if actor is None else [actor.id, sorted(actor.roles)]
    parts = [issuer, subject, tenant, sorted(roles), acting, claims]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).digest()


def _check_audience(audience: Json, wanted: str) -> None:
    named = [audience] if isinstance(audience, str) else audience
    if not isinstance(named, list) or wanted not in named or not all(isinstance(item, str) for item in named):
        raise Unverified("token_invalid", "audience")


def _number(payload: JsonObject, name: str) -> float:
    """Return a NumericDate (RFC 7519 section 2): a JSON number, never a string or a boolean."""
    value = payload.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise Unverified("token_invalid", "time")


def _check_time(payload: JsonObject, issued: float, expires: float, leeway: float, now: float) -> None:
    begins = max(issued, _number(payload, "nbf")) if "nbf" in payload else issued
    if now >= expires + leeway:
        raise Unverified("token_expired", "time")
    if now < begins - leeway:
        raise Unverified("token_not_yet_valid", "time")


def _identifier(value: Json, detail: Detail) -> str:
    if isinstance(value, str) and 0 < len(value) <= MAX_ID and "*" not in value and value.isprintable():
        return value
    raise Unverified("token_invalid", detail)


def _tenant(payload: JsonObject, profile: Profile) -> str:
    tenant = _identifier(payload.get(profile.tenant_claim), "tenant")
    if profile.tenants.admits(tenant):
        return tenant
    raise Unverified("token_invalid", "tenant")


def _role_names(holder: JsonObject, claim: str | None, detail: Detail) -> frozenset[str]:
    """Return the names that *claim* lists; absent is none, and anything else than plain names is refused."""
    if claim is None or claim not in holder:
        return frozenset()
    listed = holder[claim]
    if isinstance(listed, list) and len(listed) <= _MAX_LIST:
        names = frozenset(item for item in listed if isinstance(item, str) and _ROLE.fullmatch(item))
        if all(isinstance(item, str) and item in names for item in listed):
            return names
    raise Unverified("token_invalid", detail)


def _actor(payload: JsonObject, profile: Profile, prefix: str, known: frozenset[str]) -> Actor | None:
    """Return the outermost actor; those inside it are history, and must be well formed all the same."""
    rule = profile.actor
    chain = read_actors(payload, None if rule is None else rule.claim, profile.issuer)
    if rule is None or not chain:
        return None
    roles = _role_names(chain[0], rule.roles, "actor") & known
    first, *prior = [prefix + _identifier(each.get("sub"), "actor") for each in chain]
    return Actor(first, roles, tuple(prior))


def _declared(payload: JsonObject, profile: Profile) -> dict[str, Json]:
    claims = {name: payload[name] for name in sorted(profile.claim_names) if name in payload}
    if profile.claims is not None and not profile.claims.accepts(claims):
        raise Unverified("token_invalid", "claims")
    return claims


def _frozen(value: Json) -> Json:
    if isinstance(value, Mapping):
        return MappingProxyType({name: _frozen(item) for name, item in value.items()})
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(_frozen(item) for item in value)
    return value
