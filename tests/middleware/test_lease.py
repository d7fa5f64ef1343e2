"""Machines that share a store hear of each other by leases; one that was paused past its own enters nothing (P8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import insert, select, update
from test_ledger import Write, ask, start

from databases import new_postgresql
from desk import open_one
from gatewright.middleware.lease import Leases
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.operations import Operation
from gatewright.middleware.results import FailedResult, Ok
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.starts import Found, Started
from gatewright.middleware.tables import lease, operation

ELSEWHERE = "another-boot/7/7"
KEYS = KeyRing.from_secret("s" * 32)


@pytest.fixture
def place() -> str:
    """A store on a server."""
    return new_postgresql()


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    """A ledger on a server."""
    opened = Ledger(place, KEYS)
    yield opened
    opened.close()


def give_to(ledger: Ledger, begun: Operation, until: str | None) -> None:
    """Let another machine have started *begun*, with a lease that is good, run out or not there."""
    ledger.store.write(lambda it: it.connection.execute(update(operation).values(owner=ELSEWHERE)))
    seconds = {"good": 3e9, "over": 1.0}.get(until or "")
    if seconds is not None:
        row = {"owner": ELSEWHERE, "fence": 1, "until": seconds}
        ledger.store.write(lambda it: it.connection.execute(insert(lease), row))


@pytest.mark.promise("P8")
def test_what_another_machine_runs_is_left_alone_while_it_has_its_lease(ledger: Ledger) -> None:
    """It is seen to be started, waited for, and nobody gives it up."""
    write = Write("refund-1")
    begun = start(ledger, write)
    give_to(ledger, begun, "good")
    assert ledger.recover_stale() == ()
    answer = ask(ledger, Write("refund-1"))
    assert isinstance(answer, Found)
    assert answer.operation.state == "started"
    found = ledger.operation(begun.id)
    assert found is not None
    assert found.state == "started"
    assert ledger.leases.may_be_inside(found)


@pytest.mark.promise("P8")
@pytest.mark.parametrize("until", ["over", None])
def test_what_a_machine_past_its_lease_started_is_unknown(ledger: Ledger, until: str | None) -> None:
    """Asked for, recovered or read, it is unknown; its own outcome settles it once, if nobody else did."""
    write = Write("refund-1")
    begun = start(ledger, write)
    give_to(ledger, begun, until)
    answer = ask(ledger, Write("refund-1"))
    assert isinstance(answer, Found)
    assert answer.operation.state == "unknown"
    line = write.end_line()
    assert ledger.finish(begun, "succeeded", line, outcome=b'{"status":"ok"}')
    assert not ledger.finish(begun, "failed", line)
    found = ledger.operation(begun.id)
    assert found is not None
    assert found.state == "succeeded"


@pytest.mark.promise("P8")
def test_the_outcome_of_an_attempt_that_was_overtaken_is_refused(ledger: Ledger) -> None:
    """The attempt is the fence of one operation: it grows with each start, and an older one changes nothing."""
    write = Write("refund-1")
    begun = start(ledger, write)
    give_to(ledger, begun, "over")
    again = Write("refund-1")
    object.__setattr__(again.proposal, "idempotent", True)
    answer = ask(ledger, again)
    assert isinstance(answer, Started)
    assert answer.operation.attempt == 2
    assert not ledger.finish(begun, "failed", write.end_line())
    assert ledger.finish(answer.operation, "succeeded", again.end_line(), outcome=b'{"status":"ok"}')


def test_a_lease_is_renewed_under_its_fence_and_claimed_anew_with_the_next(ledger: Ledger) -> None:
    """One row a process; a lease that ran out, or that another one has forgotten, has a greater fence then."""
    leases = ledger.leases
    assert not leases.is_held
    leases.keep()
    assert leases.is_held
    assert _rows(ledger) == [1]
    leases.renew()
    assert _rows(ledger) == [1]
    ledger.store.write(lambda it: it.connection.execute(update(lease).values(until=1.0)))
    leases.renew()
    assert _rows(ledger) == [2]


def _rows(ledger: Ledger) -> list[int]:
    return list(ledger.store.read(lambda connection: connection.execute(select(lease.c.fence)).scalars().all()))


def test_a_process_past_its_lease_knows_it(ledger: Ledger) -> None:
    """By its own clock, which goes on while it is paused."""
    short = Leases(ledger.store, term=0.0)
    short.renew()
    assert not short.is_held


@pytest.mark.promise("P8")
def test_a_write_that_was_paused_past_its_lease_before_its_body_does_not_run(place: str) -> None:
    """The start is committed, the process stands still, goes on: nothing happened, and it may be tried again."""
    ran: list[int] = []

    def body(count: int) -> int:
        """Run."""
        ran.append(count)
        return count

    desk, _ = open_one(body, kind="write", options={"ledger": place})
    ledger: Any = desk.guard._runtime.ledger
    begin = ledger.start

    def paused(*args: Any, **more: Any) -> Any:
        answer = begin(*args, **more)
        ledger.leases._held_until = 0.0
        return answer

    ledger.start = paused
    assert desk.call("some.thing", {"count": 1}, operation="one") == FailedResult("unavailable")
    assert desk.event("execution_finished")["reason"] == "lease"
    assert ran == []
    ledger.start = begin
    assert desk.call("some.thing", {"count": 1}, operation="one") == Ok(1)
    assert ran == [1]
    desk.guard.close()
