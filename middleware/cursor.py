"""
Where does the next page begin? A tool's own cursor, sealed on its way out and opened on its way in.

In comes a cursor; out comes a text that nobody can read, change or use for another call, or None for whatever is no
such text. Bound to tenant, issuer, subject, actor, tool, arguments and view. Never says what is wrong with a cursor.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Final

from gatewright.middleware.operations import canonical_arguments
from gatewright.middleware.seal import SealBroken
from gatewright.policy.complaints import business_complaint
from gatewright.policy.model import Json, JsonObject
from gatewright.policy.screening import Failure, Screened

if TYPE_CHECKING:
    from gatewright.middleware.call import Call

__all__ = ["CURSOR_SECONDS", "open_cursors", "seal_cursor"]

CURSOR_SECONDS: Final = 3600.0
"""How long a cursor can be used."""

_SKEW: Final = 60.0
"""How far the clocks of two machines may be apart."""

_HEAD: Final = struct.Struct(">dI")
_BLOCK: Final = 64
"""Cursors are padded to whole blocks: the length of a tool's own cursor may count rows that the caller has not."""

_EXPECTED: Final = "the next_cursor of a page of this very call, unchanged"


def seal_cursor(call: Call, filled: JsonObject, plain: str) -> str:
    """Return *plain*, what a tool calls its next page, for the caller of *call* and the arguments *filled* alone."""
    text = plain.encode("utf-8", "surrogatepass")
    payload = _HEAD.pack(call.runtime.clock.time(), len(text)) + text
    padded = payload + bytes(-len(payload) % _BLOCK)
    return call.runtime.keys.seal(call.caller.tenant, "cursor", padded, _bound(call, filled))


def open_cursors(call: Call, screened: Screened) -> dict[str, str]:
    """
    Return the tool's own cursor for each entry whose arguments hold one; an entry that has another does not go on.

    Whatever is wrong with a cursor is one and the same complaint.
    """
    name = call.tool.cursor or ""
    opened: dict[str, str] = {}
    for candidate in tuple(screened.candidates):
        sealed = candidate.filled.get(name)
        if sealed is None:
            continue
        plain = _open(call, candidate.filled, sealed)
        if plain is None:
            complaint = business_complaint(f"/{name}", "cursor_invalid", _EXPECTED)
            failure = Failure(candidate.entry.id, "rules", "invalid_arguments", (complaint,), "cursor")
            screened.candidates.remove(candidate)
            screened.failures.append((candidate.position, failure))
        else:
            opened[candidate.entry.id] = plain
    return opened


def _open(call: Call, filled: JsonObject, sealed: Json) -> str | None:
    if not isinstance(sealed, str):
        return None
    try:
        payload = call.runtime.keys.unseal(call.caller.tenant, "cursor", sealed, _bound(call, filled))
    except SealBroken:
        return None
    made, length = _HEAD.unpack_from(payload)
    if not -_SKEW <= call.now - made <= CURSOR_SECONDS:
        return None
    return payload[_HEAD.size : _HEAD.size + length].decode("utf-8", "surrogatepass")


def _bound(call: Call, filled: JsonObject) -> bytes:
    """Everything that a cursor is for, beside the tenant whose key seals it."""
    caller, view = call.caller, call.view
    actor = None if caller.actor is None else caller.actor.id
    others = {name: value for name, value in filled.items() if name != call.tool.cursor}
    digest = hashlib.sha256(canonical_arguments(others)).hexdigest()
    parts = [caller.tenant, caller.issuer, caller.subject, actor, view.spec.name, view.digest, digest]
    return json.dumps(parts).encode()
