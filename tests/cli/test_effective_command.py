"""EFFECTIVE.txt on the command line: what differs is told, and written where it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import run
from desk import ISSUER, policies
from gatewright.policy.folder import load_policies
from gatewright.policy.source import read_folder
from worlds.shelf import world_named

ROWS = "p, agent, *, note.echo, call, allow\n"
TOOLS = "tool: note.echo\nallow: [ { id: a, roles: [agent] } ]\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in production that has no EFFECTIVE.txt yet."""
    root = tmp_path / "policies"
    texts = policies(ISSUER, tools=TOOLS, rows=ROWS)
    texts["catalog/note.echo.json"] = read_catalog()
    texts["identity.yaml"] = texts["identity.yaml"].replace("{", '{"production": true, ', 1)
    for path, text in texts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def read_catalog() -> str:
    """The catalog file of a tool without arguments."""
    spec = dict(world_named("bank").catalog["report.run"], name="note.echo", kind="read")
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    spec |= {"schema": schema, "result": None, "facts": {}, "resources": {}, "context": {}, "action": "read"}
    return json.dumps(spec)


def test_the_file_is_written_where_it_is_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Different: 1, and nothing is written; written: 0; current: 0."""
    assert run("effective", str(folder)) == 1
    assert "+agent note.echo a does not ask" in capsys.readouterr().out
    assert not (folder / "EFFECTIVE.txt").exists()
    assert run("check", str(folder)) == 1
    assert "effective_missing" in capsys.readouterr().out
    assert run("effective", str(folder), "--write") == 0
    assert run("effective", str(folder)) == 0
    assert run("check", str(folder)) == 0
    assert load_policies(read_folder(folder)).warnings == ()
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(".")) == []


def test_what_a_change_opens_is_in_the_difference(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reviewer reads one line more, or one less."""
    run("effective", str(folder), "--write")
    (folder / "policy.csv").write_text("p, *, *, note.echo, call, deny\n")
    capsys.readouterr()
    assert run("effective", str(folder)) == 1
    assert "-agent note.echo a does not ask" in capsys.readouterr().out
    assert run("check", str(folder)) == 1
    assert "effective_stale" in capsys.readouterr().out


def test_a_folder_with_errors_is_not_written(folder: Path) -> None:
    """It could not run."""
    (folder / "policy.csv").write_text("p, agent, *, note.eho, call, allow\n")
    assert run("effective", str(folder), "--write") == 2
    assert not (folder / "EFFECTIVE.txt").exists()
