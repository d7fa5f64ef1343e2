"""
What is a caller told that results look like, and what makes a value fit to leave? One plan for each tool and cuts.

In come a tool's spec and an entry's cuts; out come the published schema, and what a value is held to before and after
its cuts. Compiled once, shared by any threads; releases nothing itself.
"""

from __future__ import annotations

from threading import Lock
from typing import Final, Literal, cast

from cachetools import LRUCache

from gatewright.middleware.page import PAGE_FIELDS, is_page_schema, properties_of
from gatewright.middleware.results import Ok, OkPage
from gatewright.policy.conditions import ConditionSet
from gatewright.policy.cuts import CutResult, cut_result, cut_schema, has_cuts
from gatewright.policy.dialect import compile_schema
from gatewright.policy.model import Conditions, Json, JsonObject, Schema, ToolSpec
from gatewright.policy.pointers import format_pointer
from gatewright.policy.published import flat_root
from gatewright.policy.references import Lookup
from gatewright.policy.toolfile import ResultCuts

__all__ = ["STAMPS", "ReleasePlan", "hides_cursor", "plan_release", "published_schema"]

STAMPS: Final = ("as_of", "version", "ref")
"""What may stand beside the data of a result."""

_TOLD: Final = frozenset({*PAGE_FIELDS, *STAMPS})
_MOST_PLANS: Final = 1024
_MOST_RECENT: Final = 256


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
        self.hides_cursor: bool = hides_cursor(cuts)
        self.is_page: bool = spec.result is not None and is_page_schema(spec.result)
        self.effect: Literal["none", "done"] = "done" if spec.kind == "write" else "none"
        self.published: Schema | None = None if spec.result is None else published_schema(spec.result, cuts)
        self._accepts = None if spec.result is None else compile_schema(spec.result)
        self._accepts_cut = compile_schema(self.published) if self.has_cuts and self.published is not None else None
        self._conditions = {id(each): ConditionSet(each) for each in (cuts.only_if, *cuts.keep.values())}
        self.kept: dict[str, ConditionSet] = {
            format_pointer(pointer): self._conditions[id(each)] for pointer, each in cuts.keep.items()
        }

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
        page = {name: told[name] for name in (*PAGE_FIELDS, *STAMPS) if name in told}
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
_recent: dict[tuple[int, int], ReleasePlan] = {}


def plan_release(spec: ToolSpec, cuts: ResultCuts) -> ReleasePlan:
    """Return the plan of *spec* under *cuts*, from a bounded cache that knows these very objects."""
    key = (id(spec), id(cuts))
    found = _recent.get(key)
    if found is None or found.spec is not spec or found.cuts is not cuts:
        found = _plan(key, spec, cuts)
    return found


def _plan(key: tuple[int, int], spec: ToolSpec, cuts: ResultCuts) -> ReleasePlan:
    """Look among all plans, and hold the one found where it is found without a lock."""
    with _LOCK:
        found = _PLANS.get(key)
    if found is None or found.spec is not spec or found.cuts is not cuts:
        found = ReleasePlan(spec, cuts)
    with _LOCK:
        _PLANS[key] = found
        if len(_recent) >= _MOST_RECENT:
            _recent.clear()
        _recent[key] = found
    return found


def published_schema(result_schema: Schema, cuts: ResultCuts) -> Schema:
    """
    Return the result schema after *cuts*.

    A page keeps its three fields whatever is cut, and has none but those and the stamps: a total of the tool's own
    would count rows that the caller may not see.
    """
    if not is_page_schema(result_schema):
        return cut_schema(result_schema, cuts)
    page = flat_root(result_schema)
    if not has_cuts(cuts) and not properties_of(page).keys() - _TOLD:
        return result_schema
    schema = cut_schema(page, cuts)
    own = properties_of(page)
    properties = {name: each for name, each in properties_of(schema).items() if name in _TOLD}
    properties["truncated"] = own["truncated"]
    properties["next_cursor"] = {"type": "null"} if hides_cursor(cuts) else own["next_cursor"]
    required = [*cast("list[str]", schema.get("required", [])), *PAGE_FIELDS]
    return {**schema, "properties": properties, "required": [name for name in dict.fromkeys(required) if name in _TOLD]}


def hides_cursor(cuts: ResultCuts) -> bool:
    """Answer whether *cuts* take the cursor away."""
    return ("next_cursor",) in (*cuts.hidden, *cuts.mask)
