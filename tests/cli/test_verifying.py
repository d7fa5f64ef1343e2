"""What was changed in a journal is found, by the command and by the verifier that shares no code with it."""

from __future__ import annotations

import ast
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gatewright.cli.main import app
from gatewright.middleware.anchor import FileAnchor
from gatewright.middleware.checkpoint import Checkpoints
from gatewright.middleware.journal import JsonLinesJournal, StoreJournal, open_journal
from gatewright.middleware.linking import Chain
from gatewright.middleware.record import event_line
from gatewright.middleware.seal import KeyRing

TOOL = Path(__file__).parents[2] / "tools" / "verify_events.py"
KEYS = KeyRing.from_secret("a secret of thirty-two bytes, or more")
LINES = 20


def write(place: Path, anchor: Path, count: int = LINES, *, closing: bool = False) -> None:
    """Write *count* lines, a checkpoint in the middle and one at the end."""
    journal = open_journal(place)
    assert isinstance(journal, (JsonLinesJournal, StoreJournal))
    checkpoints = Checkpoints(KEYS, FileAnchor(anchor), lambda: 1.0, lines=10_000, seconds=3600)
    journal.listen(checkpoints.heed)
    for number in range(count):
        journal.append(event_line("policy_rejected", float(number), findings=number))
        if number == count // 2:
            journal.flush()
            checkpoints.bring()
    journal.close()
    checkpoints.close(closing=closing)


class Rows:
    """The stored lines of a journal as a list that can be tampered with, whatever holds them."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.is_file = place.suffix == ".jsonl"
        if self.is_file:
            self.rows: list[list[object]] = [[line] for line in place.read_bytes().splitlines(keepends=True)]
        else:
            with sqlite3.connect(place) as store:
                self.rows = [list(row) for row in store.execute("SELECT * FROM event_line ORDER BY id")]

    def save(self) -> None:
        """Put the rows where they came from, in their order."""
        if self.is_file:
            self.place.write_bytes(b"".join(bytes(row[0]) for row in self.rows))  # type: ignore[call-overload]
            return
        with sqlite3.connect(self.place) as store:
            store.execute("DELETE FROM event_line")
            for number, row in enumerate(self.rows, 1):
                store.execute(f"INSERT INTO event_line VALUES ({', '.join('?' * len(row))})", [number, *row[1:]])

    def flip(self, at: int) -> None:
        """Change one number of the line at *at*."""
        row = self.rows[at]
        column = 0 if self.is_file else 6
        row[column] = bytes(row[column]).replace(b'"findings":', b'"findings":1')  # type: ignore[call-overload]


def flipped(rows: Rows, _: Rows) -> None:
    rows.flip(4)


def deleted(rows: Rows, _: Rows) -> None:
    del rows.rows[4]


def inserted(rows: Rows, _: Rows) -> None:
    rows.rows.insert(5, list(rows.rows[4]))
    rows.flip(5)


def reordered(rows: Rows, _: Rows) -> None:
    rows.rows[4], rows.rows[5] = rows.rows[5], rows.rows[4]


def duplicated(rows: Rows, _: Rows) -> None:
    rows.rows.append(list(rows.rows[4]))


def spliced(rows: Rows, others: Rows) -> None:
    rows.rows[4:6] = others.rows[4:6]


def shortened(rows: Rows, _: Rows) -> None:
    del rows.rows[-3:]


def replaced(rows: Rows, others: Rows) -> None:
    rows.rows = others.rows


CLASSES: tuple[Callable[[Rows, Rows], None], ...] = (
    flipped, deleted, inserted, reordered, duplicated, spliced, shortened, replaced,
)  # fmt: skip


def by_command(place: Path, anchor: Path | None) -> tuple[int, str]:
    """Ask `gatewright events verify`."""
    arguments = ["events", "verify", "--from", str(place), *asked(anchor)]
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.output


def by_tool(place: Path, anchor: Path | None) -> tuple[int, str]:
    """Ask the verifier that shares no code, in an interpreter that cannot see ours."""
    command = [sys.executable, "-I", str(TOOL), *asked(anchor), str(place)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def asked(anchor: Path | None) -> list[str]:
    keys = [part for name, key in KEYS.public_keys().items() for part in ("--key", f"{name}={key.hex()}")]
    return [] if anchor is None else ["--anchor", str(anchor), *keys]


VERIFIERS = (by_command, by_tool)


@pytest.fixture(params=["events.jsonl", "events.db"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A journal of 20 lines with its anchor, and another one beside it."""
    write(tmp_path / request.param, tmp_path / "anchor")
    write(tmp_path / f"other-{request.param}", tmp_path / "other-anchor")
    return tmp_path / str(request.param)


@pytest.mark.parametrize("verify", VERIFIERS)
def test_what_nobody_changed_has_no_flaw(place: Path, verify: Callable[..., tuple[int, str]]) -> None:
    """Both verifiers count the same, and say that all of it is proven."""
    code, output = verify(place, place.parent / "anchor")
    assert code == 0, output
    assert "20 lines, 20 events, 1 chains" in output
    assert "0 lines" in output


