"""
May this caller make this call of this tool? The whole judgement of POLICY.md, "How a call is judged".

In come a snapshot, a caller, a tool's name, decoded arguments, the facts at hand and the context; out comes a
`Verdict`. Pure: `screen` and `settle` are what the steps of the chain drive, `judge` drives both in one go.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, Literal, Protocol, TypeAlias

from gatewright.policy.caller import Caller
from gatewright.policy.complaints import Complaint
from gatewright.policy.model import JsonObject
from gatewright.policy.screening import Candidate, Failure, Screened, Supply, screen
from gatewright.policy.settlement import Answer, Need, Record, Records, Spent, budget_amount, settle_candidate
from gatewright.policy.snapshot import Snapshot
from gatewright.policy.stages import STAGES, Stage
from gatewright.policy.toolfile import Budget, Duties, ResultCuts, ToolPolicy
from gatewright.policy.view import View

__all__ = [
    "Facts",
    "Settling",
    "Verdict",
    "admit",
    "advance",
    "drive",
    "judge",
    "refused",
    "screen",
    "settle",
    "today_of",
]


@dataclass(frozen=True, slots=True)
class Verdict:
    """
    The answer to one call.

    *status* `ok` may still carry duties: `outcome` says `approval_required` then. *entry* decided, or came furthest;
    it is None where none was open. *rows* are Casbin rows (file:line) that settled the call. *filled* and *arguments*
    are set for `ok` only: the JSON with pins and defaults, and what the business rules made of it.
    *failures* tells how every entry stopped; only the event log and explain see it.
    """

    status: Literal["ok", "invalid_arguments", "forbidden", "not_found", "conflict", "rate_limited"]
    revision: str
    entry: str | None = None
    stage: Stage | None = None
    errors: tuple[Complaint, ...] = ()
    filled: JsonObject | None = None
    arguments: Mapping[str, object] | None = None
    duties: Duties = field(default_factory=Duties)
    cuts: ResultCuts = field(default_factory=ResultCuts)
    refusal: str | None = None
    reason: str = ""
    rows: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    candidate: Candidate | None = None

    def amounts(self, supply: Supply) -> tuple[float | None, ...]:
        """What an allowed call adds to the sum of each of its budgets, in order; None where only calls count."""
        return tuple(
            None if budget.sum is None or self.candidate is None else budget_amount(self.candidate, supply, budget.sum)
            for budget in self.duties.budgets
        )

    @property
    def outcome(self) -> str:
        """The status as a caller would see it if the tool then ran well."""
        return "approval_required" if self.status == "ok" and self.duties.approvals else self.status


_CLOSED: Final = ToolPolicy("")

Settling: TypeAlias = "Generator[Need, Answer, Verdict]"
"""A judgement under way: it asks for records and budgets, and ends in a verdict."""


class Facts(Supply, Protocol):
    """All that a judgement may ask for, at hand without waiting."""

    def record(self, name: str, identity: str) -> Record:
        """Return the record of the resource *name* with this id, None where it is absent for the caller's tenant."""
        ...

    def spent(self, budget: Budget) -> Spent:
        """Return what is used of *budget*."""
        ...


def admit(snapshot: Snapshot, caller: Caller, tool: str, context: JsonObject) -> View | None:
    """Return what *caller* has of *tool*, or None: hidden, off-stage and made-up tools are one case."""
    stages = snapshot.policies.tools.get(tool, _CLOSED).stages
    is_on = stages is None or context.get("stage") in stages
    return snapshot.view(caller, tool if is_on else "", today_of(context))


def settle(screened: Screened, supply: Supply, context: JsonObject) -> Settling:
    """Put the candidates through stages (d) to (h), top to bottom; the first that passes decides."""
    failures = list(screened.failures)
    for candidate in screened.candidates:
        failure = yield from settle_candidate(screened.view, candidate, supply, context)
        if failure is None:
            return _allowed(screened.view, candidate, failures)
        failures.append((candidate.position, failure))
    return refused(screened.view, failures)


def judge(
    snapshot: Snapshot, caller: Caller, tool: str, arguments: JsonObject, facts: Facts, context: JsonObject
) -> Verdict:
    """
    Judge one call with everything at hand.

    An exception while deciding is a denial (P1); it is never an allow and never leaves this function.
    """
    try:
        view = admit(snapshot, caller, tool, context)
        if view is None:
            return Verdict("forbidden", snapshot.revision, stage="call", reason="not_open")
        settling = settle(screen(view, arguments, facts, context), facts, context)
        return drive(settling, facts)
    except Exception as error:  # noqa: BLE001 - whatever went wrong, nothing was allowed
        return Verdict("forbidden", snapshot.revision, reason=f"undecided: {type(error).__name__}")


def drive(settling: Settling, facts: Facts) -> Verdict:
    """Answer every need of *settling* from *facts*."""
    reached = advance(settling)
    while not isinstance(reached, Verdict):
        reached = advance(settling, _answer(reached, facts))
    return reached


def advance(settling: Settling, answer: Answer | None = None) -> Need | Verdict:
    """Go on with *settling*, with the *answer* to its last need; return its next need, or the verdict."""
    try:
        return next(settling) if answer is None else settling.send(answer)
    except StopIteration as done:
        verdict: Verdict = done.value
        return verdict


def refused(view: View, failures: list[tuple[int, Failure]]) -> Verdict:
    """The entry that came furthest speaks, the first on a tie."""
    position, furthest = max(failures, key=lambda item: (STAGES.index(item[1].stage), -item[0]))
    refusal = view.entries[position].refusal or view.refusal
    return Verdict(
        furthest.status,
        view.revision,
        entry=furthest.entry,
        stage=furthest.stage,
        errors=furthest.errors,
        refusal=refusal,
        reason=furthest.reason,
        rows=view.rows,
        failures=tuple(failure for _, failure in sorted(failures, key=lambda item: item[0])),
    )


def today_of(context: JsonObject) -> dt.date:
    """The day (UTC) that `context.date` states as YYYYMMDD."""
    date = context["date"]
    if not isinstance(date, int):
        raise TypeError("context.date is the integer YYYYMMDD")
    return _day(date)


@lru_cache(maxsize=64)
def _day(date: int) -> dt.date:
    return dt.date(date // 10000, date // 100 % 100, date % 100)


def _allowed(view: View, candidate: Candidate, failures: list[tuple[int, Failure]]) -> Verdict:
    return Verdict(
        "ok",
        view.revision,
        entry=candidate.entry.id,
        filled=candidate.filled,
        arguments=candidate.arguments,
        duties=candidate.duties,
        cuts=candidate.entry.cuts,
        refusal=candidate.entry.refusal or view.refusal,
        rows=view.rows,
        failures=tuple(failure for _, failure in failures),
        candidate=candidate,
    )


def _answer(need: Need, facts: Facts) -> Answer:
    if isinstance(need, Records):
        return {wanted: facts.record(*wanted) for wanted in need.wanted}
    return tuple(facts.spent(budget) for budget in need.budgets)
