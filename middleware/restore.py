"""
Which result does this stored JSON say? The way back from `to_json`, for results kept in a ledger.

In comes the JSON of a result; out comes the result, equal to the one that was stored. Anything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from gatewright.middleware.outcome import FAILED_CODES, ConflictCode, FailedCode
from gatewright.middleware.repairs import InvalidArguments
from gatewright.middleware.results import (
    FORBIDDEN,
    NOT_FOUND,
    ApprovalRequired,
    ConflictResult,
    FailedResult,
    Ok,
    OkPage,
    Result,
    Unauthenticated,
    Unknown,
)
from gatewright.policy.errors import GatewrightError
from gatewright.policy.model import Json, JsonObject

__all__ = ["NotAResult", "restore_result"]


class NotAResult(GatewrightError):
    """What was stored is not the JSON of a result; it holds nothing of it."""

    code = "not_a_result"

    def __str__(self) -> str:
        return "the stored value is not the JSON of a result (was it written by another version?)"


def restore_result(stored: JsonObject) -> Result:
    """
    Return the result whose JSON *stored* is.

    Raises:
        NotAResult: it is the JSON of none, or holds more or other than that result has.
    """
    result = _read(stored)
    if result is None:
        raise NotAResult
    return result


def _read(stored: JsonObject) -> Result | None:
    try:
        result = _READERS[cast("str", stored["status"])](stored)
        return result if result.to_json() == stored else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _ok(stored: JsonObject) -> Result:
    as_of, version, ref = (_text(stored.get(name)) for name in ("as_of", "version", "ref"))
    filtered, truncated, changed = (stored.get(name) is True for name in ("filtered", "truncated", "schema_changed"))
    if "items" not in stored:
        return Ok(stored["data"], filtered, truncated, as_of, version, ref, changed)
    items = cast("list[Json]", stored["items"])
    return OkPage(items, _text(stored["next_cursor"]), truncated, filtered, as_of, version, ref, changed)


def _invalid_arguments(stored: JsonObject) -> Result:
    errors = tuple(cast("list[JsonObject]", stored["errors"]))
    attempt, left = (int(cast("int", stored[name])) for name in ("attempt", "attempts_left"))
    return InvalidArguments(
        errors, attempt, left, _text(stored.get("user_message")), stored.get("schema_changed") is True
    )


def _failed(stored: JsonObject) -> Result:
    code = cast("FailedCode", stored["code"])
    return FailedResult(
        code,
        "done" if stored["effect"] == "done" else "none",
        cast("float | None", stored["retry_after"]),
        _text(stored.get("reason")),
        _text(stored.get("field")),
        repeatable=stored["retryable"] is True or not FAILED_CODES[code][0],
    )


def _conflict(stored: JsonObject) -> Result:
    return ConflictResult(cast("ConflictCode", stored["code"]), _text(stored["reason"]))


def _text(value: Json) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError("a string or null")
    return value


_READERS: Final[Mapping[str, Callable[[JsonObject], Result]]] = {
    "ok": _ok,
    "invalid_arguments": _invalid_arguments,
    "forbidden": lambda _: FORBIDDEN,
    "unauthenticated": lambda stored: Unauthenticated(str(stored["reason"])),
    "approval_required": lambda stored: ApprovalRequired(str(stored["approval_id"]), str(stored["expires_at"])),
    "not_found": lambda _: NOT_FOUND,
    "conflict": _conflict,
    "unknown": lambda stored: Unknown(str(stored["operation_id"])),
    "failed": _failed,
}
