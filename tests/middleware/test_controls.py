"""What an application holds of its policies: health with an age, probes, kept revisions, and events with numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from desk import Desk, open_desk, open_folder, write_folder
from gatewright import Guard, Misuse, PolicyInvalid
from gatewright.cli.main import app
from gatewright.middleware.results import FORBIDDEN
from gatewright.testing import ListJournal

TEST = """\
probe: true
now: "2026-10-28T09:00:00Z"
identities: { amy: { tenant: acme, roles: [agent] } }
calls: { echo: { tool: note.echo, arguments: { text: x } }, wipe: { tool: desk.wipe, nobody: true } }
expect: { amy: { echo: ok } }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The desk's policies as a folder, its catalog accepted."""
    where = write_folder(tmp_path / "policies")
    open_folder(where).guard.accept_catalog()
    return where


def edit(where: Path, path: str, old: str, new: str) -> None:
    """Change one file."""
    assert old in (where / path).read_text()
    (where / path).write_text((where / path).read_text().replace(old, new))


def last(desk: Desk, kind: str) -> dict[str, Any]:
    """The last event of one kind."""
    return dict([event for event in desk.journal.events() if event.kind == kind][-1].fields)


def test_a_load_tells_what_changed_in_numbers(folder: Path) -> None:
    """Rows that came and went, entries and limits that say something else; moved lines change nothing."""
    desk = open_folder(folder)
    first = last(desk, "policy_loaded")
    assert (first["rows"], first["rows_added"], first["entries"], first["limits"]) == (14, 14, 9, 0)
    edit(folder, "policy.csv", "p, agent, *, tools/desk", "# a line more\np, agent, *, tools/desk")
    edit(folder, "policy.csv", "p, supervisor, *, desk.wipe, call, allow\n", "")
    edit(folder, "tools/desk.yaml", "limit: { maximum: 5 }", "limit: { maximum: 6 }")
    assert desk.guard.reload()
    told = last(desk, "policy_loaded")
    numbers = {name: value for name, value in told.items() if name.startswith(("rows", "entries", "limits"))}
    assert numbers == {"rows": 13, "rows_removed": 1, "entries": 9, "entries_changed": 1, "limits": 0}
    assert told["previous"] == first["revision"]


def test_a_rejection_names_the_revision_that_was_rejected(folder: Path) -> None:
    """And the one that stays."""
    desk = open_folder(folder)
    kept = desk.guard.revision
    edit(folder, "policy.csv", "allow\n", "alow\n")
    assert not desk.guard.reload()
    told = last(desk, "policy_rejected")
    assert told["kept"] == kept
    assert told["revision"] != kept
    assert len(told["revision"]) == 64


@pytest.mark.promise("P10")
def test_policies_past_their_maximum_age_let_reads_run_marked_and_no_writes(folder: Path) -> None:
    """At the very second; a look at a folder that says what is in force makes them young again."""
    desk = open_folder(folder, max_policy_age=60)
    desk.clock.advance(60)
    assert desk.call("order.cancel", {"order": "a-1"}).status == "ok"
    assert not desk.guard.health.outdated
    desk.clock.advance(0.1)
    desk.ran.clear()
    refused = desk.call("order.cancel", {"order": "a-2"}).to_json()
    assert (refused["status"], refused["code"], refused["effect"]) == ("failed", "unavailable", "none")
    assert desk.ran == []
    assert desk.event("permission_rechecked")["reason"] == "policies: older than their maximum age"
    assert desk.call("note.echo", {"text": "x"}).status == "ok"
    assert desk.event("permission_rechecked")["outdated"] is True
    health = desk.guard.health
    assert (health.degraded, health.outdated) == (True, True)
    assert health.age_s == pytest.approx(60.1)
    store = desk.guard._runtime.live._store
    assert store is not None
    assert store.poll() is None
    assert (desk.guard.health.age_s, desk.guard.health.degraded) == (0, False)
    assert desk.call("order.cancel", {"order": "a-2"}).status == "ok"
    assert "outdated" not in desk.event("permission_rechecked")


def test_a_broken_folder_makes_policies_older(folder: Path) -> None:
    """It was looked at, and does not say what is in force."""
    desk = open_folder(folder, max_policy_age=60)
    edit(folder, "policy.csv", "allow\n", "alow\n")
    store = desk.guard._runtime.live._store
    assert store is not None
    store.poll()
    desk.clock.advance(61)
    store.poll()
    assert desk.guard.health.outdated


@pytest.mark.parametrize("age", [0, -1])
def test_a_maximum_age_is_a_time(age: float) -> None:
    """None is what switches it off."""
    with pytest.raises(Misuse, match="max_policy_age"):
        open_desk(max_policy_age=age)


@pytest.mark.promise("P10")
def test_a_probe_keeps_a_reload_out_that_would_break_it(folder: Path) -> None:
    """Last good set, degraded, the finding says which case; a probe that says otherwise lets it in."""
    (folder / "tests").mkdir()
    (folder / "tests" / "must.yaml").write_text(TEST)
    desk = open_folder(folder)
    edit(folder, "policy.csv", "p, agent, *, tools/desk, call, allow\n", "p, agent, *, tools/desk, call, deny\n")
    assert not desk.guard.reload()
    assert desk.call("note.echo", {"text": "x"}).status == "ok"
    (finding,) = [each for each in desk.guard.health.findings if each.severity == "error"][:1]
    assert (finding.code, finding.place.file) == ("probe", "tests/must.yaml")
    assert last(desk, "policy_rejected")["codes"] == ["probe"]
    with pytest.raises(PolicyInvalid, match=r"tests/must\.yaml.*amy echo"):
        open_folder(folder)
    edit(folder, "tests/must.yaml", "amy: { echo: ok }", "amy: {}")
    edit(folder, "tests/must.yaml", "arguments: { text: x } }", "arguments: { text: x }, nobody: true }")
    assert desk.guard.reload()
    assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN


