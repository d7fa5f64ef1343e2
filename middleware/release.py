"""
What of a tool's value may the caller have? The last step: result schema, cuts, and the marks of a page.

In come what the tool returned, the tool's spec and the deciding entry's cuts; out comes a result. A value of the wrong
shape is withheld, and nothing that a cut took is in what goes out.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

import pydantic_core

from gatewright.middleware.cursor import seal_cursor
from gatewright.middleware.page import PAGE_FIELDS, Page, Stamped, properties_of
from gatewright.middleware.publish import STAMPS, ReleasePlan, plan_release
from gatewright.middleware.refuse import with_refusal
from gatewright.middleware.results import FORBIDDEN, FailedResult, Ok, OkPage, Result
from gatewright.middleware.scope import RowScope
from gatewright.middleware.shorten import shorten
from gatewright.policy.cuts import CutResult
from gatewright.policy.model import Conditions, Json, Schema
from gatewright.policy.pointers import format_pointer
from gatewright.policy.references import Lookup, Unfilled, substitute
from gatewright.policy.screening import call_lookup

if TYPE_CHECKING:
    from gatewright.middleware.call import Call
    from gatewright.middleware.failures import Stopped

__all__ = [
    "Released",
    "plain_value",
    "release",
    "release_stored",
    "release_value",
    "row_scope",
]

_LONGEST_MASK: Final = 66
"""A hash with its quotes: no scalar grows by more when it is masked."""

_FRAME: Final = 8192
"""What stands around the value in a result, with room to spare; the cursor is measured apart."""

_log = logging.getLogger("gatewright")
_Stamps: TypeAlias = "tuple[str | None, str | None, str | None]"
_Texts: TypeAlias = "tuple[str | None, str | None, str | None, str | None]"


@dataclass(frozen=True, slots=True)
class Released:
    """
    A result to answer with; *reason* is for the event log and says why a value was withheld, empty otherwise.

    *dropped* is how many rows `keep` took. *size* is at least the bytes of the result.
    """

    result: Result
    reason: Literal["", "not_json", "shape", "only_if", "unfit", "published", "too_large"] = ""
    dropped: int = 0
    size: int = 0


def release(call: Call) -> Stopped | None:
    """Write the result of what the tool returned, or of what was stored; end the call where it may not go out."""
    plan = plan_release(call.tool.spec, call.verdict.cuts)
    hash_key = call.runtime.keys.key(call.caller.tenant, "mask") if plan.cuts.mask else b""
    lookup = _lookup(call) if plan.has_cuts else call.view.lookup
    if call.stored is not None:
        released = release_stored(call.stored, plan, hash_key, lookup)
    else:
        released = _continued(call, release_value(call.value, plan, hash_key, lookup))
    bounded = _bounded(released, plan, call.runtime.bounds.result_bytes)
    result = bounded.result
    call.trail.add("result_validated", **_told(bounded))
    if released.dropped and call.tool.takes_scope:
        _log.warning("tool %s let %d rows out of their row scope (call %s)", call.tool_name, released.dropped, call.id)
    if result.status != "ok":
        return call.stop(with_refusal(call, result))
    call.altered = plan.has_cuts or bounded is not released or getattr(result, "next_cursor", None) is not None
    call.result = result
    return None


def row_scope(call: Call) -> RowScope:
    """Return the rows that the caller of a decided call may have, every reference filled."""
    plan, lookup = plan_release(call.tool.spec, call.verdict.cuts), _lookup(call)
    kept = {format_pointer(pointer): _filled(each, lookup) for pointer, each in plan.cuts.keep.items()}
    return RowScope(kept, lambda pointer, row: not plan.kept[pointer].unmet(row, lookup))


def _filled(conditions: Conditions, lookup: Lookup) -> dict[str, Schema]:
    """The conditions without references; one that cannot be filled is satisfied by nothing."""
    filled: dict[str, Schema] = {}
    for name, schema in conditions.items():
        try:
            filled[name] = cast("Schema", substitute(schema, lookup))
        except Unfilled:
            filled[name] = {"not": {}}
    return filled


def _continued(call: Call, released: Released) -> Released:
    """Seal the tool's cursor; one that the caller has no argument for is told as rows left out."""
    page = released.result
    if not isinstance(page, OkPage) or page.next_cursor is None:
        return released
    candidate, name = call.verdict.candidate, call.tool.cursor
    if candidate is None or name is None or name not in properties_of(candidate.entry.arguments.visible):
        return replace(released, result=replace(page, next_cursor=None, truncated=True))
    sealed = seal_cursor(call, candidate.filled, page.next_cursor)
    return replace(released, result=replace(page, next_cursor=sealed), size=released.size + len(sealed))


