"""
What does this caller get of a result? The cuts of an entry, in POLICY.md's order, on a value.

In come a JSON value, the cuts and a way to ask conditions; out comes a cut copy that shares what did not change. Pure;
a value of a shape that a cut does not fit is never let through. `cut_schema` says the same of the published schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from gatewright.policy.masks import mask_value
from gatewright.policy.model import Conditions, Json, JsonObject, Pointer, Schema
from gatewright.policy.published import ShownTree, cut_published, descend, shown_tree
from gatewright.policy.toolfile import ResultCuts

__all__ = ["CutResult", "Satisfies", "cut_result", "cut_schema", "has_cuts"]

Satisfies: TypeAlias = "Callable[[Conditions, JsonObject], bool]"
"""Whether a map of data satisfies conditions; only True itself counts."""


@dataclass(frozen=True, slots=True)
class CutResult:
    """
    A result after its cuts.

    *outcome* `forbidden`: `only_if` does not hold. `unfit`: a cut could not be made on a value of this shape. *value*
    is None for both. *filtered* is a constant of the cuts; *truncated* says that `rows` left something out. *dropped*
    is how many elements `keep` took: for the event log, never for a caller.
    """

    value: Json
    filtered: bool = False
    truncated: bool = False
    outcome: Literal["ok", "forbidden", "unfit"] = "ok"
    dropped: int = field(default=0, compare=False)


class _Unfit(Exception):
    """A cut can't be made on a value of this shape, and what it would have taken is not known."""


class _Gone:
    """The type of `_GONE`: nothing of the value is shown."""


_GONE: Final = _Gone()


def has_cuts(cuts: ResultCuts) -> bool:
    """Answer whether *cuts* can change or refuse anything."""
    return bool(cuts.only_if or cuts.keep or cuts.show is not None or cuts.hidden or cuts.mask or cuts.rows is not None)


def cut_result(value: Json, cuts: ResultCuts, hash_key: bytes, satisfies: Satisfies) -> CutResult:
    """
    Make *cuts* on *value*: only_if, keep, show, hidden, mask, rows.

    *hash_key* is the tenant's. *satisfies* is asked with the top-level object for `only_if` and with each element for
    `keep`; what is no object satisfies no condition.
    """
    if cuts.only_if and not _holds(cuts.only_if, value, satisfies):
        return CutResult(None, outcome="forbidden")
    dropped: list[int] = []
    try:
        for pointer, conditions in cuts.keep.items():
            value = _change(value, pointer, _keeping(conditions, satisfies, dropped))
        if cuts.show is not None:
            value = _show_root(value, cuts.show)
        for pointer in cuts.hidden:
            value = _hide(value, pointer)
        for pointer, mask in cuts.mask.items():
            value = _change(value, pointer, _masking(mask, hash_key))
    except _Unfit:
        return CutResult(None, outcome="unfit")
    value, truncated = (value, False) if cuts.rows is None else _limit(value, cuts.rows)
    return CutResult(value, bool(cuts.keep), truncated, dropped=sum(dropped))


def cut_schema(result_schema: Schema, cuts: ResultCuts) -> Schema:
    """
    Return the schema to publish: it accepts what `cut_result` leaves of every value that *result_schema* accepts.

    Names that are never shown do not stand in it, and neither do definitions that nothing needs any more.
    """
    return cut_published(result_schema, cuts) if has_cuts(cuts) else result_schema


def _holds(conditions: Conditions, value: Json, satisfies: Satisfies) -> bool:
    return isinstance(value, Mapping) and satisfies(conditions, value) is True


def _keeping(conditions: Conditions, satisfies: Satisfies, dropped: list[int]) -> Callable[[Json], Json]:
    def keep(value: Json) -> Json:
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise _Unfit
        kept = [item for item in value if _holds(conditions, item, satisfies)]
        dropped.append(len(value) - len(kept))
        return kept

    return keep


def _masking(mask: str, hash_key: bytes) -> Callable[[Json], Json]:
    return lambda value: mask_value(value, mask, hash_key)


def _change(value: Json, pointer: Pointer, change: Callable[[Json], Json]) -> Json:
    """Return *value* with *change* made wherever *pointer* leads."""
    if not pointer:
        return change(value)
    if isinstance(value, Mapping):
        names = _names(value, pointer[0])
        return {**value, **{name: _change(value[name], pointer[1:], change) for name in names}}
    if isinstance(value, list | tuple) and pointer[0] == "*":
        return [_change(item, pointer[1:], change) for item in value]
    return value


def _hide(value: Json, pointer: Pointer) -> Json:
    """Return *value* without what *pointer* names."""
    if not pointer:
        raise _Unfit
    parents, name = pointer[:-1], pointer[-1]
    if parents:
        return _change(value, parents, lambda parent: _hide(parent, (name,)))
    if isinstance(value, Mapping):
        return {other: item for other, item in value.items() if name not in ("*", other)}
    return [] if isinstance(value, list | tuple) and name == "*" else value


def _show_root(value: Json, pointers: tuple[Pointer, ...]) -> Json:
    if not pointers:
        raise _Unfit
    shown = _show(value, shown_tree(pointers))
    if isinstance(shown, _Gone):
        raise _Unfit
    return shown


def _show(value: Json, tree: ShownTree) -> Json | _Gone:
    """Return what *tree* names of *value*; a scalar where it names something deeper is gone."""
    if not tree:
        return value
    if isinstance(value, Mapping):
        return dict(_shown_members(value, tree))
    if not isinstance(value, list | tuple):
        return _GONE
    branch = tree.get("*")
    shown = [] if branch is None else [_show(item, branch) for item in value]
    return [item for item in shown if not isinstance(item, _Gone)]


def _shown_members(value: JsonObject, tree: ShownTree) -> Iterator[tuple[str, Json]]:
    for name, item in value.items():
        branch = descend(tree, name)
        if branch is not None:
            shown = _show(item, branch)
            if not isinstance(shown, _Gone):
                yield name, shown


def _limit(value: Json, rows: int) -> tuple[Json, bool]:
    """
    Return *value* with at most *rows* rows, and whether some were cut.

    Rows are the elements of the value itself, of its `items`, or where it has none of each array right below it.
    """
    if isinstance(value, list | tuple):
        return value[:rows], len(value) > rows
    if not isinstance(value, Mapping):
        return value, False
    places = ("items",) if isinstance(value.get("items"), list | tuple) else tuple(value)
    arrays = {name: item for name in places if isinstance(item := value[name], list | tuple)}
    long = {name: item[:rows] for name, item in arrays.items() if len(item) > rows}
    return {**value, **long}, bool(long)


def _names(value: JsonObject, name: str) -> list[str]:
    if name == "*":
        return list(value)
    return [name] if name in value else []
