"""One operation, at most one effect, or an honest `unknown` (P8)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from databases import new_store
from gatewright.middleware import statements
from gatewright.middleware.identifiers import new_id
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.operations import Operation, Proposal, canonical_arguments
from gatewright.middleware.record import Trail, event_line, expand
from gatewright.middleware.recovery import RUNNING
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.starts import Found, KeyReused, Refused, Started
from gatewright.middleware.stores import StoreUnavailable

SECRET = "s" * 32


class Clock:
    """Seconds that pass when told."""

    def __init__(self) -> None:
        self.now = 1_796_032_800.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


class Write:
    """One call of a write: its proposal, its trail, and the lines it gives the ledger."""

    def __init__(self, name: str | None = None, amount: int = 5, **scope: str) -> None:
        whole = {"tenant": "acme", "subject": "amy", "tool": "orders.refund", "interaction": "chat-1", **scope}
        self.trail = Trail(1_796_032_800.0, interaction=whole["interaction"])
        arguments = canonical_arguments({"order": "o-1", "amount": amount})
        self.proposal = Proposal(
            arguments=arguments, call=self.trail.call, trace=self.trail.trace, view="v1", name=name, **whole
        )
        self.trail.add("request_received", tool=whole["tool"])

    def start_line(self, operation: Operation) -> bytes:
        """Tell the events up to the body."""
        self.trail.add("execution_started", key=operation.key, operation=operation.id)
        return self.trail.line()

    def end_line(self, status: str = "ok") -> bytes:
        """Tell the rest."""
        self.trail.mark()
        self.trail.add("execution_finished", outcome="returned")
        self.trail.answer(status)
        return self.trail.line()


def start(ledger: Ledger, write: Write) -> Operation:
    """Start *write*, which nothing keeps from starting."""
    answer = ledger.start(write.proposal, lambda: None, write.start_line)
    assert isinstance(answer, Started)
    return answer.operation


def run(ledger: Ledger, write: Write, outcome: bytes = b'{"status":"ok"}') -> Operation:
    """Start and finish *write*."""
    operation = start(ledger, write)
    assert ledger.finish(operation, "succeeded", write.end_line(), outcome=outcome)
    return operation


def ask(ledger: Ledger, write: Write) -> Started | Found | KeyReused | Refused[str]:
    """Ask to start *write*."""
    return ledger.start(write.proposal, _no_objection, write.start_line)


def _no_objection() -> str | None:
    return None


@pytest.fixture
def clock() -> Clock:
    """A clock."""
    return Clock()


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger will be that several processes share."""
    return new_store(request.param, tmp_path)


