"""
What does an issuer say has happened to its sessions and subjects? Security Event Tokens (RFC 8417) become revocations.

In comes a token's text; out come revocations of that issuer's own tokens, or a refusal with a code of RFC 8935. Knows
the CAEP events that end a token's life; an event that it does not know changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from gatewright.middleware.claims import MAX_ID
from gatewright.middleware.profiles import Profile
from gatewright.middleware.revocation import LONGEST, Revocation, RevocationKind
from gatewright.middleware.token import Verifier
from gatewright.middleware.unverified import Detail, Unverified
from gatewright.policy.errors import GatewrightError
from gatewright.policy.model import Json, JsonObject

if TYPE_CHECKING:
    from gatewright.middleware.runtime import Runtime

__all__ = ["EventRefused", "RefusalCode", "read_security_event", "receive_event"]

RefusalCode: TypeAlias = Literal["invalid_request", "invalid_key", "invalid_issuer", "invalid_audience"]

_CAEP: Final = "https://schemas.openid.net/secevent/caep/event-type/"
_KNOWN: Final = frozenset({"session-revoked", "token-claims-change", "credential-change"})
_CODES: Final[Mapping[Detail, RefusalCode]] = {
    "issuer": "invalid_issuer",
    "audience": "invalid_audience",
    "key": "invalid_key",
    "signature": "invalid_key",
    "algorithm": "invalid_key",
}


class EventRefused(GatewrightError):
    """
    A security event that was not taken; nothing was revoked.

    Attributes:
        reason: the error code that RFC 8935 section 2.4 has the transmitter told.
    """

    code = "event_refused"

    def __init__(self, reason: RefusalCode) -> None:
        self.reason: RefusalCode = reason
        super().__init__(reason)

    def __str__(self) -> str:
        return f"the security event was refused: {self.reason} (does the issuer's profile say `events`?)"


@dataclass(frozen=True, slots=True)
class _Subject:
    """Whom an event is about; one of the ids is there."""

    token: str = ""
    session: str = ""
    subject: str = ""
    tenant: str = ""


def read_security_event(text: str, verifier: Verifier, now: float) -> tuple[Revocation, ...]:
    """
    Return the revocations that the Security Event Token *text* asks for; none where it holds no event that we know.

    Its issuer must be a profile that says `events`, and everything is scoped to that issuer.

    Raises:
        EventRefused: it is not the issuer's, not for us, or says no subject that we can tell.
    """
    refusal: RefusalCode = "invalid_request"
    try:
        profile, payload = verifier.verify_event(text, now)
        return tuple(_revocations(payload, profile, now))
    except Unverified as error:
        refusal = _CODES.get(error.detail, refusal)
    except (ValueError, TypeError):
        pass
    raise EventRefused(refusal)


def receive_event(text: str, runtime: Runtime) -> tuple[Revocation, ...]:
    """Revoke what *text* asks for; as `read_security_event`."""
    found = read_security_event(text, runtime.live.current.tokens.verifier, runtime.clock.time())
    if found:
        runtime.revocations.revoke(*found)
    return found


def _revocations(payload: JsonObject, profile: Profile, now: float) -> Iterator[Revocation]:
    events = _mapping(payload.get("events"))
    if not events:
        raise ValueError
    for uri, body in events.items():
        event = _mapping(body)
        name = uri.removeprefix(_CAEP)
        if uri == name or name not in _KNOWN:
            continue
        subject = _subject(payload.get("sub_id", event.get("subject")), profile, is_session=name == "session-revoked")
        at = _time(event.get("event_timestamp", payload.get("iat")), now)
        yield from _of(subject, name, at, profile, now)


def _of(about: _Subject, name: str, at: float, profile: Profile, now: float) -> Iterator[Revocation]:
    def revoked(kind: RevocationKind, value: str, until: float | None = None) -> Revocation:
        return Revocation(kind, value, now, now + LONGEST, profile.issuer, about.tenant, until, f"event {name}")

    if about.token:
        yield revoked("token", about.token)
    if about.session:
        yield revoked("session", about.session)
    elif about.subject:
        yield revoked("subject", about.subject, at)
        yield revoked("subject", f"{profile.alias}/{about.subject}", at)


def _subject(value: Json, profile: Profile, *, is_session: bool) -> _Subject:
    """Read a subject identifier (RFC 9493; `complex` of the Shared Signals Framework)."""
    subject = _mapping(value)
    form = subject.get("format")
    if form == "opaque":
        return _Subject(session=_id(subject.get("id"))) if is_session else _Subject(subject=_id(subject.get("id")))
    if form in ("iss_sub", "jwt_id"):
        if subject.get("iss") != profile.issuer:
            raise ValueError
        if form == "jwt_id":
            return _Subject(token=_id(subject.get("jti")))
        return _Subject(subject=_id(subject.get("sub")))
    if form != "complex":
        raise ValueError
    user, session, tenant = (subject.get(part) for part in ("user", "session", "tenant"))
    if set(subject) - {"format", "user", "session", "tenant"} or (user is None and session is None):
        raise ValueError
    return _Subject(
        session="" if session is None else _opaque(session),
        subject="" if user is None else _subject(user, profile, is_session=False).subject,
        tenant="" if tenant is None else _tenant(tenant, profile),
    )


def _opaque(value: Json) -> str:
    subject = _mapping(value)
    if subject.get("format") != "opaque":
        raise ValueError
    return _id(subject.get("id"))


def _tenant(value: Json, profile: Profile) -> str:
    tenant = _opaque(value)
    if not profile.tenants.admits(tenant):
        raise ValueError
    return tenant


def _id(value: Json) -> str:
    if isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable():
        return value
    raise ValueError


def _time(value: Json, now: float) -> float:
    """Return when it happened, never later than now: what is issued from now on is not meant."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return min(float(value), now)
    raise ValueError


def _mapping(value: Json) -> JsonObject:
    if isinstance(value, Mapping):
        return value
    raise ValueError
