"""
What do the pure judgement and the tool's own functions say of a call? Screening and settling, driven for the steps.

In comes a call; out comes what was screened, or a verdict. Facts and rules run under the call's timeout: where the
tool has both, they get a thread of their own, and what they do not answer in time is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from typing import Any, TypeAlias, TypeVar

from gatewright.middleware.call import Call, Wait
from gatewright.middleware.cursor import open_cursors
from gatewright.middleware.load import load_records
from gatewright.middleware.operations import named_key
from gatewright.middleware.spending import charge_of
from gatewright.middleware.stores import StoreUnavailable
from gatewright.policy.errors import GatewrightError
from gatewright.policy.screening import Screened
from gatewright.policy.settlement import Answer, Need, Records
from gatewright.policy.stages import Stage
from gatewright.policy.verdict import Settling, Verdict, advance, screen

__all__ = ["Undecided", "is_bounded", "screen_bounded", "screen_call", "settle_call"]

_T = TypeVar("_T")
_Asking: TypeAlias = "Generator[Wait, Any, _T]"


class Undecided(GatewrightError):
    """It cannot be decided, which is a refusal: *stage* is where, *why* holds names and types of errors only."""

    code = "undecided"

    def __init__(self, stage: Stage, why: str) -> None:
        self.stage: Stage = stage
        self.why: str = why
        super().__init__(why)


def is_bounded(call: Call) -> bool:
    """Whether functions of the tool's own are asked, and a timeout holds for them."""
    return call.deadline is not None and call.tool.supply.is_own


def screen_call(call: Call) -> Screened:
    """Put the arguments through POLICY's stages (a) to (c) and the tool's business rules, and open its cursor."""
    decoded, tool = call.decoded, call.tool
    screened = screen(call.view, decoded.value, tool.supply, call.context, integral_floats=decoded.integral_floats)
    if tool.cursor is not None:
        call.cursors = open_cursors(call, screened)
    return screened


def screen_bounded(call: Call) -> _Asking[Screened]:
    """
    Screen the arguments, under the timeout where there is one.

    Raises:
        Undecided: the business rules are not done in time.
    """
    return (yield from _ask(call, "rules", partial(screen_call, call)))


def settle_call(call: Call, settling: Settling, reached: Need | Verdict | None = None) -> _Asking[Verdict]:
    """
    Answer what *settling* needs until it decides; *reached* is how far it is. Records go onto the call as loaded.

    Raises:
        Undecided: the ledger fails, or facts are not there in time.
    """
    if reached is None:
        reached = yield from _ask(call, "facts", partial(advance, settling))
    while not isinstance(reached, Verdict):
        answer = yield from _answer(call, reached)
        reached = yield from _ask(call, "facts", partial(advance, settling, answer))
    return reached


def _ask(call: Call, stage: Stage, function: Callable[[], _T]) -> _Asking[_T]:
    if not is_bounded(call):
        return function()
    try:
        answer: _T = yield Wait(function, deadline=call.deadline)
    except TimeoutError:
        pass
    else:
        return answer
    raise Undecided(stage, f"{stage}: not in time")


def _answer(call: Call, need: Need) -> _Asking[Answer]:
    try:
        if isinstance(need, Records):
            judged, returned = yield from load_records(call, need)
            call.records.update(returned)
            return judged
        charges = [charge_of(each, call.caller, None) for each in need.budgets]
        spent: Answer = yield Wait(call.runtime.ledger.spent, charges, (yield from _own(call)))
    except StoreUnavailable:
        pass
    else:
        return spent
    raise Undecided("budget", "budget: the ledger is unavailable")


def _own(call: Call) -> _Asking[str | None]:
    """The operation that the call is, where it has been started before: what it has spent is not spent again."""
    if call.own is None and call.operation_name is not None and call.tool.spec.kind == "write":
        key = named_key(call.caller.tenant, call.caller.subject, call.tool_name, call.operation_name)
        found = yield Wait(call.runtime.ledger.named, key)
        return None if found is None else str(found.id)
    return call.own
