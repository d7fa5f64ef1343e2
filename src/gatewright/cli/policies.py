"""
Commands about a policies folder: does it load, and does its catalog say what the application's tools are?

In come paths and the name of a guard; out come findings and differences. Only `catalog --write` changes anything.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated

import typer

from gatewright.middleware.accept import catalog_changes, write_catalog
from gatewright.middleware.guard import Guard
from gatewright.middleware.live import cataloguing
from gatewright.middleware.token import build_verifier
from gatewright.policy.errors import Finding, Misuse, PolicyInvalid
from gatewright.policy.folder import load_identity, load_policies
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
    changes = catalog_changes(folder, files)
    for path, change in changes.items():
        print(f"{change:<8} {path}")
    if not changes:
        print(f"the catalog says what the {len(files)} tools are", file=sys.stderr)
        return
    if not write:
        print("to accept the tools as they are, say --write", file=sys.stderr)
        raise typer.Exit(1)
    write_catalog(folder, files, changes)
    print(f"the catalog in {folder} says so now; commit it", file=sys.stderr)


def read_findings(folder: Path) -> tuple[Finding, ...]:
    """Return everything that is wrong with *folder*, warnings included; of one place only what the loader says."""
    try:
        source = read_folder(folder)
    except PolicyInvalid as error:
        return error.findings
    found = _loading_findings(source)
    places = {finding.place for finding in found if finding.severity == "error"}
    try:
        build_verifier(*load_identity(source), source.files.__getitem__)
    except PolicyInvalid as error:
        found += tuple(finding for finding in error.findings if finding.place not in places)
    return tuple(sorted(found))


def _loading_findings(source: Source) -> tuple[Finding, ...]:
    try:
        policies = load_policies(source)
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
