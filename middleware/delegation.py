"""
Who acts for the subject, and for whom in turn? The one place that knows how a token lays out its actors.

In comes a payload and the claim that its profile reads; out come the actors, the outermost first, or `Unverified`. What
drafts add to an actor (profiles, times, audiences) is passed over; what would hide an actor is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gatewright.middleware.unverified import Unverified
from gatewright.policy.model import Json, JsonObject

__all__ = ["MOST_ACTORS", "read_actors"]

MOST_ACTORS: Final = 4
"""Actors in a chain, the outermost included."""

_STANDARD: Final = "act"


def read_actors(payload: JsonObject, claim: str | None, issuer: str) -> tuple[JsonObject, ...]:
    """
    Return the actors of *payload* (RFC 8693 section 4.1), each as the object that names it in `sub`; () for none.

    *claim* is what the profile reads, None for nothing. A standard `act` beside it, or inside it, would be an actor
    that nobody asks; so it makes the token invalid, as do more than `MOST_ACTORS` and an actor of another issuer.

    Raises:
        Unverified: `token_invalid`.
    """
    if claim != _STANDARD and _STANDARD in payload:
        raise Unverified("token_invalid", "actor")
    actors: list[JsonObject] = []
    holder = payload
    while claim is not None and claim in holder:
        holder = _actor(holder[claim], claim, issuer)
        actors.append(holder)
        if len(actors) > MOST_ACTORS:
            raise Unverified("token_invalid", "actor")
    return tuple(actors)


def _actor(value: Json, claim: str, issuer: str) -> JsonObject:
    if not isinstance(value, Mapping) or value.get("iss", issuer) != issuer:
        raise Unverified("token_invalid", "actor")
    if claim != _STANDARD and _STANDARD in value:
        raise Unverified("token_invalid", "actor")
    return value
