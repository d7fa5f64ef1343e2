"""
Who is calling, before there is any call? What a server asks at its door, so that it can answer in its own protocol.

In comes a call that names no tool; out comes its caller, or its `unauthenticated` and an event of it. What happens
behind the door authenticates again.
"""

from __future__ import annotations

from gatewright.middleware.authenticate import authenticate
from gatewright.middleware.call import Call
from gatewright.middleware.conclude import conclude
from gatewright.middleware.drive import answer_waits, answer_waits_async
from gatewright.middleware.failures import Stopped
from gatewright.policy.caller import Caller

__all__ = ["introduce", "introduce_async"]


def introduce(call: Call) -> Caller:
    """
    Return the caller of *call*.

    Raises:
        Stopped: nobody is calling.
    """
    outcome = authenticate(call)
    return _answer(call, outcome if outcome is None or isinstance(outcome, Stopped) else answer_waits(outcome))


async def introduce_async(call: Call) -> Caller:
    """
    Return the caller of *call*, from a task.

    Raises:
        Stopped: nobody is calling.
    """
    outcome = authenticate(call)
    waits = outcome is not None and not isinstance(outcome, Stopped)
    return _answer(call, await answer_waits_async(outcome) if waits else outcome)  # type: ignore[arg-type]


def _answer(call: Call, stopped: Stopped | None) -> Caller:
    if stopped is not None:
        conclude(call, stopped.result)
        stopped.throw()
    return call.caller
