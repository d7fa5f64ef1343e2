"""What became of a write that nobody knows of? Authorized again first, asked then, and never run again for it (P8)."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import select

from desk import ISSUER, Desk, open_one, policies
from gatewright import CannotTell, DidNotHappen, Failed, Happened, Misuse, NoEffect, UnresolvedOperation
from gatewright.middleware.reconcile import Recovered
from gatewright.middleware.results import FailedResult, Ok, Unknown
from gatewright.middleware.tables import operation as operations
from gatewright.policy.source import Source


class Backend:
    """A backend whose answers get lost: what it did, and what it was asked about."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.asked: list[UnresolvedOperation] = []
        self.answer: Any = CannotTell()
        self.fails: BaseException | None = RuntimeError("the answer was lost")

    def pay(self, amount: int) -> dict[str, int]:
        """Pay."""
        self.done.append(amount)
        if self.fails is not None:
            raise self.fails
        return {"paid": amount}

    def look(self, operation: UnresolvedOperation) -> Any:
        """Say whether it was paid."""
        self.asked.append(operation)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def open_backend(**stated: Any) -> tuple[Desk, Backend]:
    """A desk with one write whose answers get lost."""
    backend = Backend()

    def pay(amount: int, note: str = "") -> dict[str, int]:
        """Pay."""
        return backend.pay(amount)

    stated.setdefault("reconcile", backend.look)
    desk, _ = open_one(pay, name="some.pay", kind="write", **stated)
    return desk, backend


def only(found: tuple[Recovered, ...]) -> Recovered:
    """The one thing that was found out."""
    assert len(found) == 1
    return found[0]


def pay(desk: Desk, amount: int = 5, **options: Any) -> Any:
    """Pay, as an operation with a name."""
    return desk.call("some.pay", {"amount": amount}, **{"operation": "pay-1", **options})


def ledger(desk: Desk) -> Any:
    """The ledger of the desk's guard."""
    return desk.guard._runtime.ledger


@pytest.mark.promise("P8")
def test_what_happened_is_answered_with_what_the_tool_says_it_returned() -> None:
    """A repeat is told the result, with the cuts of now, and nothing runs again."""
    desk, backend = open_backend()
    first = pay(desk)
    assert isinstance(first, Unknown)
    assert pay(desk) == first
    backend.answer = Happened({"paid": 5})
    found = only(desk.guard.recover())
    assert (found.operation_id, found.finding, found.state) == (first.operation_id, "happened", "succeeded")
    assert pay(desk) == Ok({"paid": 5})
    assert backend.done == [5]
    asked = backend.asked[0]
    assert (asked.tool, asked.attempt, asked.caller.subject) == ("some.pay", 1, "amy")
    assert asked.arguments["amount"] == 5
    assert asked.key == ledger(desk).operation(first.operation_id).key


@pytest.mark.promise("P8")
def test_what_happened_without_a_value_is_done_all_the_same() -> None:
    """A repeat learns that it took effect and that its result is not to be had; so does a value of the wrong shape."""
    for answer in (Happened(), Happened("no object"), Happened({"paid": object()})):
        desk, backend = open_backend()
        pay(desk)
        backend.answer = answer
        assert only(desk.guard.recover()).state == "succeeded"
        assert pay(desk) == FailedResult("invalid_result", "done")
        assert backend.done == [5]


@pytest.mark.promise("P8")
def test_what_did_not_happen_may_be_tried_again_under_its_name() -> None:
    """The next call with the name is the next attempt of the same operation, with the same key."""
    desk, backend = open_backend()
    first = pay(desk)
    backend.answer, backend.fails = DidNotHappen(), None
    key = ledger(desk).operation(first.operation_id).key
    assert only(desk.guard.recover()).finding == "did_not_happen"
    assert backend.done == [5]
    assert pay(desk) == Ok({"paid": 5})
    again = ledger(desk).operation(first.operation_id)
    assert (again.key, again.attempt, again.state) == (key, 2, "succeeded")


@pytest.mark.parametrize(
    "answer", [CannotTell(), None, True, "happened", DidNotHappen, Happened, RuntimeError("no"), SystemExit(1)]
)
def test_whatever_else_it_answers_tells_nothing(answer: Any) -> None:
    """Only an instance of the two answers settles anything; an exception does not, whatever it is."""
    desk, backend = open_backend()
    first = pay(desk)
    backend.answer = answer
    assert only(desk.guard.recover()).finding == "cannot_tell"
    assert pay(desk) == first
    assert backend.done == [5]


