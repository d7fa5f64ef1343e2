"""
What do the stores tell of a call, or of an interaction? Read from outside, while the guard that writes them runs.

In come places of journals and ledgers; out come events and stories. Opens everything for reading alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from gatewright.middleware.history import call_events, interaction_events, is_answered, tell_call
from gatewright.middleware.journal import stored_lines
from gatewright.middleware.linked import written_lines
from gatewright.middleware.stores import StoreUnavailable, read_store

__all__ = ["RecordedLines", "show_call", "show_interaction"]


class RecordedLines:
    """The lines at *place*: a file of JSON lines, or a SQLite store by path or URL. Raises StoreUnavailable."""

    def __init__(self, place: str | Path) -> None:
        self._path = Path(place) if str(place).endswith(".jsonl") else None
        if self._path is not None and not self._path.is_file():
            raise StoreUnavailable(f"store {place}")
        self._engine = None if self._path is not None else read_store(place, f"store {place}")

    def iter_lines(self, *, call: str | None = None, interaction: str | None = None) -> Iterator[bytes]:
        """Give the lines, oldest first."""
        if self._engine is not None:
            return stored_lines(self._engine, "store", call, interaction)
        return written_lines(self._path or Path(), call, interaction)


def show_call(call: str, places: Iterable[str | Path]) -> str:
    """Return the story of *call* from the stores at *places*; raises LookupError where none of them knows it."""
    events = call_events(call, *map(RecordedLines, places))
    if not events:
        raise LookupError(call)
    return tell_call(events)


def show_interaction(interaction: str, places: Iterable[str | Path]) -> str:
    """Return one line a call of *interaction*, in the order they came in, pending ones marked as such."""
    calls = interaction_events(interaction, *map(RecordedLines, places))
    if not calls:
        raise LookupError(interaction)
    return "\n".join(_summary(call, tell_call(events), is_answered(events)) for call, events in calls.items())


def _summary(call: str, story: str, answered: bool) -> str:
    first, *_, last = story.splitlines()
    return f"{first.removeprefix(f'call {call}').strip()}  {last if answered else 'pending'}  {call}"
