"""There is one copy of every module, and heavy things are imported where they belong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_bare_twin_is_imported() -> None:
    """Nothing imported `policy` or `middleware` bare, which would be a second copy with different classes."""
    assert not {"policy", "middleware"} & set(sys.modules)


def test_file_names_are_unique_over_both_packages() -> None:
    """A search for a file name gives one hit."""
    names = [path.name for folder in ("policy", "middleware") for path in (ROOT / folder).glob("*.py")]
    repeated = {name for name in names if names.count(name) > 1} - {"__init__.py"}
    assert repeated == set()


def test_no_two_test_files_are_imported_under_one_name() -> None:
    """Test folders without an `__init__` share one name space, in which pytest refuses the second of a name."""
    paths = [path for path in (ROOT / "tests").rglob("*.py") if not (path.parent / "__init__.py").exists()]
    names = [path.name for path in paths]
    assert {name for name in names if names.count(name) > 1} == set()


def test_no_file_is_longer_than_can_be_read() -> None:
    """Three hundred and fifty lines at the very most."""
    paths = [path for folder in ("policy", "middleware", "src/gatewright") for path in (ROOT / folder).rglob("*.py")]
    assert [path.name for path in paths if len(path.read_text("utf-8").splitlines()) > 350] == []


def test_importing_the_front_door_imports_no_framework() -> None:
    """Adapters and their frameworks are imported only when asked for."""
    script = "import sys, gatewright; print(sorted(m for m in sys.modules if m.split('.')[0] in sys.argv[1:]))"
    frameworks = ["mcp", "fastmcp", "agents", "langchain", "pydantic_ai", "anthropic", "openai", "fastapi", "starlette"]
    answer = subprocess.run([sys.executable, "-c", script, *frameworks], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


def test_the_house_imports_in_one_direction() -> None:
    """The layers of the design hold; casbin and jwt are imported in one file each."""
    linter = Path(sys.executable).with_name("lint-imports")
    answer = subprocess.run([linter], cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout
