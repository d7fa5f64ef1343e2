"""
Commands about revisions and versions of a policies folder: go back to an earlier one, and migrate to a newer format.

In come a folder and what is kept beside it; out come lists, and a folder that was put back. Running guards see it as
they see any change.
"""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Annotated

import typer

from gatewright.middleware.places import open_revisions
from gatewright.policy.editions import CURRENT, outdated_files
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.revisions import put_back
from gatewright.policy.source import read_folder

__all__ = ["migrate", "rollback"]

_Folder = Annotated[Path, typer.Option("--policies", help="The policies folder.")]


def rollback(
    revision: Annotated[str | None, typer.Argument(help="The revision, or its first six characters or more.")] = None,
    policies: _Folder = Path("policies"),
) -> None:
    """Put the policies folder back to an earlier revision; without one, list those that are kept, the newest first."""
    revisions = open_revisions(policies, is_beside=True)
    if revision is None:
        now = _revision_of(policies)
        for kept in revisions.kept():
            at = dt.datetime.fromtimestamp(kept.at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            print(f"{kept.revision}  {at}{'  now' if kept.revision == now else ''}")
        return
    changed = put_back(policies, revisions.source_of(revision))
    for path in changed:
        print(path)
    print(f"{policies} is as it was: {len(changed)} files changed; commit it", file=sys.stderr)


def migrate(policies: Annotated[Path, typer.Argument(help="The policies folder.")] = Path("policies")) -> None:
    """Bring the policies folder to the newest format: there is one so far, so this says whether all files are it."""
    files, findings = outdated_files(read_folder(policies))
    for finding in findings:
        print(finding)
    if findings:
        raise typer.Exit(1)
    print(f"{files} files are of format {CURRENT}, the newest; nothing to migrate", file=sys.stderr)


def _revision_of(policies: Path) -> str:
    try:
        return read_folder(policies).digest
    except PolicyInvalid:
        return ""
