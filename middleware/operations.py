"""
Which logical write is this call? Its key, its arguments' digest, its state; and the one that runs right now.

In come a caller's scope, the name the application gave the write, and the filled arguments; out comes a proposal that
the ledger turns into an operation. Never takes a key from a model or from a tool-call id.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, cast

import rfc8785

from gatewright.middleware.identifiers import new_id
from gatewright.middleware.record import Trail, event_line
from gatewright.policy.errors import Misuse
from gatewright.policy.model import JsonObject

__all__ = [
    "INSIDE",
    "Operation",
    "Proposal",
    "RunningOperation",
    "State",
    "canonical_arguments",
    "current_operation",
    "named_key",
    "operation_key",
    "running",
]

State: TypeAlias = Literal["started", "succeeded", "failed", "unknown"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """
    The write that a call asks for.

    *name* is the application's name of it, or None: then this call is an operation of its own, unless it repeats an
    unresolved one of the same *interaction*. *arguments* is the RFC 8785 form of the filled arguments, *view* what the
    caller has of the tool. *idempotent* says that one whose outcome is unknown may be started again under its key.
    *kept* is what recovery will need, None where there is nothing to recover it by.
    """

    tenant: str
    subject: str
    tool: str
    arguments: bytes
    interaction: str
    call: str
    trace: str
    view: str
    name: str | None = None
    idempotent: bool = False
    kept: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Operation:
    """
    One logical write as the ledger holds it.

    *id* is what callers are told, *key* what a backend is given. *digest* is the keyed digest of its arguments, *call*
    the call that started it last, *attempt* how often it was started. *outcome* is the result as released, *view* what
    it was released for. *sealed* is what recovery needs, while the outcome is not known.
    """

    id: str
    key: str
    tenant: str
    subject: str
    tool: str
    name: str | None
    interaction: str
    digest: str
    state: State
    attempt: int
    call: str
    trace: str
    view: str
    owner: str
    started_at: float
    finished_at: float | None = None
    expires_at: float | None = None
    retryable: bool = False
    outcome: bytes | None = None
    sealed: str | None = field(default=None, repr=False)


class RunningOperation:
    """
    The operation whose tool runs right now, as the tool sees it.

    Attributes:
        key: hand it to the backend as its idempotency key; the same for every attempt at this logical write.
        id: what callers are told. attempt: counts from 1.
    """

    __slots__ = ("_late", "_now", "_trail", "attempt", "id", "key")

    def __init__(
        self, operation: Operation, trail: Trail, late: Callable[[bytes], None], now: Callable[[], float]
    ) -> None:
        self.id: str = operation.id
        self.key: str = operation.key
        self.attempt: int = operation.attempt
        self._trail = trail
        self._late = late
        self._now = now

    def committed(self, reference: str) -> None:
        """
        Say that the backend has committed, and under which *reference* (an order number, a transaction id).

        An event only: it changes no state. May be said after the call was answered.
        """
        fields = {"key": self.key, "operation": self.id, "reference": reference}
        if not self._trail.answered:
            self._trail.add("business_committed", **fields)
            return
        trail = self._trail
        ids = {"id": trail.call, "interaction": trail.interaction, "trace": trail.trace}
        self._late(event_line("business_committed", self._now(), ids, **fields))


INSIDE: Final[set[tuple[str, int]]] = set()
"""Operation ids and attempts whose body a thread of this process is in, given up or not. A forked child is in none."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=INSIDE.clear)

_current: ContextVar[RunningOperation] = ContextVar("gatewright_operation")


def current_operation() -> RunningOperation:
    """
    Return the operation whose tool is running in this context.

    Raises:
        Misuse: none is; reads have none, and a thread of the tool's own must be given a copy of the context.
    """
    try:
        return _current.get()
    except LookupError:
        raise Misuse("no operation runs here", "only the body of a write has one") from None


@contextmanager
def running(operation: RunningOperation) -> Iterator[None]:
    """Make *operation* the current one."""
    body = (operation.id, operation.attempt)
    token = _current.set(operation)
    INSIDE.add(body)
    try:
        yield
    finally:
        INSIDE.discard(body)
        _current.reset(token)


def canonical_arguments(filled: JsonObject) -> bytes:
    """Return the RFC 8785 form of *filled*, or where it holds integers that the RFC cannot, sorted compact JSON."""
    plain = cast("dict[str, Any]", filled)
    try:
        return rfc8785.dumps(plain)
    except rfc8785.CanonicalizationError:
        return b"big:" + json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()


def operation_key(proposal: Proposal) -> str:
    """
    Return the key of a proposed write: of its scope and name, or a new one where it has no name.

    Depends on no secret, so that a restart under other keys finds the same operation.
    """
    if proposal.name is None:
        return f"op-{new_id()}"
    return named_key(proposal.tenant, proposal.subject, proposal.tool, proposal.name)


def named_key(tenant: str, subject: str, tool: str, name: str) -> str:
    """Return the key of the write that an application calls *name*."""
    scope = [tenant, subject, tool, name]
    return f"op-{hashlib.sha256(json.dumps(scope).encode()).hexdigest()[:40]}"
