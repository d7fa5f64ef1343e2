"""`gatewright import`: the report, the files, and the exit codes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gatewright.cli import main as command
from gatewright.policy.dialect import check_schema


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["gatewright", "import", *arguments])
    with pytest.raises(SystemExit) as ended:
        command.main()
    return int(ended.value.code or 0)


def listed(folder: Path, *tools: Any) -> str:
    """A file that holds *tools*."""
    path = folder / "tools.json"
    path.write_text(json.dumps(tools), "utf-8")
    return str(path)


def test_a_list_is_reported_and_written(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """One file a tool, each of which registers as it stands; exit 0."""
    file = listed(tmp_path, {"name": "a.b", "description": "Do.", "parameters": {"type": "dict"}})
    assert run(monkeypatch, file, "--write", str(tmp_path / "schemas")) == 0
    assert "a.b#/type: 'dict' is written 'object' (same)" in capsys.readouterr().out
    schema = json.loads((tmp_path / "schemas" / "a.b.json").read_text("utf-8"))
    assert check_schema(schema, where="a.b") == schema


def test_a_tool_that_cannot_be_taken_is_exit_one(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """So is a list without any."""
    assert run(monkeypatch, listed(tmp_path, {"name": "a", "parameters": {"type": "array"}})) == 1
    assert "a#/type: not_an_object" in capsys.readouterr().out
    assert run(monkeypatch, listed(tmp_path)) == 1


def test_what_is_no_json_is_exit_two(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    """In one line."""
    (tmp_path / "tools.json").write_text("{", "utf-8")
    for path in ("tools.json", "missing.json"):
        assert run(monkeypatch, str(tmp_path / path)) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
