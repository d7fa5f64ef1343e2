"""
Who is told when policies change? The journal, the log, and whoever reads either: one event a load.

In come old and new pairs, or findings; out come events and log lines that say what to do about them. Decides nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Final

from gatewright.middleware.environment import environment
from gatewright.middleware.journal import Journal
from gatewright.middleware.live import Pair, quarantined
from gatewright.middleware.record import event_line
from gatewright.middleware.registration import Tool
from gatewright.policy.changes import count_changes
from gatewright.policy.errors import Finding, GatewrightError
from gatewright.policy.policyset import PolicySet

__all__ = ["PolicyWatch"]

_MOST_CODES: Final = 20
_REVISION: Final = re.compile(r"[0-9a-f]{64}\b")
_log = logging.getLogger("gatewright.policies")


class PolicyWatch:
    """Hears of loads of one guard's policies, and of tools that are not what their catalog file says."""

    def __init__(self, journal: Journal, now: Callable[[], float], tools: Mapping[str, Tool]) -> None:
        self._journal = journal
        self._now = now
        self._tools = tools
        self._told: set[tuple[str, str]] = set()
        self._kept = ""

    def loaded(self, old: Pair | None, new: Pair) -> None:
        """Record that *new* is in force, and tell of the tools that it quarantines."""
        policies = new.snapshot.policies
        self._kept = policies.revision
        hidden = quarantined(new.snapshot, self._tools)
        here = environment()
        self._append(
            "policy_loaded",
            gatewright=here.gatewright,
            os=here.os,
            previous=None if old is None else old.snapshot.revision,
            **_numbers(None if old is None else old.snapshot.policies, policies),
            python=here.python,
            quarantined=hidden or None,
            revision=policies.revision,
            rules=len(policies.rules),
            tools=len(policies.catalog),
            warnings=len(policies.warnings),
        )
        _log.info("policies %s are in force", policies.revision[:12])
        for name in hidden:
            self.tell_quarantined(self._tools[name])

    def rejected(self, findings: tuple[Finding, ...], looks: str) -> None:
        """Record that policies did not load, and where to look first."""
        first = findings[0] if findings else None
        self._append(
            "policy_rejected",
            codes=list(dict.fromkeys(finding.code for finding in findings))[:_MOST_CODES],
            findings=len(findings),
            first=None if first is None else str(first.place),
            kept=self._kept or None,
            revision=looks.partition(" ")[0] if _REVISION.match(looks) else None,
        )
        _log.error("policies did not load, %s stay in force; first: %s", self._kept[:12] or "none", first)

    def tell_quarantined(self, tool: Tool) -> None:
        """Say once that *tool* is hidden from everyone, and how to accept it."""
        told = (tool.name, tool.spec.digest)
        if told in self._told:
            return
        self._told.add(told)
        _log.warning(
            "the tool %s differs from its catalog file, or has none: it is hidden from everyone until it is accepted "
            "with: gatewright catalog MODULE:GUARD --write",
            tool.name,
        )

    def _append(self, kind: str, **fields: object) -> None:
        try:
            self._journal.append(event_line(kind, self._now(), None, **fields))  # type: ignore[arg-type]
        except GatewrightError as error:
            _log.error("%s could not be recorded: %s", kind, error.code)


def _numbers(old: PolicySet | None, new: PolicySet) -> dict[str, int]:
    """How many rows, entries and limits there are, and how many came, went and changed; what is 0 is left out."""
    changes = count_changes(old, new)
    found: dict[str, int] = {}
    for name, change in (("rows", changes.rows), ("entries", changes.entries), ("limits", changes.limits)):
        found[name] = change.now
        for how, count in (("added", change.added), ("removed", change.removed), ("changed", change.changed)):
            if count:
                found[f"{name}_{how}"] = count
    return found
