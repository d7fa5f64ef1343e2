"""
Who is calling? The first step: the call's token becomes its caller.

In comes a call with a token's text; out comes the call with its frozen caller, or the `unauthenticated` result. Decides
nothing about what the caller may do.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import Any, cast

from gatewright.middleware.call import Call, Outcome, Wait
from gatewright.middleware.failures import Stopped
from gatewright.middleware.identify import VerifiedTokens
from gatewright.middleware.results import Unauthenticated
from gatewright.middleware.unverified import Unverified
from gatewright.policy.caller import Caller

__all__ = ["authenticate"]


def authenticate(call: Call) -> Outcome:
    """
    Resolve the caller of *call*, under the policies of this moment.

    Waits only where an issuer's keys may have to be fetched.
    """
    runtime = call.runtime
    if runtime.notices.are_asleep:
        runtime.notices.wake()
    call.snapshot, tokens = runtime.live.current
    caller = tokens.recall(call.token, call.now)
    if caller is None:
        if tokens.verifier.is_remote:
            return _ask_issuer(call, tokens)
        try:
            caller = tokens.resolve(call.token, call.now)
        except Unverified as refusal:
            return _refuse(call, refusal)
    return _enter(call, caller, tokens)


def _ask_issuer(call: Call, tokens: VerifiedTokens) -> Generator[Wait, Any, Stopped | None]:
    try:
        caller = cast("Caller", (yield Wait(tokens.resolve, call.token, call.now)))
    except Unverified as refusal:
        return _refuse(call, refusal)
    return _enter(call, caller, tokens)


def _enter(call: Call, caller: Caller, tokens: VerifiedTokens) -> Stopped | None:
    revocations = call.runtime.revocations
    call.epoch = revocations.epoch
    if revocations.is_revoked(caller):
        return _refuse(call, Unverified("token_revoked"))
    call.caller = caller
    call.trail.tenant = caller.tenant
    actor = caller.actor
    call.trail.add(
        "identity_resolved",
        actor=None if actor is None else actor.id,
        actor_chain=list(actor.prior) if actor is not None and actor.prior else None,
        actor_roles=None if actor is None else sorted(actor.roles),
        caller=caller.key.hex(),
        expires_at=math.ceil(caller.expires_at),
        issuer=caller.issuer,
        outcome="verified",
        profile=tokens.verifier.profiles.by_issuer[caller.issuer].alias,
        roles=sorted(caller.roles),
        session=caller.session or None,
        subject=caller.subject,
        tenant=caller.tenant,
        token_id=caller.token_id,
    )
    return None


def _refuse(call: Call, refusal: Unverified) -> Stopped:
    call.trail.add("identity_resolved", outcome=refusal.reason, reason=refusal.detail)
    return call.stop(Unauthenticated(refusal.reason))
