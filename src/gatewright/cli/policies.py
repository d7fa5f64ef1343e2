"""
Commands about a policies folder: does it load, and does its catalog say what the application's tools are?

In come paths and the name of a guard; out come findings and differences. Only `catalog --write` changes anything.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from gatewright.middleware.guard import Guard
from gatewright.middleware.live import cataloguing
from gatewright.middleware.token import build_verifier
from gatewright.policy.errors import Finding, Misuse, PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.snapshot import compile_snapshot
from gatewright.policy.source import Source, read_folder

__all__ = ["catalog", "check"]

_Folder = Annotated[Path, typer.Argument(help="The policies folder.")]


def check(policies: _Folder = Path("policies")) -> None:
    """Say whether the policies folder loads, with every finding: file, line, column, code and what to do."""
    if not policies.is_dir():
        raise PolicyInvalid(read_findings(policies))
    findings = read_findings(policies)
    for finding in findings:
        print(finding)
    errors = sum(finding.severity == "error" for finding in findings)
    if errors:
        print(f"errors: {errors}; the policies do not load", file=sys.stderr)
        raise typer.Exit(1)
    print(f"{policies} loads", file=sys.stderr)


def catalog(
    guard: Annotated[str, typer.Argument(help="Where the guard is, as module:name; a function is called for it.")],
    policies: Annotated[Path | None, typer.Option(help="The policies folder, where the guard has another.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Accept the tools as they are: write their files.")] = False,
) -> None:
    """Compare the tools of an application with the catalog in its policies folder; with --write, accept them."""
    with cataloguing():
        found = find_guard(guard)
        folder = policies or found.folder
        if folder is None:
            raise Misuse("this guard's policies are in memory", "say --policies FOLDER")
        files = found.catalog()
        found.close()
    changes = differences(folder, files)
    for path, what in changes.items():
        print(f"{what:<8} {path}")
    if not changes:
        print(f"the catalog says what the {len(files)} tools are", file=sys.stderr)
        return
    if not write:
        print("accept them with --write, after reading what changed", file=sys.stderr)
        raise typer.Exit(1)
    _write(folder, files, changes)


def read_findings(folder: Path) -> tuple[Finding, ...]:
    """Return everything that is wrong with *folder*, warnings included."""
    try:
        source = read_folder(folder)
        policies = load_policies(source)
        build_verifier(policies.profiles, policies.names, source.files.__getitem__)
        compile_snapshot(policies)
    except PolicyInvalid as error:
        return error.findings
    return policies.warnings


def find_guard(where: str) -> Guard:
    """
    Return the guard at `module:name`.

    Raises:
        Misuse: there is none.
    """
    module_name, _, name = where.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise Misuse(f"the module {module_name} cannot be imported", str(error)) from error
    found = getattr(module, name, None)
    if callable(found) and not isinstance(found, Guard):
        found = found()
    if not isinstance(found, Guard):
        raise Misuse(f"{where} is no guard", "module:name of a Guard, or of a function that returns one")
    return found


def differences(folder: Path, files: Mapping[str, str]) -> dict[str, str]:
    """Return what differs between the catalog in *folder* and *files*: path → new, changed or gone."""
    there = _catalog_of(read_folder(folder))
    found = {}
    for path in sorted(there.keys() | files.keys()):
        if path not in there:
            found[path] = "new"
        elif path not in files:
            found[path] = "gone"
        elif there[path] != files[path].encode():
            found[path] = "changed"
    return found


def _catalog_of(source: Source) -> dict[str, bytes]:
    return {path: source.files[path] for path in source.under("catalog", ".json")}


def _write(folder: Path, files: Mapping[str, str], changes: Mapping[str, str]) -> None:
    for path, what in changes.items():
        target = folder / path
        if what == "gone":
            target.unlink()
            continue
        target.parent.mkdir(exist_ok=True)
        target.write_text(files[path], "utf-8")
    print(f"{len(changes)} files of {folder / 'catalog'} were written; commit them", file=sys.stderr)
