"""Stores are looked at, copied, and rid of what may be forgotten; what is revoked by a command counts at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from sqlalchemy import insert, select
from typer.testing import CliRunner

from databases import new_store
from gatewright.cli.main import app
from gatewright.middleware.keeping import DAY
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.migrations import NEWEST
from gatewright.middleware.operations import Operation, Proposal
from gatewright.middleware.record import Trail
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.starts import Started
from gatewright.middleware.stores import open_store, read_store
from gatewright.middleware.tables import approval, approval_vote, metadata

KINDS = ("sqlite", "postgresql")


def run(*arguments: str, code: int = 0) -> str:
    """Run the command; return what it printed."""
    answer = CliRunner().invoke(app, arguments)
    assert answer.exit_code == code, answer.output
    return answer.output


def write(ledger: Ledger, name: str, state: str, at: float) -> Operation:
    """Start a write, and end it in *state*."""
    trail = Trail(at)
    trail.add("request_received", tool="orders.refund")
    proposal = Proposal("acme", "ann", "orders.refund", b"{}", "chat", trail.call, trail.call, "v", name)
    answer = ledger.start(proposal, lambda: None, lambda _: trail.line())
    assert isinstance(answer, Started)
    trail.mark()
    trail.answer("ok")
    ledger.finish(answer.operation, state, trail.line(), outcome=b"done")  # type: ignore[arg-type]
    return answer.operation


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger that has done a few writes, long ago and now."""
    place = new_store(request.param, tmp_path)
    ago = time.time() - 3 * 86_400
    for clock in (lambda: ago, time.time):
        ledger = Ledger(place, KeyRing.from_secret("s" * 32), clock=clock)
        for state in ("succeeded", "failed", "unknown"):
            write(ledger, f"{state}-{clock():.0f}", state, clock())
        ledger.revocations.revoke_token("t-0")
        ledger.close()
    return place


def rows(place: str) -> dict[str, list[tuple[object, ...]]]:
    """Everything in a store."""
    engine = read_store(place, "store")
    with engine.connect() as connection:
        every = {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in metadata.sorted_tables
        }
    engine.dispose()
    return every


def test_info_tells_version_and_rows(place: str) -> None:
    """Of a store that is there; another one is not made."""
    told = dict(line.split() for line in run("store", "info", place).splitlines())
    assert (told["version"], told["operation"], told["revocation"]) == (str(NEWEST), "6", "2")


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_holds_everything_and_restores_to_either_kind(place: str, kind: str, tmp_path: Path) -> None:
    """Row by row; the copy is a ledger that finds its operations and goes on numbering."""
    copy = new_store(kind, tmp_path)
    run("store", "backup", place, copy)
    assert rows(copy) == rows(place)
    assert "not empty" in str(CliRunner().invoke(app, ["store", "backup", place, copy]).exception)
    ledger = Ledger(copy, KeyRing.from_secret("s" * 32))
    assert len(ledger.operations("unknown")) == 2
    write(ledger, "after", "succeeded", time.time())
    ledger.revocations.revoke_token("t-1")
    assert len(ledger.revocations.listed()) == 3
    ledger.close()


def test_retention_forgets_approvals_that_are_over(place: str) -> None:
    """With their votes; not one that still waits, nor one that was asked for lately, nor any unless asked to."""
    now = time.time()
    engine = open_store(place, "ledger")
    with engine.begin() as connection:
        for id, state, asked, ends in (
            ("used", "used", now - 3 * DAY, now + DAY),
            ("expired", "pending", now - 3 * DAY, now - DAY),
            ("waits", "pending", now - 3 * DAY, now + DAY),
            ("lately", "rejected", now, now + DAY),
        ):
            texts = dict.fromkeys(("bound", "tenant", "issuer", "subject", "tool", "interaction", "call", "view"), "x")
            times = {"requested_at": asked, "expires_at": ends}
            row = {"id": id, "state": state, "sealed": "x", "duties": b"[]", **texts, **times}
            connection.execute(insert(approval).values(row))
            connection.execute(insert(approval_vote).values(approval=id, approver="lou", counts="[0]", at=asked))
    engine.dispose()
    run("store", "retention", place)
    assert len(rows(place)["approval"]) == 4
    assert "approval      2" in run("store", "retention", place, "--approvals", "2")
    assert [row[0] for row in rows(place)["approval"]] == ["lately", "waits"]
    assert [row[0] for row in rows(place)["approval_vote"]] == ["lately", "waits"]


def test_retention_forgets_what_ended_long_ago(place: str) -> None:
    """Not what is unresolved, nor events unless asked to; a dry run forgets nothing."""
    assert "operation     2" in run("store", "retention", place, "--dry-run")
    assert len(rows(place)["operation"]) == 6
    assert "operation     2" in run("store", "retention", place)
    assert sorted(row[8] for row in rows(place)["operation"]) == ["failed", "succeeded", "unknown", "unknown"]
    assert len(rows(place)["event_line"]) == 12
    assert "event_line    6" in run("store", "retention", place, "--events", "2")
    assert "a day at least" in str(
        CliRunner().invoke(app, ["store", "retention", place, "--operations", "0.5"]).exception
    )


def test_migrate_makes_a_store(tmp_path: Path) -> None:
    """Of this version."""
    assert f"version       {NEWEST}" in run("store", "migrate", str(tmp_path / "new.db"))


def test_what_a_command_revokes_is_revoked(place: str) -> None:
    """For every process that has the store, with its scope and reason; and the list tells it."""
    run("revoke", "subject", "ann", "--store", place, "--tenant", "acme", "--reason", "left the firm")
    run("revoke", "actor", "bot", "--store", place, "--until", "2026-11-30T10:00:00")
    run("revoke", "session", "s-1", "--store", place, "--issuer", "https://login.example")
    run("revoke", "token", "t-1", "--store", place)
    told = [line.split(" ", 1)[1] for line in run("revoke", "list", "--store", place).splitlines()]
    assert told[2:] == [
        "subject ann tenant=acme left the firm",
        "actor bot",
        "session s-1 issuer=https://login.example",
        "token t-1",
    ]


def test_a_command_never_revokes_in_a_store_that_is_not_there(tmp_path: Path) -> None:
    """It would count for nobody."""
    answer = CliRunner().invoke(app, ["revoke", "token", "t-1", "--store", str(tmp_path / "none.db")])
    assert answer.exit_code != 0
    assert not (tmp_path / "none.db").exists()
