"""
Whatever is withdrawn at any moment before a body is entered keeps it out: every change at every boundary of the chain.

A scheduler runs something between two steps, or while a step waits for a record or the ledger; what runs there is
committed when it returns. No clock, no thread and no chance is in it.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gatewright.middleware.call import Call, Outcome
from gatewright.middleware.chain import Chain, Step
from gatewright.middleware.live import LivePolicies, Pair
from gatewright.middleware.steps import BUILT_IN
from gatewright.testing import FakeIssuer, ListJournal
from promises.shop import CLAIMS, GOOD, NAMES, ROWS, TENANTS, TOOLS, open_shop, policies

pytestmark = [pytest.mark.promise("P6"), pytest.mark.case(79)]

HELPER = {"sub": "bot-1", "roles": ["helper"]}
STEPS = [f"before {step.name}" for step in BUILT_IN if step.name != "release"]
INSIDE = ["while the record is loaded", "before the start is committed", "after the start is committed"]
REFUSED = {"forbidden", "unauthenticated", "conflict", "not_found"}


@dataclass(frozen=True)
class Asked:
    """A call that is allowed while nothing changes."""

    tool: str
    act: Mapping[str, Any] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


CALLS = {
    "a read": Asked("basket.find"),
    "a read in a task": Asked("stock.rows"),
    "a write": Asked("basket.pay"),
    "a read by an agent": Asked("basket.find", HELPER),
    "a write by an agent": Asked("basket.pay", HELPER, {"basket": "a-1", "amount": 5}),
}


def without(text: str, row: str) -> str:
    """*text* without one of its rows."""
    assert row in text
    return text.replace(row, "")


def identity(signer: FakeIssuer, **changed: Any) -> str:
    """The shop's identity.yaml with a changed profile."""
    return json.dumps(
        {"issuers": [signer.profile(changed.pop("tenants", TENANTS), claims=CLAIMS, leeway="1s", **changed)]}
    )


def withdrawn(issuer: FakeIssuer) -> dict[str, dict[str, str]]:
    """What may be withdrawn by a reload → the files that are changed."""
    stranger = FakeIssuer(algorithm="EdDSA", clock=issuer.clock)
    return {
        "the token's key": {"identity": identity(issuer, keys=stranger.jwks())},
        "the token's issuer": {"identity": identity(issuer, issuer="https://other.example")},
        "the token's audience": {"identity": identity(issuer, audience="others")},
        "the tenant": {"identity": identity(issuer, tenants=["globex"])},
        "the role": {
            "names": NAMES.replace("clerk: {}, ", ""),
            "rows": _without_role(ROWS),
            "tools": _without_role(TOOLS),
        },
        "the grant": {"rows": without(ROWS, "p, clerk, *, tools/counter, call, allow\n")},
        "the group": {"rows": _ungrouped()},
        "all rights, by a deny": {"rows": f"{ROWS}p, *, acme, *, call, deny\n"},
        "the entry": {"tools": TOOLS.replace("roles: [clerk]", "roles: [guest]")},
    }


RIGHTS = {
    "the right to the record": {
        "rows": without(without(ROWS, "p, clerk, *, basket:*, read, allow\n"), "p, clerk, *, basket:*, pay, allow\n")
    },
    "the branch that the record is of": {
        "tools": TOOLS.replace("{ const: { $identity: branch } }", "{ const: elsewhere }")
    },
    "the record, by a deny": {"rows": f"{ROWS}p, *, acme, basket:a-1, read, deny\np, *, acme, basket:a-1, pay, deny\n"},
}
"""Only of tools that name a record."""
AGENTS = {
    "the agent's grants": {"rows": "".join(line for line in ROWS.splitlines(True) if not line.startswith("p, helper"))},
    "the agent, by a deny": {"rows": f"{ROWS}p, helper, *, *, call, deny\n"},
    "the agent's right to the record": {"rows": "".join(line for line in ROWS.splitlines(True) if "a-" not in line)},
}
"""Only of calls that an agent makes."""


def _without_role(text: str) -> str:
    kept = "".join(line for line in text.splitlines(True) if not line.startswith("p, clerk"))
    return kept.replace("roles: [clerk]", "roles: [guest]")


