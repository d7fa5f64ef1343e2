"""
The command about EFFECTIVE.txt: what do the policies come to, and does the committed file say so?

In comes a policies folder; out come the lines that differ, or the file itself with `--write`.
"""

from __future__ import annotations

import difflib
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from gatewright.policy.effective import EFFECTIVE_FILE, effective_text
from gatewright.policy.folder import load_policies
from gatewright.policy.source import read_folder

__all__ = ["effective"]


def effective(
    policies: Annotated[Path, typer.Argument(help="The policies folder.")] = Path("policies"),
    write: Annotated[bool, typer.Option("--write", help="Write EFFECTIVE.txt as it should be.")] = False,
) -> None:
    """Compare EFFECTIVE.txt with the entries that are open to each role; with --write, write it."""
    source = read_folder(policies)
    text = effective_text(load_policies(source, any_age=True))
    written = source.files.get(EFFECTIVE_FILE, b"").decode("utf-8", "replace")
    if text == written:
        print(f"{EFFECTIVE_FILE} of {policies} is current", file=sys.stderr)
        return
    print("\n".join(difflib.unified_diff(written.splitlines(), text.splitlines(), "written", "now", lineterm="", n=0)))
    if not write:
        print("to accept this, say --write", file=sys.stderr)
        raise typer.Exit(1)
    _replace(policies / EFFECTIVE_FILE, text)
    print(f"{EFFECTIVE_FILE} of {policies} says so now; commit it", file=sys.stderr)


def _replace(path: Path, text: str) -> None:
    """Write *text* to *path* as one step, so that nobody ever reads half of it."""
    descriptor, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    Path(name).chmod(0o644)
    Path(name).replace(path)
