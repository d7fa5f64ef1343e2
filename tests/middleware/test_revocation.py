"""No body is entered for a token, session, subject or agent that was revoked before (P6), on either store."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine

from databases import new_store
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.notice import LIMIT, Notices
from gatewright.middleware.operations import Operation, Proposal, canonical_arguments
from gatewright.middleware.record import Trail
from gatewright.middleware.revocation import LONGEST
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.starts import Refused, Started
from gatewright.middleware.stores import StoreUnavailable
from gatewright.policy.caller import Actor, Caller
from gatewright.policy.errors import Misuse
from gatewright.testing import FakeClock

NOW = 1_796_032_800.0
ANN = Caller(
    "ann", "acme", frozenset(), Actor("bot"), token_id="t-1", issuer="https://login", issued_at=NOW, session="s-1"
)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger will be."""
    return new_store(request.param, tmp_path)


@pytest.fixture
def clock() -> FakeClock:
    """A clock at the time when the token was issued."""
    return FakeClock(NOW)


def open_ledger(place: str, clock: FakeClock) -> Ledger:
    """Open a ledger."""
    return Ledger(place, KeyRing.from_secret("s" * 32), clock=clock.time)


@pytest.fixture
def ledger(place: str, clock: FakeClock) -> Iterator[Ledger]:
    """A ledger on either store."""
    opened = open_ledger(place, clock)
    yield opened
    opened.close()


@pytest.fixture
def other(place: str, clock: FakeClock, ledger: Ledger) -> Iterator[Ledger]:
    """A second one on the same store, as another process has it."""
    opened = open_ledger(place, clock)
    yield opened
    opened.close()


def ask(ledger: Ledger, name: str = "w-1", line: Callable[[], None] = lambda: None) -> Any:
    """Ask to start a write of Ann's, which only a revocation keeps from starting; do *line* before its commit."""
    trail = Trail(NOW)
    trail.add("request_received", tool="orders.refund")

    def checks() -> str | None:
        return "revoked" if ledger.revocations.is_revoked(ANN) else None

    def start_line(operation: Operation) -> bytes:
        line()
        trail.add("execution_started", key=operation.key, operation=operation.id)
        return trail.line()

    proposal = Proposal(
        "acme", "ann", "orders.refund", canonical_arguments({"n": 1}), "chat", trail.call, trail.call, "v", name
    )
    return ledger.start(proposal, checks, start_line)


REVOKING = {
    "token": lambda it, **scope: it.revoke_token("t-1", **scope),
    "session": lambda it, **scope: it.revoke_session("s-1", **scope),
    "subject": lambda it, **scope: it.revoke_subject("ann", **scope),
    "actor": lambda it, **scope: it.revoke_actor("bot", **scope),
}


@pytest.mark.promise("P6")
@pytest.mark.parametrize("kind", REVOKING)
@pytest.mark.parametrize("scope", [{}, {"issuer": "https://login"}, {"tenant": "acme"}])
def test_what_another_process_revoked_starts_no_write(
    ledger: Ledger, other: Ledger, kind: str, scope: dict[str, str]
) -> None:
    """The start transaction sees it, although this process has looked at nothing since it opened the store."""
    assert isinstance(ask(ledger, "before"), Started)
    REVOKING[kind](other.revocations, **scope)
    assert not ledger.revocations.is_revoked(ANN)
    assert ask(ledger) == Refused("revoked")
    assert ledger.revocations.is_revoked(ANN)


@pytest.mark.parametrize("kind", REVOKING)
@pytest.mark.parametrize("scope", [{"issuer": "https://partner"}, {"tenant": "globex"}])
def test_a_revocation_of_another_issuer_or_tenant_is_not_this_one(
    ledger: Ledger, kind: str, scope: dict[str, str]
) -> None:
    """An id is its issuer's own, and one tenant's revocation is no other's."""
    REVOKING[kind](ledger.revocations, **scope)
    assert not ledger.revocations.is_revoked(ANN)
    assert isinstance(ask(ledger), Started)


@pytest.mark.parametrize("value", ["t-10", "T-1", "t-1 ", "t"])
def test_ids_are_compared_as_exact_text(ledger: Ledger, value: str) -> None:
    """A longer, shorter or similar id is another one, and an id of one kind is none of another."""
    ledger.revocations.revoke_token(value)
    ledger.revocations.revoke_session("t-1")
    ledger.revocations.revoke_subject("bot")
    ledger.revocations.revoke_actor("ann")
    assert not ledger.revocations.is_revoked(ANN)


def test_a_subject_that_logs_in_again_counts_again(ledger: Ledger, clock: FakeClock) -> None:
    """Tokens issued at the time or before are revoked, later ones are not; nor is anything of another subject."""
    clock.now = NOW + 60.5
    ledger.revocations.revoke_subject("ann")
    for issued, revoked in ((NOW, True), (NOW + 60, True), (NOW + 61, False)):
        token = Caller("ann", "acme", frozenset(), issued_at=issued, issuer="https://login", token_id="t-9")
        assert ledger.revocations.is_revoked(token) is revoked
    ledger.revocations.revoke_subject("ann", until=NOW + 61)
    assert ledger.revocations.is_revoked(token)


def test_a_revocation_is_forgotten_when_no_such_token_can_be_left(ledger: Ledger, clock: FakeClock) -> None:
    """Not a moment before; then neither the view nor the store holds it."""
    ledger.revocations.revoke_token("t-1", reason="lost laptop")
    clock.now = NOW + LONGEST - 1
    assert ledger.revocations.is_revoked(ANN)
    assert ledger.revocations.purge() == 0
    clock.now = NOW + LONGEST
    assert not ledger.revocations.is_revoked(ANN)
    assert ledger.revocations.purge() == 1
    assert ledger.revocations.listed() == ()


