"""
Is EFFECTIVE.txt of this very folder? Its last line names the revision that it was generated from.

In come a source and whether it is in production; out come findings. A half-copied folder has another revision than its
EFFECTIVE.txt says, so it never goes live.
"""

from __future__ import annotations

from typing import Final

from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings
from gatewright.policy.source import Source

__all__ = ["check_currency"]

_FILE: Final = "EFFECTIVE.txt"
_HINT: Final = "generate it again"


def check_currency(source: Source, findings: Findings, *, is_production: bool) -> None:
    """Find an EFFECTIVE.txt that is not of this revision; in production that keeps the folder from loading."""
    content = source.files.get(_FILE)
    if content is None:
        if is_production:
            findings.warn(Place(_FILE), "effective_missing", "a folder in production has one that is current", _HINT)
        return
    lines = content.decode("utf-8", "replace").splitlines()
    revision = lines[-1].split()[-1:] if lines else []
    if revision != [source.digest]:
        report = findings.add if is_production else findings.warn
        report(Place(_FILE, max(1, len(lines))), "effective_stale", "this is not of the folder as it is", _HINT)