def _bounded(released: Released, plan: ReleasePlan, most: int) -> Released:
    """Cut a result that is too long, where that can be said, else withhold it."""
    result = released.result
    if released.size + _FRAME <= most or not isinstance(result, (Ok, OkPage)):
        return released
    shortened = shorten(result, most)
    if shortened is result:
        return released
    if shortened is None or not plan.accepts_shortened(shortened):
        return Released(FailedResult("invalid_result", plan.effect), "too_large")
    return replace(released, result=shortened)


def release_value(value: object, plan: ReleasePlan, hash_key: bytes, lookup: Lookup) -> Released:
    """
    Return the result of a tool that returned *value*.

    *hash_key* is the tenant's. A value that is not JSON or not of the tool's result schema is `failed/invalid_result`;
    `only_if` that does not hold is `forbidden`.
    """
    stamped = value if type(value) is Stamped else None
    try:
        plain, integral, size = _measured(value if stamped is None else stamped.data)
        stamps = _stamps(stamped)
    except ValueError:
        return Released(FailedResult("invalid_result", plan.effect), "not_json")
    if not plan.accepts(plain, integral):
        return Released(FailedResult("invalid_result", plan.effect), "shape")
    size *= _LONGEST_MASK if plan.cuts.mask else 1
    if isinstance(plain, dict) and (plan.is_page or isinstance(value, Page)):
        return _release_page(plain, plan, hash_key, lookup, size=size)
    as_of, version, ref = stamps
    if stamped is not None:
        size += sum(len(text or "") for text in stamps)
    return _release_data(Ok(plain, as_of=as_of, version=version, ref=ref), plan, hash_key, lookup, size)


def release_stored(stored: Ok | OkPage, plan: ReleasePlan, hash_key: bytes, lookup: Lookup) -> Released:
    """Return a stored result after today's cuts, which come on top of those that it was released with."""
    size = len(stored.to_bytes()) * _LONGEST_MASK
    if isinstance(stored, Ok):
        return _release_data(stored, plan, hash_key, lookup, size)
    content = stored.to_json()
    page = {name: item for name, item in content.items() if name in (*PAGE_FIELDS, *STAMPS)}
    return _release_page(page, plan, hash_key, lookup, filtered=stored.filtered, size=size)


def plain_value(value: object) -> tuple[Json, bool]:
    """
    Return what a tool returned as plain JSON, and whether a float with an integral value may stand in it.

    Models, dataclasses, dates and the like are taken in their JSON form; the copy shares nothing with *value*.

    Raises:
        ValueError: it has no JSON form, or holds NaN, an infinity, half a surrogate pair; the text says nothing.
    """
    plain, integral, _ = _measured(value)
    return plain, integral


def _measured(value: object) -> tuple[Json, bool, int]:
    """What `plain_value` returns, and the bytes of the JSON text."""
    try:
        text = pydantic_core.to_json(value, inf_nan_mode="constants")
        return pydantic_core.from_json(text, allow_inf_nan=False), _INTEGRAL.search(text) is not None, len(text)
    except Exception:  # noqa: BLE001, S110 - a tool's own serializer may raise anything, and none of it may be seen
        pass
    raise ValueError("the value has no JSON form")


