"""
What does every answer of a call share? The statuses and codes, and how a result turns into JSON, an error, a message.

In comes a result's own JSON; out come its bytes and shapes. The results themselves are in `results`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import ClassVar, Final, Literal, TypeAlias, cast

from gatewright.middleware.messages import Answer, Provider, provider_message
from gatewright.middleware.sentences import sentence
from gatewright.policy.model import Json

__all__ = ["FAILED_CODES", "ConflictCode", "FailedCode", "Outcome", "Status", "dumps"]

Status: TypeAlias = Literal[
    "ok",
    "invalid_arguments",
    "forbidden",
    "unauthenticated",
    "approval_required",
    "not_found",
    "conflict",
    "unknown",
    "failed",
]
ConflictCode: TypeAlias = Literal["resource_state", "key_reused"]
FailedCode: TypeAlias = Literal[
    "timeout",
    "unavailable",
    "rate_limited",
    "upstream_credentials",
    "business_rule",
    "cancelled",
    "invalid_result",
    "internal",
]

FAILED_CODES: Final[Mapping[FailedCode, tuple[bool, str]]] = {
    "timeout": (True, "retry"),
    "unavailable": (True, "retry"),
    "rate_limited": (True, "retry"),
    "upstream_credentials": (False, "ask_human"),
    "business_rule": (False, "stop"),
    "cancelled": (False, "stop"),
    "invalid_result": (False, "ask_human"),
    "internal": (False, "ask_human"),
}
"""Each code of `failed` with its fixed `retryable` and `next`."""


class Outcome:
    """What every result can do. The results themselves are the members of `Result`."""

    __slots__ = ()

    status: ClassVar[Status]

    def to_json(self) -> dict[str, Json]:
        """Return the result as the JSON object that callers see."""
        raise NotImplementedError

    def to_bytes(self) -> bytes:
        """Return the JSON as compact UTF-8; equal results give equal bytes."""
        return dumps(self.to_json()).encode()

    def to_error(self, locale: str = "en") -> dict[str, Json]:
        """
        Return `{"ok": false, "error": {kind, code, retryable, message}}` with the constant message of the code.

        A success gives `{"ok": true}` and its content.
        """
        error: dict[str, Json] = {
            "kind": self.status,
            "code": self._code(),
            "retryable": self._may_repeat(),
            "message": sentence(self._key(), locale),
        }
        return {"ok": False, "error": error}

    def to_message(
        self, provider: Provider, call_id: str, *, name: str | None = None, locale: str = "en"
    ) -> dict[str, Json]:
        """
        Return the tool message for *provider* that answers *call_id*.

        *name* is the tool's name as that provider was told it; only `gemini` asks for it.
        """
        body = self.to_json()
        is_error = self.status != "ok"
        answer = Answer(body, dumps(body), self._notes(locale), is_error, call_id, name)
        return provider_message(provider, answer)

    def _code(self) -> str:
        return self.status

    def _key(self) -> str:
        return self.status

    def _may_repeat(self) -> bool:
        return False

    def _notes(self, locale: str) -> tuple[str, ...]:  # noqa: ARG002 - one result has any
        return ()


def dumps(value: Mapping[str, Json]) -> str:
    """Return *value* as compact JSON text; equal values in equal order give equal text."""
    return json.dumps(cast("dict[str, object]", value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
