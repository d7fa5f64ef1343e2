"""docs/failures.md, row by row; and the page names exactly these tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from desk import Desk, open_folder, write_folder
from gatewright import Guard, PolicyInvalid
from gatewright.middleware.results import FORBIDDEN

PAGE = Path(__file__).parents[1] / "docs" / "failures.md"
PROBE = """\
probe: true
now: "2026-10-28T09:00:00Z"
identities: { amy: { tenant: acme, roles: [agent] } }
calls: { echo: { tool: note.echo, arguments: { text: x } } }
expect: { amy: { echo: ok } }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The desk's policies as a folder, its catalog accepted."""
    where = write_folder(tmp_path / "policies")
    open_folder(where).guard.accept_catalog()
    return where


def poll(desk: Desk) -> object:
    """One look, as the watching thread makes it."""
    store = desk.guard._runtime.live._store
    assert store is not None
    return store.poll()


def both_run(desk: Desk) -> bool:
    """Whether a read and a write run."""
    read, write = desk.call("note.echo", {"text": "x"}), desk.call("order.refund", {"order": "a-1", "amount": 5})
    return (read.status, write.status) == ("ok", "ok")


def spoil(where: Path) -> None:
    """Make the rows unreadable as rows."""
    with (where / "policy.csv").open("a") as rows:
        rows.write("p, agent, *, order.find, call, maybe\n")


def last_good_stays(desk: Desk, change: Callable[[], object], code: str) -> None:
    """After *change* the last good policies decide, health is degraded with *code*, and one event says so."""
    before = desk.guard.revision
    assert both_run(desk)
    change()
    poll(desk)
    poll(desk)
    assert both_run(desk)
    health = desk.guard.health
    assert (health.degraded, health.revision) == (True, before)
    assert code in {finding.code for finding in health.findings}
    rejected = [event for event in desk.journal.events() if event.kind == "policy_rejected"]
    assert [event.fields["kept"] for event in rejected] == [before]


def test_no_valid_policies_at_the_start_is_no_guard(folder: Path) -> None:
    """It raises, with every finding; an empty folder is no policies either."""
    spoil(folder)
    with pytest.raises(PolicyInvalid, match="effect"):
        open_folder(folder)
    with pytest.raises(PolicyInvalid, match="folder_missing"):
        Guard(folder / "nowhere", journal="memory", ledger=":memory:")
    (folder.parent / "empty").mkdir()
    with pytest.raises(PolicyInvalid, match="file_missing"):
        Guard(folder.parent / "empty", journal="memory", ledger=":memory:")


@pytest.mark.case(5)
def test_policies_that_do_not_load_leave_the_last_good_ones(folder: Path) -> None:
    """Reads and writes run as before."""
    last_good_stays(open_folder(folder), lambda: spoil(folder), "effect")


def test_a_probe_that_does_not_hold_leaves_the_last_good_ones(folder: Path) -> None:
    """What must hold is asked before the swap."""
    (folder / "tests").mkdir()
    (folder / "tests" / "must.yaml").write_text(PROBE)
    rows = (folder / "policy.csv").read_text().replace("p, agent, *, tools/desk, call, allow\n", "")
    last_good_stays(open_folder(folder), lambda: (folder / "policy.csv").write_text(rows), "probe")


@pytest.mark.case(5)
def test_a_folder_that_is_gone_leaves_the_last_good_ones(folder: Path) -> None:
    """And is taken up again when it is back."""
    desk = open_folder(folder)
    last_good_stays(desk, lambda: folder.rename(folder.with_name("away")), "folder_missing")
    folder.with_name("away").rename(folder)
    poll(desk)
    assert not desk.guard.health.degraded


def test_policies_past_their_age_refuse_writes_and_mark_reads(folder: Path) -> None:
    """The bodies of writes are not entered."""
    desk = open_folder(folder, max_policy_age=30)
    desk.clock.advance(30.001)
    refused = desk.call("order.refund", {"order": "a-1", "amount": 5}).to_json()
    assert (refused["status"], refused["code"], desk.ran) == ("failed", "unavailable", [])
    assert desk.call("note.echo", {"text": "x"}).status == "ok"
    assert desk.event("permission_rechecked")["outdated"] is True
    assert (desk.guard.health.degraded, desk.guard.health.outdated) == (True, True)


def test_a_decision_that_raises_is_a_denial(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever raises while rows are asked; nothing is entered."""
    desk = open_folder(folder)

    def fail(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(desk.guard._runtime.live.snapshot.engine, "_rows", type("Rows", (), {"ask": fail})())
    assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN
    assert desk.call("order.refund", {"order": "a-1", "amount": 5}).status == "forbidden"
    assert desk.ran == []


def test_a_tool_that_differs_from_its_file_is_hidden(folder: Path) -> None:
    """The others run."""
    file = folder / "catalog" / "note.echo.json"
    file.write_text(file.read_text().replace('"read"', '"write"'))
    desk = open_folder(folder)
    assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN
    assert desk.call("order.refund", {"order": "a-1", "amount": 5}).status == "ok"


def test_a_schema_outside_the_dialect_is_found_at_load(folder: Path) -> None:
    """Never by a call."""
    file = folder / "catalog" / "note.echo.json"
    text = file.read_text().replace('"type": "string"', '"type": "string", "$dynamicRef": "#x"', 1)
    last_good_stays(open_folder(folder), lambda: file.write_text(text), "bad_catalog")


@pytest.mark.case(22)
def test_a_lost_notification_costs_one_look(folder: Path) -> None:
    """A store that hears no hint sees a change at its next look."""
    desk = open_folder(folder)
    with (folder / "policy.csv").open("a") as rows:
        rows.write("# changed\n")
    before = desk.guard.revision
    assert poll(desk) is not None
    assert desk.guard.revision != before


def test_a_listener_that_raises_changes_no_load(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new policies are in force; the log says that somebody could not be told."""
    desk = open_folder(folder)

    def fail(*_: object) -> None:
        raise RuntimeError("full")

    monkeypatch.setattr(desk.guard._watch, "loaded", fail)
    with (folder / "policy.csv").open("a") as rows:
        rows.write("# changed\n")
    before = desk.guard.revision
    assert desk.guard.reload()
    assert desk.guard.revision != before


def test_each_row_names_a_test_of_this_file_and_each_test_a_row() -> None:
    """The page and this file say the same."""
    named = re.findall(r"`tests/test_failure_table\.py::(\w+)`", PAGE.read_text("utf-8"))
    here = [name for name in globals() if name.startswith("test_") and "each_row" not in name]
    assert sorted(named) == sorted(here)
    rows = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ") and "|---" not in line]
    assert len(rows) - 1 == len(named)
