"""
Twenty policies folders, broken in many ways: cut off, a byte changed, a line gone. What is wrong with what comes of it?

With EFFECTIVE.txt left as it was, a folder in production must not load. With it made anew, what loads decides as the
reference decider does on the same text. Nothing may raise but `PolicyInvalid`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, lru_cache
from unittest.mock import patch

import gatewright.policy.folder as folder_room
from effective import in_production
from gatewright.policy.catalog import spec_from_json
from gatewright.policy.currency import check_currency
from gatewright.policy.effective import EFFECTIVE_FILE, effective_text
from gatewright.policy.errors import Finding, PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.formats import Findings, Node, read_documents
from gatewright.policy.model import ToolSpec
from gatewright.policy.policyset import PolicySet
from gatewright.policy.snapshot import compile_snapshot
from gatewright.policy.source import Source
from reference.decide import decide
from reference.folder import read_policies
from worlds.invented import invent
from worlds.neighbours import Situation, neighbours
from worlds.product import verdict_of
from worlds.reader import World
from worlds.shelf import worlds

FOLDERS = 20
ASKED = 4
DRAWN = 60
CHECKED = 0.2
SAMPLED = ("lines", "cuts", "bytes")
"""Kinds of which a part of what loads is compared; all of it must load or not as it should."""


@dataclass
class Tally:
    """What was tried, and every fault that was found."""

    tried: int = 0
    loaded: int = 0
    decided: int = 0
    allowed: int = 0
    faults: list[str] = field(default_factory=list)

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.tried + other.tried,
            self.loaded + other.loaded,
            self.decided + other.decided,
            self.allowed + other.allowed,
            self.faults + other.faults,
        )


@cache
def folder(number: int) -> World:
    """The world whose policies are broken: the written ones first, then invented ones."""
    written = worlds()
    return written[number] if number < len(written) else invent(7000 + number)


@cache
def _catalog(number: int) -> dict[str, ToolSpec]:
    return {name: spec_from_json(spec) for name, spec in folder(number).catalog.items()}


@cache
def whole(number: int) -> dict[str, bytes]:
    """The folder in production with its EFFECTIVE.txt."""
    return {path: text.encode() for path, text in in_production(folder(number).texts, _catalog(number)).items()}


@cache
def _situations(number: int) -> tuple[Situation, ...]:
    return tuple(neighbours(folder(number), 1, DRAWN))


def line_cuts(number: int) -> Iterator[tuple[str, bytes]]:
    """Every file cut at each of its line ends, and one byte before and behind it."""
    for path, content in whole(number).items():
        ends = [at for at, byte in enumerate(content, 1) if byte == ord("\n")]
        for at in sorted({near for end in ends for near in (end - 1, end, end + 1) if near < len(content)}):
            yield path, content[:at]


def random_cuts(number: int, count: int) -> Iterator[tuple[str, bytes]]:
    """*count* cuts anywhere, larger files being hit more often."""
    dice = random.Random(f"cuts {number}")
    for _ in range(count):
        path, at = _anywhere(number, dice)
        yield path, whole(number)[path][:at]


def every_cut(number: int) -> Iterator[tuple[str, bytes]]:
    """Every file cut at every byte."""
    for path, content in whole(number).items():
        yield from ((path, content[:at]) for at in range(len(content)))


def mutations(number: int, count: int) -> Iterator[tuple[str, bytes]]:
    """*count* changes of a byte or of a line."""
    dice = random.Random(f"mutations {number}")
    for _ in range(count):
        path, at = _anywhere(number, dice)
        content = whole(number)[path]
        yield path, _line_changed(content, dice) if dice.random() < 0.4 else _byte_changed(content, at, dice)


def _anywhere(number: int, dice: random.Random) -> tuple[str, int]:
    files = whole(number)
    path = dice.choices([*files], [len(content) for content in files.values()])[0]
    return path, dice.randrange(len(files[path]))


def _byte_changed(content: bytes, at: int, dice: random.Random) -> bytes:
    other = dice.choice((bytes([dice.randrange(256)]), bytes([dice.choice(b"abcxyz0189 :,{}[]*-.\"'#\n")])))
    return dice.choice(
        (
            content[:at] + other + content[at + 1 :],
            content[:at] + other + content[at:],
            content[:at] + content[at + 1 :],
        )
    )


def _line_changed(content: bytes, dice: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    at, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    how = dice.randrange(3)
    if how == 0:
        del lines[at]
    elif how == 1:
        lines.insert(other, lines[at])
    else:
        lines[at], lines[other] = lines[other], lines[at]
    return b"".join(lines)


def judge_all(job: tuple[str, int, int]) -> Tally:
    """Judge the breakings of one kind of one folder: (kind, folder, count)."""
    kind, number, count = job
    made = {
        "lines": lambda: line_cuts(number),
        "cuts": lambda: random_cuts(number, count),
        "bytes": lambda: every_cut(number),
        "mutations": lambda: mutations(number, count),
    }[kind]()
    tally = Tally()
    with patch.object(folder_room, "read_documents", _read_once):
        for at, (path, content) in enumerate(made):
            _judge(tally, kind, number, path, content, random.Random(f"{kind} {number} {at}"))
    return tally


@lru_cache(maxsize=64)
def _documents(path: str, content: bytes) -> tuple[list[Node], list[Finding]]:
    findings = Findings()
    return read_documents(path, content, findings), findings.all


def _read_once(path: str, content: bytes, findings: Findings) -> list[Node]:
    """A file's documents and findings, remembered, for all files but one are the same each time."""
    documents, found = _documents(path, content)
    findings.take(found)
    return documents