def test_a_guard_goes_back_until_its_folder_changes(folder: Path) -> None:
    """In this process; what is in the folder stays, and the next change of it counts."""
    desk = open_folder(folder)
    first = desk.guard.revision
    edit(folder, "policy.csv", "p, agent, *, tools/desk, call, allow\n", "")
    assert desk.guard.reload()
    assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN
    assert desk.guard.kept_revisions == (desk.guard.revision, first)
    assert desk.guard.rollback(first[:8])
    assert desk.call("note.echo", {"text": "x"}).status == "ok"
    assert (desk.guard.revision, desk.guard.health.held) == (first, True)
    store = desk.guard._runtime.live._store
    assert store is not None
    assert store.poll() is None
    assert desk.guard.revision == first
    edit(folder, "policy.csv", "p, supervisor", "# more\np, supervisor")
    assert store.poll() is not None
    assert (desk.call("note.echo", {"text": "x"}), desk.guard.health.held) == (FORBIDDEN, False)
    with pytest.raises(Misuse, match="is kept"):
        desk.guard.rollback("0" * 64)


def test_the_command_puts_the_folder_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """File by file as it was, new files gone; the archive is for the owner's eyes alone."""
    with Guard(folder, keys="k" * 32, watch=False) as guard:
        first = guard.revision
        before = {path: (folder / path).read_bytes() for path in ("policy.csv", "tools/desk.yaml")}
        edit(folder, "policy.csv", "p, agent, *, tools/desk, call, allow\n", "")
        (folder / "conditions.yaml").write_text("few: { total: { maximum: 3 } }\n")
        assert guard.reload()
        second = guard.revision
    place = folder.parent / ".gatewright" / "revisions"
    assert {path.stat().st_mode & 0o077 for path in (place, *place.iterdir())} == {0}
    listed = CliRunner().invoke(app, ["rollback", "--policies", str(folder)])
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [second, first]
    assert listed.stdout.splitlines()[0].endswith("now")
    done = CliRunner().invoke(app, ["rollback", first[:10], "--policies", str(folder)])
    assert (done.exit_code, done.stdout.split()) == (0, ["conditions.yaml", "policy.csv"])
    assert {path: (folder / path).read_bytes() for path in before} == before
    with Guard(folder, journal=ListJournal(), ledger=":memory:", keys="k" * 32, watch=False) as guard:
        assert guard.revision == first
    with pytest.raises(Misuse, match="is kept"):
        CliRunner().invoke(app, ["rollback", "0" * 12, "--policies", str(folder)], catch_exceptions=False)


def test_what_is_kept_and_was_changed_is_not_gone_back_to(folder: Path) -> None:
    """The name of a revision is the digest of its files."""
    with Guard(folder, keys="k" * 32, watch=False) as guard:
        first = guard.revision
        edit(folder, "policy.csv", "p, agent, *, tools/desk, call, allow\n", "")
        assert guard.reload()
        place = folder.parent / ".gatewright" / "revisions"
        files = {path.stem.partition("-")[2]: path for path in place.iterdir()}
        files[first].write_bytes(files[guard.revision].read_bytes())
        with pytest.raises(Misuse, match="was changed"):
            guard.rollback(first)


def test_only_so_many_revisions_are_kept(folder: Path) -> None:
    """The newest ten."""
    desk = open_folder(folder)
    for number in range(12):
        with (folder / "policy.csv").open("a") as file:
            file.write(f"# {number}\n")
        assert desk.guard.reload()
    assert len(desk.guard.kept_revisions) == 10
    assert desk.guard.kept_revisions[0] == desk.guard.revision


@pytest.mark.parametrize(("text", "code", "hint"), [("format: 1\n", 0, ""), ("format: 2\n", 1, "newer gatewright")])
def test_migrate_says_what_format_a_folder_is_of(folder: Path, text: str, code: int, hint: str) -> None:
    """There is one format; a newer one is a finding here and when loading."""
    (folder / "conditions.yaml").write_text(f"{text}few: {{ total: {{ maximum: 3 }} }}\n")
    done = CliRunner().invoke(app, ["migrate", str(folder)])
    assert done.exit_code == code
    assert hint in done.stdout
    if code:
        with pytest.raises(PolicyInvalid, match="unknown_format"):
            open_folder(folder)


@pytest.mark.parametrize("stated", ["0", "1.5", '"1"', "true", "latest"])
def test_a_format_is_a_whole_number(folder: Path, stated: str) -> None:
    """Anything else is a finding."""
    (folder / "conditions.yaml").write_text(f"format: {stated}\nfew: {{ total: {{ maximum: 3 }} }}\n")
    with pytest.raises(PolicyInvalid, match="unknown_format"):
        open_folder(folder)


def test_a_forked_child_decides_and_watches(folder: Path) -> None:
    """Although another thread held the locks of its caches when it was forked."""
    with Guard(folder, journal=ListJournal(), ledger=":memory:", keys="k" * 32) as guard:
        snapshot = guard._runtime.live.snapshot
        ours, theirs = os.pipe()
        with snapshot._lock, snapshot.engine._lock:
            child = os.fork()
            if child == 0:
                told = {"health": guard.health.degraded, "ran": guard._runtime.live._store._watcher.is_running}  # type: ignore[union-attr]
                told["free"] = not guard._runtime.live.snapshot._lock.locked()
                os.write(theirs, json.dumps(told).encode())
                os._exit(0)
        os.waitpid(child, 0)
        os.close(theirs)
        with os.fdopen(ours) as answers:
            assert json.loads(answers.read()) == {"health": False, "ran": True, "free": True}
