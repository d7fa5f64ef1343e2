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
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import pydantic_core
from cachetools import LRUCache

from gatewright.middleware.cursor import seal_cursor
from gatewright.middleware.page import PAGE_FIELDS, Page, Stamped, is_page_schema, properties_of
from gatewright.middleware.refuse import with_refusal
from gatewright.middleware.results import FORBIDDEN, FailedResult, Ok, OkPage, Result
from gatewright.middleware.scope import RowScope
from gatewright.middleware.shorten import shorten
from gatewright.policy.conditions import ConditionSet
from gatewright.policy.cuts import CutResult, cut_result, cut_schema, has_cuts
from gatewright.policy.dialect import compile_schema
from gatewright.policy.model import Conditions, Json, JsonObject, ResultCuts, Schema, ToolSpec
from gatewright.policy.pointers import format_pointer
from gatewright.policy.published import flat_root
from gatewright.policy.references import Lookup, Unfilled, substitute
from gatewright.policy.screening import call_lookup

if TYPE_CHECKING:
    from gatewright.middleware.call import Call
    from gatewright.middleware.failures import Stopped

__all__ = [
    "ReleasePlan",
    "Released",
    "plain_value",
    "plan_release",
    "published_schema",
    "release",
    "release_stored",
    "release_value",
    "row_scope",
]

_MOST_PLANS: Final = 1024
_LONGEST_MASK: Final = 66
"""A hash with its quotes: no scalar grows by more when it is masked."""

_FRAME: Final = 8192
"""What stands around the value in a result, with room to spare; the cursor is measured apart."""

_log = logging.getLogger("gatewright")


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


class ReleasePlan:
    """
    How the results of one tool are released under one entry's cuts; compiled once, shared by any threads.

    *published* is the result schema that the caller is told, None where the tool has none. *effect* is what a failure
    to release says: a write is not undone by it. *kept* has the conditions of `keep`, compiled, by pointer.
    """

    def __init__(self, spec: ToolSpec, cuts: ResultCuts) -> None:
        self.spec = spec
        self.cuts = cuts
        self.has_cuts: bool = has_cuts(cuts)
        self.is_page: bool = spec.result is not None and is_page_schema(spec.result)
        self.effect: Literal["none", "done"] = "done" if spec.kind == "write" else "none"
        self.published: Schema | None = None if spec.result is None else published_schema(spec.result, cuts)
        self.kept: dict[str, ConditionSet] = {
            format_pointer(pointer): ConditionSet(each) for pointer, each in cuts.keep.items()
        }
        self._accepts = None if spec.result is None else compile_schema(spec.result)
        self._accepts_cut = compile_schema(self.published) if self.has_cuts and self.published is not None else None
        self._conditions = {id(each): ConditionSet(each) for each in (cuts.only_if, *cuts.keep.values())}

    def accepts(self, value: Json, integral_floats: bool) -> bool:
        """Whether the tool's value has the shape that the catalog says; without one, only where nothing is cut."""
        return (
            not self.has_cuts
            if self._accepts is None
            else self._accepts.accepts(value, integral_floats=integral_floats)
        )

    def accepts_shortened(self, result: Ok | OkPage) -> bool:
        """Whether a result that lost some of its rows still has the shape that is published."""
        validator = self._accepts_cut if self._accepts_cut is not None else self._accepts
        told = result.to_json()
        page = {name: told[name] for name in (*PAGE_FIELDS, *_EXTRAS) if name in told}
        return validator is None or validator.accepts(result.data if isinstance(result, Ok) else page)

    def accepts_cut(self, value: Json) -> bool:
        """Whether the value has, after its cuts, the shape that is published."""
        return self._accepts_cut is None or self._accepts_cut.accepts(value)

    def cut(self, value: Json, hash_key: bytes, lookup: Lookup) -> CutResult:
        """Make the cuts; *lookup* fills the late references of their conditions."""
        if not self.has_cuts:
            return CutResult(value)

        def satisfies(conditions: Conditions, data: JsonObject) -> bool:
            return not self._conditions[id(conditions)].unmet(data, lookup)

        return cut_result(value, self.cuts, hash_key, satisfies)


_PLANS: Final[LRUCache[tuple[int, int], ReleasePlan]] = LRUCache(maxsize=_MOST_PLANS)
_LOCK: Final = Lock()


