"""What of a result may leave? `only_if`, `keep`, `show` or `hidden`, `mask`, `rows`, in this order, on plain JSON."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from reference.references import at, places, tokens
from reference.schema import Judge

Path = tuple[Any, ...]


def cut(value: Any, cuts: Mapping[str, Any], digest: Callable[[str], str] = lambda text: text) -> dict[str, Any]:
    """*value* after *cuts* as status, data, filtered and truncated; references must be filled in already."""
    out = copy.deepcopy(value)
    if not _holds(cuts.get("only_if", {}), out):
        return {"status": "forbidden"}
    for pointer, conditions in cuts.get("keep", {}).items():
        for path, present in list(places(tokens(pointer), out)):
            if present and isinstance(found := at(path, out), list):
                found[:] = [item for item in found if _holds(conditions, item)]
    if "show" in cuts:
        out = _shown(out, [tokens(name) for name in cuts["show"]])
    for pointer in cuts.get("hidden", []):
        for path, present in sorted(places(tokens(pointer), out), key=str, reverse=True):
            if present:
                del at(path[:-1], out)[path[-1]]
    for pointer, how in cuts.get("mask", {}).items():
        for path, present in list(places(tokens(pointer), out)):
            if present:
                at(path[:-1], out)[path[-1]] = mask(how, at(path, out), digest)
    truncated = _shorten(out, cuts["rows"]) if "rows" in cuts else False
    return {"status": "ok", "data": out, "filtered": "keep" in cuts, "truncated": truncated}


def _holds(conditions: Mapping[str, Any], data: Any) -> bool:
    judge = Judge("condition")
    return not conditions or (
        isinstance(data, dict)
        and all(name in data and judge.accepts(schema, data[name]) for name, schema in conditions.items())
    )


def _shown(value: Any, pointers: list[tuple[str, ...]]) -> Any:
    if any(not pointer for pointer in pointers):
        return value
    if isinstance(value, list):
        return [_shown(item, [pointer[1:] for pointer in pointers if pointer[0] == "*"]) for item in value]
    if not isinstance(value, dict):
        return value
    heads = {name: [pointer[1:] for pointer in pointers if pointer[0] in (name, "*")] for name in value}
    return {name: _shown(item, heads[name]) for name, item in value.items() if heads[name]}


def mask(how: str, value: Any, digest: Callable[[str], str]) -> Any:
    """*value* masked; what is not a string is redacted."""
    if how == "redact" or not isinstance(value, str):
        return "***"
    if how == "hash":
        return digest(value)
    hidden = "*" * max(len(value) - {"last4": 4, "prefix2": 2, "year": 4}[how], 0)
    return {"last4": hidden + value[len(hidden) :], "prefix2": value[:2] + hidden, "year": value[:4]}[how]


def _shorten(value: Any, most: int) -> bool:
    rows = value.get("items") if isinstance(value, dict) else value
    if not isinstance(rows, list) or len(rows) <= most:
        return False
    del rows[most:]
    return True
