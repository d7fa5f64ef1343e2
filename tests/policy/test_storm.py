"""Reloads under load: every decision is that of exactly one revision that was in force, and none raises."""

from __future__ import annotations

import datetime as dt
import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gatewright.policy.engine import Engine, compile_engine
from gatewright.policy.folder import load_policies
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import read_folder
from gatewright.policy.store import Store
from small_policies import CATALOG, TODAY, caller, names_yaml, policies_of

ASKED = [
    (caller(), "logs.query"),
    (caller("viewer"), "logs.query"),
    (caller("lead", subject="bea"), "logs.purge"),
    (caller("lead", "oncall", subject="bea"), "log.query"),
    (caller("analyst", subject="cid", tenant="globex"), "logs.query"),
]
FIXED = """\
p, subject:ann, *, logs.query, call, allow
p, suspended, *, logs.query, call, deny
g, subject:ann, suspended, *
"""
THREADS = 8


def rows(revision: int) -> str:
    """Policies that answer in a way of their own; ann is allowed directly and denied through a role, always."""
    chance = random.Random(revision)
    roles = ("viewer", "analyst", "lead")
    lines = [
        f"p, {role}, *, {tool}, call, {chance.choice(('allow', 'allow', 'deny'))}"
        for role in roles
        for tool in ("logs.query", "logs.purge", "log.query")
        if chance.random() < 0.6
    ]
    links = (("lead", "analyst"), ("analyst", "viewer"))
    lines += [f"g, {one}, {other}, *" for one, other in links if chance.random() < 0.7]
    return FIXED + "".join(f"{line}\n" for line in lines)


def answers(engine: Engine) -> tuple[bool, ...]:
    """What one revision answers, asked while nothing else happens."""
    return tuple(engine.decide(engine.standing(who, TODAY), tool, "call").allowed for who, tool in ASKED)


