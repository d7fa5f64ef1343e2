"""
As whom, and with what, was this write made? What recovery needs to authorize it again, sealed beside the operation.

In comes a decided call; out goes JSON that is encrypted before it is stored, and comes back as a caller, arguments and
a context. Holds no token: what comes back identifies nobody and lets no body run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gatewright.middleware.call import Call
from gatewright.middleware.decode import Decoded
from gatewright.policy.caller import Actor, Caller
from gatewright.policy.model import JsonObject

__all__ = ["Remembered", "recall", "remember"]


@dataclass(frozen=True, slots=True)
class Remembered:
    """Who made a call, its decoded arguments and what the application declared beside them."""

    caller: Caller
    decoded: Decoded
    context: JsonObject


def remember(call: Call) -> bytes:
    """Return what to keep of *call* until its outcome is known."""
    kept = {
        "arguments": call.decoded.value,
        "caller": _told(call.caller),
        "context": dict(call.given_context),
        "floats": call.decoded.integral_floats,
    }
    return json.dumps(kept, separators=(",", ":"), default=dict).encode()


def recall(kept: bytes) -> Remembered:
    """
    Return what `remember` kept.

    Raises:
        KeyError, TypeError, ValueError: it was kept by another version.
    """
    whole = json.loads(kept)
    decoded = Decoded(whole["arguments"], raw=False, integral_floats=whole["floats"])
    return Remembered(_caller(whole["caller"]), decoded, whole["context"])


def _told(caller: Caller) -> dict[str, Any]:
    actor = caller.actor
    return {
        "actor": None if actor is None else [actor.id, sorted(actor.roles), list(actor.prior)],
        "claims": dict(caller.claims),
        "expires_at": caller.expires_at,
        "issued_at": caller.issued_at,
        "issuer": caller.issuer,
        "key": caller.key.hex(),
        "roles": sorted(caller.roles),
        "session": caller.session,
        "subject": caller.subject,
        "tenant": caller.tenant,
        "token_id": caller.token_id,
    }


def _caller(told: Mapping[str, Any]) -> Caller:
    actor = told["actor"]
    return Caller(
        subject=told["subject"],
        tenant=told["tenant"],
        roles=frozenset(told["roles"]),
        actor=None if actor is None else Actor(actor[0], frozenset(actor[1]), tuple(actor[2])),
        claims=told["claims"],
        token_id=told["token_id"],
        issuer=told["issuer"],
        expires_at=told["expires_at"],
        key=bytes.fromhex(told["key"]),
        issued_at=told["issued_at"],
        session=told["session"],
    )
