"""
What may a caller know of a world? The view, as the reference decider has it: tools, grants and single rows.

Two worlds whose views are equal must look equal. The product is not asked.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from cachetools import LRUCache

from noninterference.archive import CLOCK, Archive
from noninterference.table import Row
from reference.attempt import Call
from reference.decide import decide
from reference.folder import read_policies
from reference.grants import is_granted, standing
from reference.opening import context_of, open_entries
from reference.result import cut

SHOWN = ("id", "branch", "title", "owner", "phone", "card", "level", "pages")
NAMED: Mapping[str, tuple[tuple[str, Mapping[str, str]], ...]] = {
    "case": (("case.read", {"lang": "en"}), ("case.update", {"title": "t"}), ("case.release", {})),
    "folder": (("case.create", {"title": "t"}),),
}
LISTS: tuple[tuple[str, Mapping[str, str]], ...] = (
    ("case.list", {"sort": "title"}),
    ("case.page", {}),
    ("case.search", {"text": ""}),
)


@dataclass(frozen=True)
class Person:
    """Somebody who may call."""

    subject: str
    tenant: str
    role: str
    branch: str
    actor: str = ""

    def plain(self) -> dict[str, Any]:
        """As the reference decider takes a caller."""
        actor = {"id": self.actor, "roles": ["copilot"]} if self.actor else None
        return {
            "subject": self.subject,
            "tenant": self.tenant,
            "roles": [self.role],
            "claims": {"branch": self.branch},
            "actor": actor,
        }


class Opinion:
    """The reference decider over one archive's policies and catalog."""

    def __init__(self, archive: Archive) -> None:
        self.policies = read_policies(archive.texts)
        self.catalog: dict[str, Any] = {
            spec["name"]: spec for spec in map(json.loads, archive.guard.catalog().values())
        }
        for spec in self.catalog.values():
            spec.setdefault("facts", {})

    def view(self, person: Person, ids: tuple[str, ...]) -> str:
        """Everything of the policies that *person* may know: open tools, and what is granted of *ids* (type:id)."""
        now = _now()
        who = standing(self.policies, person.plain(), now.date())
        opened: dict[str, Any] = {}
        for name, spec in self.catalog.items():
            call = Call(self.policies, spec, person.plain(), who, context_of(self.policies, {}, now), {}, {}, {}, ())
            attempts = open_entries(call, name)
            if attempts:
                opened[name] = [spec, [[each.entry, each.limits, sorted(each.roles)] for each in attempts]]
        grants = [
            [id, action]
            for id in ids
            for action in ("read", "update", "release", "create")
            if is_granted(who, who.roles, id, action)
        ]
        return json.dumps([list(opened.items()), grants], sort_keys=True)

    def answer(self, person: Person, tool: str, arguments: Any, things: Mapping[str, Row]) -> dict[str, Any]:
        """The reference's decision of one call."""
        return decide(self.policies, self.catalog, person.plain(), tool, arguments, now=_now(), things=things)


class Oracle:
    """What one person may know of single rows, under one view."""

    def __init__(self, opinion: Opinion, person: Person) -> None:
        self._opinion = opinion
        self._person = person
        self._seen: LRUCache[tuple[Any, ...], str] = LRUCache(4096)
        self._decided = lru_cache(maxsize=None)(self._decide)

    def seen(self, kind: str, tenant: str, id: str, row: Row | None) -> str:
        """All that the person may learn of the row with this id, or of its absence."""
        key = (kind, tenant, id, None if row is None else tuple(row.values()))
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = self._see(kind, tenant, id, row)
        return found

    def _see(self, kind: str, tenant: str, id: str, row: Row | None) -> str:
        relevant = () if row is None else (row["tenant"], row["branch"], row["open"])
        found: list[Any] = []
        for tool, status, cuts in self._decided(kind, id, relevant):
            found.append([tool, status])
            if status != "ok" or row is None or row["kind"] != "case":
                continue
            if tool == "case.read":
                found.append(cut({name: row[name] for name in SHOWN}, cuts)["data"])
            elif tenant == self._person.tenant and (listed := self._listed(tool, row, cuts)) is not None:
                found.append(listed)
        return json.dumps(found, sort_keys=True)

    def is_hidden(self, kind: str, tenant: str, id: str, row: Row | None) -> bool:
        """Whether the row looks to the person as if it were not there."""
        return self.seen(kind, tenant, id, row) == self.seen(kind, tenant, id, None)

    def _listed(self, tool: str, row: Row, cuts: Mapping[str, Any]) -> Any:
        if tool == "case.stats":
            return row["pages"] if row["branch"] == self._person.branch else None
        shown = cut({"items": [{name: row[name] for name in SHOWN}]}, cuts)["data"]["items"]
        return [shown, row["title"], row["pages"]] if shown else None

    def _decide(self, kind: str, id: str, relevant: tuple[Any, ...]) -> list[tuple[str, str, Mapping[str, Any]]]:
        things: dict[str, Row] = {}
        if relevant:
            tenant, branch, is_open = relevant
            texts = dict.fromkeys(("title", "owner", "phone", "card"), "")
            row = {"id": id, "kind": kind, "tenant": tenant, "branch": branch, "open": is_open, **texts}
            things = {f"{kind}:{id}": {**row, "level": 0, "pages": 1}}
        asked = [(tool, {kind: id, **more}) for tool, more in NAMED[kind]]
        if kind == "case":
            asked += [(tool, dict(more)) for tool, more in (*LISTS, ("case.stats", {}))]
        found = []
        for tool, arguments in asked:
            answer = self._opinion.answer(self._person, tool, self._fitting(tool, arguments), things)
            found.append((tool, answer["status"], answer.get("result", {})))
        return found

    def _fitting(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """*arguments* without what only some entries take."""
        without = {name: item for name, item in arguments.items() if name not in ("lang", "sort")}
        answer = self._opinion.answer(self._person, tool, arguments, {})
        return without if answer["status"] == "invalid_arguments" else arguments


def _now() -> dt.datetime:
    return dt.datetime.fromtimestamp(CLOCK.time(), dt.UTC)