def test_ids_of_revocations_are_never_used_again(ledger: Ledger, other: Ledger, clock: FakeClock) -> None:
    """Else a process that has seen the purged one would take the next for known."""
    other.revocations.revoke_token("t-0")
    ledger.revocations.refresh()
    clock.now += LONGEST
    assert other.revocations.purge() == 1
    other.revocations.revoke_token("t-1")
    assert ask(ledger) == Refused("revoked")


def test_a_list_tells_what_was_revoked_and_why(ledger: Ledger) -> None:
    """Who reads it needs no other record."""
    ledger.revocations.revoke_session("s-1", tenant="acme", reason="shared\0computer")
    (found,) = ledger.revocations.listed()
    assert (found.kind, found.value, found.tenant, found.issuer, found.at) == ("session", "s-1", "acme", "", NOW)
    assert found.reason == "shared\ufffdcomputer"


@pytest.mark.parametrize("value", ["", "x" * 321, "a\0b", "a\nb", None, 7])
def test_what_is_no_id_is_not_revoked(ledger: Ledger, value: Any) -> None:
    """A typing error is told at once, instead of revoking nobody."""
    with pytest.raises(Misuse):
        ledger.revocations.revoke_token(value)


class Halted:
    """A process of its own that asks to start a write, and halts between reading revocations and its commit."""

    def __init__(self, ledger: Ledger) -> None:
        told, self._tells = os.pipe()
        self._waits, goes = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            try:
                self._tell(type(ask(ledger, line=self._halt)).__name__)
            finally:
                os._exit(0)
        os.close(self._tells)
        os.close(self._waits)
        self._told, self._goes = os.fdopen(told), goes

    def _halt(self) -> None:
        self._tell("read")
        os.read(self._waits, 1)

    def _tell(self, word: str) -> None:
        os.write(self._tells, f"{word}\n".encode())

    def says(self) -> str:
        """Wait for the next word of it."""
        return self._told.readline().strip()

    def go_on(self) -> None:
        """Let it commit."""
        os.write(self._goes, b"!")

    def __enter__(self) -> Halted:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._goes)
        os.waitpid(self._process, 0)
        self._told.close()


@pytest.mark.promise("P6")
@pytest.mark.case(79)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_revocation_waits_for_a_start_that_has_read_revocations(ledger: Ledger) -> None:
    """It is not committed before that start is, and the next start of that token is refused."""
    revoked = threading.Event()

    def revoke() -> None:
        ledger.revocations.revoke_token("t-1")
        revoked.set()

    with Halted(ledger) as halted:
        assert halted.says() == "read"
        thread = threading.Thread(target=revoke)
        thread.start()
        assert not revoked.wait(0.3)
        assert ledger.revocations.listed() == ()
        halted.go_on()
        assert halted.says() == "Started"
        assert revoked.wait(5)
        thread.join()
    assert ask(ledger, "w-2") == Refused("revoked")


@pytest.mark.promise("P6")
@pytest.mark.case(79)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_revocation_committed_first_lets_no_body_run(ledger: Ledger, other: Ledger) -> None:
    """The other process, which has seen nothing of it yet, never comes so far as to be halted."""
    other.revocations.revoke_token("t-1")
    assert not ledger.revocations.is_revoked(ANN)
    with Halted(ledger) as halted:
        assert halted.says() == "Refused"


def test_a_process_hears_of_a_revocation_within_a_second(ledger: Ledger, other: Ledger) -> None:
    """By notification on PostgreSQL, by asking twice a second on SQLite."""
    notices = Notices(ledger.revocations)
    notices.wake()
    before = ledger.revocations.epoch
    other.revocations.revoke_token("t-1")
    deadline = time.monotonic() + 5
    while ledger.revocations.epoch == before and time.monotonic() < deadline:
        threading.Event().wait(0.01)
    assert ledger.revocations.is_revoked(ANN)
    assert not notices.are_stale
    notices.close()


def test_a_store_that_cannot_be_read_makes_the_view_stale(
    place: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes are refused at once, reads once the limit is past where the guard says so; it is told in its health."""
    running, strict = Notices(ledger.revocations), Notices(ledger.revocations, "refuse")
    engine = create_engine(place)
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE revocation RENAME TO gone")
    with pytest.raises(StoreUnavailable):
        ask(ledger)
    running.look()
    assert running.failing
    assert not strict.forbid_reads
    seen = ledger.revocations._looked_at
    monkeypatch.setattr(ledger.revocations, "_looked_at", seen - LIMIT - 1)
    assert (running.forbid_reads, strict.forbid_reads) == (False, True)
    assert running.are_stale
    with engine.begin() as connection:
        connection.exec_driver_sql("ALTER TABLE gone RENAME TO revocation")
    strict.look()
    assert (strict.failing, strict.forbid_reads) == (False, False)
    engine.dispose()


def test_revocations_of_a_failed_transaction_are_not_seen(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start in the same moment never learns of one that is not committed in the end."""
    before = ledger.revocations.epoch
    monkeypatch.setattr(ledger.store, "_done", _fail_after(ledger))
    with pytest.raises(StoreUnavailable):
        ledger.revocations.revoke_token("t-1")
    monkeypatch.undo()
    assert ledger.revocations.epoch == before
    assert isinstance(ask(ledger), Started)


def _fail_after(ledger: Ledger) -> Any:
    def done(job: Any, transaction: Any, execute: Any, **_: object) -> list[bytes]:
        job.work(transaction)
        execute("SELECT nothing FROM nowhere")
        return []

    return done
