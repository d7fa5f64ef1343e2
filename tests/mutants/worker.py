"""
Which faults does the comparison notice? Run as a script, in a process of its own: faults in, one JSON line each out.

Each fault is put into a copy of policy/, the copy is imported, and the worlds and their neighbours are judged with it
until the reference disagrees. An empty name is the unharmed copy.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from mutants.faults import FAULTS, Fault  # noqa: E402
from worlds.neighbours import neighbours, situation_of  # noqa: E402
from worlds.shelf import worlds  # noqa: E402

OURS = ("gatewright", "worlds.product", "worlds.test_agreement")


def copy_with(fault: Fault | None, folder: Path) -> str:
    """Copy policy/ as a package of its own with *fault* in it; return what is wrong with the fault, if anything."""
    package = folder / "gatewright"
    shutil.copytree(ROOT / "policy", package / "policy")
    (package / "__init__.py").write_text("")
    if fault is not None:
        file = package / "policy" / fault.file
        text = file.read_text("utf-8")
        if text.count(fault.old) != 1:
            return f"the text of {fault.file} that this fault changes stands there {text.count(fault.old)} times"
        file.write_text(text.replace(fault.old, fault.new), "utf-8")
    return ""


def first_disagreement(folder: Path) -> str:
    """Import the copy in *folder* and judge with it until the reference disagrees."""
    for name in [name for name in sys.modules if name.startswith(OURS)]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    try:
        agreement = importlib.import_module("worlds.test_agreement")
        return next(_noticed(agreement), "")
    except Exception as problem:  # noqa: BLE001 - a fault that breaks the judge is noticed as well
        return f"raised {problem!r}"
    finally:
        sys.path.remove(str(folder))


def _noticed(agreement: ModuleType) -> Iterator[str]:
    """Every disagreement: the cases of all worlds first, then their neighbours."""
    own = sorted(worlds(), key=lambda world: world.name != "bank")
    for world in own:
        yield from agreement.disagreements(world, [situation_of(world, case) for case in world.cases])
    for world in own:
        yield from agreement.disagreements(world, neighbours(world, 1, 100))


def main() -> None:
    """Judge with every fault and with none; what is installed stays the same meanwhile and is looked up once."""
    importlib.metadata.packages_distributions = cache(importlib.metadata.packages_distributions)
    for fault in (None, *FAULTS):
        with tempfile.TemporaryDirectory() as folder:
            wrong = copy_with(fault, Path(folder))
            noticed = "" if wrong else first_disagreement(Path(folder))
        print(json.dumps({"name": fault.name if fault else "", "wrong": wrong, "noticed": noticed}), flush=True)


if __name__ == "__main__":
    main()
