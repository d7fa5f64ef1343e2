"""
Who is calling? The first step: the call's token becomes its caller.

In comes a call with a token's text; out comes the call with its frozen caller, or the `unauthenticated` result. Decides
nothing about what the caller may do.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, cast

from gatewright.middleware.call import Call, Outcome, Wait
from gatewright.middleware.failures import Stopped
from gatewright.middleware.identify import Identified, VerifiedTokens
from gatewright.middleware.results import Unauthenticated
from gatewright.middleware.unverified import Unverified

__all__ = ["authenticate"]


def authenticate(call: Call) -> Outcome:
    """Resolve the caller of *call*; waits only where an issuer's keys may have to be fetched."""
    tokens = call.runtime.tokens
    known = tokens.recall(call.token, call.now)
    if known is None:
        if tokens.verifier.is_remote:
            return _authenticate_remotely(call, tokens)
        try:
            known = tokens.resolve(call.token, call.now)
        except Unverified as refusal:
            return _refuse(call, refusal)
    _enter(call, known)
    return None


def _authenticate_remotely(call: Call, tokens: VerifiedTokens) -> Generator[Wait, Any, Stopped | None]:
    try:
        known = cast("Identified", (yield Wait(tokens.resolve, call.token, call.now)))
    except Unverified as refusal:
        return _refuse(call, refusal)
    _enter(call, known)
    return None


def _enter(call: Call, known: Identified) -> None:
    call.caller = known.caller
    call.trail.tenant = known.caller.tenant
    call.trail.add("identity_resolved", **known.told)


def _refuse(call: Call, refusal: Unverified) -> Stopped:
    call.trail.add("identity_resolved", outcome=refusal.reason, reason=refusal.detail)
    return call.stop(Unauthenticated(refusal.reason))
