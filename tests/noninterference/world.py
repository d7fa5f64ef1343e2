"""
Which worlds look the same to somebody? Pairs of worlds that differ only outside a person's view, and what to try there.

Changes are proposed at random and kept where the oracle says that the person cannot know of them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import Any

from noninterference.archive import Archive, new_case
from noninterference.policies import TENANTS, HiddenTool, Setting
from noninterference.probes import CHANGES, FAMILIES, Aims, Probe, sequence
from noninterference.table import Key, Row, changed_keys
from noninterference.view import Opinion, Oracle, Person

PEOPLE = (
    *[Person("amy", "acme", "clerk", "one")] * 10,
    *[Person("dan", "globex", "clerk", "one")] * 3,
    Person("bea", "acme", "intern", "two"),
    Person("cal", "acme", "auditor", "one"),
    Person("amy", "acme", "clerk", "one", "bot"),
    Person("gus", "acme", "guest", "one"),
)
OTHERS = (
    Person("zed", "acme", "clerk", "two"),
    Person("zoe", "acme", "manager", "two"),
    *[Person("amy", "globex", "clerk", "one")] * 2,
    Person("yan", "globex", "clerk", "two"),
    Person("yve", "initech", "auditor", "one"),
)
CASE_IDS = tuple(f"{letter}-{number}" for letter in "ab" for number in range(1, 6))
FOLDER_IDS = tuple(f"f-{number}" for number in range(1, 6))
IDS = (*(f"case:{id}" for id in (*CASE_IDS, "z-9")), *(f"folder:{id}" for id in (*FOLDER_IDS, "f-0")))
TITLES = ("ash", "elm", "oak", "oaken door", "pine", "willow by the river", "yew", "a" * 39)
TOOL_NAMES = ("vault.open", "vault.close", "desk.audit", "case.purge", "case.reopen", "keys.rotate")
OTHER_ROWS = (
    "p, subject:zed, acme, case:b-*, read, allow",
    "p, manager, globex, case:b-*, read, deny",
    "p, manager, initech, tools/desk, call, deny",
    "g, subject:zoe, manager, acme",
    "p, subject:zed, *, desk.ping, call, deny",
    "p, manager, *, case.release, approve, allow",
    "p, auditor, initech, case:a-*, read, deny",
)
OTHER_ENTRIES = (
    "case.read { id: chief, roles: [manager], arguments: { lang: { const: de } } }",
    "case.search { id: chief, roles: [manager], result: { rows: 1 } }",
    "case.create { id: chief, roles: [manager] }",
    "case.list { id: chief, roles: [manager], arguments: { sort: {} } }",
)
OTHER_LIMITS = (
    ("initech", "case.read: [ { id: theirs, arguments: { lang: { const: en } } } ]\n"),
    ("globex", "case.search: [ { id: theirs, for: { roles: [manager] }, arguments: { mode: { const: list } } } ]\n"),
)


@dataclass(frozen=True)
class Act:
    """What somebody else does before the caller's probe number *at*."""

    at: int
    person: Person
    probe: Probe


@dataclass(frozen=True)
class World:
    """One world: policies, rows, and what others do in it."""

    setting: Setting
    rows: Mapping[Key, Row]
    acts: tuple[Act, ...] = ()


@dataclass(frozen=True)
class Pair:
    """Two worlds of one view, and what the person tries in both."""

    family: str
    person: Person
    left: World
    right: World
    probes: tuple[Probe, ...]

    @property
    def changed_names(self) -> frozenset[str]:
        """The tools that are not the same in both."""
        return frozenset(tool.name for tool in {*self.left.setting.tools} ^ {*self.right.setting.tools})

    @property
    def changed_rows(self) -> set[Key]:
        """The rows that are not the same in both."""
        return changed_keys(self.left.rows, self.right.rows)


class Gallery:
    """Some settings, with what the reference decider makes of each for everybody; archives are opened when asked."""

    def __init__(self, seed: int, count: int = 12) -> None:
        rng = Random(seed)
        self.settings = [Setting(), *(_setting(rng) for _ in range(count - 1))]
        self.archives: dict[tuple[Setting, int], Archive] = {}
        self._groups: dict[Person, list[tuple[Oracle, list[Setting]]]] = {}
        self._opinions = [Opinion(self.archive(setting)) for setting in self.settings]

    def archive(self, setting: Setting, side: int = 0) -> Archive:
        """The archive of a setting; the two sides of a pair share none."""
        found = self.archives.get((setting, side))
        if found is None:
            found = self.archives[setting, side] = Archive(setting)
        return found

    def groups(self, person: Person) -> list[tuple[Oracle, list[Setting]]]:
        """Settings that give *person* the same view, each group with its oracle."""
        if person not in self._groups:
            found: defaultdict[str, list[int]] = defaultdict(list)
            for number, opinion in enumerate(self._opinions):
                found[opinion.view(person, IDS)].append(number)
            self._groups[person] = [
                (Oracle(self._opinions[numbers[0]], person), [self.settings[number] for number in numbers])
                for numbers in found.values()
            ]
        return self._groups[person]

    def close(self) -> None:
        """Close every archive."""
        for archive in self.archives.values():
            archive.close()
        self.archives.clear()


