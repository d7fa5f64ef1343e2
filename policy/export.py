"""
What would stock Casbin read? The same model and rows, padded to the model's width and without what has ended.

In come policies and a day; out come the texts of model.conf and policy.csv. Stock Casbin over them, asked for each role
of a caller, decides as the engine does once its denies are put together: docs/decisions/casbin-operators.md says how.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator
from typing import Final

from gatewright.policy.errors import Finding, PolicyInvalid
from gatewright.policy.matcher import read_model
from gatewright.policy.model import Link, Membership, Rule
from gatewright.policy.policyset import PolicySet

__all__ = ["export_casbin"]

_UNREADABLE: Final = re.compile(r"[,()\[\]\"\n\r]|^#|^\s|\s$")
_HEAD: Final = """\
# Rows that count on {day}. Stock Casbin is asked for each role of a caller and for its subject; a deny of any denies.
# A * of a g row is every domain: add_named_domain_matching_func("g", lambda asked, row: row == "*" or asked == row).
"""


def export_casbin(policies: PolicySet, today: dt.date) -> dict[str, str]:
    """
    Return the files that stock Casbin reads, by name.

    Raises:
        PolicyInvalid: a row holds what stock Casbin has no quotes for. Leaving it out could leave out a deny.
    """
    columns = read_model(policies.model).columns
    rows: list[Rule | Link | Membership] = [*policies.rules, *policies.links, *policies.memberships]
    alive = [row for row in rows if row.until is None or today <= row.until]
    cells = [(row, _cells(row, columns)) for row in alive]
    findings = [*_unreadable(cells)]
    if findings:
        raise PolicyInvalid(findings)
    lines = "".join(f"{', '.join(texts).rstrip()}\n" for _, texts in cells)
    return {"model.conf": policies.model, "policy.csv": _HEAD.format(day=today.isoformat()) + lines}


def _cells(row: Rule | Link | Membership, columns: Iterable[str]) -> list[str]:
    if isinstance(row, Link):
        return ["g", row.member, row.role, row.dom]
    if isinstance(row, Membership):
        return ["g2", row.tool, row.group]
    until = "" if row.until is None else row.until.isoformat()
    texts = {"sub": row.sub, "dom": row.dom, "obj": row.obj, "act": row.act, "eft": row.eft, "until": until}
    return ["p", *(texts.get(column, row.ref) for column in columns)]


def _unreadable(cells: Iterable[tuple[Rule | Link | Membership, list[str]]]) -> Iterator[Finding]:
    for row, texts in cells:
        for text in texts:
            if _UNREADABLE.search(text):
                yield Finding(row.place, "not_for_casbin", f"stock Casbin cannot read the cell {text!r}")