def _judge(tally: Tally, kind: str, number: int, path: str, content: bytes, dice: random.Random) -> None:
    files = {**whole(number), path: content}
    if files == whole(number):
        return
    tally.tried += 1
    where = f"{folder(number).name} {path} {len(content)} bytes: …{content[-40:]!r}"
    try:
        policies = load_policies(Source(files), _catalog(number), any_age=True)
    except PolicyInvalid as error:
        if not error.findings:
            tally.faults.append(f"no finding: {where}")
        return
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a fault
        tally.faults.append(f"raised {error!r}: {where}")
        return
    tally.loaded += 1
    is_checked = kind not in SAMPLED or dice.random() < CHECKED
    if _is_current(files, is_checked, number) and policies.revision != Source(whole(number)).digest:
        tally.faults.append(f"goes live with the EFFECTIVE.txt of another folder: {where}")
    if not is_checked:
        return
    if dice.random() < CHECKED and not _goes_live({**files, EFFECTIVE_FILE: effective_text(policies).encode()}, number):
        tally.faults.append(f"does not load with its own EFFECTIVE.txt: {where}")
    _compare(tally, number, policies, files, where, dice)


def _is_current(files: dict[str, bytes], is_checked: bool, number: int) -> bool:
    """Whether EFFECTIVE.txt lets the folder load; asked of the one check alone where all that it checks has passed."""
    if is_checked:
        return _goes_live(files, number)
    findings = Findings()
    check_currency(Source(files), findings, is_production=b"production: true" in files["identity.yaml"])
    return not findings.errors()


def _goes_live(files: dict[str, bytes], number: int) -> bool:
    try:
        return bool(load_policies(Source(files), _catalog(number)))
    except PolicyInvalid:
        return False


def _compare(
    tally: Tally, number: int, policies: PolicySet, files: dict[str, bytes], where: str, dice: random.Random
) -> None:
    snapshot = compile_snapshot(policies)
    plain = read_policies({path: text.decode() for path, text in files.items() if path != EFFECTIVE_FILE})
    for situation in dice.sample(_situations(number), ASKED):
        verdict = verdict_of(snapshot, situation)
        answer = decide(
            plain,
            situation.world.catalog,
            situation.caller,
            situation.tool,
            situation.arguments,
            now=situation.now,
            context=situation.context,
            things=situation.things,
            facts=situation.world.facts,
            used=situation.used,
        )
        tally.decided += 1
        tally.allowed += verdict.outcome == "ok"
        ours = (verdict.outcome, verdict.entry, verdict.stage, verdict.filled)
        theirs = (answer["status"], answer["entry"], answer["stage"], answer.get("filled"))
        if ours != theirs:
            tally.faults.append(f"{where}\n  {situation.steps} product {ours}\n  reference {theirs}")
