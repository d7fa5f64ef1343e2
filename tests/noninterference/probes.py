"""
What does a caller try, to learn what is not theirs? Twelve families of probes, and what each of them aims at.

In come a source of chance and the aims of a pair (names, ids, titles that were changed); out come single probes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

PROVIDERS = ("plain", "openai", "openai-responses", "anthropic", "gemini", "mcp")
FORMATS = ("plain", "openai", "anthropic", "mcp", "gemini")
LOCALES = ("en", "en", "zh")
MADE_UP = ("made.up", "vault.opens", "case", "case.read ", "Case.Read", "", "*", "desk.*", "case.read\n", "tools/desk")
BROKEN = (
    "{}",
    "{",
    "",
    "[]",
    "null",
    '{"case":1}',
    '{"a":1,"a":2}',
    '{"case":"b-2","x":NaN}',
    '{"code":"","number":"1"}',
)
LISTING = "(list)"
CURSOR = "$cursor"
"""Stands for the last cursor that the caller was given."""


@dataclass(frozen=True)
class Probe:
    """One thing that a caller does: a call, or a listing where *tool* is `LISTING` (and *raw* the format)."""

    tool: str
    raw: str
    operation: str | None = None
    joined: bool = True
    way: str = "call"
    provider: str = "plain"
    locale: str = "en"


@dataclass(frozen=True)
class Aims:
    """What was changed outside the caller's view, and what is there besides."""

    names: tuple[str, ...]
    cases: tuple[str, ...]
    folders: tuple[str, ...]
    titles: tuple[str, ...]
    known_cases: tuple[str, ...]
    known_folders: tuple[str, ...]
    known_titles: tuple[str, ...]
    operations: tuple[str, ...]


Maker = Callable[[Random, Aims], tuple[str, Any, str | None]]


def _aim(rng: Random, changed: tuple[str, ...], known: tuple[str, ...], other: str, share: float = 0.75) -> str:
    """Mostly what was changed, else something that may be known, or made up."""
    if changed and rng.random() < share:
        return rng.choice(changed)
    return rng.choice(known) if known and rng.random() < 0.8 else other


def _hidden_tool(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    name = _aim(rng, aims.names, MADE_UP, "made.up")
    return name, rng.choice(({"code": "x"}, {"code": "x", "number": 1}, {"case": "a-1"}, {})), None


def _read(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    more = {"lang": "en"} if rng.random() < 0.8 else {}
    return "case.read", {"case": _aim(rng, aims.cases, aims.known_cases, "z-9"), **more}, None


def _list(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    if rng.random() < 0.5:
        return "case.page", rng.choice(({}, {"cursor": CURSOR}, {"cursor": CURSOR}, {"cursor": "made up"})), None
    return "case.list", rng.choice(({}, {"sort": "title"}, {"sort": "pages"}, {"sort": "branch"})), None


def _search(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    if rng.random() < 0.35:
        return "case.stats", {}, None
    title = _aim(rng, aims.titles, aims.known_titles, "q")
    more = {"mode": "complete"} if rng.random() < 0.3 else {}
    return "case.search", {"text": title[: rng.randrange(len(title) + 1)], **more}, None


def _create(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    folder = _aim(rng, (), aims.known_folders, "f-0")
    return "case.create", {"folder": folder, "title": _aim(rng, aims.titles, aims.known_titles, "new")}, None


def _change(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    case = _aim(rng, aims.cases, aims.known_cases, "z-9")
    if rng.random() < 0.2:
        return "case.release", {"case": case}, None
    return "case.update", {"case": case, "title": rng.choice(("x", "y", "longer than the others"))}, None


def _below(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    folder = _aim(rng, aims.folders, aims.known_folders, "f-0")
    return "case.create", {"folder": folder, "title": f"t{rng.randrange(99)}"}, None


def _malformed(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    case = _aim(rng, aims.cases, aims.known_cases, "z-9")
    if rng.random() < 0.5:
        return _aim(rng, aims.names, MADE_UP, "made.up"), rng.choice(BROKEN), None
    tool = rng.choice(("case.read", "case.read", "case.update", "case.release"))
    wrong: tuple[Any, ...] = (
        {"case": case, "extra": 1},
        {"case": [case]},
        {"case": case, "lang": "xx"},
        f'{{"case":"{case}","case":"a-1"}}',
        f'{{"case":"{case}"',
        {"case": case, "title": "x" * 41},
        {"case": case, "code": "x", "number": 1},
        {"case": case},
    )
    return tool, rng.choice(wrong), None


def _key(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    tool, arguments, _ = _change(rng, aims) if rng.random() < 0.7 else _create(rng, aims)
    return tool, arguments, rng.choice(aims.operations) if aims.operations else None


def _approval(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    operation = rng.choice((None, *aims.operations))
    return "case.release", {"case": _aim(rng, aims.cases, aims.known_cases, "z-9")}, operation


def _listing(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    return LISTING, rng.choice(FORMATS), None


def _errors(rng: Random, aims: Aims) -> tuple[str, Any, str | None]:
    draw = rng.random()
    if draw < 0.6:
        return "desk.ping", {} if draw < 0.5 else {"x": 1}, None
    if draw < 0.8:
        return "case.list", {"sort": "branch"}, None
    return _read(rng, aims)


FAMILIES: Mapping[str, Maker] = {
    "F1": _hidden_tool,
    "F2": _read,
    "F3": _list,
    "F4": _search,
    "F5": _create,
    "F6": _change,
    "F7": _below,
    "F8": _malformed,
    "F9": _key,
    "F10": _approval,
    "F11": _listing,
    "F12": _errors,
}
CHANGES: Mapping[str, str] = {
    **dict.fromkeys(("F1", "F11"), "tools"),
    **dict.fromkeys(("F2", "F3", "F4", "F5", "F6"), "cases"),
    "F7": "folders",
    "F8": "both",
    **dict.fromkeys(("F9", "F10", "F12"), "acts"),
}
"""What is changed in a pair of each family, before all else."""


def sequence(rng: Random, family: str, aims: Aims, length: int) -> tuple[Probe, ...]:
    """A sequence of *length* probes, most of them of *family*."""
    names = list(FAMILIES)
    drawn = [family if number == 0 or rng.random() < 0.8 else rng.choice(names) for number in range(length)]
    return tuple(_probe(rng, FAMILIES[name](rng, aims)) for name in drawn)


def _probe(rng: Random, made: tuple[str, Any, str | None]) -> Probe:
    tool, arguments, operation = made
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
    way = "call" if rng.random() < 0.85 else rng.choice(("direct", "direct", "direct", "task"))
    provider, locale = rng.choice(PROVIDERS), rng.choice(LOCALES)
    return Probe(tool, raw, operation, rng.random() < 0.9, way, provider, locale)
