"""
Do two worlds look the same? A pair is run in both, and what the caller saw is compared byte by byte.

In comes a pair; out comes the first difference, or none, and whether the probes really read what was changed.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from gatewright import Stopped
from noninterference.archive import CLOCK, ISSUER, Archive, Counter
from noninterference.probes import CURSOR, LISTING, Probe
from noninterference.sight import check_id, last_cursor, see_exception, see_result, without_nonces
from noninterference.table import Key, Table
from noninterference.view import Person
from noninterference.world import Act, Gallery, Pair, World

_STEP = 901.0
"""Seconds before a pair that uses a budget or asks for approvals: past their window, and past what waits."""
_numbers = count()
_tokens: dict[tuple[Person, int], str] = {}


@dataclass(frozen=True)
class Seen:
    """What a caller saw in one world, and what was read there."""

    sights: tuple[str, ...]
    read: frozenset[Key]
    rows: dict[Key, Any]


@dataclass(frozen=True)
class Difference:
    """The first probe that was answered differently, and both answers."""

    pair: Pair
    at: int
    left: str
    right: str

    def __str__(self) -> str:
        pair = self.pair
        changed = {key: (pair.left.rows.get(key), pair.right.rows.get(key)) for key in pair.changed_rows}
        return "\n".join(
            (
                f"{pair.family}: {pair.person} sees a difference at probe {self.at} of {len(pair.probes)}",
                *(f"  probe {probe}" for probe in pair.probes),
                f"  rows {changed}",
                f"  acts {pair.left.acts} | {pair.right.acts}",
                f"  settings {pair.left.setting} | {pair.right.setting}",
                f"  left  {self.left}",
                f"  right {self.right}",
            )
        )


class Runner:
    """Runs pairs through a gallery's archives. *asked* and *read* count pairs, and those whose change was read."""

    def __init__(self, gallery: Gallery) -> None:
        self.gallery = gallery
        self.asked = 0
        self.read = 0
        self.calls = 0
        self._loop = asyncio.new_event_loop()

    def close(self) -> None:
        """Close the loop that tasks ran in."""
        self._loop.close()

    def difference(self, pair: Pair) -> Difference | None:
        """The first difference that the caller of *pair* sees, if any."""
        number = next(_numbers)
        if any(each.tool in ("desk.ping", "case.release") for each in (*pair.probes, *_acted(pair))):
            CLOCK.advance(_STEP)
        left = self.look(pair, pair.left, 0, number)
        right = self.look(pair, pair.right, 1, number)
        self.asked += 1
        self.read += was_read(pair, left, right)
        for at, (one, other) in enumerate(zip(left.sights, right.sights, strict=True)):
            if one != other:
                return Difference(pair, at, one, other)
        return None

    def look(self, pair: Pair, world: World, side: int, number: int) -> Seen:
        """Run the probes of *pair* in one of its worlds."""
        archive = self.gallery.archive(world.setting, side)
        archive.table = table = Table(world.rows)
        sights = []
        cursor = "none yet"
        with counted() as counter:
            for at, probe in enumerate(pair.probes):
                for act in world.acts:
                    if act.at == at:
                        self._act(archive, act, number)
                lines, logged = len(archive.journal.lines), counter.count
                raw = probe.raw if CURSOR not in probe.raw else probe.raw.replace(CURSOR, cursor)
                sight = self.see(archive, pair.person, replace(probe, raw=raw), number)
                cursor = last_cursor(sight) or cursor
                told = f"{len(archive.journal.lines) - lines} lines, {counter.count - logged} logged"
                sights.append(f"{sight}\n{told}")
        self.calls += len(sights)
        if len(archive.journal.lines) > 1000:
            archive.journal.lines.clear()
        return Seen(without_nonces(sights), frozenset(table.read), table.snapshot())

    def see(self, archive: Archive, person: Person, probe: Probe, number: int) -> str:
        """What *person* sees of one probe."""
        token = token_of(person)
        interaction = f"i-{number}" if probe.joined else None
        try:
            if probe.tool == LISTING:
                return json.dumps(archive.guard.tools(token, format=probe.raw, interaction=interaction))  # type: ignore[arg-type]
            function = archive.functions.get(probe.tool)
            if probe.way == "direct" and function is not None and (arguments := _mapping(probe.raw)) is not None:
                with archive.guard.session(token, interaction=interaction):
                    return repr(function(**arguments))
            options: dict[str, Any] = {"token": token, "interaction": interaction, "locale": probe.locale}
            if probe.operation is not None:
                options["operation"] = f"{probe.operation}-{number}"
            if probe.way == "task":
                result = self._loop.run_until_complete(archive.guard.acall(probe.tool, probe.raw, **options))
            else:
                result = archive.guard.call(probe.tool, probe.raw, **options)
                check_id("call", archive.guard.last_call_id or "")
        except (Stopped, TypeError) as error:
            return see_exception(error)
        return see_result(result, probe.provider, probe.locale)

    def _act(self, archive: Archive, act: Act, number: int) -> None:
        self.see(archive, act.person, replace(act.probe, way="call"), number)


def _acted(pair: Pair) -> tuple[Probe, ...]:
    return tuple(act.probe for world in (pair.left, pair.right) for act in world.acts)


def was_read(pair: Pair, left: Seen, right: Seen) -> bool:
    """Whether the caller's way led over something that is not the same in both worlds."""
    if (left.read | right.read) & pair.changed_rows:
        return True
    names = pair.changed_names
    if names and any(probe.tool in names or probe.tool == LISTING for probe in pair.probes):
        return True
    acts = {*pair.left.acts} ^ {*pair.right.acts}
    return any(_meet(act.probe, probe) for act in acts for probe in pair.probes[act.at :])


def _meet(act: Probe, probe: Probe) -> bool:
    """Whether both ask for the same operation, or for the same tool in the same interaction."""
    if act.operation is not None and act.operation == probe.operation:
        return True
    return act.tool == probe.tool and act.joined and probe.joined


def token_of(person: Person) -> str:
    """A token of *person* that holds for the next hours."""
    key = (person, int(CLOCK.time()) // 36_000)
    found = _tokens.get(key)
    if found is None:
        act = {"sub": person.actor, "roles": ["copilot"]} if person.actor else None
        claims: dict[str, Any] = {"branch": person.branch}
        found = ISSUER.token(person.subject, person.tenant, [person.role], act=act, lifetime=80_000, **claims)
        _tokens[key] = found
    return found


@contextmanager
def counted() -> Iterator[Counter]:
    """Count what is logged meanwhile, and let none of it go further."""
    logger = logging.getLogger("gatewright")
    handler, propagates, level = Counter(), logger.propagate, logger.level
    logger.addHandler(handler)
    logger.propagate = False
    logger.setLevel(logging.INFO)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
        logger.propagate, logger.level = propagates, level
        logger.setLevel(level)


def _mapping(raw: str) -> dict[str, Any] | None:
    try:
        value = json.loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) and "" not in value else None