def plan_release(spec: ToolSpec, cuts: ResultCuts) -> ReleasePlan:
    """Return the plan of *spec* under *cuts*, from a bounded cache that knows these very objects."""
    key = (id(spec), id(cuts))
    with _LOCK:
        found = _PLANS.get(key)
    if found is None or found.spec is not spec or found.cuts is not cuts:
        found = ReleasePlan(spec, cuts)
        with _LOCK:
            _PLANS[key] = found
    return found


def release(call: Call) -> Stopped | None:
    """Write the result of what the tool returned, or of what was stored; end the call where it may not go out."""
    plan = plan_release(call.tool.spec, call.verdict.cuts)
    hash_key = call.runtime.keys.key(call.caller.tenant, "mask") if plan.cuts.mask else b""
    lookup = _lookup(call)
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
    if not isinstance(result, Ok | OkPage) or released.size + _FRAME <= most:
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
    size += sum(len(text or "") for text in stamps)
    return _release_data(Ok(plain, as_of=as_of, version=version, ref=ref), plan, hash_key, lookup, size)


def release_stored(stored: Ok | OkPage, plan: ReleasePlan, hash_key: bytes, lookup: Lookup) -> Released:
    """Return a stored result after today's cuts, which come on top of those that it was released with."""
    size = len(stored.to_bytes()) * _LONGEST_MASK
    if isinstance(stored, Ok):
        return _release_data(stored, plan, hash_key, lookup, size)
    content = stored.to_json()
    page = {name: item for name, item in content.items() if name in (*PAGE_FIELDS, *_EXTRAS)}
    return _release_page(page, plan, hash_key, lookup, filtered=stored.filtered, size=size)


def published_schema(result_schema: Schema, cuts: ResultCuts) -> Schema:
    """Return the result schema after *cuts*; a page keeps its three fields whatever is cut."""
    if not has_cuts(cuts) or not is_page_schema(result_schema):
        return cut_schema(result_schema, cuts)
    page = flat_root(result_schema)
    schema = cut_schema(page, cuts)
    properties, own = dict(properties_of(schema)), properties_of(page)
    properties["truncated"] = own["truncated"]
    properties["next_cursor"] = {"type": "null"} if _hides_cursor(cuts) else own["next_cursor"]
    required = cast("list[str]", schema.get("required", []))
    return {**schema, "properties": properties, "required": list(dict.fromkeys([*required, *PAGE_FIELDS]))}


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


def _stamps(stamped: Stamped[object] | None) -> tuple[str | None, str | None, str | None]:
    if stamped is None:
        return None, None, None
    stamps = stamped.as_of, stamped.version, stamped.ref
    if not all(text is None or isinstance(text, str) for text in stamps):
        raise ValueError("a stamp is a text")
    return stamps


_INTEGRAL: Final = re.compile(rb"[0-9](?:\.0|[eE])")
_EXTRAS: Final = ("as_of", "version", "ref")
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


def _release_page(
    page: Mapping[str, Json],
    plan: ReleasePlan,
    hash_key: bytes,
    lookup: Lookup,
    *,
    filtered: bool = False,
    size: int = 0,
) -> Released:
    cut = plan.cut(page, hash_key, lookup)
    left = cut.value if isinstance(cut.value, Mapping) else {}
    items = left.get("items")
    if cut.outcome != "ok" or not isinstance(items, list):
        return _withheld(cut, plan)
    cursor = None if _hides_cursor(plan.cuts) else page.get("next_cursor")
    lost = cursor is None and page.get("next_cursor") is not None
    truncated = cut.truncated or lost or page.get("truncated") is True
    if not plan.accepts_cut({**left, "next_cursor": cursor, "truncated": truncated}):
        return _withheld(cut, plan)
    as_of, version, ref = (cast("str | None", left.get(name)) for name in _EXTRAS)
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
    if not isinstance(result, Ok | OkPage):
        return {"outcome": "withheld", "reason": released.reason}
    told: dict[str, Any] = {"outcome": "released", "filtered": result.filtered, "truncated": result.truncated}
    if released.dropped:
        told["dropped"] = released.dropped
    if isinstance(result, OkPage):
        told["items"] = len(result.items)
        told["parts"] = [name for name in ("next_cursor", *_EXTRAS) if getattr(result, name) is not None]
    return told


def _hides_cursor(cuts: ResultCuts) -> bool:
    return ("next_cursor",) in (*cuts.hidden, *cuts.mask)