def _setting(rng: Random) -> Setting:
    names = rng.sample(TOOL_NAMES, rng.randrange(4))
    tools = []
    for name in names:
        roles = rng.choice((("manager",), ("manager",), ("auditor",), ("clerk", "manager")))
        stage = "night" if "clerk" in roles or rng.random() < 0.1 else ""
        tools.append(HiddenTool(name, rng.randrange(3), rng.choice((1, 1, 9)), roles, stage))
    return Setting(
        tuple(tools),
        tuple(rng.sample(OTHER_ROWS, rng.randrange(4))),
        tuple(rng.sample(OTHER_ENTRIES, rng.randrange(3))),
        tuple(rng.sample(OTHER_LIMITS, rng.randrange(2))),
    )


def pairs(gallery: Gallery, family: str, seed: int, count: int) -> Iterator[Pair]:
    """*count* pairs of a family; the same seed gives the same pairs."""
    rng = Random(f"{seed} {family}")
    for _ in range(count):
        yield _pair(rng, gallery, family)


def _pair(rng: Random, gallery: Gallery, family: str) -> Pair:
    person = rng.choice(PEOPLE)
    oracle, settings = rng.choice([each for each in gallery.groups(person) for _ in each[1]])
    rows = random_rows(rng)
    wanted = CHANGES[family]
    left_setting = rng.choice(settings)
    others = [setting for setting in settings if {*setting.tools} != {*left_setting.tools}] or settings
    alike = wanted in ("cases", "folders", "acts") and rng.random() < 0.8
    right_setting = left_setting if alike else rng.choice(others)
    changed = _changed(rng, oracle, person, rows, wanted)
    length = 20 if rng.random() < 0.02 else min(20, 1 + int(rng.expovariate(0.45)))
    operations = tuple(f"op-{number}" for number in range(2))
    aims = _aims(rng, person, oracle, rows, changed, (left_setting, right_setting), operations)
    probes = sequence(rng, family, aims, length)
    acts = (_acts(rng, oracle, rows, changed, probes, wanted), _acts(rng, oracle, rows, changed, probes, "none"))
    if rng.random() < 0.5:
        acts = (acts[1], acts[0])
    left = World(left_setting, rows, acts[0])
    return Pair(family, person, left, World(right_setting, changed, acts[1]), probes)


def random_rows(rng: Random) -> dict[Key, Row]:
    """The rows of a world."""
    rows: dict[Key, Row] = {}
    for id in rng.sample(CASE_IDS, 8):
        tenant = rng.choice((*TENANTS, *TENANTS, "acme"))
        rows[tenant, id] = _case(rng, tenant, id)
    for number, id in enumerate(rng.sample(FOLDER_IDS, 4)):
        tenant = ("acme", "globex", "acme", rng.choice(TENANTS))[number]
        place = {"branch": "one"} if number < 2 else {}
        rows[tenant, id] = {**_case(rng, tenant, id), "kind": "folder", **place}
    return rows


def _case(rng: Random, tenant: str, id: str) -> dict[str, Any]:
    row = new_case(id, tenant, rng.choice(("one", "one", "two", "three")), rng.choice(TITLES))
    return {**row, **_hidden_part(rng), "pages": rng.randrange(1, 9), "open": rng.random() < 0.8}


def _hidden_part(rng: Random) -> dict[str, Any]:
    digits = "".join(rng.choice("0123456789") for _ in range(rng.choice((3, 3, 7, 16))))
    owner = rng.choice(("ann", "bob", "christopher", "dee"))
    return {"phone": digits, "owner": owner, "card": digits[::-1], "level": rng.randrange(5)}


def _changed(rng: Random, oracle: Oracle, person: Person, rows: Mapping[Key, Row], wanted: str) -> dict[Key, Row]:
    """*rows* with one to three changes that the person cannot know of; with fewer where too many proposals fail."""
    after = dict(rows)
    goal = rng.choice((1, 1, 2, 3)) if wanted in ("cases", "folders", "both") else rng.choice((0, 0, 1))
    for _ in range(14):
        if goal <= 0:
            break
        kind = "folder" if wanted == "folders" and rng.random() < 0.9 else "case"
        key, row = _proposed(rng, person, after, kind)
        if after.get(key) != row and _is_unseen(oracle, kind, key, after.get(key), row):
            goal -= 1
            if row is None:
                after.pop(key)
            else:
                after[key] = row
    return after


