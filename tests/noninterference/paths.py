"""
Do calls that must be alike take the same way through the product? Hidden and made-up tools, foreign and absent records.

In come archives; out come pairs whose ways part, and where. Compares lines, and measures no time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from code_paths import first_difference, lines_of
from noninterference.archive import Archive, new_case
from noninterference.probes import Probe
from noninterference.run import Runner, counted
from noninterference.table import Table
from noninterference.view import Person
from noninterference.world import PEOPLE

RAWS = ("{}", '{"code":"x"}', '{"case":"a-1"}', "{", "", "[]", '{"a":1,"a":2}', "null")


@dataclass(frozen=True)
class Alike:
    """Probes of one person that must take one way: hidden and made up, foreign and absent."""

    person: Person
    probes: tuple[Probe, ...]


def alike(archive: Archive) -> Iterator[Alike]:
    """Every set of probes that must take one way in *archive*, over the rows of `rows`."""
    people = tuple(dict.fromkeys(PEOPLE))
    names = (*(tool.name for tool in archive.setting.tools if "auditor" not in tool.roles), "made.up", "quite.made.up")
    for person in people:
        for raw in RAWS:
            yield Alike(person, tuple(_probe(name, raw) for name in names))
    clerks = [person for person in people if person.role == "clerk"]
    for person in clerks:
        for raw in ('{"case":"%s","lang":"en"}', '{"case":"%s","lang":"xx"}'):
            yield Alike(person, tuple(_probe("case.read", raw % id) for id in RECORDS))
        if not person.actor:
            for tool in ("case.update", "case.release"):
                more = ',"title":"x"' if tool == "case.update" else ""
                yield Alike(person, tuple(_probe(tool, f'{{"case":"{id}"{more}}}') for id in RECORDS))
            yield Alike(person, tuple(_probe("case.create", f'{{"folder":"{id}","title":"x"}}') for id in FOLDERS))


def _probe(tool: str, raw: str) -> Probe:
    """A call in no interaction, so that none is refused for guessing."""
    return Probe(tool, raw, joined=False)


RECORDS = ("a-1", "a-2", "a-3", "a-4", "a-9")
"""Foreign by branch and open, foreign by branch and closed, foreign by tenant, of another kind, made up."""
FOLDERS = ("f-1", "f-2", "f-9")


def rows() -> dict[tuple[str, str], dict[str, Any]]:
    """Rows that are hidden from every clerk of branch one, each in another way."""
    found = {}
    for tenant in ("acme", "globex"):
        for id, more in (("a-1", {}), ("a-2", {"open": False, "level": 4}), ("f-1", {"kind": "folder"})):
            found[tenant, id] = {**new_case(id, tenant, "two", "hidden"), **more}
        found[tenant, "a-4"] = {**new_case("a-4", tenant, "two", "hidden"), "kind": "folder"}
    found["initech", "a-3"] = new_case("a-3", "initech", "one", "hidden")
    found["initech", "f-2"] = {**new_case("f-2", "initech", "one", "hidden"), "kind": "folder"}
    return found


def parting(runner: Runner, archive: Archive, sets: Iterator[Alike]) -> Iterator[str]:
    """Every set of probes that does not take one way, and where two of it part."""
    archive.table = Table(rows())
    with counted():
        for each in sets:
            for probe in each.probes * 2:
                runner.see(archive, each.person, probe, 0)
            ways = [lines_of(partial(runner.see, archive, each.person, probe, 0)) for probe in each.probes]
            for probe, way in zip(each.probes[1:], ways[1:], strict=True):
                found = first_difference(ways[0], way)
                if found is not None:
                    yield f"{each.person} {each.probes[0]} and {probe} part: {found}"
