"""
Is every file of a policies folder one that is read? A misspelt file name is a finding, never a file that is ignored.

In come the paths of a source; out come findings.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings
from gatewright.policy.model import Names
from gatewright.policy.nearest import nearest
from gatewright.policy.source import Source

__all__ = ["check_paths", "tenant_of"]

_FILES: Final = ("model.conf", "names.yaml", "policy.csv", "identity.yaml", "conditions.yaml", "EFFECTIVE.txt")
_FOLDERS: Final = ("catalog", "tools", "tenants", "tests")
_OF_TENANTS: Final = ("policy.csv", "limits.yaml", "settings.yaml")
_ENDINGS: Final = {"catalog": ".json", "tools": ".yaml", "tests": ".yaml"}
_PROSE: Final = (".md", ".txt", "LICENSE", "CODEOWNERS")


def check_paths(source: Source, names: Names, key_files: Collection[str], findings: Findings) -> None:
    """Find files that nothing reads; *key_files* are those that identity.yaml names, prose is free to lie anywhere."""
    for path in source.files:
        if path not in key_files and not path.endswith(_PROSE):
            _check_path(path, names, findings)


def tenant_of(path: str) -> str:
    """Return the tenant whose folder *path* lies in."""
    return path.split("/")[1]


def _check_path(path: str, names: Names, findings: Findings) -> None:
    top, *rest = path.split("/")
    if not rest:
        if top not in _FILES:
            _find(path, top, _FILES, "policy file", findings)
    elif top not in _FOLDERS:
        _find(path, top, _FOLDERS, "folder", findings)
    elif top == "tenants":
        _check_tenant_path(path, rest, names, findings)
    elif not path.endswith(_ENDINGS[top]):
        findings.add(
            Place(path), "unknown_file", f"files under {top}/ end in {_ENDINGS[top]}", "name it so, or move it"
        )
    elif top == "catalog" and len(rest) > 1:
        findings.add(Place(path), "unknown_file", "catalog/ holds no folders", "gatewright catalog writes its files")


def _check_tenant_path(path: str, rest: list[str], names: Names, findings: Findings) -> None:
    if len(rest) != 2 or rest[1] not in _OF_TENANTS:
        _find(path, rest[-1], _OF_TENANTS, "file of a tenant", findings)
    elif rest[0] not in names.tenants:
        hint = nearest(rest[0], names.tenants)
        findings.add(Place(path), "unknown_tenant", f"names.yaml declares no tenant {rest[0]!r}", hint)


def _find(path: str, name: str, known: Collection[str], what: str, findings: Findings) -> None:
    findings.add(Place(path), "unknown_file", f"no such {what}: {name!r}", nearest(name, known))
