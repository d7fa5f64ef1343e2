"""
On whose behalf does code call a tool directly? Sessions, and calls that an adapter has opened, in context variables.

In comes a token with what belongs to a conversation; a direct call takes it from here. Holds no identity: each call
inside authenticates again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn

from gatewright.middleware.credential import TokenSource, ask
from gatewright.middleware.interaction import Interaction
from gatewright.policy.errors import Misuse
from gatewright.policy.model import JsonObject

if TYPE_CHECKING:
    from gatewright.middleware.call import Call
    from gatewright.middleware.registration import Tool
    from gatewright.middleware.results import Result

__all__ = ["OpenCall", "Session", "body_session", "current_session", "left_open", "take_open_call"]


class Session:
    """
    A token that direct calls inside `with` use. It belongs to one guard and ends when the block does.

    A task or thread that outlives the block finds it closed.
    """

    __slots__ = ("_closed", "_owner", "_token", "_variable", "context", "interaction", "outer", "parent")

    def __init__(
        self,
        owner: object,
        token: str | TokenSource | None,
        context: JsonObject,
        interaction: Interaction | str | None,
        parent: str | None = None,
    ) -> None:
        self._owner = owner
        self._token = token
        self.context: JsonObject = context
        self.interaction: Interaction | str | None = interaction
        self.parent: str | None = parent
        self.outer: Session | None = None
        self._closed = False
        self._variable: Any = None

    def __enter__(self) -> Session:
        if self._closed or self._variable is not None:
            raise Misuse("a session is entered once", "call guard.session(token) again")
        self.outer = _session.get()
        self._variable = _session.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._token = None
        _session.reset(self._variable)

    def __repr__(self) -> str:
        return f"Session({'closed' if self._closed else 'open'})"

    def __reduce__(self) -> NoReturn:
        raise Misuse("a session is not pickled", "it holds a token; open one where it is used")

    @property
    def token(self) -> str | None:
        """The token of this moment, None once the session is closed."""
        return ask(self._token) if callable(self._token) else self._token


_session: ContextVar[Session | None] = ContextVar("gatewright_session", default=None)


def current_session(owner: object) -> Session | None:
    """Return the innermost session of *owner* (one guard's runtime) that is entered here, closed or not."""
    session = _session.get()
    while session is not None and session._owner is not owner:
        session = session.outer
    return session


def body_session(call: Call) -> Session:
    """Return the session to be in while the body of *call* runs: a guarded tool in it is a call of the same caller."""
    return Session(call.runtime, call.token, call.given_context, call.interaction, call.id)


class OpenCall:
    """
    A call that an adapter has taken through every decision, for the decorated function to continue once.

    Attributes:
        call: the call. result: its answer once there is one; at once where it was stopped.
    """

    __slots__ = ("call", "result", "taken")

    def __init__(self, call: Call, result: Result | None) -> None:
        self.call: Call = call
        self.result: Result | None = result
        self.taken: bool = result is not None


_open: ContextVar[OpenCall | None] = ContextVar("gatewright_open_call", default=None)


@contextmanager
def left_open(open_call: OpenCall) -> Iterator[OpenCall]:
    """Leave *open_call* where the decorated function finds it."""
    variable = _open.set(open_call)
    try:
        yield open_call
    finally:
        _open.reset(variable)


def take_open_call(tool: Tool) -> OpenCall | None:
    """Return the call that is open for *tool* here, once; None where there is none or it was taken."""
    found = _open.get()
    if found is None or found.taken or found.call.tool is not tool:
        return None
    found.taken = True
    return found