def _ungrouped() -> str:
    kept = "".join(line for line in ROWS.splitlines(True) if not line.startswith("g2, "))
    return f"{kept}g2, shop.close, tools/counter\n"


class Scheduler:
    """
    One shop whose chain stops between any two steps, and whatever may happen there.

    A change of policies puts the pair in force that a reload would have built; reloads of files are test_recheck's.
    """

    def __init__(self) -> None:
        self.shop = open_shop(more={"journal": ListJournal()})
        runtime = self.shop.guard._runtime
        self.shop.call("basket.find")
        self.live = runtime.live
        self.good = self.live.current
        runtime.chain = Chain([self._stopping(step) for step in runtime.chain])
        self.moment, self.happens = "", _nothing
        self._loader, self._start = self.shop.loaded, runtime.ledger.start
        self.shop.loaded = _Noting(self)  # type: ignore[assignment]
        runtime.ledger.start = self._starting  # type: ignore[method-assign]
        self.changes = {name: self.reload(self.build(files)) for name, files in withdrawn(self.shop.issuer).items()}
        self.rights = {name: self.reload(self.build(files)) for name, files in RIGHTS.items()}
        self.agents = {name: self.reload(self.build(files)) for name, files in AGENTS.items()}
        self.changes["the token, by its expiry"] = lambda: self.shop.clock.advance(601)
        self.revocations = self._revocations()
        self.same = self.reload(self.build({}))
        self.began = self.shop.clock.now
        self.numbers = itertools.count()
        self.who: dict[str, Any] = {}
        self.tokens = {name: self._token(name) for name in CALLS}

    def _token(self, name: str) -> str:
        """A token that nobody else has anything of."""
        number = next(self.numbers)
        who = {"sub": f"sub-{number}", "sid": f"session-{number}", "jti": f"token-{number}"}
        act = None if CALLS[name].act is None else {"sub": f"bot-{number}", "roles": ["helper"]}
        self.who = {**who, "act": act}
        return self.shop.token(**self.who)

    def _revocations(self) -> dict[str, Callable[[], object]]:
        """What may be revoked, of the token of the moment."""
        revoke = self.shop.guard.revocations
        return {
            "the token, revoked": lambda: revoke.revoke_token(self.who["jti"]),
            "the session, revoked": lambda: revoke.revoke_session(self.who["sid"]),
            "the subject, revoked": lambda: revoke.revoke_subject(self.who["sub"]),
        }

    def build(self, files: Mapping[str, str]) -> Pair:
        """What loading the shop's policies with *files* changed makes."""
        live = LivePolicies(policies(self.shop.issuer, **files), self.shop.guard._runtime.tools, _Deaf())
        live.complete()
        return live.current

    def reload(self, pair: Pair) -> Callable[[], object]:
        """The one assignment by which a reload brings *pair*; what is replaced is kept here, to come back later."""

        def apply() -> None:
            self.live._store.current = pair  # type: ignore[union-attr]

        return apply

    def fitting(self, asked: Asked) -> dict[str, Callable[[], object]]:
        """What may be withdrawn from a call."""
        record = {} if asked.tool == "stock.rows" else self.rights
        agents = {**self.agents, "the agent, revoked": self._revoke_agent} if asked.act else {}
        return {**self.changes, **self.revocations, **record, **agents}

    def _revoke_agent(self) -> object:
        return self.shop.guard.revocations.revoke_actor(self.who["act"]["sub"])

    def moments(self, asked: Asked) -> list[str]:
        """The moments that a call passes before its body."""
        loads = [] if asked.tool == "stock.rows" else INSIDE[:1]
        return [*STEPS, *loads, *(INSIDE[1:] if asked.tool == "basket.pay" else [])]

    def passes(self, moment: str) -> None:
        """Let happen what is to happen now, once."""
        if moment == self.moment:
            self.moment = ""
            self.happens()

    def run(self, name: str, moment: str, happens: Callable[[], object], *, is_async: bool) -> str:
        """Make one call in which something happens; return its status, and put everything back."""
        self.shop.ran.clear()
        self.moment, self.happens = moment, happens
        asked = CALLS[name]
        token = self.tokens[name] if happens in (_nothing, self.same) else self._token(name)
        arguments = json.dumps(asked.arguments or GOOD[asked.tool])
        if is_async:
            result = asyncio.run(self.shop.guard.acall(asked.tool, arguments, token=token))
        else:
            result = self.shop.guard.call(asked.tool, arguments, token=token)
        assert self.moment == "", f"{name} never came to: {moment}"
        if self.live.current is not self.good:
            self.reload(self.good)()
        self.shop.clock.now = self.began
        self.shop.journal.lines.clear()
        return result.status

    def _stopping(self, step: Step) -> Step:
        def run(call: Call) -> Outcome:
            self.passes(f"before {step.name}")
            return step.run(call)

        return replace(step, run=run)

    def _starting(self, *arguments: Any) -> Any:
        self.passes(INSIDE[1])
        started = self._start(*arguments)
        self.passes(INSIDE[2])
        return started


