"""Cuts as a tool file writes them, on values of tests."""

from __future__ import annotations

from gatewright.policy.cuts import CutResult, cut_result
from gatewright.policy.dialect import compile_schema
from gatewright.policy.model import Conditions, Json, JsonObject
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.toolfile import ResultCuts

KEY = b"tenant key"


def satisfies(conditions: Conditions, data: JsonObject) -> bool:
    """Conditions as the tests need them: each name present and accepted by its schema."""
    return all(name in data and compile_schema(schema).accepts(data[name]) for name, schema in conditions.items())


def cut(value: Json, **cuts: object) -> CutResult:
    """*value* after cuts whose pointers are written as text."""
    return cut_result(value, written(**cuts), KEY, satisfies)


def written(
    *,
    only_if: Conditions | None = None,
    keep: dict[str, Conditions] | None = None,
    show: list[str] | None = None,
    hidden: list[str] | None = None,
    mask: dict[str, str] | None = None,
    rows: int | None = None,
) -> ResultCuts:
    """Cuts as a tool file writes them."""
    return ResultCuts(
        only_if or {},
        {parse_pointer(pointer): conditions for pointer, conditions in (keep or {}).items()},
        None if show is None else tuple(parse_pointer(pointer) for pointer in show),
        tuple(parse_pointer(pointer) for pointer in hidden or ()),
        {parse_pointer(pointer): how for pointer, how in (mask or {}).items()},
        rows,
    )
