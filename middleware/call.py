"""
What is known of one call while it walks the chain? The slotted record whose fields the steps write, each one once.

In comes what was asked; the steps add what they find out. Decides nothing and is handed to no tool.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from gatewright.middleware.decode import Decoded, JsonText
from gatewright.middleware.failures import Stopped, stop
from gatewright.middleware.interaction import Interaction, Progress
from gatewright.middleware.kinds import Field
from gatewright.middleware.record import Trail
from gatewright.middleware.results import Ok, OkPage, Result
from gatewright.policy.caller import Caller
from gatewright.policy.model import JsonObject
from gatewright.policy.rendering import Format
from gatewright.policy.screening import Screened
from gatewright.policy.snapshot import Snapshot
from gatewright.policy.verdict import Verdict
from gatewright.policy.view import View

if TYPE_CHECKING:
    from gatewright.middleware.gate import Gate
    from gatewright.middleware.operations import Operation, Proposal
    from gatewright.middleware.registration import Tool
    from gatewright.middleware.runtime import Runtime

__all__ = ["Arguments", "Call", "Clock", "Inspection", "Outcome", "Records", "Wait"]

Arguments: TypeAlias = "JsonText | Mapping[str, object]"
"""The arguments of a call as they came: JSON text, or a mapping that an application made."""

Records: TypeAlias = "dict[tuple[str, str], Any]"
"""(resource name, id) → what its loader returned."""


_UNNOTED: Final[dict[str, Field]] = {}
_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Clock(Protocol):
    """Tells the time."""

    def time(self) -> float:
        """Return seconds since the epoch."""
        ...


class Wait:
    """
    What a step needs to have done: a function that may block, or return an awaitable.

    Past *deadline* (in seconds of the monotonic clock) it is not waited for any more, and TimeoutError is the answer.
    """

    __slots__ = ("arguments", "deadline", "function")

    def __init__(self, function: Callable[..., Any], *arguments: object, deadline: float | None = None) -> None:
        self.function: Callable[..., Any] = function
        self.arguments: tuple[object, ...] = arguments
        self.deadline: float | None = deadline


Outcome: TypeAlias = "Stopped | Generator[Wait, Any, Stopped | None] | None"
"""What a step returns: None to go on, a `Stopped`, or a generator that waits and then returns one of the two."""


class Call:
    """
    One call on its way.

    The fields above the blank line are there from the start; each of the others is written by the one step that finds
    it out, and reading it before that is an AttributeError, which is a refusal.
    """

    __slots__ = (
        "altered",
        "approval",
        "awaited",
        "caller",
        "cause",
        "context",
        "cursors",
        "deadline",
        "decoded",
        "entered",
        "epoch",
        "format",
        "gate",
        "given_context",
        "injected",
        "interaction",
        "locale",
        "noted",
        "now",
        "operation",
        "operation_name",
        "own",
        "progress",
        "proposal",
        "raw",
        "records",
        "result",
        "runtime",
        "screened",
        "snapshot",
        "step",
        "stored",
        "token",
        "tool",
        "tool_name",
        "touched",
        "trail",
        "value",
        "verdict",
        "view",
        "withdrawn",
    )

    runtime: Runtime
    tool_name: str
    raw: Arguments
    token: str | None
    given_context: JsonObject
    injected: Mapping[str, Any]
    interaction: Interaction | str | None
    operation_name: str | None
    own: str | None
    noted: dict[str, Field]
    withdrawn: Stopped | None
    locale: str
    format: Format | None
    trail: Trail
    now: float
    step: str
    cause: str | None

    caller: Caller
    epoch: int
    snapshot: Snapshot
    progress: Progress | None
    context: JsonObject
    tool: Tool
    view: View
    deadline: float | None
    decoded: Decoded
    screened: Screened
    cursors: Mapping[str, str]
    verdict: Verdict
    records: Records
    approval: str | None
    proposal: Proposal
    operation: Operation | None
    awaited: Operation | None
    stored: Ok | OkPage | None
    gate: Gate | None
    entered: bool
    touched: bool
    value: object
    altered: bool
    result: Result

    def __init__(
        self,
        runtime: Runtime,
        tool_name: str,
        raw: Arguments,
        token: str | None,
        context: JsonObject,
        interaction: Interaction | str | None,
        operation_name: str | None,
        locale: str,
        trail: Trail,
    ) -> None:
        self.runtime = runtime
        self.tool_name = tool_name
        self.raw = raw
        self.token = token
        self.given_context = context
        self.interaction = interaction
        self.operation_name = operation_name
        self.locale = locale
        self.trail = trail
        self.now = trail.at
        self.step = ""
        self.format = None
        self.cause = None
        self.progress = None
        self.approval = None
        self.operation = None
        self.own = None
        self.noted = _UNNOTED
        self.withdrawn = None
        self.awaited = None
        self.stored = None
        self.gate = None
        self.entered = False
        self.touched = False
        self.injected = _NOTHING
        self.cursors = _NOTHING

    @property
    def id(self) -> str:
        """The runtime's id of the call."""
        return self.trail.call

    def stop(self, result: Result) -> Stopped:
        """Return the `Stopped` of this call with *result*."""
        return stop(result, self.trail.call)


@dataclass(frozen=True, slots=True)
class Inspection:
    """
    What a step of your own is shown: copies, so that nothing it does to them changes the call.

    *arguments* are what the business rules made of them.
    """

    call_id: str
    tool: str
    caller: Caller
    context: JsonObject
    arguments: Mapping[str, object]
    resources: Mapping[str, object]

    @classmethod
    def of(cls, call: Call) -> Inspection:
        """Return what may be shown of *call*."""
        candidates = call.screened.candidates
        arguments = call.verdict.arguments if hasattr(call, "verdict") else candidates[0].arguments
        records = call.records if hasattr(call, "records") else {}
        return cls(
            call_id=call.id,
            tool=call.tool_name,
            caller=call.caller,
            context=copy.deepcopy(dict(call.context)),
            arguments=copy.deepcopy(dict(arguments or {})),
            resources=copy.deepcopy({name: record for (name, _), record in records.items()}),
        )
