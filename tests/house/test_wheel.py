"""The wheel holds the tree, installs into a fresh environment and is completely typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = {"src/gatewright": "gatewright", "policy": "gatewright/policy", "middleware": "gatewright/middleware"}


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=True)


def tracked_modules() -> set[str]:
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *PACKAGES).stdout.split()
    found = set()
    for name in listed:
        for folder, package in PACKAGES.items():
            if name.startswith(f"{folder}/") and Path(name).suffix in (".py", ".typed", ".json"):
                found.add(package + name.removeprefix(folder))
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the source archive, which is built from the tree."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", out)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def fresh_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a new environment in which only the wheel and what it asks for are installed."""
    home = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", home)
    run(home / "bin/python", "-m", "pip", "install", "--quiet", wheel)
    return home / "bin/python"


def test_the_wheel_holds_exactly_the_tree(wheel: Path) -> None:
    """Every tracked module is in the wheel, by way of the source archive, and nothing else is."""
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == tracked_modules()


def test_the_wheel_imports_from_anywhere(fresh_python: Path, tmp_path: Path) -> None:
    """The front door opens in an environment that has never seen the tree."""
    script = "import gatewright, json, sys; print(json.dumps([gatewright.__file__, sorted(gatewright.__all__)]))"
    answer = subprocess.run([fresh_python, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    file, names = json.loads(answer.stdout)
    assert str(ROOT) not in file
    assert "Guard" in names


def test_the_command_is_installed(fresh_python: Path, tmp_path: Path) -> None:
    """`gatewright --help` answers."""
    answer = subprocess.run(
        [fresh_python.parent / "gatewright", "--help"], cwd=tmp_path, capture_output=True, check=True
    )
    assert b"gatewright" in answer.stdout.lower()


def test_the_installed_wheel_is_completely_typed(fresh_python: Path, tmp_path: Path) -> None:
    """Pyright knows the type of every public name."""
    pyright = Path(sys.executable).with_name("pyright")
    command = [pyright, "--verifytypes", "gatewright", "--ignoreexternal", "--outputjson"]
    paths = os.environ | {"PATH": f"{fresh_python.parent}{os.pathsep}{os.environ['PATH']}"}
    answer = subprocess.run(command, cwd=tmp_path, env=paths, capture_output=True, text=True, check=False)
    report = json.loads(answer.stdout)["typeCompleteness"]
    unknown = [symbol["name"] for symbol in report["symbols"] if symbol["isExported"] and not symbol["isTypeKnown"]]
    assert unknown == []
    assert report["completenessScore"] == 1
