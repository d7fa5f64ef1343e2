"""
Is EFFECTIVE.txt of this very folder? Its last line names the revision that it was generated from.

In come a source and whether it is in production; out come findings. A half-copied folder has another revision than its
EFFECTIVE.txt says, so it never goes live.
"""

from __future__ import annotations

from typing import Final

from gatewright.policy.effective import EFFECTIVE_FILE, IN_PRODUCTION
from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings
from gatewright.policy.source import Source

__all__ = ["check_currency"]

_HINT: Final = "gatewright effective --write"


def check_currency(source: Source, findings: Findings, *, is_production: bool) -> None:
    """
    Find an EFFECTIVE.txt that is not of this revision; in production it keeps the folder from loading, as none does.

    A file that was generated for production counts as production's, whatever identity.yaml says by now: the line that
    said so may be what is cut off.
    """
    content = source.files.get(EFFECTIVE_FILE)
    if content is None:
        if is_production:
            findings.add(Place(EFFECTIVE_FILE), "effective_missing", "a folder in production has one", _HINT)
        return
    lines = content.decode("utf-8", "replace").splitlines()
    if lines[-1:] != [source.digest]:
        report = findings.add if is_production or lines[:1] == [IN_PRODUCTION] else findings.warn
        report(
            Place(EFFECTIVE_FILE, max(1, len(lines))), "effective_stale", "this is not of the folder as it is", _HINT
        )