def _stamps(stamped: Stamped[object] | None) -> _Stamps:
    if stamped is None:
        return None, None, None
    stamps = stamped.as_of, stamped.version, stamped.ref
    if not all(text is None or isinstance(text, str) for text in stamps):
        raise ValueError("a stamp is a text")
    return stamps


_INTEGRAL: Final = re.compile(rb"[0-9](?:\.0|[eE])")
_REASONS: Final[Mapping[str, Literal["only_if", "unfit", "published"]]] = {
    "forbidden": "only_if",
    "unfit": "unfit",
    "ok": "published",
}


def _release_data(value: Ok, plan: ReleasePlan, hash_key: bytes, lookup: Lookup, size: int) -> Released:
    cut = plan.cut(value.data, hash_key, lookup)
    if cut.outcome != "ok" or not plan.accepts_cut(cut.value):
        return _withheld(cut, plan)
    filtered, truncated = value.filtered or cut.filtered, value.truncated or cut.truncated
    result = Ok(cut.value, filtered, truncated, value.as_of, value.version, value.ref)
    return Released(result, dropped=cut.dropped, size=size)


def _release_whole(page: Mapping[str, Json], plan: ReleasePlan, *, filtered: bool, size: int) -> Released:
    """Release a page that nothing is cut from; what a page has no field for stays behind."""
    get = page.get
    items = get("items")
    if not isinstance(items, list):
        return Released(FailedResult("invalid_result", plan.effect), "published")
    cursor, as_of, version, ref = cast("_Texts", (get("next_cursor"), get("as_of"), get("version"), get("ref")))
    return Released(OkPage(items, cursor, get("truncated") is True, filtered, as_of, version, ref), size=size)


def _release_page(
    page: Mapping[str, Json],
    plan: ReleasePlan,
    hash_key: bytes,
    lookup: Lookup,
    *,
    filtered: bool = False,
    size: int = 0,
) -> Released:
    if not plan.has_cuts:
        return _release_whole(page, plan, filtered=filtered, size=size)
    cut = plan.cut(page, hash_key, lookup)
    left = cut.value if isinstance(cut.value, dict) else {}
    items = left.get("items")
    if cut.outcome != "ok" or not isinstance(items, list):
        return _withheld(cut, plan)
    cursor = None if plan.hides_cursor else page.get("next_cursor")
    lost = cursor is None and page.get("next_cursor") is not None
    truncated = cut.truncated or lost or page.get("truncated") is True
    told = {name: left[name] for name in ("items", *STAMPS) if name in left}
    if not plan.accepts_cut({**told, "next_cursor": cursor, "truncated": truncated}):
        return _withheld(cut, plan)
    as_of, version, ref = cast("_Stamps", (left.get("as_of"), left.get("version"), left.get("ref")))
    filtered = filtered or cut.filtered
    result = OkPage(items, cast("str | None", cursor), truncated, filtered, as_of, version, ref)
    return Released(result, dropped=cut.dropped, size=size)


def _withheld(cut: CutResult, plan: ReleasePlan) -> Released:
    """A refusal is for reads: a write has happened, whatever of its value may be seen."""
    if cut.outcome == "forbidden" and plan.spec.kind == "read":
        return Released(FORBIDDEN, "only_if")
    return Released(FailedResult("invalid_result", plan.effect), _REASONS[cut.outcome])


def _lookup(call: Call) -> Lookup:
    candidate = call.verdict.candidate
    if candidate is None:
        return call.view.lookup
    return call_lookup(call.view, candidate, call.tool.supply, call.context)


def _told(released: Released) -> dict[str, Any]:
    """What the event log holds of a release: marks and counts, nothing of the value."""
    result = released.result
    if not isinstance(result, (Ok, OkPage)):
        return {"outcome": "withheld", "reason": released.reason}
    told: dict[str, Any] = {"outcome": "released", "filtered": result.filtered, "truncated": result.truncated}
    if released.dropped:
        told["dropped"] = released.dropped
    if isinstance(result, OkPage):
        told["items"] = len(result.items)
        told["parts"] = [name for name in ("next_cursor", *STAMPS) if getattr(result, name) is not None]
    return told