def test_an_async_reconcile_is_awaited_from_a_thread_and_from_a_task() -> None:
    """Both kinds of function, driven both ways."""
    for from_task in (False, True):
        backend = Backend()

        async def look(operation: UnresolvedOperation, backend: Backend = backend) -> Any:
            await asyncio.sleep(0)
            return backend.look(operation)

        pay_by = backend.pay

        def body(amount: int) -> dict[str, int]:
            """Pay."""
            return pay_by(amount)  # noqa: B023 - called in this round of the loop only

        desk, _ = open_one(body, name="some.pay", kind="write", reconcile=look)
        pay(desk)
        backend.answer = Happened({"paid": 5})
        found = asyncio.run(desk.guard.arecover()) if from_task else desk.guard.recover()
        assert only(found).state == "succeeded"


def test_one_that_hangs_is_given_up_at_the_timeout() -> None:
    """The tool's own timeout holds for its reconcile too."""
    release = threading.Event()

    def look(operation: UnresolvedOperation) -> Any:
        release.wait(30)
        return Happened()

    desk, _ = open_backend(reconcile=look, timeout=0.05)
    pay(desk)
    try:
        assert only(desk.guard.recover()).finding == "cannot_tell"
    finally:
        release.set()


def _revoke(desk: Desk) -> None:
    desk.guard.revocations.revoke_subject("amy", until=desk.clock.time() + 1)


def _take_the_row_away(desk: Desk) -> None:
    _reload(desk, rows="p, supervisor, *, some.pay, call, allow\n")


def _narrow_the_entry(desk: Desk) -> None:
    _reload(desk, entry="{ id: a, roles: [agent], arguments: { amount: { maximum: 3 } } }")


def _fill_in_more(desk: Desk) -> None:
    _reload(desk, entry="{ id: a, roles: [agent], arguments: { amount: {}, note: { const: other } } }")


def _take_the_tenant_away(desk: Desk) -> None:
    _reload(desk, identity=["globex"])


def _reload(desk: Desk, rows: str = "", entry: str = "", identity: Sequence[str] = ("acme", "globex")) -> None:
    rows = rows or "p, agent, *, some.pay, call, allow\n"
    tools = f"tool: some.pay\nallow: [ {entry or '{ id: a, roles: [agent] }'} ]\n"
    texts = policies(ISSUER, rows=rows, tools=tools)
    texts["identity.yaml"] = json.dumps({"issuers": [ISSUER.profile(list(identity))]})
    live: Any = desk.guard._runtime.live
    live._texts = Source.from_texts(texts)
    assert desk.guard.reload()


@pytest.mark.promise("P8")
@pytest.mark.parametrize(
    "change", [_revoke, _take_the_row_away, _narrow_the_entry, _fill_in_more, _take_the_tenant_away]
)
def test_nothing_is_asked_for_whom_it_is_not_allowed_to_any_more(change: Callable[[Desk], None]) -> None:
    """Revoked since, or closed by the policies of now: the operation stays unknown, and the events say why."""
    desk, backend = open_backend()
    first = pay(desk)
    backend.answer = Happened({"paid": 5})
    change(desk)
    found = only(desk.guard.recover())
    assert (found.finding, found.state) == ("not_allowed", "unknown")
    assert backend.asked == []
    assert ledger(desk).operation(first.operation_id).state == "unknown"
    assert found.call_id is not None
    events = desk.guard.events(found.call_id)
    assert [event.kind for event in events][-1] == "call_answered"
    assert events[-1].fields["status"] in ("forbidden", "unauthenticated", "invalid_arguments")


def test_it_needs_the_keys_that_it_was_sealed_with() -> None:
    """Another key ring cannot say who made the write: nobody is asked, it is settled by hand."""
    desk, backend = open_backend()
    pay(desk)
    desk.guard._runtime.ledger.store.write(
        lambda it: it.connection.execute(operations.update().values(sealed="AAAA")),
    )
    assert only(desk.guard.recover()).finding == "not_kept"
    assert backend.asked == []


def test_a_tool_that_cannot_be_asked_keeps_nothing_of_its_calls() -> None:
    """Without a reconcile nothing is sealed, and recovery says that there is none."""
    desk, _backend = open_backend(reconcile=None)
    pay(desk)
    found = only(desk.guard.recover())
    assert (found.finding, found.call_id) == ("no_reconcile", None)
    with ledger(desk).store.engine.connect() as connection:
        assert connection.execute(select(operations.c.sealed)).scalars().all() == [None]


