"""
What is the answer to one request? Allowed or not, and the rows that settled it, looked up when somebody wants to know.

In comes what was asked; out come immutable answers. Decides nothing itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from gatewright.policy.standing import Standing

__all__ = ["DENIED", "Asked", "Decision", "Explains", "Granted"]


class Explains(Protocol):
    """Whoever decided, asked once more for the rows."""

    def settling_rows(self, asked: Asked, allowed: bool) -> tuple[str, ...]:
        """The ids of the first rows that settled *asked*."""
        ...


Asked: TypeAlias = "tuple[Explains, Standing, int, frozenset[str], str, str]"
"""One request as it was decided: by whom, for whom, for which roles (as bits or as names), object and action."""


class Decision:
    """
    The answer to one request.

    *fault* names the exception where deciding failed, which is a denial (P1); else it is empty.
    """

    __slots__ = ("_asked", "_rows", "allowed", "fault")

    def __init__(self, allowed: bool, asked: Asked | None = None, fault: str = "") -> None:
        self.allowed: bool = allowed
        self.fault: str = fault
        self._asked = asked
        self._rows: tuple[str, ...] | None = None if asked else ()

    @property
    def rows(self) -> tuple[str, ...]:
        """The ids (file:line) of the rows that settled it, the first of the subject's and the first of the actor's."""
        if self._rows is None and self._asked is not None:
            self._rows = self._asked[0].settling_rows(self._asked, self.allowed)
        return self._rows or ()

    def __repr__(self) -> str:
        return f"Decision(allowed={self.allowed}, rows={self.rows}, fault={self.fault!r})"


@dataclass(frozen=True, slots=True)
class Granted:
    """What Casbin grants of one type: *ids* literally, and whether anything is granted by a pattern (*open*)."""

    ids: frozenset[str]
    open: bool


DENIED: Final = Decision(False)
"""No row allows it, and none needs to be named."""
