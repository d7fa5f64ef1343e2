"""
Who is calling? The record of one verified token.

Built by `claims`; read by everything that decides. No behaviour beyond what can be derived from the fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from gatewright.policy.model import Json, JsonObject

__all__ = ["Actor", "Caller"]

_EMPTY: Mapping[str, Json] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Actor:
    """
    The agent acting for the subject (`act` claim, RFC 8693 section 4.1); only the outermost decides.

    *prior* are the ids of those it acts for in turn, the nearest first: history, recorded and never asked.
    """

    id: str
    roles: frozenset[str] = frozenset()
    prior: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Caller:
    """
    The resolved record of one verified token.

    *subject* is what `subject:` rows and `$identity: subject` mean. *claims* are the declared further claims only.
    *issued_at* and *expires_at* are in seconds since the epoch: the token identifies its caller while the time is
    before *expires_at*, which has the profile's leeway in it. *session* is the issuer's session (`sid`), "" where it
    names none. *key* names everything of the caller that can change a decision: two callers with equal keys are
    decided alike; it is computed by whoever builds the caller.
    """

    subject: str
    tenant: str
    roles: frozenset[str]
    actor: Actor | None = None
    claims: JsonObject = field(default_factory=lambda: _EMPTY, hash=False)
    token_id: str = ""
    issuer: str = ""
    expires_at: float = 0.0
    key: bytes = b""
    issued_at: float = 0.0
    session: str = ""
