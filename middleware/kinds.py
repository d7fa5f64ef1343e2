"""
What kinds of events are there, and which fields may each have? The closed table behind docs/events.md.

A field holds an id, a code, a digest, a number, a pointer or a reason; never an argument's value, a token or the text
of an exception. Kinds and fields are final: one may be added, none changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

from gatewright.policy.errors import Misuse

__all__ = ["FIELDS", "KINDS", "STATUSES", "EventStatus", "Field", "Kind", "check_fields", "reached"]

Kind: TypeAlias = Literal[
    "request_received",
    "identity_resolved",
    "tool_selected",
    "arguments_generated",
    "schema_validated",
    "permission_decided",
    "approval_requested",
    "approval_decided",
    "permission_rechecked",
    "execution_started",
    "execution_finished",
    "result_validated",
    "call_answered",
    "model_resumed",
    "business_committed",
    "policy_loaded",
    "policy_rejected",
]
EventStatus: TypeAlias = Literal["generated", "validated", "executed", "returned"]
Field: TypeAlias = "str | int | bool | Sequence[str] | Sequence[Mapping[str, str]] | None"
"""What a field may hold. None is as good as absent. A float never: its text is not the same everywhere."""

_NOT_ENTERED: Final = ("replayed", "unresolved", "not_started")

STATUSES: Final[tuple[EventStatus, ...]] = ("generated", "validated", "executed", "returned")

FIELDS: Final[Mapping[Kind, frozenset[str]]] = {
    "request_received": frozenset({"adapter", "locale", "operation", "raw", "size", "stage", "task", "tenant", "tool"}),
    "identity_resolved": frozenset(
        {
            "actor",
            "actor_chain",
            "actor_roles",
            "caller",
            "expires_at",
            "issuer",
            "outcome",
            "profile",
            "reason",
            "roles",
            "session",
            "subject",
            "tenant",
            "token_id",
        }
    ),
    "tool_selected": frozenset({"kind", "outcome", "reason", "revision", "stage", "tool", "tool_digest", "view"}),
    "arguments_generated": frozenset({"attempt", "model", "offered", "raw", "raw_digest", "size"}),
    "schema_validated": frozenset(
        {
            "arguments_digest",
            "attempt",
            "attempts_left",
            "entries",
            "errors",
            "layer",
            "outcome",
            "reason",
            "schema_changed",
            "schema_digest",
        }
    ),
    "permission_decided": frozenset(
        {"duties", "entry", "failures", "outcome", "reason", "revision", "rows", "stage", "view"}
    ),
    "approval_requested": frozenset(
        {"approval", "arguments_digest", "count", "expires_at", "operation", "outcome", "reason", "roles", "view"}
    ),
    "approval_decided": frozenset(
        {"approval", "approver", "approver_roles", "missing", "operation", "outcome", "reason", "revision"}
    ),
    "permission_rechecked": frozenset(
        {"changed", "entry", "item", "outcome", "outdated", "reason", "revision", "rows"}
    ),
    "execution_started": frozenset(
        {"arguments_digest", "attempt", "backend", "key", "operation", "resources", "timeout_ms", "tool_version"}
    ),
    "execution_finished": frozenset(
        {
            "backend",
            "code",
            "duration_us",
            "effect",
            "error",
            "http_status",
            "note",
            "operation",
            "outcome",
            "reason",
            "stored",
        }
    ),
    "result_validated": frozenset(
        {"dropped", "errors", "filtered", "items", "outcome", "parts", "reason", "result_digest", "size", "truncated"}
    ),
    "call_answered": frozenset(
        {
            "approval",
            "attempt",
            "attempts_left",
            "cause",
            "code",
            "duration_us",
            "effect",
            "next",
            "operation",
            "reason",
            "recovered",
            "retryable",
            "size",
            "status",
            "step",
        }
    ),
    "model_resumed": frozenset({"message", "model"}),
    "business_committed": frozenset({"key", "operation", "reference"}),
    "policy_loaded": frozenset(
        {
            "duration_us",
            "entries",
            "entries_added",
            "entries_changed",
            "entries_removed",
            "gatewright",
            "limits",
            "limits_added",
            "limits_changed",
            "limits_removed",
            "os",
            "previous",
            "python",
            "quarantined",
            "revision",
            "rows",
            "rows_added",
            "rows_removed",
            "rules",
            "tools",
            "warnings",
        }
    ),
    "policy_rejected": frozenset({"codes", "findings", "first", "kept", "revision"}),
}
"""Each kind with the fields it may have; docs/events.md says what each means."""

KINDS: Final = frozenset(FIELDS)


def reached(status: EventStatus, kind: str, fields: Mapping[str, object]) -> EventStatus:
    """Return how far a call has come once this has happened to one that had come to *status*."""
    if kind == "schema_validated" and fields.get("outcome") == "accepted":
        return status if STATUSES.index(status) > 1 else "validated"
    if kind == "execution_finished" and fields.get("outcome") not in _NOT_ENTERED:
        return "returned" if status == "returned" else "executed"
    return "returned" if kind == "call_answered" else status


def check_fields(kind: str, fields: Mapping[str, object]) -> None:
    """
    Check an event against the table.

    Raises:
        Misuse: there is no such kind, the kind has no such field, or the field holds something it may not.
    """
    allowed = FIELDS.get(kind)  # type: ignore[call-overload]
    if allowed is None:
        raise Misuse(f"no event kind {kind!r}", "kinds are listed in docs/events.md")
    if unknown := sorted(set(fields) - allowed):
        raise Misuse(f"{kind} has no field {', '.join(unknown)}", "fields are listed in docs/events.md")
    for name, value in fields.items():
        if not _is_plain(value):
            raise Misuse(f"{kind}.{name} holds a {type(value).__name__}", "use ids, codes, digests and integers")


def _is_plain(value: object) -> bool:
    if value is None or isinstance(value, str | int):
        return True
    if not isinstance(value, list | tuple):
        return False
    return all(isinstance(item, str) or _is_flat(item) for item in value)


def _is_flat(item: object) -> bool:
    return isinstance(item, Mapping) and all(isinstance(part, str) for pair in item.items() for part in pair)
