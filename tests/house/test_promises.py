"""docs/promises.md is true: every promise has a test, and every test cites a promise that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| (P\d+) \| .+? \| (.+?) \|", re.MULTILINE)


def promised() -> dict[str, list[str]]:
    """Promise → the test files its row names."""
    text = (ROOT / "docs/promises.md").read_text("utf-8")
    return {name: re.findall(r"`(tests/[^`]+)`", tests) for name, tests in ROW.findall(text)}


def cited() -> dict[str, set[str]]:
    """Promise → the test files that carry its mark."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.promise":
                name = ast.literal_eval(node.args[0])
                found.setdefault(name, set()).add(path.relative_to(ROOT).as_posix())
    return found


def test_every_promise_of_the_design_has_a_row() -> None:
    """P1 to P12, each once, in order."""
    assert list(promised()) == [f"P{number}" for number in range(1, 13)]


def test_no_test_cites_an_unknown_promise() -> None:
    """A mark is a claim; it must be one of ours."""
    assert set(cited()) <= set(promised())


@pytest.mark.parametrize("name", sorted(promised()))
def test_the_row_of_a_promise_names_the_tests_that_show_it(name: str) -> None:
    """A row names exactly the files that carry its mark, each once; a promise without a test fails here."""
    rows = promised()[name]
    assert rows, "a promise without a test"
    assert sorted(rows) == sorted(cited().get(name, set())), f"docs/promises.md, row {name}: name what carries its mark"


@pytest.mark.parametrize("name", sorted(promised()))
def test_each_promise_has_a_file_of_its_own_and_a_figure(name: str) -> None:
    """The first file that a row names is the promise's own, and the row says what was counted there."""
    assert promised()[name][0].startswith(f"tests/promises/test_p{int(name[1:]):02}_")
    row = next(
        line for line in (ROOT / "docs/promises.md").read_text("utf-8").splitlines() if line.startswith(f"| {name} |")
    )
    assert any(character.isdigit() for character in row.split(" | ")[3])