def test_what_is_kept_is_sealed_and_gone_once_the_outcome_is_known() -> None:
    """Arguments and caller are not readable in the store, and are not there at all after the end."""
    desk, backend = open_backend()
    backend.fails = None
    pay(desk, 41, operation="pay-2")
    backend.fails = NoEffect(Failed("unavailable"))
    pay(desk, 42, operation="pay-3")
    backend.fails = RuntimeError("lost")
    pay(desk, 43)
    sealed = select(operations.c.state, operations.c.sealed).order_by(operations.c.started_at, operations.c.name)
    with ledger(desk).store.engine.connect() as connection:
        rows = dict(map(tuple, connection.execute(sealed).all()))
    assert (rows["succeeded"], rows["failed"]) == (None, None)
    assert rows["unknown"] is not None
    assert "amy" not in rows["unknown"]
    assert "43" not in rows["unknown"][:8]
    backend.answer = Happened({"paid": 43})
    desk.guard.recover()
    with ledger(desk).store.engine.connect() as connection:
        assert connection.execute(select(operations.c.sealed)).scalars().all() == [None] * 3


@pytest.mark.promise("P8")
def test_what_did_not_happen_is_not_believed_while_the_body_runs() -> None:
    """A thread that was given up may have its effect later: that it did not happen so far says nothing."""
    backend, inside, leave = Backend(), threading.Event(), threading.Event()
    left = threading.Event()

    def body(amount: int) -> dict[str, int]:
        """Pay, in the end."""
        inside.set()
        leave.wait(30)
        backend.done.append(amount)
        left.set()
        return {"paid": amount}

    desk, _ = open_one(body, name="some.pay", kind="write", reconcile=backend.look, timeout=0.2)
    first = pay(desk)
    assert isinstance(first, Unknown)
    assert inside.is_set()
    backend.answer = DidNotHappen()
    assert only(desk.guard.recover()).finding == "still_running"
    assert pay(desk) == first
    backend.answer = Happened({"paid": 5})
    assert only(desk.guard.recover()).state == "succeeded"
    leave.set()
    assert left.wait(10)
    assert pay(desk) == Ok({"paid": 5})
    assert backend.done == [5]


@pytest.mark.promise("P8")
def test_only_an_idempotent_tool_is_started_again_and_under_the_same_key() -> None:
    """The caller's own repeat, with a valid token: recovery itself runs nothing."""
    for idempotent in (False, True):
        desk, backend = open_backend(idempotent=idempotent, reconcile=None)
        first = pay(desk)
        key = ledger(desk).operation(first.operation_id).key
        backend.fails = None
        assert only(desk.guard.recover()).state == "unknown"
        assert backend.done == [5]
        answer = pay(desk)
        assert answer == (Ok({"paid": 5}) if idempotent else first)
        assert backend.done == ([5, 5] if idempotent else [5])
        assert ledger(desk).operation(first.operation_id).key == key
        _revoke(desk)
        assert pay(desk).status == "unauthenticated"


def test_a_repeat_of_an_idempotent_one_is_paid_for_once() -> None:
    """What the earlier attempt took of a budget is not taken twice; nor does it keep a replay or recovery out."""
    entry = "{ id: a, roles: [agent], duties: { budget: { calls: 1, per: subject, window: 1d } } }"
    desk, backend = open_backend(entry=entry, idempotent=True)
    pay(desk)
    backend.fails = None
    assert pay(desk) == Ok({"paid": 5})
    assert pay(desk) == Ok({"paid": 5})
    assert pay(desk, operation="pay-2").code == "rate_limited"
    desk, backend = open_backend(entry=entry)
    pay(desk)
    backend.answer = DidNotHappen()
    assert only(desk.guard.recover()).finding == "did_not_happen"
    backend.fails = None
    assert pay(desk) == Ok({"paid": 5})


def test_a_read_has_nothing_to_find_out() -> None:
    """Stating either for a read, or no function, is a mistake that is told at once."""
    for stated in ({"reconcile": lambda operation: CannotTell()}, {"idempotent": True}):
        with pytest.raises(Misuse, match="a read has no outcome"):
            open_one(lambda_read, **stated)
    with pytest.raises(Misuse, match="no function"):
        open_one(lambda_read, kind="write", reconcile="look")


def lambda_read(amount: int) -> int:
    """Read."""
    return amount


def test_recovery_is_told_in_the_events_of_the_call_that_made_the_write() -> None:
    """The call's story goes on with how it ended after all; it is still answered once."""
    desk, backend = open_backend()
    pay(desk)
    call = desk.guard.last_call_id
    assert call is not None
    backend.answer = Happened({"paid": 5})
    found = only(desk.guard.recover())
    events = desk.guard.events(call)
    assert [event.kind for event in events].count("call_answered") == 1
    last = events[-1]
    assert (last.kind, last.fields["effect"], last.fields["outcome"]) == ("execution_finished", "done", "resolved")
    assert (last.fields["reason"], last.fields["stored"]) == ("reconciled", "succeeded")
    assert found.call_id is not None
    assert desk.guard.events(found.call_id)[0].parent == call
