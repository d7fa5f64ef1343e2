"""
What does the caller hear when a tool raises? The result of each failure and of each exception, by kind of tool.

In comes an exception from a tool's body; out comes a public result made of declared codes and reasons alone. The text,
type or value of an exception never gets into one.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Collection, Mapping
from typing import Final, Literal, cast

from gatewright.middleware.failures import Conflict, Failed, Failure, NoEffect, NotFound
from gatewright.middleware.outcome import FailedCode
from gatewright.middleware.results import FORBIDDEN, NOT_FOUND, ConflictResult, FailedResult, Result, Unknown
from gatewright.policy.model import Schema
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.wanted import is_declared

__all__ = ["answer_exception", "answer_failure"]


def answer_failure(
    failure: Failure, *, reasons: Collection[str] = (), schema: Schema | None = None, may_tell_absence: bool = False
) -> Result:
    """
    Return the result of a *failure* that had no effect.

    Its reason is told only where it is among *reasons*, its field only where *schema*, the caller's own, has it.
    *may_tell_absence* says that POLICY.md's rule for `not_found` holds for this call.
    """
    if isinstance(failure, NotFound):
        return NOT_FOUND if may_tell_absence else FORBIDDEN
    reason = failure.reason if failure.reason in reasons else None
    if isinstance(failure, Conflict):
        return ConflictResult("resource_state", reason)
    shown = failure.field is not None and schema is not None and is_declared(schema, parse_pointer(failure.field))
    return FailedResult(
        cast("FailedCode", failure.code),
        retry_after=failure.retry_after,
        reason=reason,
        field=failure.field if shown else None,
        repeatable=failure.retryable is not False,
    )


def answer_exception(
    error: BaseException,
    *,
    kind: Literal["read", "write"],
    operation_id: str = "",
    reasons: Collection[str] = (),
    schema: Schema | None = None,
    may_tell_absence: bool = False,
) -> Result:
    """
    Return the result of a tool's body that ended with *error*.

    A write that was entered is `unknown` whatever it raised, unless that is `NoEffect`. A read gets what it raised
    itself, else what the default map says, else `failed/internal`.
    """
    if isinstance(error, NoEffect):
        return answer_failure(error.failure, reasons=reasons, schema=schema, may_tell_absence=may_tell_absence)
    if kind == "write":
        return Unknown(operation_id)
    if isinstance(error, Failed | Conflict | NotFound):
        return answer_failure(error, reasons=reasons, schema=schema, may_tell_absence=may_tell_absence)
    if isinstance(error, PermissionError) and error.errno is None:
        return FORBIDDEN
    return _default(error)


_HTTPX: Final = frozenset({"httpx", "httpx2"})
_HTTPX_CLASSES: Final[Mapping[str, FailedCode]] = {
    "UnsupportedProtocol": "internal",
    "TimeoutException": "timeout",
    "TransportError": "unavailable",
}
_HTTP_STATUSES: Final[Mapping[int, FailedCode]] = {
    401: "upstream_credentials",
    403: "upstream_credentials",
    408: "timeout",
    429: "rate_limited",
    502: "unavailable",
    503: "unavailable",
    504: "timeout",
}


def _default(error: BaseException) -> FailedResult:
    """The default map for reads; a class of httpx is known by its name, so that httpx need not be there."""
    if isinstance(error, TimeoutError):
        return FailedResult("timeout")
    if isinstance(error, asyncio.CancelledError):
        return FailedResult("cancelled")
    if isinstance(error, ConnectionError | socket.gaierror | ssl.SSLError):
        return FailedResult("unavailable")
    for each in type(error).__mro__:
        if each.__module__.partition(".")[0] in _HTTPX:
            if each.__name__ == "HTTPStatusError":
                return FailedResult(_HTTP_STATUSES.get(_http_status(error), "internal"))
            if each.__name__ in _HTTPX_CLASSES:
                return FailedResult(_HTTPX_CLASSES[each.__name__])
    return FailedResult("internal")


def _http_status(error: BaseException) -> int:
    status = getattr(getattr(error, "response", None), "status_code", 0)
    return status if isinstance(status, int) else 0
