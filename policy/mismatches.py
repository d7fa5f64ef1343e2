"""
Where does an answer differ from what a test expects? One mismatch a key of the expectation.

In come an expectation and all that was answered to one call; out come mismatches as values. Judges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, cast

from gatewright.policy.cuts import CutResult
from gatewright.policy.definitions import alike
from gatewright.policy.model import Json, JsonObject
from gatewright.policy.pointers import parse_pointer, resource_ids
from gatewright.policy.pruning import children
from gatewright.policy.situations import Situation
from gatewright.policy.snapshot import Snapshot
from gatewright.policy.verdict import Verdict
from gatewright.policy.view import View

__all__ = ["Answered", "Mismatch", "answer", "mismatches", "shown_mismatches"]

_CODES: Final = {"conflict": "resource_state", "rate_limited": "rate_limited"}


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What was expected under *what*, and what came."""

    what: str
    expected: Json
    got: Json

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected!r}, got {self.got!r}"


@dataclass(frozen=True, slots=True)
class Answered:
    """
    The answer to one call.

    *unknown* facts were asked for and neither stated nor computed; *untrue* ones are computed otherwise than stated.
    *cut* is what leaves of the stated result, None where none is stated or the call was refused.
    """

    situation: Situation
    verdict: Verdict
    view: View | None
    rows: tuple[str, ...]
    unknown: tuple[str, ...]
    untrue: tuple[str, ...]
    cut: CutResult | None

    @property
    def status(self) -> str:
        """The status as the caller sees it once the tool has run well and its result is cut."""
        return self.verdict.outcome if self.cut is None or self.cut.outcome == "ok" else "forbidden"

    @property
    def public(self) -> Json:
        """All that the caller is told."""
        told: dict[str, Json] = {"status": self.status}
        if self.status == "forbidden":
            told["refusal"] = self.verdict.refusal
        if self.status == "invalid_arguments":
            told["errors"] = [repr(error) for error in self.verdict.errors]
        if self.cut is not None and self.status == "ok":
            told |= {"data": self.cut.value, "filtered": self.cut.filtered, "truncated": self.cut.truncated}
        return told


def answer(snapshot: Snapshot, situation: Situation, returned: tuple[Json, ...] = ()) -> Answered:
    """Judge *situation*; *returned* holds what the tool would return, where that is stated."""
    verdict, stated = situation.judge(snapshot)
    is_cut = bool(returned) and verdict.status == "ok"
    return Answered(
        situation,
        verdict,
        situation.view(snapshot),
        _rows(snapshot, situation, verdict),
        tuple(sorted(stated.unknown)),
        tuple(sorted(stated.untrue)),
        situation.cut(snapshot, verdict, returned[0]) if is_cut else None,
    )


def mismatches(expected: JsonObject, answered: Answered) -> Iterator[Mismatch]:
    """Yield where *answered* differs from *expected*; the status first."""
    status = expected.get("status", answered.status)
    if status != answered.status and not (status == "failed" and answered.status == "rate_limited"):
        yield Mismatch("status", status, answered.status)
    for name, read in _READ.items():
        if name in expected:
            got = read(answered)
            if not _matches(name, expected[name], got):
                yield Mismatch(name, expected[name], got)
    shown = {key: expected[key] for key in ("shows", "lacks") if key in expected}
    yield from shown_mismatches(shown, answered.view)


def shown_mismatches(expected: JsonObject, view: View | None) -> Iterator[Mismatch]:
    """Yield the arguments that a schema should show and does not, or shows and should not."""
    if view is None:
        if expected:
            yield Mismatch("schema", dict(expected), None)
        return
    for key, wanted in (("shows", True), ("lacks", False)):
        for name in _strings(expected.get(key)):
            pointer = parse_pointer(name) if name.startswith("/") else (name,)
            if any(True for _ in children(view.schema, pointer, view.schema)) != wanted:
                yield Mismatch(key, name, "not shown" if wanted else "shown")


def _matches(name: str, expected: Json, got: Json) -> bool:
    if name in ("row", "field", "reason", "by", "notify"):
        wanted = _strings(expected)
        found = cast("list[Json]", got)
        return sorted(wanted) in found if name == "by" else all(each in found for each in wanted)
    return alike(expected, got)


def _reasons(answered: Answered) -> list[str]:
    verdict = answered.verdict
    return [*(error.reason for error in verdict.errors), verdict.reason]


_READ: Final[Mapping[str, Callable[[Answered], Json]]] = {
    "entry": lambda it: it.verdict.entry,
    "stage": lambda it: it.verdict.stage,
    "row": lambda it: list(it.rows),
    "field": lambda it: [error.field for error in it.verdict.errors],
    "reason": lambda it: list[Json](_reasons(it)),
    "code": lambda it: _CODES.get(it.status),
    "by": lambda it: [sorted(duty.by) for duty in it.verdict.duties.approvals],
    "count": lambda it: max((duty.count for duty in it.verdict.duties.approvals), default=0),
    "notify": lambda it: list(it.verdict.duties.notify),
    "result": lambda it: None if it.cut is None else it.cut.value,
    "filtered": lambda it: it.cut is not None and it.cut.filtered,
    "truncated": lambda it: it.cut is not None and it.cut.truncated,
}


def _rows(snapshot: Snapshot, situation: Situation, verdict: Verdict) -> tuple[str, ...]:
    """The ids of the rows that settle a call: of its tool, and of every record that it names."""
    engine, caller = snapshot.engine, situation.caller
    standing = engine.standing(caller, situation.now.date())
    found = [*verdict.rows, *engine.decide(standing, situation.tool, "call").rows]
    spec = snapshot.policies.catalog.get(situation.tool)
    arguments = verdict.filled or situation.arguments
    for resource in spec.resources.values() if spec is not None else ():
        for each in _ids(resource.at, arguments):
            found += engine.decide(standing, f"{resource.type}:{each}", spec.action if spec else "").rows
    return tuple(dict.fromkeys(found))


def _ids(at: str, arguments: JsonObject) -> Iterable[str]:
    try:
        return [each for each in resource_ids(at, arguments) if isinstance(each, str)]
    except (TypeError, ValueError, LookupError):
        return ()


def _strings(value: Json) -> list[str]:
    return [value] if isinstance(value, str) else [each for each in value or () if isinstance(each, str)]  # type: ignore[union-attr]
