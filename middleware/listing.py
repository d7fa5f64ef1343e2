"""
What may this caller's model be shown? The tools that are open to a caller, each with the caller's own schema.

In comes a token; out come renderings for a provider, in the order in which the tools were registered. Whatever is not
open is not there.
"""

from __future__ import annotations

import json
from threading import Lock
from typing import Any, Final

from cachetools import LRUCache

from gatewright.middleware.admit import context_of
from gatewright.middleware.authenticate import authenticate
from gatewright.middleware.call import Call
from gatewright.middleware.drive import answer_waits
from gatewright.middleware.failures import Stopped
from gatewright.middleware.release import plan_release
from gatewright.policy.model import Schema
from gatewright.policy.rendering import Format, render_bytes, render_tool
from gatewright.policy.verdict import admit
from gatewright.policy.view import View

__all__ = ["list_tools"]

_MOST: Final = 8192
_rendered: Final[LRUCache[tuple[str, str], bytes]] = LRUCache(maxsize=_MOST)
_lock: Final = Lock()


def list_tools(call: Call, format: Format) -> list[dict[str, Any]]:
    """
    Return the renderings of what the caller of *call*, which names no tool, may use.

    Raises:
        Stopped: nobody is calling.
    """
    stopped = _authenticated(call)
    if stopped is not None:
        stopped.throw()
    context = context_of(call, call.snapshot)
    progress = call.progress
    shown = []
    for name, tool in tuple(call.runtime.tools.items()):
        view = admit(call.snapshot, call.caller, name, context)
        if view is None or view.spec.digest != tool.spec.digest:
            continue
        if progress is not None:
            progress.listed[name] = view.schema_digest
        shown.append(json.loads(_bytes(view, format)))
    return shown


def _authenticated(call: Call) -> Stopped | None:
    outcome = authenticate(call)
    stopped = outcome if outcome is None or isinstance(outcome, Stopped) else answer_waits(outcome)
    if stopped is None:
        call.progress = call.runtime.interactions.progress(call.interaction, call.caller)
    return stopped


def _bytes(view: View, format: Format) -> bytes:
    key = (view.digest, format)
    with _lock:
        found = _rendered.get(key)
    if found is None:
        found = render_bytes(render_tool(view.spec, view.schema, format, result=_result_schema(view)))
        with _lock:
            _rendered[key] = found
    return found


def _result_schema(view: View) -> Schema | None:
    """The schema of results where all open entries publish the same one."""
    published = [plan_release(view.spec, entry.cuts).published for entry in view.entries]
    first = published[0]
    return first if all(each == first for each in published) else None
