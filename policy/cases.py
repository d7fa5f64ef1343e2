"""
Do the policies decide as their tests expect? POLICY.md, "Tests": every identity makes every call of a test file.

In come a snapshot with its tests and, where they are at hand, the tools' own functions; out come failures as values.
What a file does not list must be exactly `forbidden`. Pure: everything is judged by `judge`, nothing runs.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from gatewright.policy.approver import Approvable, is_approved, weigh_approver
from gatewright.policy.casebook import Casebook
from gatewright.policy.errors import Finding, Place
from gatewright.policy.mismatches import Answered, Mismatch, answer, mismatches, shown_mismatches
from gatewright.policy.model import Json, JsonObject
from gatewright.policy.pacing import breathe
from gatewright.policy.screening import Supply
from gatewright.policy.snapshot import Snapshot

__all__ = ["Failed", "Report", "check_probes", "run_tests"]

_SUCCEEDS: Final = ("ok", "approval_required")


@dataclass(frozen=True, slots=True)
class Failed:
    """One case that is not as expected: *case* is its identity and call, or what else of the file."""

    file: str
    case: str
    mismatches: tuple[Mismatch, ...]

    @property
    def is_unasked(self) -> bool:
        """Whether nothing but a fact that nobody could tell is amiss."""
        return all(each.what == "fact" and each.got == "unknown" for each in self.mismatches)

    def __str__(self) -> str:
        return "\n".join([f"{self.file}: {self.case}", *(f"    {each}" for each in self.mismatches)])


@dataclass(frozen=True, slots=True)
class Report:
    """How the tests came out: how many *files* and *cases* there are, and the *failures* among them."""

    files: int
    cases: int
    failures: tuple[Failed, ...]


def run_tests(
    snapshot: Snapshot, supplies: Mapping[str, Supply] | None = None, now: dt.datetime | None = None
) -> Report:
    """
    Run every test of *snapshot*'s policies.

    *supplies* are the functions of tools by name; a fact that is neither computed by one nor stated by its call makes
    the case fail. *now* is when calls happen whose file does not say.
    """
    runs = [_Run(snapshot, book, supplies or {}) for book in _books(snapshot, now)]
    failures = tuple(failed for run in runs for failed in run.failures())
    return Report(len(runs), sum(run.cases for run in runs), failures)


def check_probes(
    snapshot: Snapshot, supplies: Mapping[str, Supply] | None = None, now: dt.datetime | None = None
) -> tuple[Finding, ...]:
    """
    Return what keeps *snapshot* from being put into force: an error for each case of a test marked `probe` that fails.

    A case that asks for a fact which cannot be told here is a warning: the tool is not of this process.
    """
    probes = [book for book in _books(snapshot, now) if book.is_probe]
    found = [failed for book in probes for failed in _Run(snapshot, book, supplies or {}).failures()]
    return tuple(_finding(failed) for failed in found)


def _finding(failed: Failed) -> Finding:
    place = Place(failed.file.partition("#")[0])
    text = "; ".join(map(str, failed.mismatches))
    if failed.is_unasked:
        hint = "state it under the call's facts"
        return Finding(place, "probe_unasked", f"{failed.case}: {text}", hint, "warning")
    return Finding(place, "probe", f"{failed.case}: {text}", "gatewright test says more")


def _books(snapshot: Snapshot, now: dt.datetime | None) -> list[Casebook]:
    moment = now or dt.datetime.now(dt.UTC)
    return [Casebook(path, document, moment) for path, document in snapshot.policies.tests.items()]


class _Run:
    """One test file over one snapshot; every pair is judged once."""

    def __init__(self, snapshot: Snapshot, book: Casebook, supplies: Mapping[str, Supply]) -> None:
        self.snapshot = snapshot
        self.book = book
        self.supplies = supplies
        self.cases = 0
        self._answers: dict[tuple[str, str], Answered] = {}

    def failures(self) -> Iterator[Failed]:
        for parts in (
            self._pairs(),
            self._successes(),
            self._same(),
            self._approvals(),
            self._lists(),
            self._schemas(),
        ):
            for case, found in parts:
                self.cases += 1
                if found:
                    yield Failed(self.book.path, case, found)

    def _answer(self, who: str, call: str) -> Answered:
        found = self._answers.get((who, call))
        if found is None:
            breathe()
            situation = self.book.situation(who, call, self.supplies)
            found = self._answers[who, call] = answer(self.snapshot, situation, self.book.returned(call))
        return found

    def _pairs(self) -> Iterator[tuple[str, tuple[Mismatch, ...]]]:
        for who, call in self.book.pairs():
            answered, expected = self._answer(who, call), self.book.expected(who, call)
            unknown = tuple(Mismatch("fact", name, "unknown") for name in answered.unknown)
            untrue = tuple(Mismatch("fact", name, "computed otherwise") for name in answered.untrue)
            yield f"{who} {call}", (*untrue, *unknown) or tuple(mismatches(expected, answered))

    def _successes(self) -> Iterator[tuple[str, tuple[Mismatch, ...]]]:
        """Every call succeeds for somebody, or says that it does for nobody: a misspelt one would pass unnoticed."""
        for call in self.book.calls:
            answers = {who: self._answer(who, call) for who in self.book.callers}
            happy: list[Json] = [who for who, answered in answers.items() if answered.status in _SUCCEEDS]
            if any(answered.unknown for answered in answers.values()):
                continue
            if self.book.is_for_nobody(call):
                yield call, (Mismatch("succeeds for", "nobody", happy),) if happy else ()
            else:
                yield call, () if happy else (Mismatch("succeeds for", "somebody, or nobody: true", "nobody"),)

    def _same(self) -> Iterator[tuple[str, tuple[Mismatch, ...]]]:
        for group in cast("list[list[str]]", self.book.document.get("same") or []):
            told = {pair: self._answer(*self.book.split(pair)).public for pair in group}
            first = next(iter(told.values()), None)
            others = [Mismatch("same", f"{pair} as {group[0]}", told[pair]) for pair in told if told[pair] != first]
            yield " = ".join(group), tuple(others)

    def _approvals(self) -> Iterator[tuple[str, tuple[Mismatch, ...]]]:
        for pair, words in cast("dict[str, JsonObject]", self.book.document.get("approve") or {}).items():
            answered = self._answer(*self.book.split(pair))
            for who, expected in words.items():
                got = "ok" if self._may_approve(answered, who) else "forbidden"
                found = () if got == expected else (Mismatch("approve", expected, got),)
                if answered.status != "approval_required":
                    found = (Mismatch("status", "approval_required", answered.status),)
                yield f"{pair}, approved by {who}", found

    def _may_approve(self, answered: Answered, who: str) -> bool:
        """Whether the word of *who* counts for every approval that the call waits for."""
        caller, duties = answered.situation.caller, answered.verdict.duties.approvals
        actor = None if caller.actor is None else caller.actor.id
        asked = Approvable(caller.tenant, caller.subject, actor, answered.situation.tool, duties)
        today = answered.situation.now.astimezone(dt.UTC).date()
        weight = weigh_approver(self.snapshot, self.book.callers[who], asked, today)
        return is_approved([replace(duty, count=1) for duty in duties], {who: weight.counts})

    def _lists(self) -> Iterator[tuple[str, tuple[Mismatch, ...]]]:
        for who, expected in cast("dict[str, list[str]]", self.book.document.get("lists") or {}).items():
            catalog = self.snapshot.policies.catalog
            got = sorted(tool for tool in catalog if self.book.visit(who, tool).view(self.snapshot) is not None)
            is_right = sorted(expected) == got
            yield f"{who}'s list", () if is_right else (Mismatch("list", list[Json](expected), list[Json](got)),)

    def _schemas(self) -> Iterator[tuple[str, tuple[Mismatch, ...]]]:
        for who, tools in cast("dict[str, dict[str, JsonObject]]", self.book.document.get("schemas") or {}).items():
            for tool, expected in tools.items():
                view = self.book.visit(who, tool).view(self.snapshot)
                yield f"{who}'s schema of {tool}", tuple(shown_mismatches(expected, view))
