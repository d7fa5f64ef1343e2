"""
Which call runs the body that asks? Its ids for the backend, notes for its events, and whether it would still be let in.

In comes the body's own context; out comes a handle on its call. Holds no token and no argument, and grants nothing.
"""

from __future__ import annotations

import logging
import re
from contextvars import ContextVar, Token
from typing import Final

from gatewright.middleware.call import Call
from gatewright.middleware.drive import answer_waits, answer_waits_async
from gatewright.middleware.recheck import is_unchanged, recheck_again
from gatewright.policy.errors import Misuse

__all__ = ["CurrentCall", "Inside", "current_call", "still_allowed"]

_WORD: Final = re.compile(r"[A-Za-z0-9_.:/-]{1,64}")
_HEX: Final = re.compile(r"[0-9a-f]{32}")
_log = logging.getLogger("gatewright")


class CurrentCall:
    """
    The call whose body runs, as the body sees it.

    Attributes:
        id: the runtime's id of the call. tool: its name. interaction, trace: the ids that its events have.
    """

    __slots__ = ("_call", "id", "interaction", "tool", "trace")

    def __init__(self, call: Call) -> None:
        self._call = call
        self.id: str = call.id
        self.tool: str = call.tool_name
        self.interaction: str = call.trail.interaction
        self.trace: str = call.trail.trace

    def __repr__(self) -> str:
        return f"CurrentCall({self.tool}, {self.id})"

    @property
    def traceparent(self) -> str:
        """The header of W3C Trace Context for requests that the body makes: a backend's log and our events meet."""
        trace = self.trace if _HEX.fullmatch(self.trace) else self.id
        return f"00-{trace}-{self.id[:16]}-01"

    def note(self, *, http_status: int | None = None, code: str | None = None, backend: str | None = None) -> None:
        """
        Put what the backend said on record, in `execution_finished`; what is noted last counts.

        *code* and *backend* are words of at most 64 letters, digits and `_.:/-`, *http_status* is a number from 100 to
        599. Anything else, which could be data, is left out with a warning: a body is not stopped by its notes.
        """
        noted = dict(self._call.noted)
        for name, text in (("backend", backend), ("code", code)):
            if text is not None and _is_word(text):
                noted[name] = text
            elif text is not None:
                _log.warning("tool %s noted a %s that is no word (call %s)", self.tool, name, self.id)
        if http_status is not None and type(http_status) is int and 100 <= http_status <= 599:
            noted["http_status"] = http_status
        elif http_status is not None:
            _log.warning("tool %s noted an http_status that is none (call %s)", self.tool, self.id)
        self._call.noted = noted

    def still_allowed(self) -> bool:
        """
        Whether the call would still be let in: token, revocations, policies and resources as of now.

        A read that was told False is refused, whatever its body returns; end it. A write has begun: what it has not
        done yet it should leave, and say `NoEffect` where it has done nothing. A call that was given up is not allowed.
        """
        call = self._call
        if call.trail.answered or call.withdrawn is not None:
            return False
        if not is_unchanged(call):
            call.withdrawn = answer_waits(recheck_again(call))
        return call.withdrawn is None

    async def astill_allowed(self) -> bool:
        """Tell from a task what `still_allowed` tells from a thread."""
        call = self._call
        if call.trail.answered or call.withdrawn is not None:
            return False
        if not is_unchanged(call):
            call.withdrawn = await answer_waits_async(recheck_again(call))
        return call.withdrawn is None


_current: ContextVar[Call | None] = ContextVar("gatewright_current_call", default=None)


class Inside:
    """While the body of a call runs, that call is the current one."""

    __slots__ = ("_call", "_token")

    def __init__(self, call: Call) -> None:
        self._call = call

    def __enter__(self) -> None:
        self._token: Token[Call | None] = _current.set(self._call)

    def __exit__(self, *_: object) -> None:
        _current.reset(self._token)


def current_call() -> CurrentCall:
    """
    Return the call whose body is running in this context.

    Raises:
        Misuse: none is; a thread of the tool's own must be given a copy of the context.
    """
    call = _current.get()
    if call is None:
        raise Misuse("no call runs here", "only the body of a tool has one")
    return CurrentCall(call)


def still_allowed() -> bool:
    """Whether the call whose body is running would still be let in: `current_call().still_allowed()`."""
    return current_call().still_allowed()


def _is_word(text: object) -> bool:
    return isinstance(text, str) and _WORD.fullmatch(text) is not None
