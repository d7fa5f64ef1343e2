"""
What may this caller's model be shown? The tools that are open to a caller, each with the caller's own schema.

In comes a token; out come renderings for a provider, in the order in which the tools were registered. Whatever is not
open is not there.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from gatewright.middleware.admit import context_of
from gatewright.middleware.authenticate import authenticate
from gatewright.middleware.call import Call
from gatewright.middleware.drive import answer_waits
from gatewright.middleware.failures import Stopped
from gatewright.middleware.interaction import Shown
from gatewright.middleware.publish import plan_release
from gatewright.policy.errors import Misuse
from gatewright.policy.model import JsonObject, Schema
from gatewright.policy.rendering import FORMATS, Format, Rendering, render
from gatewright.policy.verdict import admit
from gatewright.policy.view import View

__all__ = ["list_tools", "render_view", "shown_result"]


@dataclass(frozen=True, slots=True)
class _Listing:
    """One caller's tools in one format: their bytes, and what each of them was shown as."""

    packed: bytes
    shown: Mapping[str, Shown]


def list_tools(call: Call, format: Format) -> list[dict[str, Any]]:
    """
    Return the renderings of what the caller of *call*, which names no tool, may use; they are the caller's to change.

    Raises:
        Misuse: there is no such format.
        Stopped: nobody is calling.
    """
    if format not in FORMATS:
        raise Misuse(f"no such format: {format}", f"one of {', '.join(FORMATS)}")
    stopped = _authenticated(call)
    if stopped is not None:
        stopped.throw()
    context = context_of(call, call.snapshot)
    stage = context.get("stage")
    key = (format, context["date"], stage if isinstance(stage, str) else None, len(call.runtime.tools))
    listing = call.snapshot.listing(call.caller, key, lambda: _make(call, context, format))
    if call.progress is not None:
        call.progress.show(listing.shown)
    return cast("list[dict[str, Any]]", marshal.loads(listing.packed))  # noqa: S302 - packed right here, by us


def render_view(view: View, format: Format) -> Rendering:
    """Return the tool of *view* as *format* shows it, its result schema with it where all entries have the same."""
    return render(view.spec, view.schema, format, result=shown_result(view))


def _authenticated(call: Call) -> Stopped | None:
    outcome = authenticate(call)
    stopped = outcome if outcome is None or isinstance(outcome, Stopped) else answer_waits(outcome)
    if stopped is None:
        call.progress = call.runtime.interactions.progress(call.interaction, call.caller)
    return stopped


def _make(call: Call, context: JsonObject, format: Format) -> _Listing:
    views = list(_open(call, context))
    tools = [render_view(view, format).plain() for view in views]
    return _Listing(marshal.dumps(tools), {view.spec.name: Shown(view.schema_digest, format) for view in views})


def _open(call: Call, context: JsonObject) -> Iterator[View]:
    for name, tool in tuple(call.runtime.tools.items()):
        view = admit(call.snapshot, call.caller, name, context)
        if view is not None and view.spec.digest == tool.spec.digest:
            yield view


def shown_result(view: View) -> Schema | None:
    """Return the schema of results where all open entries publish the same one, else None."""
    published = [plan_release(view.spec, entry.cuts).published for entry in view.entries]
    first = published[0]
    return first if all(each == first for each in published) else None
