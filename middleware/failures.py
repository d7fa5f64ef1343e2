"""
What can be raised on the way of a call? What tool developers raise, and what a stopped call raises.

The first say codes and declared reasons; `Stopped` holds a public result and the call's id, nothing else: no cause, no
context, no value of the call.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Final, NoReturn, TypeAlias, get_args

from gatewright.middleware.outcome import FAILED_CODES, FailedCode, Status
from gatewright.middleware.results import Result
from gatewright.policy.errors import GatewrightError, Misuse

__all__ = [
    "ApprovalNeeded",
    "ArgumentsRefused",
    "CallFailed",
    "CallForbidden",
    "CallUnauthenticated",
    "Conflict",
    "Failed",
    "Failure",
    "NoEffect",
    "NotFound",
    "OutcomeUnknown",
    "RecordNotFound",
    "StateConflict",
    "Stopped",
    "stop",
]

_POINTER: Final = re.compile(r"(?:/[A-Za-z0-9_.~-]{0,128}){0,16}")


class Failed(GatewrightError):
    """
    The tool failed in a known way.

    *code* is one of the `failed` codes. *reason* must be among the reasons declared with the tool, else it is dropped.
    *field* is a JSON pointer into the arguments; what is none is dropped. *retryable* False takes back what the code
    allows. *retry_after* is in seconds, and dropped where it is no number of them.

    Raises:
        Misuse: there is no such code, or *retryable* True for a code that never is.
    """

    code: str = "failed"

    def __init__(
        self,
        code: FailedCode,
        *,
        reason: str | None = None,
        field: str | None = None,
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        if code not in FAILED_CODES:
            raise Misuse(f"no such code of Failed: {code!r}", f"one of {', '.join(get_args(FailedCode))}")
        if retryable and not FAILED_CODES[code][0]:
            raise Misuse(f"Failed({code!r}) is never retryable", "leave retryable out, or choose another code")
        self.code = code
        self.reason = reason
        self.field: str | None = field if isinstance(field, str) and _POINTER.fullmatch(field) else None
        self.retryable = retryable
        self.retry_after: float | None = retry_after if _is_a_wait(retry_after) else None
        super().__init__(code)


def _is_a_wait(seconds: object) -> bool:
    """Whether *seconds* can stand in a result: a finite number, not below zero."""
    return isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds < math.inf


class Conflict(GatewrightError):
    """The record is in a state that does not allow this. A *reason* not declared with the tool is dropped."""

    code = "conflict"

    def __init__(self, reason: str | None = None) -> None:
        self.reason = reason
        super().__init__(reason)


class NotFound(GatewrightError):
    """
    There is no such record.

    Callers hear `not_found` only where POLICY.md's rule allows it, `forbidden` otherwise.
    """

    code = "not_found"


Failure: TypeAlias = Failed | Conflict | NotFound


class NoEffect(GatewrightError):
    """
    A write has certainly changed nothing; raised by a tool, it is the one way for a started write not to be `unknown`.

    *failure* says what to answer, `Failed("internal")` where it is left out.
    """

    code = "no_effect"

    def __init__(self, failure: Failure | None = None) -> None:
        self.failure: Failure = Failed("internal") if failure is None else failure
        super().__init__(self.failure)


class Stopped(GatewrightError):
    """
    A call was stopped before it gave a value.

    Attributes:
        result: what the caller sees. call_id: the runtime's id of the call, empty where there was none.
    """

    code = "stopped"

    def __init__(self, result: Result, call_id: str = "") -> None:
        self.result = result
        self.call_id = call_id
        super().__init__(result, call_id)

    @property
    def status(self) -> Status:
        """The status of the result."""
        return self.result.status

    def __str__(self) -> str:
        return f"{self.status} (call {self.call_id})" if self.call_id else self.status

    def throw(self) -> NoReturn:
        """Raise this without the exception that may be handled just now as its context."""
        try:
            raise self
        finally:
            self.__cause__: BaseException | None = None
            self.__context__: BaseException | None = None


class ArgumentsRefused(Stopped):
    """`invalid_arguments`."""

    code = "invalid_arguments"


class CallForbidden(Stopped):
    """`forbidden`."""

    code = "forbidden"


class CallUnauthenticated(Stopped):
    """`unauthenticated`."""

    code = "unauthenticated"


class ApprovalNeeded(Stopped):
    """`approval_required`."""

    code = "approval_required"


class RecordNotFound(Stopped):
    """`not_found`."""

    code = "not_found"


class StateConflict(Stopped):
    """`conflict`."""

    code = "conflict"


class OutcomeUnknown(Stopped):
    """`unknown`."""

    code = "unknown"


class CallFailed(Stopped):
    """`failed`."""

    code = "failed"


_CLASSES: Final[Mapping[str, type[Stopped]]] = {
    each.code: each
    for each in (
        ArgumentsRefused,
        CallForbidden,
        CallUnauthenticated,
        ApprovalNeeded,
        RecordNotFound,
        StateConflict,
        OutcomeUnknown,
        CallFailed,
    )
}


def stop(result: Result, call_id: str = "") -> Stopped:
    """Return the `Stopped` of *result*'s status."""
    return _CLASSES[result.status](result, call_id)
