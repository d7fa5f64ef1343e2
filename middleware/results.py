"""
What can a call answer? The closed union of results, tagged by `status`; each knows its JSON, its error and its message.

In come the few facts a result is made of; out come its constant bytes. No result holds the text, type or value of an
exception, and `forbidden` holds nothing at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final, Literal, TypeAlias

from gatewright.middleware.outcome import FAILED_CODES, ConflictCode, FailedCode, Outcome, Status, dumps
from gatewright.middleware.repairs import InvalidArguments
from gatewright.middleware.sentences import POLICY_NOTE, speaks
from gatewright.policy.model import Json

__all__ = [
    "FORBIDDEN",
    "NOT_FOUND",
    "ApprovalRequired",
    "ConflictResult",
    "FailedResult",
    "Forbidden",
    "NotFoundResult",
    "Ok",
    "OkPage",
    "Result",
    "Unauthenticated",
    "Unknown",
]


@dataclass(frozen=True, slots=True)
class Ok(Outcome):
    """The tool's value as released. *filtered* is a constant of the entry; *truncated* says that rows were cut off."""

    status: ClassVar[Status] = "ok"

    data: Json
    filtered: bool = False
    truncated: bool = False
    as_of: str | None = None
    version: str | None = None
    ref: str | None = None
    schema_changed: bool = False

    def to_json(self) -> dict[str, Json]:
        whole: dict[str, Json] = {"status": "ok", "data": self.data}
        if self.truncated:
            whole["truncated"] = True
        return {**whole, **_extras(self)}

    def to_error(self, locale: str = "en") -> dict[str, Json]:  # noqa: ARG002 - no sentence in a success
        return _success(self)


@dataclass(frozen=True, slots=True)
class OkPage(Outcome):
    """A page as released; its three fields are always there, also when nothing is in it."""

    status: ClassVar[Status] = "ok"

    items: Sequence[Json]
    next_cursor: str | None = None
    truncated: bool = False
    filtered: bool = False
    as_of: str | None = None
    version: str | None = None
    ref: str | None = None
    schema_changed: bool = False

    def to_json(self) -> dict[str, Json]:
        whole: dict[str, Json] = {
            "status": "ok",
            "items": list(self.items),
            "next_cursor": self.next_cursor,
            "truncated": self.truncated,
        }
        return {**whole, **_extras(self)}

    def to_error(self, locale: str = "en") -> dict[str, Json]:  # noqa: ARG002 - no sentence in a success
        return _success(self)


@dataclass(frozen=True, slots=True)
class Forbidden(Outcome):
    """
    The refusal: a constant, the same bytes whatever was asked and why it was refused.

    *refusal* is a tool file's own constant sentence; it stands beside the result in the model's message, only.
    """

    status: ClassVar[Status] = "forbidden"

    refusal: str | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Json]:
        return {"status": "forbidden", "retryable": False}

    def to_bytes(self) -> bytes:
        return _FORBIDDEN_BYTES

    def _notes(self, locale: str) -> tuple[str, ...]:
        note = speaks(POLICY_NOTE, locale)
        return (note,) if self.refusal is None else (self.refusal, note)


@dataclass(frozen=True, slots=True)
class Unauthenticated(Outcome):
    """There is no valid token. *reason* is a stable code, such as `token_expired`."""

    status: ClassVar[Status] = "unauthenticated"

    reason: str

    def to_json(self) -> dict[str, Json]:
        return {
            "status": "unauthenticated",
            "reason": self.reason,
            "retryable": False,
            "next": "refresh_credential",
        }

    def _code(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class ApprovalRequired(Outcome):
    """A person has to approve this very call. *expires_at* is a UTC time in RFC 3339 form."""

    status: ClassVar[Status] = "approval_required"

    approval_id: str
    expires_at: str

    def to_json(self) -> dict[str, Json]:
        return {
            "status": "approval_required",
            "approval_id": self.approval_id,
            "expires_at": self.expires_at,
            "retryable": False,
            "next": "wait_for_approval",
        }


@dataclass(frozen=True, slots=True)
class NotFoundResult(Outcome):
    """There is no such record, said only to a caller who may see every id that the loader could find."""

    status: ClassVar[Status] = "not_found"

    def to_json(self) -> dict[str, Json]:
        return {"status": "not_found", "retryable": False, "next": "stop"}


@dataclass(frozen=True, slots=True)
class ConflictResult(Outcome):
    """The record's state does not allow it, or an operation's key was used for other arguments."""

    status: ClassVar[Status] = "conflict"

    code: ConflictCode
    reason: str | None = None

    def to_json(self) -> dict[str, Json]:
        return {
            "status": "conflict",
            "code": self.code,
            "reason": self.reason,
            "retryable": False,
            "next": "reread_state",
        }

    def _code(self) -> str:
        return self.code

    def _key(self) -> str:
        return f"conflict/{self.code}"


@dataclass(frozen=True, slots=True)
class Unknown(Outcome):
    """A write was started and nobody can say whether it took effect; it is never repeated automatically."""

    status: ClassVar[Status] = "unknown"

    operation_id: str

    def to_json(self) -> dict[str, Json]:
        return {"status": "unknown", "operation_id": self.operation_id, "retryable": False, "next": "ask_human"}


@dataclass(frozen=True, slots=True)
class FailedResult(Outcome):
    """
    The call failed. *effect* `done` says that a write took effect all the same.

    *retry_after* is in seconds. *repeatable* False takes `retryable` away from a code that has it: the developer said
    so, or the retries are used up; nothing gives it to a code without.
    """

    status: ClassVar[Status] = "failed"

    code: FailedCode
    effect: Literal["none", "done"] = "none"
    retry_after: float | None = None
    reason: str | None = None
    field: str | None = None
    repeatable: bool = True

    @property
    def retryable(self) -> bool:
        """Whether the identical call may be repeated automatically."""
        return self.repeatable and self.effect == "none" and FAILED_CODES[self.code][0]

    @property
    def next(self) -> str:
        """What to do now."""
        advice = FAILED_CODES[self.code][1]
        return "stop" if advice == "retry" and not self.retryable else advice

    def to_json(self) -> dict[str, Json]:
        whole: dict[str, Json] = {"status": "failed", "code": self.code, "effect": self.effect}
        named = {"reason": self.reason, "field": self.field}
        whole.update({name: value for name, value in named.items() if value is not None})
        return {**whole, "retryable": self.retryable, "retry_after": self.retry_after, "next": self.next}

    def _code(self) -> str:
        return self.code

    def _key(self) -> str:
        return f"failed/{self.code}"

    def _may_repeat(self) -> bool:
        return self.retryable


Result: TypeAlias = (
    Ok
    | OkPage
    | InvalidArguments
    | Forbidden
    | Unauthenticated
    | ApprovalRequired
    | NotFoundResult
    | ConflictResult
    | Unknown
    | FailedResult
)

FORBIDDEN: Final = Forbidden()
NOT_FOUND: Final = NotFoundResult()


def _extras(result: Ok | OkPage) -> dict[str, Json]:
    named = {"as_of": result.as_of, "version": result.version, "ref": result.ref}
    extras: dict[str, Json] = {"filtered": True} if result.filtered else {}
    extras.update({name: value for name, value in named.items() if value is not None})
    return {**extras, "schema_changed": True} if result.schema_changed else extras


def _success(result: Ok | OkPage) -> dict[str, Json]:
    content = result.to_json()
    return {"ok": True, **{name: value for name, value in content.items() if name != "status"}}


_FORBIDDEN_BYTES: Final = dumps(FORBIDDEN.to_json()).encode()