@pytest.mark.parametrize("verify", VERIFIERS)
@pytest.mark.parametrize("tamper", CLASSES, ids=lambda each: each.__name__)
def test_every_class_of_tampering_is_found(
    place: Path, tamper: Callable[[Rows, Rows], None], verify: Callable[..., tuple[int, str]]
) -> None:
    """Eight of eight classes, in a file and in SQLite, given the anchor."""
    rows = Rows(place)
    tamper(rows, Rows(place.with_name(f"other-{place.name}")))
    rows.save()
    code, output = verify(place, place.parent / "anchor")
    assert code == 1, output


@pytest.mark.parametrize("verify", VERIFIERS)
@pytest.mark.parametrize("tamper", CLASSES[:5], ids=lambda each: each.__name__)
def test_edits_inside_a_chain_are_found_without_an_anchor(
    place: Path, tamper: Callable[[Rows, Rows], None], verify: Callable[..., tuple[int, str]]
) -> None:
    """Nothing but the chain is needed for what does not move its end."""
    rows = Rows(place)
    tamper(rows, Rows(place.with_name(f"other-{place.name}")))
    rows.save()
    assert verify(place, None)[0] == 1


@pytest.mark.parametrize("verify", VERIFIERS)
def test_a_history_rewritten_as_a_whole_is_found_by_the_anchor(
    tmp_path: Path, verify: Callable[..., tuple[int, str]]
) -> None:
    """Whoever can write the store can link a new history, with the old chain's name; the checkpoint stays."""
    place, anchor = tmp_path / "events.jsonl", tmp_path / "anchor"
    write(place, anchor)
    name = place.read_bytes().split(b'"', 4)[3].decode()
    place.unlink()
    forger = JsonLinesJournal(place)
    forger._chain = Chain("calls")
    forger._chain.name = name
    for number in range(LINES):
        forger.append(event_line("policy_rejected", float(number), findings=0))
    forger.close()
    assert verify(place, None)[0] == 0
    code, output = verify(place, anchor)
    assert (code, output.count("rewritten")) == (1, 2)


@pytest.mark.parametrize("verify", VERIFIERS)
def test_lines_after_a_signed_end_are_found(tmp_path: Path, verify: Callable[..., tuple[int, str]]) -> None:
    """A guard that was closed says that nothing more comes."""
    place, anchor = tmp_path / "events.jsonl", tmp_path / "anchor"
    write(place, anchor, closing=True)
    assert verify(place, anchor)[0] == 0
    last = Rows(place).rows[-1][0]
    assert isinstance(last, bytes)
    name, hash = last.split(b'"')[3].decode(), bytes.fromhex(last.split(b'"')[7].decode())
    forger = JsonLinesJournal(place)
    forger._chain.name, forger._chain.position, forger._chain.prev = name, LINES, hash
    forger.append(event_line("policy_rejected", 99.0, findings=0))
    forger.close()
    code, output = verify(place, anchor)
    assert (code, "after_end" in output) == (1, True)


@pytest.mark.parametrize("verify", VERIFIERS)
def test_a_forged_checkpoint_is_found(place: Path, verify: Callable[..., tuple[int, str]]) -> None:
    """A checkpoint whose count was changed is signed by nobody, and neither is a line that is none."""
    anchor = place.parent / "anchor"
    anchor.write_bytes(anchor.read_bytes().replace(b'"count":20', b'"count":19') + b"[]\n")
    code, output = verify(place, anchor)
    assert (code, output.count("forged_checkpoint")) == (1, 2)


@pytest.mark.parametrize("verify", VERIFIERS)
def test_a_row_filed_under_another_call_is_found(tmp_path: Path, verify: Callable[..., tuple[int, str]]) -> None:
    """What a store indexes a line by is held to what the line says."""
    place = tmp_path / "events.db"
    write(place, tmp_path / "anchor")
    with sqlite3.connect(place) as store:
        store.execute("UPDATE event_line SET call = 'x' WHERE id = 3")
    code, output = verify(place, tmp_path / "anchor")
    assert (code, "misfiled" in output) == (1, True)


def test_a_tail_behind_the_last_checkpoint_is_told_as_unproven(tmp_path: Path) -> None:
    """What is younger than the last checkpoint can be cut off unseen, so it is counted."""
    place, anchor = tmp_path / "events.jsonl", tmp_path / "anchor"
    write(place, anchor)
    anchor.write_bytes(anchor.read_bytes().splitlines(keepends=True)[0])
    for verify in VERIFIERS:
        code, output = verify(place, anchor)
        assert (code, "9 lines" in output) == (0, True)


def test_an_anchor_without_a_key_and_a_place_without_a_store_cannot_be_verified(place: Path) -> None:
    """What cannot be checked is never called clean."""
    runner = CliRunner()
    assert runner.invoke(app, ["events", "verify", "--from", str(place), "--anchor", "nowhere"]).exit_code != 0
    anchor = str(place.parent / "anchor")
    assert runner.invoke(app, ["events", "verify", "--from", str(place), "--anchor", anchor]).exit_code != 0
    shutil.rmtree(place.parent)
    assert runner.invoke(app, ["events", "verify", "--from", str(place)]).exit_code != 0


def test_the_second_verifier_is_short_and_shares_no_code() -> None:
    """At most 150 lines, and nothing of ours is imported."""
    text = TOOL.read_text()
    assert len(text.splitlines()) <= 150
    imported = {
        name.name if isinstance(node, ast.Import) else str(node.module)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    }
    assert not any(name.startswith("gatewright") for name in imported)
