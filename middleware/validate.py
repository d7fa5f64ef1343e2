"""
Do the arguments pass an open entry's schema and the tool's business rules? POLICY's stages (a) to (c), and the rules.

In come decoded arguments and the view; the entries that accept them go on, or what is wrong with them, all at once.
The pure part is `policy.screening`.
"""

from __future__ import annotations

from gatewright.middleware.call import Call
from gatewright.middleware.failures import Stopped
from gatewright.middleware.refuse import refuse_arguments, stop_verdict
from gatewright.policy.screening import screen
from gatewright.policy.verdict import refused

__all__ = ["validate"]


def validate(call: Call) -> Stopped | None:
    """Let the call go on where at least one open entry accepts the arguments."""
    decoded, view = call.decoded, call.view
    screened = screen(view, decoded.value, call.tool.supply, call.context, integral_floats=decoded.integral_floats)
    if not screened.candidates:
        verdict = refused(view, screened.failures)
        if verdict.status == "invalid_arguments":
            return refuse_arguments(call, verdict.errors, verdict.reason)
        return stop_verdict(call, verdict)
    call.screened = screened
    if call.progress is not None:
        call.progress.accept(call.tool_name)
    call.trail.add(
        "schema_validated",
        entries=[candidate.entry.id for candidate in screened.candidates],
        outcome="accepted",
        schema_digest=view.schema_digest,
    )
    return None
