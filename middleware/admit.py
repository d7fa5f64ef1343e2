"""
Is there any call of this tool that this caller could make? Hidden, off-stage, quarantined, made up: one case.

In comes a call whose caller is known; the view of the tool goes on, or the constant refusal. Never looks at the
arguments, and consults no schema of the tool.
"""

from __future__ import annotations

import datetime as dt
from time import monotonic
from typing import Final

from gatewright.middleware.call import Call
from gatewright.middleware.failures import Stopped
from gatewright.middleware.results import FORBIDDEN
from gatewright.policy import verdict
from gatewright.policy.calendars import context_at
from gatewright.policy.model import JsonObject
from gatewright.policy.snapshot import Snapshot

__all__ = ["admit", "context_of"]

_REASONS: Final = {
    (False, False, False): "unknown",
    (False, False, True): "unknown",
    (True, False, False): "disabled",
    (True, False, True): "disabled",
    (False, True, False): "quarantined",
    (False, True, True): "quarantined",
    (True, True, False): "hidden",
    (True, True, True): "off_stage",
}
"""(in the catalog, registered, some entry open) → the true reason of a refusal, for the event log only."""


def admit(call: Call) -> Stopped | None:
    """Let the call go on where an entry is open for its caller, and the registered tool is the accepted one."""
    runtime, snapshot, name = call.runtime, call.snapshot, call.tool_name
    call.progress = runtime.interactions.progress(call.interaction, call.caller)
    if call.progress.is_guessing(call.now, runtime.bounds.guesses):
        return _guessing(call)
    call.context = context_of(call, snapshot)
    view = verdict.admit(snapshot, call.caller, name, call.context)
    tool = runtime.tools.get(name)
    if view is None or tool is None or tool.spec.digest != view.spec.digest:
        return _refuse(call)
    call.view = view
    call.tool = tool
    call.deadline = None if tool.timeout is None else monotonic() + tool.timeout
    call.trail.add(
        "tool_selected",
        kind=view.spec.kind,
        outcome="admitted",
        revision=view.revision,
        tool=name,
        tool_digest=view.spec.digest,
        view=view.digest,
    )
    return None


def context_of(call: Call, snapshot: Snapshot) -> JsonObject:
    """Return the call's context under *snapshot*: what the application declares, and what only the runtime knows."""
    now = dt.datetime.fromtimestamp(call.now, dt.UTC)
    called = () if call.progress is None else call.progress.called
    return context_at(snapshot.policies.names.calendars, now, called, call.given_context)


def _guessing(call: Call) -> Stopped:
    """Refuse, whatever is called: this caller was refused too often in this interaction."""
    call.trail.add(
        "tool_selected", outcome="refused", reason="guessing", revision=call.snapshot.revision, tool=call.tool_name
    )
    return call.stop(FORBIDDEN)


def _refuse(call: Call) -> Stopped:
    """Find the true reason for the event log, in the same steps whatever it is."""
    snapshot, name = call.snapshot, call.tool_name
    spec = snapshot.policies.catalog.get(name)
    tool = call.runtime.tools.get(name)
    opened = snapshot.find(call.caller, name, verdict.today_of(call.context)) is not None
    same = getattr(getattr(tool, "spec", None), "digest", None) == getattr(spec, "digest", None)
    call.trail.add(
        "tool_selected",
        outcome="refused",
        reason=_REASONS[(spec is not None and (tool is None or same), tool is not None, opened)],
        revision=snapshot.revision,
        tool=name,
    )
    return call.stop(FORBIDDEN)
