"""
Did a write happen whose outcome nobody knows? What a tool's `reconcile` is asked with, and the three answers it has.

In comes an operation that is `unknown`; out comes one of the answers. "Not found yet" is not "did not happen": whoever
cannot tell says so, and the operation stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from gatewright.middleware.operations import Operation
from gatewright.policy.caller import Caller

__all__ = ["NOTHING", "CannotTell", "DidNotHappen", "Happened", "Reconcile", "UnresolvedOperation"]

NOTHING: Final = object()


@dataclass(frozen=True, slots=True)
class Happened:
    """
    It took effect. *value* is what the tool would have returned; without one, a repeat is told that the write was done
    and that its result is not to be had (`failed/invalid_result`, effect `done`).
    """

    value: object = NOTHING


@dataclass(frozen=True, slots=True)
class DidNotHappen:
    """It took no effect, and never will: the backend has refused, undone or never received it and takes no more."""


@dataclass(frozen=True, slots=True)
class CannotTell:
    """Nobody knows yet, as where the backend has not found it so far. The operation stays `unknown`."""


@dataclass(frozen=True, slots=True)
class UnresolvedOperation:
    """
    A write whose outcome is unknown, as its tool sees it.

    *key* is what the backend was given as idempotency key. *arguments* are those that the function was called with,
    after the business rules. *started_at* is in seconds since the epoch, *attempt* counts from 1.
    """

    id: str
    key: str
    tool: str
    caller: Caller
    attempt: int
    started_at: float
    arguments: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, operation: Operation, caller: Caller, arguments: Mapping[str, Any]) -> UnresolvedOperation:
        """Return *operation* as its tool sees it."""
        return cls(
            operation.id, operation.key, operation.tool, caller, operation.attempt, operation.started_at, arguments
        )


Reconcile: TypeAlias = "Callable[[UnresolvedOperation], Any]"
"""(operation) → `Happened`, `DidNotHappen` or `CannotTell`; may do I/O and be async. Anything else cannot tell."""
