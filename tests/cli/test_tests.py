"""gatewright test: 0 as expected, 1 with what differs, 2 where nothing could run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gatewright.cli.main import app
from refund_policies import SPECS, TEST, TEXTS

WORDS = {"description": "A tool.", "use_when": "Asked for.", "not_for": "Else."}
APP = """\
from pathlib import Path
from gatewright import Fact, Guard, Resource
POLICIES = Path(__file__).parent / "policies"
guard = Guard(POLICIES, watch=False)
@guard.tool("refund.create", kind="write", action="refund", use_when="u", not_for="n",
            facts={"amount_chf": Fact(lambda arguments: arguments["amount"], field="/amount")})
def refund(transaction_id: str, amount: float, note: str = "") -> None:
    "Refund."
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The policies of the case tests as a folder, catalog and tests included."""
    texts = {**TEXTS, "tests/desk.yaml": TEST}
    texts |= {f"catalog/{name}.json": json.dumps({"name": name, **WORDS, **spec}) for name, spec in SPECS.items()}
    for path, text in texts.items():
        (tmp_path / "policies" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "policies" / path).write_text(text)
    return tmp_path / "policies"


def run(*arguments: object) -> Result:
    """The command."""
    return CliRunner().invoke(app, ["test", *map(str, arguments)])


def edit(folder: Path, old: str, new: str) -> None:
    """Change the test file."""
    file = folder / "tests" / "desk.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))


def test_a_folder_that_decides_as_expected_ends_with_0(folder: Path) -> None:
    """And says how many cases that were."""
    result = run(folder)
    assert (result.exit_code, result.stdout) == (0, "69 cases in 1 files: 0 not as expected\n")


def test_what_differs_is_told_case_by_case_and_ends_with_1(folder: Path) -> None:
    """The file, the identity and the call, what was expected and what came."""
    edit(folder, "often: { status: rate_limited, stage: budget", "often: { status: ok, stage: state")
    result = run(folder)
    assert result.exit_code == 1
    assert "tests/desk.yaml: amy often" in result.stdout
    assert "status: expected 'ok', got 'rate_limited'" in result.stdout
    assert "stage: expected 'state', got 'budget'" in result.stdout


def test_the_same_as_json(folder: Path) -> None:
    """For other programs."""
    edit(folder, "    tiny: ok\n", "    tiny: not_found\n")
    result = run(folder, "--format", "json")
    told = json.loads(result.stdout)
    assert (result.exit_code, told["cases"], told["files"]) == (1, 69, 1)
    difference = {"what": "status", "expected": "not_found", "got": "ok"}
    assert told["failures"] == [{"file": "tests/desk.yaml", "case": "amy tiny", "differences": [difference]}]


def test_policies_that_do_not_load_end_with_2(folder: Path) -> None:
    """A test that did not run has not passed; neither is a folder that is not there a clean one."""
    edit(folder, "roles: [agent]", "roles: [agnet]")
    assert run(folder).exit_code == 2
    assert run(folder / "nowhere").exit_code == 2


def test_the_functions_of_an_application_are_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts that no call states come from there."""
    edit(folder, "amount: 150 }, facts: { amount_chf: 150 } }", "amount: 150 } }")
    assert run(folder).exit_code == 1
    (folder.parent / "desk_of_tests.py").write_text(APP)
    monkeypatch.syspath_prepend(str(folder.parent))
    result = run(folder, "--app", "desk_of_tests:guard")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "69 cases in 1 files: 0 not as expected")
