"""
Does the catalog in a policies folder say what the registered tools are? Its files compared, and written anew.

In come the files as they should be; out come differences. Writing them is accepting the tools as they are: it is done
by a person's command, never by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeAlias

from gatewright.middleware.registration import Tool
from gatewright.policy.catalog import render_spec, spec_path
from gatewright.policy.errors import Misuse
from gatewright.policy.source import read_folder

__all__ = ["Change", "accept", "catalog_changes", "catalog_files", "write_catalog"]

Change: TypeAlias = Literal["new", "changed", "gone"]


def catalog_files(tools: Mapping[str, Tool]) -> dict[str, str]:
    """Return the catalog file of each of *tools*, by its path in a policies folder."""
    return {spec_path(name): render_spec(tool.spec) for name, tool in tools.items()}


def catalog_changes(folder: Path, files: Mapping[str, str]) -> dict[str, Change]:
    """
    Return how the catalog in *folder* would have to change to be *files*, by path.

    Raises:
        PolicyInvalid: the folder cannot be read.
    """
    source = read_folder(folder)
    there = {path: source.files[path] for path in source.under("catalog", ".json")}
    changes: dict[str, Change] = {}
    for path in sorted(there.keys() | files.keys()):
        if path not in there:
            changes[path] = "new"
        elif path not in files:
            changes[path] = "gone"
        elif there[path] != files[path].encode():
            changes[path] = "changed"
    return changes


def write_catalog(folder: Path, files: Mapping[str, str], changes: Mapping[str, Change]) -> None:
    """Make *changes* in the catalog of *folder*."""
    for path, change in changes.items():
        target = folder / path
        if change == "gone":
            target.unlink()
            continue
        target.parent.mkdir(exist_ok=True)
        target.write_text(files[path], "utf-8")


def accept(folder: Path | None, files: Mapping[str, str]) -> tuple[str, ...]:
    """
    Make the catalog in *folder* what *files* are; return what changed.

    Raises:
        Misuse: the policies are not in a folder.
    """
    if folder is None:
        raise Misuse("these policies are in memory", "their catalog is the registered tools")
    changes = catalog_changes(folder, files)
    write_catalog(folder, files, changes)
    return tuple(changes)