class Crowd:
    """Threads that decide until they have made their share; each answer is held against the revision it was made by."""

    def __init__(
        self, store: Store[Snapshot], expected: dict[str, tuple[bool, ...]], decisions: int, rounds: int = 1
    ) -> None:
        self.start = threading.Barrier(THREADS + 1)
        self.rounds = rounds
        self.store = store
        self.expected = expected
        self.wrong: list[object] = []
        self.counts: list[Counter[str]] = []
        self.threads = [
            threading.Thread(target=self.decide, args=(decisions // THREADS // rounds,)) for _ in range(THREADS)
        ]

    def decide(self, count: int) -> None:
        """One thread's share."""
        explained: Counter[str] = Counter()
        try:
            for number in self.numbers(count):
                snapshot = self.store.current
                who, tool = ASKED[number % len(ASKED)]
                engine = snapshot.engine
                allowed = engine.decide(engine.standing(who, TODAY), tool, "call").allowed
                if self.expected[snapshot.revision][number % len(ASKED)] is not allowed:
                    self.wrong.append((snapshot.revision, who, tool))
                explained[snapshot.revision] += 1
        except Exception as error:  # noqa: BLE001 - any exception is the failure that is looked for
            self.wrong.append(error)
        self.counts.append(explained)

    def numbers(self, count: int) -> Iterator[int]:
        """*count* numbers a round; each round begins for all threads at once."""
        for _ in range(self.rounds):
            self.start.wait(60)
            yield from range(count)

    def __enter__(self) -> Crowd:
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for thread in self.threads:
            thread.join()

    @property
    def explained(self) -> Counter[str]:
        """How many decisions each revision explains."""
        return sum(self.counts, Counter())

    @property
    def is_busy(self) -> bool:
        """Whether any thread still decides."""
        return any(thread.is_alive() for thread in self.threads)


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns fifty times as often as they usually do."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0001)
    yield
    sys.setswitchinterval(before)


@pytest.mark.case(1)
@pytest.mark.case(2)
@pytest.mark.promise("P10")
def test_swaps_and_reloads_under_load_give_no_wrong_decision(tmp_path: Path) -> None:
    """10^6 decisions on 8 threads beside 10^3 swaps of snapshots and 30 reloads of a whole folder."""
    snapshots = [compile_snapshot(policies_of(rows(revision))) for revision in range(40)]
    for path, text in {"names.yaml": names_yaml(), "identity.yaml": "issuers: []\n"}.items():
        (tmp_path / path).write_text(text)
    expected = {each.revision: answers(each.engine) for each in snapshots}
    folders = {}
    for revision in range(100, 130):
        (tmp_path / "policy.csv").write_text(rows(revision))
        source = read_folder(tmp_path)
        folders[source.digest] = revision
        expected[source.digest] = answers(compile_engine(load_policies(source, CATALOG)))
    waiting = iter(snapshots * 25)
    from_folder = threading.Event()

    def build() -> Snapshot:
        if from_folder.is_set():
            return compile_snapshot(load_policies(read_folder(tmp_path), CATALOG))
        return next(waiting)

    store: Store[Snapshot] = Store(build)
    with Crowd(store, expected, 1_000_000, rounds=25) as crowd:
        for number in range(25):
            (tmp_path / "policy.csv").write_text(rows(100 + number))
            crowd.start.wait(60)
            from_folder.set()
            assert store.reload() is not None
            if number % 5 == 4:
                (tmp_path / "policy.csv").write_text(rows(125 + number // 5))
                assert store.reload() is not None
            from_folder.clear()
            for _ in range(40 if number else 39):  # the first was the store's own
                assert store.reload() is not None
    assert next(waiting, None) is None
    assert crowd.wrong == []
    assert crowd.explained.total() == 1_000_000
    assert len({*expected.values()}) > 5
    assert len({*crowd.explained} & {*folders}) > 1


@pytest.mark.case(2)
@pytest.mark.usefixtures("restless")
def test_eight_threads_beside_swaps_have_no_exception_and_no_denial_of_what_is_allowed() -> None:
    """Nothing is parsed while deciding, so nothing that the interpreter shares is touched."""
    snapshots = [compile_snapshot(policies_of(rows(revision))) for revision in range(10)]
    waiting = iter(snapshots * 100)
    store: Store[Snapshot] = Store(lambda: next(waiting))
    with Crowd(store, {each.revision: answers(each.engine) for each in snapshots}, 40_000) as crowd:
        crowd.start.wait(60)
        while crowd.is_busy and store.reload() is not None:
            pass
    assert crowd.wrong == []


@pytest.mark.case(19)
def test_a_decision_is_not_remembered_beyond_its_rule() -> None:
    """Allowed and cached; then the rule goes, a deny comes, a role is lost, a day passes: denied at once, each time."""
    base = "p, viewer, *, logs.query, call, allow\ng, lead, viewer, *\n"
    changes = {
        "removed": "p, viewer, *, logs.purge, call, allow\ng, lead, viewer, *\n",
        "denied": f"{base}p, lead, *, logs.query, call, deny\n",
        "denied for all": f"{base}p, *, *, logs.*, call, deny\n",
        "denied for one": f"{base}p, subject:ann, *, logs.query, call, deny\n",
        "unlinked": "p, viewer, *, logs.query, call, allow\n",
        "of another tenant": "p, viewer, globex, logs.query, call, allow\ng, lead, viewer, *\n",
        "over": f"p, viewer, *, logs.query, call, allow, {TODAY - dt.timedelta(days=1)}\ng, lead, viewer, *\n",
    }
    now = [base]
    store: Store[Snapshot] = Store(lambda: compile_snapshot(policies_of(now[0])))
    who = replace(caller("lead"), key=b"ann, lead")

    def allowed() -> bool:
        engine = store.current.engine
        return engine.decide(engine.standing(who, TODAY), "logs.query", "call").allowed

    for name, changed in changes.items():
        now[0] = base
        assert store.reload() is not None
        assert allowed(), name
        assert allowed(), name
        now[0] = changed
        assert store.reload() is not None
        assert not allowed(), name


def test_a_grant_ends_with_its_day_although_the_caller_is_remembered() -> None:
    """The day is part of what is remembered."""
    engine = compile_engine(policies_of(f"p, viewer, *, logs.query, call, allow, {TODAY}\n"))
    who = replace(caller("viewer"), key=b"ann, viewer")
    tomorrow = TODAY + dt.timedelta(days=1)
    assert engine.decide(engine.standing(who, TODAY), "logs.query", "call").allowed
    assert not engine.decide(engine.standing(who, tomorrow), "logs.query", "call").allowed
