"""
Which cells has a row of each kind? The model's columns, and what a star or a pattern means in each of them.

In come a model's definitions; out comes a `Layout` that rows are read by. A row may leave out `until` and `ref`, or end
in them, whether or not the model names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["POLICY_COLUMNS", "Layout"]

POLICY_COLUMNS: Final = ("sub", "dom", "obj", "act", "eft", "until", "ref")
"""The columns of POLICY.md, for a folder without a model.conf."""
_OPTIONAL: Final = ("until", "ref")
_LINK: Final[Mapping[int, tuple[str, ...]]] = {2: ("member", "role"), 3: ("member", "role", "dom")}


@dataclass(frozen=True, slots=True)
class Layout:
    """
    The cells of rows.

    *columns* are those of a p row in the model's order, *links* the number of cells of each kind of g row that the
    model defines. In a field of *starless* no `*` means anything to the matcher, in one of *prefixless* none behind a
    separator does. *patterns* are the operators that take a field's cell as their pattern, keyMatch aside.
    """

    columns: tuple[str, ...] = POLICY_COLUMNS
    links: Mapping[str, int] = field(default_factory=lambda: {"g": 3, "g2": 2})
    starless: frozenset[str] = frozenset()
    prefixless: frozenset[str] = frozenset({"sub", "dom", "act"})
    patterns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_usual(self) -> bool:
        """Whether rows are read as POLICY.md writes them."""
        return (
            self.columns == POLICY_COLUMNS and not self.patterns and not self.starless and "obj" not in self.prefixless
        )

    def cells(self, kind: str) -> tuple[str, ...]:
        """The names of the cells of a row of *kind*, all of them; empty where the model defines no such row."""
        if kind == "p":
            named = self.columns
        elif kind not in self.links:
            return ()
        else:
            named = ("tool", "group") if kind == "g2" else _LINK[self.links[kind]]
        return (*named, *(name for name in _OPTIONAL if name not in named))

    def least(self, kind: str) -> int:
        """How many cells a row of *kind* has at least."""
        return max(number for number, name in enumerate(self.cells(kind), 1) if name not in _OPTIONAL)
