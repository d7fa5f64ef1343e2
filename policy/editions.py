"""
Which format are policy files written in? Every YAML file may say so; there is one format so far.

In comes a source; out come findings for files of another format. Changes nothing: what a later format needs changed
will be a function here, from each format to the next.
"""

from __future__ import annotations

from typing import Final

from gatewright.policy.errors import Finding
from gatewright.policy.formats import Findings, Node, read_documents
from gatewright.policy.source import Source

__all__ = ["CURRENT", "check_edition", "outdated_files"]

CURRENT: Final = 1


def check_edition(document: Node, findings: Findings) -> None:
    """Find a document that says it is of a format which this version does not read."""
    version = document.value.get("format") if isinstance(document.value, dict) else None
    if version is None:
        return
    stated = version.value
    if isinstance(stated, bool) or not isinstance(stated, int | float) or stated < 1 or stated != int(stated):
        findings.add(version.place, "unknown_format", "a format is a whole number from 1", f"write format: {CURRENT}")
    elif stated > CURRENT:
        message = f"format {int(stated)} is newer than this version reads; it reads {CURRENT}"
        findings.add(version.place, "unknown_format", message, "install a newer gatewright")


def outdated_files(source: Source) -> tuple[int, tuple[Finding, ...]]:
    """Return how many YAML files there are, and what keeps any of them from being of the newest format."""
    findings = Findings()
    paths = [path for path in source.files if path.endswith(".yaml")]
    for path in paths:
        for document in read_documents(path, source.files[path], findings):
            check_edition(document, findings)
    return len(paths), tuple(findings.all)
