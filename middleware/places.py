"""
Where do a guard's events, operations and keys live? What was given is opened; what was not gets a place by default.

In come what an application said and where its policies are; out come an open journal, an open ledger and a key ring.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from gatewright.middleware.journal import Journal, open_journal
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.seal import KeyRing
from gatewright.policy.errors import Misuse
from gatewright.policy.revisions import Revisions

__all__ = ["EVENTS", "LEDGER", "open_keys", "open_revisions", "open_stores"]

_FOLDER: Final = Path(".gatewright")
EVENTS: Final = _FOLDER / "events.db"
LEDGER: Final = _FOLDER / "ledger.db"
"""Where events and operations go by default, seen from the folder that the policies folder is in."""


def open_keys(keys: KeyRing | str | bytes | None) -> KeyRing:
    """Return the ring of *keys*: one, its secret, or None for keys that end with this process, with a warning."""
    if keys is None:
        return KeyRing.random()
    return keys if isinstance(keys, KeyRing) else KeyRing.from_secret(keys)


def open_stores(
    journal: Journal | str | Path | None,
    ledger: Ledger | str | Path | None,
    policies: Path | None,
    keys: KeyRing,
    clock: Callable[[], float],
) -> tuple[Journal, Ledger]:
    """
    Return an open journal and an open ledger.

    Without a place they are SQLite files in `.gatewright` beside the *policies* folder; for policies that are in
    memory, in memory.
    """
    if isinstance(journal, str | Path) or journal is None:
        journal = open_journal(journal if journal is not None else _default(policies, EVENTS, "memory"))
    if isinstance(ledger, str | Path) or ledger is None:
        ledger = Ledger(ledger if ledger is not None else _default(policies, LEDGER, ":memory:"), keys, clock=clock)
    return journal, ledger


def open_revisions(policies: Path | None, *, is_beside: bool) -> Revisions:
    """Return where earlier policies are kept: with the stores beside the *policies* folder, else in memory."""
    if policies is None or not is_beside:
        return Revisions()
    return Revisions(policies.resolve().parent / _FOLDER / "revisions")


def _default(policies: Path | None, place: Path, in_memory: str) -> str | Path:
    if policies is None:
        return in_memory
    found = policies.resolve().parent / place
    try:
        found.parent.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Misuse(f"no folder for events at {found.parent}", "give journal= and ledger=") from error
    return found