def _proposed(rng: Random, person: Person, rows: Mapping[Key, Row], kind: str) -> tuple[Key, Row | None]:
    """One change: a row added, taken away, renamed, resized or moved; mostly in the person's own tenant."""
    tenant = person.tenant if rng.random() < 0.9 else rng.choice(("acme", "globex", "initech"))
    there = [key for key, row in rows.items() if key[0] == tenant and row["kind"] == kind]
    draw = rng.random()
    if not there or draw < 0.3:
        id = rng.choice(CASE_IDS if kind == "case" else FOLDER_IDS)
        return (tenant, id), {**_case(rng, tenant, id), "kind": kind}
    key = rng.choice(there)
    if draw < 0.5:
        return key, None
    part = _hidden_part(rng)
    name = rng.choice(list(part))
    change: dict[str, Any] = {"title": rng.choice(TITLES), "pages": rng.randrange(1, 99)}
    return key, dict(rows[key]) | (change if draw < 0.65 else {name: part[name]} if draw < 0.9 else {"branch": "three"})


def _is_unseen(oracle: Oracle, kind: str, key: Key, before: Row | None, after: Row | None) -> bool:
    return oracle.seen(kind, *key, before) == oracle.seen(kind, *key, after)


def _aims(
    rng: Random,
    person: Person,
    oracle: Oracle,
    rows: Mapping[Key, Row],
    changed: Mapping[Key, Row],
    settings: tuple[Setting, Setting],
    operations: tuple[str, ...],
) -> Aims:
    differing = sorted(changed_keys(rows, changed))
    both = [*rows.items(), *changed.items()]
    known = [(key, row) for key, row in both if key[0] == person.tenant]
    seen = [(key, row) for key, row in known if row["kind"] == "folder" or not oracle.is_hidden("case", *key, row)]
    names = {tool.name for tool in {*settings[0].tools} ^ {*settings[1].tools}}
    names = names or {tool.name for setting in settings for tool in setting.tools}
    return Aims(
        names=tuple(sorted(names)),
        cases=tuple(id for _, id in differing if not id.startswith("f-")),
        folders=tuple(id for _, id in differing if id.startswith("f-")),
        titles=tuple(sorted({row["title"] for key, row in both if key in differing})),
        known_cases=tuple(sorted({key[1] for key, row in seen if row["kind"] == "case"})),
        known_folders=tuple(sorted({key[1] for key, row in seen if row["kind"] == "folder"})),
        known_titles=TITLES,
        operations=operations,
    )


@lru_cache(maxsize=1)
def everything() -> Aims:
    """Aims at all ids, names and titles that there can be."""
    cases, folders = CASE_IDS, FOLDER_IDS
    return Aims(TOOL_NAMES, cases, folders, TITLES, cases, folders, TITLES, ("op-0", "op-1"))


def _acts(
    rng: Random,
    oracle: Oracle,
    rows: Mapping[Key, Row],
    changed: Mapping[Key, Row],
    probes: tuple[Probe, ...],
    wanted: str,
) -> tuple[Act, ...]:
    """What others do: mostly what the caller is about to do too, under the same names."""
    count = rng.randrange(1, 4) if wanted == "acts" else int(rng.random() < 0.2)
    acts = []
    for _ in range(count):
        person = rng.choice(OTHERS)
        draw = rng.random()
        if draw < 0.7:
            probe = rng.choice(probes)
            probe = probe if draw < 0.35 else _adapted(rng, person, probe, rows)
        else:
            probe = sequence(rng, rng.choice(list(FAMILIES)), everything(), 1)[0]
        at = 0 if wanted == "acts" and rng.random() < 0.8 else rng.randrange(len(probes))
        act = Act(at, person, probe)
        if all(_is_unknown(oracle, act, each) for each in (rows, changed)):
            acts.append(act)
    return tuple(sorted(acts, key=lambda act: act.at))


def _adapted(rng: Random, person: Person, probe: Probe, rows: Mapping[Key, Row]) -> Probe:
    """*probe* with the ids of things that *person* may have, so that it comes as far as it can."""
    try:
        arguments = json.loads(probe.raw)
    except ValueError:
        return probe
    for kind in ("case", "folder"):
        own = [id for (tenant, id), row in rows.items() if (tenant, row["branch"]) == (person.tenant, person.branch)]
        fitting = [id for id in own if rows[person.tenant, id]["kind"] == kind]
        if isinstance(arguments, dict) and kind in arguments and fitting:
            arguments[kind] = rng.choice(fitting)
    return replace(probe, raw=json.dumps(arguments))


def _is_unknown(oracle: Oracle, act: Act, rows: Mapping[Key, Row]) -> bool:
    """Whether what the act writes, if it writes anything, is nothing that the caller can see."""
    tenant, tool = act.person.tenant, act.probe.tool
    if tool == "case.create":
        made = new_case("n-0123456789", tenant, act.person.branch, "t")
        return oracle.is_hidden("case", tenant, "n-0123456789", made)
    if tool == "case.update":
        return all(
            oracle.is_hidden("case", *key, row)
            for key, row in rows.items()
            if key[0] == tenant and key[1] in act.probe.raw
        )
    return True
