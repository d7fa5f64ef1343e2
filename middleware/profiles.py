"""
Which issuers are believed, and what may each of them say? One frozen profile for each, as `issuers` reads them.

Built from identity.yaml; read by `keyset`, `claims` and `token`. No behaviour beyond what follows from the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gatewright.policy.dialect import SchemaValidator
from gatewright.policy.model import JsonObject

__all__ = ["ActorClaim", "KeysAt", "Profile", "Profiles", "TenantRule"]


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
    """
    What one issuer's tokens must look like. *lifetime* and *leeway* are in seconds. *events* is the audience of its
    security events, None where it sends none.
    """

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
    events: str | None = None


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
