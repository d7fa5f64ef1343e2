"""
Is this YAML node of the kind it should be? Typed reading of nodes, where every unknown key and wrong kind is a finding.

In come nodes; out come plain Python values. A reader never stops at the first mistake.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Iterator
from typing import Final

from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings, Node
from gatewright.policy.model import Json
from gatewright.policy.nearest import is_slip, nearest

__all__ = ["NAME", "Reader"]

NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,128}")
"""The grammar of every name: of tools, roles, tenants, types, actions, entries, limits."""
_DURATION = re.compile(r"([0-9]{1,9})(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Reader:
    """Reads nodes into values and writes what is wrong into *findings*."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def mapping(
        self,
        node: Node | None,
        keys: Collection[str] | None = None,
        what: str = "mapping",
        need: Collection[str] = (),
    ) -> dict[str, Node]:
        """
        Return a mapping's nodes; a key that is not in *keys* is a finding, and so is a missing one of *need*.

        An absent node is empty; one that was left blank is a finding, since a truncated file reads so.
        """
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            hint = "write {} for none" if node.value is None else ""
            self.findings.add(node.place, "wrong_kind", f"{_a(what)} must be a mapping", hint)
            return {}
        strange = [] if keys is None else [name for name in node.value if name not in keys]
        for name in strange:
            self.unknown(node.keys[name], "unknown_key", name, keys or (), f"key of {_a(what)}")
        for name in need:
            if name not in node.value and not any(is_slip(other, name) for other in strange):
                self.findings.add(node.place, "missing_key", f"{_a(what)} must have {name!r}")
        return {name: value for name, value in node.value.items() if name not in strange} if strange else node.value

    def unknown(self, place: Place, code: str, name: str, known: Collection[str], what: str) -> None:
        """Add the finding that *name* is none of *known*, with the nearest as a hint."""
        self.findings.add(place, code, f"no such {what}: {name!r}", nearest(name, known))

    def items(self, node: Node | None, what: str = "list") -> list[Node]:
        """Return a list's nodes; None is empty."""
        if node is None:
            return []
        if isinstance(node.value, list):
            return node.value
        self.findings.add(
            node.place, "wrong_kind", f"{_a(what)} must be a list", "write [] for none" if node.value is None else ""
        )
        return []

    def text(self, node: Node | None, what: str = "value") -> str:
        """Return a non-empty string."""
        if node is None:
            return ""
        if isinstance(node.value, str) and node.value:
            return node.value
        self.findings.add(
            node.place, "wrong_kind", f"{_a(what)} must be a text", "quote it" if node.value is not None else ""
        )
        return ""

    def name(self, node: Node | None, what: str) -> str:
        """Return a name: 1 to 128 of letters, digits, `_`, `.` and `-`."""
        text = self.text(node, what)
        if node is not None and text and not NAME.fullmatch(text):
            self.findings.add(node.place, "bad_name", f"{_a(what)} is made of letters, digits, _ . and -, not {text!r}")
        return text

    def not_empty(self, node: Node | None, message: str) -> None:
        """Add a finding where a list is there and holds nothing."""
        if node is not None and node.value == []:
            self.findings.add(node.place, "empty_list", message)

    def names(self, node: Node | None, known: Collection[str] | None, code: str, what: str) -> tuple[str, ...]:
        """Return a list of names, each one of *known*."""
        return tuple(name for name, _ in self.placed_names(node, known, code, what))

    def placed_names(
        self, node: Node | None, known: Collection[str] | None, code: str, what: str
    ) -> Iterator[tuple[str, Place]]:
        """Yield the names of a list with their places."""
        seen: set[str] = set()
        for item in self.items(node, f"list of {what}s"):
            name = self.text(item, what)
            if known is not None and name and name not in known:
                self.unknown(item.place, code, name, known, what)
            elif name in seen:
                self.findings.add(item.place, "repeated", f"{name!r} stands here twice")
            elif name:
                seen.add(name)
                yield name, item.place

    def choice(self, node: Node | None, known: Collection[str], what: str) -> str:
        """Return a text that is one of *known*."""
        value = self.text(node, what)
        if node is not None and value and value not in known:
            self.unknown(node.place, "unknown_value", value, known, what)
            return ""
        return value

    def flag(self, node: Node | None, what: str) -> bool:
        """Return true or false."""
        if node is None:
            return False
        if isinstance(node.value, bool):
            return node.value
        self.findings.add(node.place, "wrong_kind", f"{what} is true or false")
        return False

    def count(self, node: Node | None, what: str, least: int = 0) -> int | None:
        """Return an integer of at least *least*."""
        if node is None:
            return None
        if isinstance(node.value, int) and not isinstance(node.value, bool) and node.value >= least:
            return node.value
        self.findings.add(node.place, "wrong_kind", f"{what} is an integer of at least {least}")
        return None

    def number(self, node: Node | None, what: str) -> float | None:
        """Return a number."""
        if node is None:
            return None
        if isinstance(node.value, int | float) and not isinstance(node.value, bool):
            return node.value
        self.findings.add(node.place, "wrong_kind", f"{what} is a number")
        return None

    def seconds(self, node: Node | None, what: str, least: int = 1) -> float | None:
        """Return a duration such as 15m in seconds, of at least *least*."""
        if node is None:
            return None
        found = _DURATION.fullmatch(node.value) if isinstance(node.value, str) else None
        if found is not None and int(found[1]) >= least:
            return float(int(found[1]) * _SECONDS[found[2]])
        self.findings.add(node.place, "bad_duration", f"{what} is a duration such as 30s, 15m, 4h or 1d")
        return None

    def day(self, node: Node | None, what: str) -> dt.date | None:
        """Return a day, written YYYY-MM-DD."""
        if node is None:
            return None
        try:
            if isinstance(node.value, str) and len(node.value) == 10:
                return dt.date.fromisoformat(node.value)
        except ValueError:
            pass
        self.findings.add(node.place, "bad_date", f"{what} is a day, written YYYY-MM-DD")
        return None

    def plain(self, node: Node | None) -> Json:
        """Return the node as JSON."""
        return None if node is None else node.plain()


def _a(what: str) -> str:
    return f"an {what}" if what[:1] in "aeiou" else f"a {what}"
