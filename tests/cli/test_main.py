"""The command: exit codes, and one line instead of a traceback for a user's mistake."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TypeAlias

import pytest

from desk import ISSUER, policies
from gatewright import Guard
from gatewright.cli import main as command

Patch: TypeAlias = pytest.MonkeyPatch
Captured: TypeAlias = "pytest.CaptureFixture[str]"

APP = """\
from gatewright import Guard

guard = Guard({folder!r}, keys="k" * 32, watch=False)

@guard.tool("note.echo", kind="read", use_when="x", not_for="y")
def echo(text: str) -> str:
    \"\"\"{words}\"\"\"
    return text

def make():
    return guard

nothing = 7
"""
TOOLS = "tool: note.echo\nallow: [ { id: a, roles: [agent] } ]\n"
ROWS = "p, agent, *, note.echo, call, allow\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: Patch) -> Path:
    """A folder with policies and an application, and the working directory."""
    folder = tmp_path / "policies"
    for path, text in policies(ISSUER, tools=TOOLS, rows=ROWS).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    write_app(tmp_path, "Return a note.")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    return tmp_path


def write_app(home: Path, words: str) -> None:
    """Write the application."""
    (home / "desk_app.py").write_text(APP.format(folder=str(home / "policies"), words=words))


def run(monkeypatch: Patch, *arguments: str) -> int:
    """The exit code of one command."""
    sys.modules.pop("desk_app", None)
    monkeypatch.setattr(sys, "argv", ["gatewright", *arguments])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    with pytest.raises(SystemExit) as ended:
        command.main()
    code = ended.value.code
    return code if isinstance(code, int) else 0


def test_the_catalog_is_written_checked_and_accepted(home: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """New: 1; written: 0; the same: 0; changed: 1, by name; accepted again: 0."""
    assert run(monkeypatch, "catalog", "desk_app:guard") == 1
    assert "new      catalog/note.echo.json" in capsys.readouterr().out
    assert not (home / "policies" / "catalog").exists()
    assert run(monkeypatch, "catalog", "desk_app:make", "--write") == 0
    assert run(monkeypatch, "catalog", "desk_app:guard") == 0
    assert run(monkeypatch, "check") == 0
    write_app(home, "Return something else.")
    assert run(monkeypatch, "catalog", "desk_app:guard") == 1
    assert "changed  catalog/note.echo.json" in capsys.readouterr().out
    assert run(monkeypatch, "catalog", "desk_app:guard", "--write") == 0
    (home / "policies" / "catalog" / "note.gone.json").write_text("{}")
    assert run(monkeypatch, "catalog", "desk_app:guard", "--write") == 0
    assert [path.name for path in (home / "policies" / "catalog").iterdir()] == ["note.echo.json"]


def test_check_says_every_finding_with_its_place(home: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """Findings: 1; a folder that is not there: 2."""
    run(monkeypatch, "catalog", "desk_app:guard", "--write")
    (home / "policies" / "policy.csv").write_text(f"{ROWS}p, nobody, *, note.echo, call, maybe\n")
    capsys.readouterr()
    assert run(monkeypatch, "check", "policies") == 1
    assert "policy.csv:2:" in capsys.readouterr().out
    assert run(monkeypatch, "check", "nowhere") == 2


def test_check_says_what_is_wrong_with_profiles_beside_everything_else(
    home: Path, monkeypatch: Patch, capsys: Captured
) -> None:
    """One run shows the loader's findings and the verifier's; of one place it shows one."""
    run(monkeypatch, "catalog", "desk_app:guard", "--write")
    folder = home / "policies"
    (folder / "policy.csv").write_text(f"{ROWS}p, nobody, *, note.echo, call, allow\n")
    issuers = json.loads((folder / "identity.yaml").read_text())["issuers"]
    changed = {**issuers[0], "alias": "a/b", "leeway": "9h", "algorithms": ["none"], "keys": {"file": "absent.json"}}
    lines = [f"    {name}: {json.dumps(value)}\n" for name, value in changed.items()]
    (folder / "identity.yaml").write_text("issuers:\n  -\n" + "".join(lines))
    capsys.readouterr()
    assert run(monkeypatch, "check", "policies") == 1
    told = capsys.readouterr().out.splitlines()
    places = [line.split(": ")[0] for line in told]
    assert len(set(places)) == len(places)
    for wanted in ("policy.csv:2:4: unknown_role", "an alias", "leeway: must be a duration"):
        assert sum(wanted in line for line in told) == 1, (wanted, told)


@pytest.mark.parametrize(
    "arguments",
    [
        ("catalog", "no_such_module:guard"),
        ("catalog", "desk_app:no_such_name"),
        ("catalog", "desk_app:nothing"),
        ("catalog", "desk_app"),
        ("events", "show", "abc"),
        ("events", "show", "abc", "--from", "nowhere.db"),
        ("no-such-command",),
        ("check", "--no-such-option"),
    ],
)
def test_what_cannot_run_exits_with_2_and_no_traceback(
    home: Path, monkeypatch: Patch, capsys: Captured, arguments: tuple[str, ...]
) -> None:
    """One line on standard error."""
    assert run(monkeypatch, *arguments) == 2
    told = capsys.readouterr()
    assert told.err
    assert "Traceback" not in told.err
    assert told.out == ""


def test_the_story_of_a_call_is_told(home: Path, monkeypatch: Patch, capsys: Captured) -> None:
    """From the stores beside the policies; an id that is not there: 1."""
    with Guard(home / "policies", keys="k" * 32, watch=False) as guard:
        guard.call("note.echo", "{}", token=None, interaction="chat")
        call = guard.last_call_id or ""
    assert run(monkeypatch, "events", "show", call) == 0
    assert "answered unauthenticated" in capsys.readouterr().out
    assert run(monkeypatch, "events", "interaction", "chat") == 0
    assert call in capsys.readouterr().out
    assert run(monkeypatch, "events", "show", "0" * 32) == 1
