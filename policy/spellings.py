"""
In which spellings may a row name an object? The object itself, and its prefixes with a star.

In comes an object's name; out comes a list, as long for a name that exists as for one that does not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gatewright.policy.model import Rule
from gatewright.policy.pacing import in_slices
from gatewright.policy.plan import Ways

__all__ = ["Spellings"]

_SEPARATORS: Final = ".:/-"


class Spellings:
    """The spellings under one matcher; *rules* say which separators stand before a star at all."""

    def __init__(self, ways: Ways, rules: Iterable[Rule]) -> None:
        ends = (
            {rule.obj[-2:-1] for rule in in_slices(rules) if rule.obj.endswith("*")}
            if ways.prefix or ways.star
            else set()
        )
        self._has_star = "" in ends
        self._separators = tuple(each for each in _SEPARATORS if each in ends and ways.prefix)

    def of(self, obj: str) -> list[str]:
        """
        Return the spellings of *obj*.

        >>> from gatewright.policy.errors import Place
        >>> row = Rule("a", "*", "refund.*", "call", "allow", None, "", Place("policy.csv"))
        >>> Spellings(Ways(prefix=True), [row]).of("refund.create")
        ['refund.create', 'refund.*']
        """
        names = [obj, "*"] if self._has_star else [obj]
        most = len(obj) - 1
        for separator in self._separators:
            at = obj.find(separator)
            while 0 <= at < most:
                names.append(f"{obj[: at + 1]}*")
                at = obj.find(separator, at + 1)
        return names
