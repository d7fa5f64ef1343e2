"""
What do all calls of one guard share? Its clock, policies, tools, keys and stores, and the chain they walk.

Built once by `guard`; steps read it from the call. A call is opened here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast

from gatewright.middleware.bounds import Bounds
from gatewright.middleware.call import Arguments, Call, Clock
from gatewright.middleware.chain import Chain
from gatewright.middleware.credential import UNSAID, TokenSource, Unsaid, ask
from gatewright.middleware.interaction import Interaction, Interactions
from gatewright.middleware.journal import Journal
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.malformed import Malformed
from gatewright.middleware.notice import Notices
from gatewright.middleware.options import BatchOptions, ToolCall
from gatewright.middleware.plain import copy_json
from gatewright.middleware.record import Trail
from gatewright.middleware.registration import Tool
from gatewright.middleware.revocation import Revocations
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.session import current_session
from gatewright.middleware.webhook import Webhook
from gatewright.policy.errors import Misuse
from gatewright.policy.model import Json, JsonObject
from gatewright.policy.rendering import FORMATS, Format

if TYPE_CHECKING:
    from gatewright.middleware.live import LivePolicies

__all__ = ["Runtime", "declared_context", "last_call_id"]

_NO_CONTEXT: Final[Mapping[str, Json]] = MappingProxyType({})
_OURS: Final = ("date", "calendar", "called")
_last_call: ContextVar[str | None] = ContextVar("gatewright_last_call", default=None)


def last_call_id() -> str | None:
    """Return the id of the last call that was opened in this context."""
    return _last_call.get()


@dataclass(slots=True, eq=False)
class Runtime:
    """
    One guard from the inside.

    *locale* is the language of messages to the model where a call does not say. *source* says whose calls are that name
    no token and are in no session. *webhook* tells people what waits for them.
    """

    clock: Clock
    keys: KeyRing
    live: LivePolicies
    journal: Journal
    ledger: Ledger
    interactions: Interactions
    chain: Chain
    tools: dict[str, Tool]
    locale: str
    bounds: Bounds
    source: TokenSource | None = None
    webhook: Webhook | None = None
    revocations: Revocations = field(init=False)
    notices: Notices = field(init=False)

    def __post_init__(self) -> None:
        self.revocations = self.ledger.revocations
        self.notices = Notices(self.revocations, self.bounds.stale_reads)

    def open_call(
        self,
        name: str,
        raw: Arguments,
        *,
        token: str | Unsaid | None = UNSAID,
        context: Mapping[str, object] | None = None,
        interaction: Interaction | str | None = None,
        call_id: str | None = None,
        operation: str | None = None,
        locale: str | None = None,
        parent: str | None = None,
        adapter: str | None = None,
        format: Format | None = None,
    ) -> Call:
        """
        Return a call that has just come in, its first event on its trail.

        Without a *token* it is a call of the session that it is made in, with what belongs to that where nothing else
        is said; outside of any, of whom the guard's source names. A *call_id* that is no text, as models may write one,
        counts as none.

        Raises:
            Misuse: what the application says of the call has the wrong type, names no format, or its context is not
                JSON or names what only the runtime knows.
        """
        if format is not None and format not in FORMATS:
            raise Misuse(f"no such format: {format}", f"one of {', '.join(FORMATS)}")
        if self.live.is_stale:
            self.live.complete()
        if isinstance(token, Unsaid):
            session = current_session(self)
            if session is None:
                token = ask(self.source)
            else:
                token, parent = session.token, parent or session.parent
                context = session.context if context is None else context
                interaction = session.interaction if interaction is None else interaction
        given = _NO_CONTEXT if context is None else declared_context(context)
        joined = interaction.id if isinstance(interaction, Interaction) else interaction
        if not (joined is None and operation is None and locale is None):
            _check_texts(interaction=joined, operation=operation, locale=locale)
        model_call = call_id if isinstance(call_id, str) and call_id else None
        trail = Trail(self.clock.time(), interaction=joined, model_call=model_call, parent=parent)
        name = name if isinstance(name, str) else ""
        call = Call(self, name, raw, token, given, interaction, operation, locale or self.locale, trail)
        call.format = format
        _tell_received(call, adapter)
        _last_call.set(trail.call)
        return call

    def open_calls(self, calls: Iterable[ToolCall | tuple[Any, ...]], options: BatchOptions) -> Iterator[Call]:
        """
        Open *calls* one after the other, each when it is asked for.

        Raises:
            Misuse: one of them is none; before any is opened, so that no result of another one is lost.
        """
        for one in _whole(calls):
            yield self.open_call(one.name, one.arguments, **options, call_id=one.call_id, operation=one.operation)


def _whole(calls: Iterable[ToolCall | tuple[Any, ...]]) -> list[ToolCall]:
    try:
        whole = [each if isinstance(each, ToolCall) else ToolCall(*each) for each in calls]
    except TypeError:
        raise Misuse("one of the calls is none", "ToolCall(name, arguments, call_id, operation)") from None
    for one in whole:
        _check_texts(operation=one.operation)
    return whole


def declared_context(context: Mapping[str, object]) -> JsonObject:
    """
    Return a copy of what an application says about a call.

    Raises:
        Misuse: it is not JSON, or names what only the runtime knows.
    """
    if not isinstance(context, Mapping):
        raise Misuse("the context is a mapping", 'context={"stage": "fix"}')
    if not context:
        return _NO_CONTEXT
    for name in _OURS:
        if name in context:
            raise Misuse(f"context.{name} comes from the runtime", f"leave {name} out")
    try:
        copied, _ = copy_json(context)
    except Malformed as error:
        raise Misuse(f"the context is not JSON ({error.reason})", "numbers, strings, lists and objects") from None
    return cast("JsonObject", copied)


def _tell_received(call: Call, adapter: str | None) -> None:
    raw, stage, interaction = call.raw, call.given_context.get("stage"), call.interaction
    is_text = isinstance(raw, (str, bytes))
    call.trail.add(
        "request_received",
        adapter=adapter,
        locale=call.locale,
        operation=call.operation_name,
        raw=is_text or not isinstance(raw, Mapping),
        size=len(raw) if is_text else None,
        stage=stage if isinstance(stage, str) else None,
        task=interaction.task if isinstance(interaction, Interaction) else None,
        tool=call.tool_name,
    )


def _check_texts(**stated: object) -> None:
    for name, value in stated.items():
        if value is not None and not isinstance(value, str):
            raise Misuse(f"{name} is a text, not {type(value).__name__}", f"give {name} as str, or leave it out")