@pytest.fixture(params=["sqlite", "postgresql", "memory"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Ledger]:
    """A ledger in a file, one on a server, and one in memory."""
    place = ":memory:" if request.param == "memory" else new_store(request.param, tmp_path)
    opened = Ledger(place, KeyRing.from_secret(SECRET), clock=clock)
    yield opened
    opened.close()


def kinds(ledger: Ledger, call: str) -> list[str]:
    """The kinds of a call's events, in order."""
    return [event.kind for line in ledger.iter_lines(call=call) for event in expand(line)]


@pytest.mark.promise("P8")
def test_a_named_operation_runs_once_and_is_replayed(ledger: Ledger) -> None:
    """The second call with the same name and arguments finds the outcome of the first, and writes nothing."""
    first = run(ledger, Write("refund-1"), b'{"status":"ok","data":1}')
    again = Write("refund-1")
    answer = ask(ledger, again)
    assert isinstance(answer, Found)
    assert (answer.operation.id, answer.operation.state) == (first.id, "succeeded")
    assert answer.operation.outcome == b'{"status":"ok","data":1}'
    assert answer.operation.view == "v1"
    assert kinds(ledger, again.trail.call) == []


@pytest.mark.case(83)
def test_the_order_of_keys_is_no_other_payload(ledger: Ledger) -> None:
    """Arguments are compared in canonical form."""
    run(ledger, Write("refund-1"))
    again = Write("refund-1")
    again.proposal = replace(again.proposal, arguments=canonical_arguments({"amount": 5, "order": "o-1"}))
    assert isinstance(ask(ledger, again), Found)


@pytest.mark.case(83)
@pytest.mark.parametrize("state", ["started", "succeeded", "failed", "unknown"])
def test_other_arguments_under_a_name_are_a_conflict_that_shows_nothing(ledger: Ledger, state: str) -> None:
    """Whatever became of the first."""
    first = Write("refund-1")
    operation = start(ledger, first)
    if state != "started":
        ledger.finish(operation, state, first.end_line())  # type: ignore[arg-type]
    assert ask(ledger, Write("refund-1", amount=6)) == KeyReused()


@pytest.mark.case(84)
@pytest.mark.promise("P12")
@pytest.mark.parametrize("scope", [{"tenant": "globex"}, {"subject": "bob"}, {"tool": "orders.cancel"}])
def test_a_name_is_bound_to_tenant_subject_and_tool(ledger: Ledger, scope: dict[str, str]) -> None:
    """Another tenant, subject or tool neither finds nor blocks it, whatever the arguments."""
    mine = run(ledger, Write("refund-1"))
    other = run(ledger, Write("refund-1", amount=6, **scope))
    assert other.key != mine.key


def test_unnamed_calls_are_operations_of_their_own(ledger: Ledger) -> None:
    """Two honest equal refunds run twice, with two keys."""
    assert run(ledger, Write()).key != run(ledger, Write()).key


@pytest.mark.promise("P8")
def test_an_unnamed_repeat_of_an_unresolved_call_is_that_operation(ledger: Ledger) -> None:
    """In the same interaction, with the same arguments; not in another, nor with others."""
    first = Write()
    operation = start(ledger, first)
    ledger.finish(operation, "unknown", first.end_line("unknown"))
    answer = ask(ledger, Write())
    assert isinstance(answer, Found)
    assert (answer.operation.id, answer.operation.state) == (operation.id, "unknown")
    assert isinstance(ask(ledger, Write(amount=6)), Started)
    assert isinstance(ask(ledger, Write(interaction="chat-2")), Started)
    assert isinstance(ask(ledger, Write(subject="bob")), Started)


@pytest.mark.case(87)
def test_a_retry_of_an_unknown_operation_stays_unknown(ledger: Ledger) -> None:
    """However often, and it is never started again."""
    first = Write("refund-1")
    ledger.finish(start(ledger, first), "unknown", first.end_line("unknown"))
    answers = [ask(ledger, Write("refund-1")) for _ in range(5)]
    assert {answer.operation.state for answer in answers if isinstance(answer, Found)} == {"unknown"}
    assert len(ledger.operations("started")) == 0


def test_a_failure_without_effect_may_be_tried_again_under_its_name(ledger: Ledger) -> None:
    """The same operation and key, the next attempt; a failure that is not retryable is replayed instead."""
    first, second, third = Write("refund-1"), Write("refund-1"), Write("refund-1")
    begun = start(ledger, first)
    ledger.finish(begun, "failed", first.end_line("failed"), outcome=b"busy", retryable=True)
    again = start(ledger, second)
    assert (again.id, again.key, again.attempt) == (begun.id, begun.key, 2)
    ledger.finish(again, "failed", second.end_line("failed"), outcome=b"closed")
    answer = ask(ledger, third)
    assert isinstance(answer, Found)
    assert (answer.operation.state, answer.operation.outcome) == ("failed", b"closed")


def test_the_outcome_of_an_earlier_attempt_changes_nothing(ledger: Ledger) -> None:
    """The attempt fences."""
    first, second = Write("refund-1"), Write("refund-1")
    begun = start(ledger, first)
    ledger.finish(begun, "failed", first.end_line("failed"), retryable=True)
    again = start(ledger, second)
    assert ledger.finish(begun, "succeeded", Write().trail.line(), outcome=b"late") is False
    found = ledger.operation(again.id)
    assert found is not None
    assert (found.state, found.outcome) == ("started", None)


@pytest.mark.promise("P6")
def test_checks_refuse_inside_the_transaction(ledger: Ledger) -> None:
    """Nothing is written, no key is taken, and a replay is refused as well."""
    refused = Write("refund-1")
    assert ledger.start(refused.proposal, lambda: "forbidden", refused.start_line) == Refused("forbidden")
    assert list(ledger.iter_lines()) == []
    run(ledger, Write("refund-1", amount=7))
    replay = Write("refund-1", amount=7)
    assert ledger.start(replay.proposal, lambda: "forbidden", replay.start_line) == Refused("forbidden")


@pytest.mark.parametrize("what", ["checks", "line"])
def test_an_exception_before_the_commit_undoes_everything(ledger: Ledger, what: str) -> None:
    """No operation, no event, and the chain goes on without a gap."""

    def fail(*_: object) -> None:
        raise LookupError

    broken = Write("refund-1")
    checks, line = (fail, broken.start_line) if what == "checks" else (lambda: None, fail)
    with pytest.raises(LookupError):
        ledger.start(broken.proposal, checks, line)  # type: ignore[arg-type]
    assert (ledger.operations("started"), list(ledger.iter_lines())) == ((), [])
    run(ledger, Write("refund-1"))


def test_the_start_is_told_before_the_body_and_the_end_after(ledger: Ledger) -> None:
    """What is recorded when the body is entered: that it starts, of which operation; and afterwards how it ended."""
    write = Write()
    operation = start(ledger, write)
    assert kinds(ledger, write.trail.call) == ["request_received", "execution_started"]
    ledger.finish(operation, "succeeded", write.end_line())
    assert kinds(ledger, write.trail.call)[2:] == ["execution_finished", "call_answered"]
    assert [event.sequence for line in ledger.iter_lines() for event in expand(line)] == [0, 1, 2, 3]


@pytest.mark.promise("P8")
def test_of_many_threads_with_one_operation_one_runs(ledger: Ledger) -> None:
    """The others wait for it and find its outcome."""
    count = 16
    together = threading.Barrier(count)
    ran: list[str] = []
    outcomes: list[bytes | None] = []

    def call() -> None:
        write = Write("refund-1")
        together.wait()
        answer = ask(ledger, write)
        if isinstance(answer, Started):
            ran.append(write.trail.call)
            ledger.finish(answer.operation, "succeeded", write.end_line(), outcome=b"done")
            outcomes.append(b"done")
        elif isinstance(answer, Found):
            outcomes.append(ledger.wait(answer.operation, 30).outcome)

    at_once(call, count)
    assert len(ran) == 1
    assert outcomes == [b"done"] * count


def test_a_duplicate_in_flight_waits_no_longer_than_told(ledger: Ledger) -> None:
    """After that it is still started, for the guard to say `unknown`."""
    write = Write("refund-1")
    operation = start(ledger, write)
    answer = ask(ledger, Write("refund-1"))
    assert isinstance(answer, Found)
    assert ledger.wait(answer.operation, 0).state == "started"
    ledger.finish(operation, "succeeded", write.end_line())
    assert ledger.wait(answer.operation, 0).state == "succeeded"


@pytest.mark.promise("P8")
def test_an_operation_that_ends_while_it_is_looked_at_is_not_unknown(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read as started, ends, and no longer runs when that is asked: its outcome is what counts."""
    write = Write("refund-1")
    operation = start(ledger, write)
    read = ledger.store.read

    def late(work: Callable[..., Any]) -> Any:
        monkeypatch.setattr(ledger.store, "read", read)
        found = read(work)
        ledger.finish(operation, "succeeded", write.end_line(), outcome=b"1")
        return found

    monkeypatch.setattr(ledger.store, "read", late)
    found = ledger.operation(operation.id)
    assert found is not None
    assert (found.state, found.outcome) == ("succeeded", b"1")


def test_a_finished_operation_is_forgotten_after_its_retention(ledger: Ledger, clock: Clock) -> None:
    """A day by default; an unresolved one never by itself. Events stay."""
    done, open_ended = Write("refund-1"), Write("refund-2")
    run(ledger, done)
    ledger.finish(start(ledger, open_ended), "unknown", open_ended.end_line("unknown"))
    clock.now += 86_399
    assert isinstance(ask(ledger, Write("refund-1")), Found)
    clock.now += 1
    assert isinstance(ask(ledger, Write("refund-1", amount=9)), Started)
    run(ledger, Write("refund-3"))
    clock.now += 86_400
    assert ledger.purge() == 1
    assert isinstance(ask(ledger, Write("refund-2")), Found)
    assert kinds(ledger, done.trail.call) != []


def test_several_ledgers_of_one_process_share_a_store(place: str) -> None:
    """What runs under one is in flight for the other, not left behind."""
    keys = KeyRing.from_secret(SECRET)
    one, other = Ledger(place, keys), Ledger(place, keys)
    write = Write("refund-1")
    operation = start(one, write)
    answer = ask(other, Write("refund-1"))
    assert isinstance(answer, Found)
    assert answer.operation.state == "started"
    assert other.recover_stale() == ()
    one.finish(operation, "succeeded", write.end_line(), outcome=b"done")
    assert other.wait(answer.operation, 0).outcome == b"done"
    one.close()
    other.close()


def at_once(call: Callable[[], None], count: int) -> None:
    """Run *call* in *count* threads and wait for all."""
    threads = [threading.Thread(target=call) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


CHILD = """
import sys
sys.path.insert(0, "tests")
from tests.middleware.test_ledger import *
ledger = Ledger(sys.argv[1], KeyRing.from_secret(SECRET))
write = Write("refund-1")
operation = start(ledger, write)
print(operation.id, write.trail.call, flush=True)
sys.stdin.read()
"""


@pytest.mark.case(88)
@pytest.mark.promise("P8")
@pytest.mark.promise("P9")
def test_a_process_killed_inside_the_tool_leaves_an_unknown_operation(place: str) -> None:
    """After kill -9 and a restart it is unknown, its call has its terminal event, and a retry does not run it."""
    command = [sys.executable, "-c", CHILD, place]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as child:
        assert child.stdout is not None
        operation_id, call = child.stdout.readline().split()
        child.send_signal(signal.SIGKILL)
    ledger = Ledger(place, KeyRing.from_secret(SECRET))
    assert [found.id for found in ledger.operations("unknown")] == [operation_id]
    assert kinds(ledger, call) == ["request_received", "execution_started", "execution_finished", "call_answered"]
    answer = ask(ledger, Write("refund-1"))
    assert isinstance(answer, Found)
    assert (answer.operation.id, answer.operation.state) == (operation_id, "unknown")
    assert ledger.recover_stale() == ()
    ledger.close()


def test_an_unresolved_operation_outlives_its_keys(place: str) -> None:
    """Under new keys nobody can say whether arguments are the same: unknown stays unknown, a finished one conflicts."""
    before = Ledger(place, KeyRing.from_secret(SECRET))
    for name in (None, "refund-1"):
        write = Write(name)
        before.finish(start(before, write), "unknown", write.end_line("unknown"))
    run(before, Write("refund-2"))
    before.close()
    after = Ledger(place, KeyRing.from_secret("t" * 32))
    for name in (None, "refund-1"):
        answer = ask(after, Write(name))
        assert isinstance(answer, Found)
        assert answer.operation.state == "unknown"
    assert ask(after, Write("refund-2")) == KeyReused()
    after.close()


def test_rotated_keys_still_find_an_operation(place: str) -> None:
    """As long as the old secret is in the ring."""
    before = Ledger(place, KeyRing.from_secret(SECRET))
    run(before, Write("refund-1"))
    before.close()
    after = Ledger(place, KeyRing.from_secret("t" * 32, SECRET))
    assert isinstance(ask(after, Write("refund-1")), Found)
    assert ask(after, Write("refund-1", amount=6)) == KeyReused()
    after.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_operations_of_its_own(place: str) -> None:
    """Its parent's are in flight for it, it writes a chain of its own, and dying it leaves unknown ones."""
    ledger = Ledger(place, KeyRing.from_secret(SECRET))
    write = Write("refund-1")
    operation = start(ledger, write)
    child = os.fork()
    if child == 0:
        answer = ask(ledger, Write("refund-1"))
        seen = isinstance(answer, Found) and answer.operation.state == "started"
        start(ledger, Write("refund-2"))
        os._exit(0 if seen else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert [found.name for found in ledger.recover_stale()] == ["refund-2"]
    assert ledger.finish(operation, "succeeded", write.end_line())
    ledger.close()


def test_an_owner_that_lives_after_all_settles_what_was_given_up(place: str) -> None:
    """Its outcome is the evidence; the call keeps the one terminal event that recovery wrote."""
    ledger = Ledger(place, KeyRing.from_secret(SECRET))
    write = Write("refund-1")
    operation = start(ledger, write)
    RUNNING.discard((operation.id, operation.attempt))
    assert [found.id for found in ledger.recover_stale()] == [operation.id]
    assert ledger.finish(operation, "succeeded", write.end_line(), outcome=b"done") is True
    found = ledger.operation(operation.id)
    assert found is not None
    assert (found.state, found.outcome) == ("succeeded", b"done")
    assert kinds(ledger, write.trail.call).count("call_answered") == 1
    ledger.close()


def test_a_store_that_cannot_be_written_starts_nothing(place: str) -> None:
    """A ledger whose tables are gone refuses, and says so as StoreUnavailable."""
    ledger = Ledger(place, KeyRing.from_secret(SECRET))
    break_store(place)
    write = Write()
    with pytest.raises(StoreUnavailable):
        ledger.start(write.proposal, lambda: None, write.start_line)
    ledger.close()


def break_store(place: str) -> None:
    """Take the table of operations away."""
    rename(place, "operation", "gone")


def mend_store(place: str) -> None:
    """Bring it back."""
    rename(place, "gone", "operation")


def rename(place: str, before: str, after: str) -> None:
    """Rename a table of the store at *place*."""
    engine = create_engine(place)
    with engine.begin() as connection:
        connection.exec_driver_sql(f"ALTER TABLE {before} RENAME TO {after}")
    engine.dispose()


@pytest.mark.promise("P8")
def test_an_outcome_that_could_not_be_written_is_written_later(place: str) -> None:
    """Until then the operation is unknown to everybody, and nothing new starts; its call ends once, as unknown."""
    ledger = Ledger(place, KeyRing.from_secret(SECRET))
    write = Write("refund-1")
    operation = start(ledger, write)
    break_store(place)
    with pytest.raises(StoreUnavailable):
        ledger.finish(operation, "succeeded", write.end_line(), outcome=b"done")
    with pytest.raises(StoreUnavailable):
        ask(ledger, Write("refund-2"))
    mend_store(place)
    found = ledger.operation(operation.id)
    assert found is not None
    assert found.state == "unknown"
    answer = ask(ledger, Write("refund-1"))
    assert isinstance(answer, Found)
    assert (answer.operation.state, answer.operation.outcome) == ("succeeded", b"done")
    assert kinds(ledger, write.trail.call).count("call_answered") == 1
    ledger.close()


def test_no_question_of_the_ledger_reads_every_operation(ledger: Ledger) -> None:
    """Each is answered by an index, however many operations are kept."""
    if ledger.store.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL plans by what is in the tables; the indexes are the same")
    dialect = create_engine("sqlite://").dialect
    asked = ["BY_ID", "BY_KEY", "BY_STATE", "UNRESOLVED", "PURGE", "SETTLE", "FORGET", "CALL_LINES"]
    with ledger.store.engine.connect() as connection:
        for name in asked:
            question = str(getattr(statements, name).compile(dialect=dialect))
            question = re.sub(r"\(__\[POSTCOMPILE_\w+\]\)", "(?, ?)", question)
            values = ("x",) * question.count("?")
            plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {question}", values)]
            assert not [step for step in plan if step.startswith("SCAN")], (name, plan)


def test_a_late_line_is_numbered_after_the_rest(ledger: Ledger) -> None:
    """What a backend tells after the call was answered is found with the call."""
    write = Write()
    operation = run(ledger, write)
    ids = {"id": write.trail.call, "interaction": "chat-1", "trace": write.trail.trace}
    ledger.append(event_line("business_committed", 1_796_032_900.0, ids, operation=operation.id, reference=new_id()))
    assert kinds(ledger, write.trail.call)[-1] == "business_committed"


def test_a_closed_ledger_starts_nothing_and_what_runs_may_finish(place: str) -> None:
    """Its store is opened again for the outcome alone."""
    ledger = Ledger(place, KeyRing.from_secret(SECRET))
    write = Write("refund-1")
    operation = start(ledger, write)
    ledger.close()
    with pytest.raises(StoreUnavailable):
        ask(ledger, Write("refund-2"))
    assert ledger.finish(operation, "succeeded", write.end_line())
    ledger.close()


def test_a_closed_ledger_in_memory_is_gone_for_good() -> None:
    """It does not come back empty: nothing is started, finished or read."""
    ledger = Ledger(":memory:", KeyRing.from_secret(SECRET))
    write = Write("refund-1")
    operation = start(ledger, write)
    ledger.close()
    for what in (
        lambda: ask(ledger, Write("refund-1")),
        lambda: ledger.finish(operation, "succeeded", b"{}"),
        lambda: ledger.operation(operation.id),
        lambda: list(ledger.iter_lines()),
    ):
        with pytest.raises(StoreUnavailable):
            what()