class _Noting(list[str]):
    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler

    def append(self, id: str) -> None:
        self._scheduler.passes(INSIDE[0])


class _Deaf:
    def loaded(self, old: object, new: object) -> None:
        """Hear nothing."""

    def rejected(self, findings: object) -> None:
        """Hear nothing."""


def _nothing() -> None:
    return None


@pytest.fixture(scope="module")
def scheduler() -> Scheduler:
    """One for all tests: each run puts everything back."""
    return Scheduler()


def schedules(scheduler: Scheduler) -> Iterator[tuple[str, str, str]]:
    """Every call with every moment and every change."""
    for name, asked in CALLS.items():
        for moment, change in itertools.product(scheduler.moments(asked), scheduler.fitting(asked)):
            yield name, moment, change


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_nothing_happens_to_enters_its_body(scheduler: Scheduler, name: str, is_async: bool) -> None:
    """The control: at every moment nothing happens, or the same policies are loaded again."""
    asked = CALLS[name]
    for moment, happens in itertools.product(scheduler.moments(asked), (_nothing, scheduler.same)):
        assert scheduler.run(name, moment, happens, is_async=is_async) == "ok", moment
        assert len(scheduler.shop.ran) == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_no_body_is_entered_after_what_it_needs_was_withdrawn(scheduler: Scheduler, is_async: bool) -> None:
    """Every change at every moment before the body, in reads and writes, of subjects and of agents."""
    entered, tried = [], 0
    for name, moment, change in schedules(scheduler):
        asked = CALLS[name]
        status = scheduler.run(name, moment, scheduler.fitting(asked)[change], is_async=is_async)
        tried += 1
        if scheduler.shop.ran or status not in REFUSED:
            entered.append((name, moment, change, status))
    assert entered == []
    assert tried > 600


def random_runs(scheduler: Scheduler, count: int) -> tuple[int, int]:
    """Run *count* random schedules of one to three changes; return the bodies entered too late, and those in time."""
    dice = random.Random(6)
    late = in_time = 0
    for _ in range(count):
        name = dice.choice(list(CALLS))
        asked = CALLS[name]
        fitting = scheduler.fitting(asked)
        chosen = [fitting[change] for change in dice.sample(sorted(fitting), dice.randint(0, 3))]

        def happens(chosen: list[Callable[[], object]] = chosen) -> None:
            for change in chosen:
                change()

        status = scheduler.run(name, dice.choice(scheduler.moments(asked)), happens, is_async=dice.random() < 0.1)
        entered = len(scheduler.shop.ran)
        late += entered if chosen else 0
        in_time += 0 if chosen else entered
        assert (status == "ok") == (not chosen)
    return late, in_time


def test_of_random_schedules_none_enters_a_body_too_late(scheduler: Scheduler) -> None:
    """Several changes at one moment, in any order: with what is made above, more than three thousand schedules."""
    late, in_time = random_runs(scheduler, 1_500)
    assert late == 0
    assert in_time > 200


@pytest.mark.long
def test_of_ten_thousand_random_schedules_none_enters_a_body_too_late(scheduler: Scheduler) -> None:
    """The same, ten thousand times."""
    assert random_runs(scheduler, 10_000)[0] == 0
