"""
Is a denial ever dressed as an answer? Calls as they come, each beside what the reference decider says of it.

In come calls at random; out come those that are denied and answered ok, and those that are empty and should not be.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from noninterference.archive import CLOCK, Archive, rows_of, stats_of
from noninterference.probes import FAMILIES, LISTING, Probe
from noninterference.run import counted, token_of
from noninterference.table import Key, Row, Table
from noninterference.view import SHOWN, Opinion, Person
from noninterference.world import OTHERS, PEOPLE, Gallery, everything, random_rows
from reference.result import cut

DENIED = ("forbidden", "not_found", "conflict", "invalid_arguments", "approval_required", "rate_limited")
_ROUND = 20
"""Calls over the same rows."""
_decided: dict[Any, dict[str, Any]] = {}


def masquerades(gallery: Gallery, seed: int, count: int, seen: Counter[str]) -> Iterator[str]:
    """Every one of *count* calls whose answer is not what the reference says; *seen* counts what they were."""
    rng = Random(seed)
    _decided.clear()
    opinions = {setting: Opinion(gallery.archive(setting)) for setting in gallery.settings}
    for _ in range(count // _ROUND):
        CLOCK.advance(61)
        setting = rng.choice(gallery.settings)
        archive, rows = gallery.archive(setting), random_rows(rng)
        archive.table = Table(rows)
        with counted():
            for _ in range(_ROUND):
                yield from _judged(rng, archive, opinions[setting], rows, seen)
        archive.journal.lines.clear()


def _judged(
    rng: Random, archive: Archive, opinion: Opinion, rows: Mapping[Key, Row], seen: Counter[str]
) -> Iterator[str]:
    person = rng.choice((*PEOPLE, *OTHERS))
    probe = _read_only(rng)
    told = archive.guard.call(probe.tool, probe.raw, token=token_of(person)).to_json()
    answer = _opinion_of(opinion, person, probe, rows)
    wanted = answer["status"]
    expected = None
    if wanted == "ok":
        expected = _expected(archive.table, person, probe, answer)
        wanted = expected["status"] if expected is not None else "ok"
    status = "rate_limited" if told.get("code") == "rate_limited" else told["status"]
    empty = is_empty(told)
    seen["denied" if wanted in DENIED else "empty" if empty else "full"] += 1
    if status == "rate_limited" or probe.tool == "desk.ping":
        return
    if status != wanted or (wanted in DENIED and ({"data", "items"} & told.keys())):
        yield f"{person} {probe}: {told}, the reference says {wanted}"
    elif expected is not None and wanted == "ok" and empty != _is_nothing(expected["data"]):
        yield f"{person} {probe}: {told}, the reference has {expected['data']}"


def _opinion_of(opinion: Opinion, person: Person, probe: Probe, rows: Mapping[Key, Row]) -> dict[str, Any]:
    """The reference's decision, asked once for each caller, call and record that the call names."""
    named = [key for key in rows if key[0] == person.tenant and f'"{key[1]}"' in probe.raw]
    record = tuple((key, rows[key]["kind"], rows[key]["branch"], rows[key]["open"]) for key in named)
    key = (id(opinion), person, probe, record)
    if key not in _decided:
        things = {f"{rows[each]['kind']}:{each[1]}": rows[each] for each in named}
        _decided[key] = opinion.answer(person, probe.tool, probe.raw, things)
    return _decided[key]


def is_empty(told: Mapping[str, Any]) -> bool:
    """Whether an answer is ok with nothing in it: [], {}, null, 0 or an empty text."""
    return told["status"] == "ok" and _is_nothing(told.get("data", told.get("items")))


def _is_nothing(value: Any) -> bool:
    if isinstance(value, dict) and "items" in value:
        value = value["items"]
    return value is None or (not isinstance(value, bool) and value in ([], {}, 0, ""))


def _expected(table: Table, person: Person, probe: Probe, answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the reference leaves of what the tool returns."""
    filled = answer["filled"]
    if probe.tool in ("case.list", "case.page", "case.search"):
        found = rows_of(table, person.tenant, filled.get("sort", "title"), filled.get("text", ""))
        value: Any = {"items": [{name: row[name] for name in SHOWN} for row in found]}
    elif probe.tool == "case.stats":
        value = stats_of(table, person.tenant, person.branch)
    elif probe.tool == "case.read":
        row = table.find(person.tenant, filled["case"])
        value = None if row is None else {name: row[name] for name in SHOWN}
    else:
        return None
    return cut(value, answer["result"])


def _read_only(rng: Random) -> Probe:
    """A probe of any family that writes nothing: what writes would change the rows of the calls behind it."""
    while True:
        tool, arguments, _ = FAMILIES[rng.choice(list(FAMILIES))](rng, everything())
        raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
        if tool not in (LISTING, "case.create", "case.update") and "cursor" not in raw:
            return replace(Probe(tool, raw), joined=False)
