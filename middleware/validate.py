"""
Do the arguments pass an open entry's schema and the tool's business rules? POLICY's stages (a) to (c), and the rules.

In come decoded arguments and the view; the entries that accept them go on, or what is wrong with them, all at once.
The pure part is `policy.screening`.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from gatewright.middleware.call import Call, Outcome, Wait
from gatewright.middleware.consult import Undecided, is_bounded, screen_bounded, screen_call
from gatewright.middleware.failures import Stopped
from gatewright.middleware.refuse import forbid, refuse_arguments, stop_verdict
from gatewright.policy.screening import Screened
from gatewright.policy.verdict import refused

__all__ = ["validate"]


def validate(call: Call) -> Outcome:
    """Let the call go on where at least one open entry accepts the arguments."""
    return _validate(call) if is_bounded(call) else _judge(call, screen_call(call))


def _validate(call: Call) -> Generator[Wait, Any, Stopped | None]:
    try:
        screened = yield from screen_bounded(call)
    except Undecided as error:
        return forbid(call, error.why, error.stage)
    return _judge(call, screened)


def _judge(call: Call, screened: Screened) -> Stopped | None:
    if not screened.candidates:
        verdict = refused(call.view, screened.failures)
        if verdict.status == "invalid_arguments":
            return refuse_arguments(call, verdict.errors, verdict.reason)
        return stop_verdict(call, verdict)
    call.screened = screened
    call.trail.add(
        "schema_validated",
        entries=[candidate.entry.id for candidate in screened.candidates],
        outcome="accepted",
        schema_digest=call.view.schema_digest,
    )
    return None
