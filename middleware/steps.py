"""
Which steps are built in? The chain of every guard, each step with its question and what it may stop a call with.

The step around `decode` is here; every other has a file of its own. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, cast

from gatewright.middleware.admit import admit
from gatewright.middleware.approve import approve
from gatewright.middleware.authenticate import authenticate
from gatewright.middleware.authorize import authorize
from gatewright.middleware.call import Arguments, Call
from gatewright.middleware.chain import Chain, Step
from gatewright.middleware.decode import Decoded
from gatewright.middleware.decode import decode as decode_arguments
from gatewright.middleware.execute import execute
from gatewright.middleware.failures import Stopped
from gatewright.middleware.malformed import Malformed
from gatewright.middleware.recheck import recheck
from gatewright.middleware.refuse import refuse_arguments
from gatewright.middleware.release import release
from gatewright.middleware.reserve import reserve
from gatewright.middleware.validate import validate
from gatewright.policy.complaints import syntax_complaint
from gatewright.policy.model import Json
from gatewright.policy.rendering import Format
from gatewright.policy.strict import drop_nulls

__all__ = ["BUILT_IN", "decode"]


def decode(call: Call) -> Stopped | None:
    """Read the arguments as exactly one strict JSON object."""
    raw = call.raw
    digest = _raw_digest(call, raw)
    call.trail.add("arguments_generated", raw=digest is not None or not isinstance(raw, Mapping), raw_digest=digest)
    try:
        decoded = decode_arguments(raw, big_integers=call.tool.big_integers)
    except Malformed as error:
        complaint = syntax_complaint(error.reason, error.offset)
    else:
        call.decoded = _without_nulls(call, decoded) if _format_of(call) == "openai-strict" else decoded
        return None
    return refuse_arguments(call, [complaint])


def _format_of(call: Call) -> Format | None:
    """The format that the model was shown: what the application says, else how the tool was last listed."""
    shown = None if call.progress is None else call.progress.shown(call.tool_name)
    return call.format or (None if shown is None else shown.format)


def _without_nulls(call: Call, decoded: Decoded) -> Decoded:
    """Drop the nulls by which a strict rendering lets an optional argument be left out."""
    nulls = call.view.nulls
    return replace(decoded, value=cast("dict[str, Json]", drop_nulls(decoded.value, nulls))) if nulls else decoded


def _raw_digest(call: Call, raw: Arguments) -> str | None:
    """A keyed digest of the text as it came; a mapping has none."""
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogatepass")
    elif not isinstance(raw, (bytes, bytearray, memoryview)):
        return None
    return call.runtime.keys.digest(call.caller.tenant, "raw_call", bytes(raw))


BUILT_IN: Final = Chain(
    (
        Step("authenticate", "Who is calling?", authenticate, ("unauthenticated",), io=True),
        Step("admit", "Is there any call of this tool that this caller could make?", admit, ("forbidden",)),
        Step("decode", "Are the arguments exactly one strict JSON object?", decode, ("invalid_arguments",)),
        Step(
            "validate",
            "Do they pass an open entry's schema and the tool's business rules?",
            validate,
            ("invalid_arguments", "forbidden"),
        ),
        Step(
            "authorize",
            "Do facts, context, resources, state and budgets allow it?",
            authorize,
            ("invalid_arguments", "forbidden", "not_found", "conflict", "failed"),
            io=True,
        ),
        Step("approve", "Must a person agree first?", approve, ("approval_required", "forbidden")),
        Step("reserve", "Which logical write is this?", reserve, ("conflict", "unknown")),
        Step(
            "recheck",
            "Is everything still so, at the last moment?",
            recheck,
            ("forbidden", "unauthenticated", "not_found", "conflict"),
            io=True,
        ),
        Step("execute", "What does the tool do?", execute, ("failed", "unknown"), io=True),
        Step("release", "What of the result may leave?", release, ("failed", "forbidden")),
    )
)
"""DESIGN section 3. `record` hears every step."""
