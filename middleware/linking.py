"""
How can a changed journal be told? Each line carries the hash of the one before: a chain a process and purpose.

In come lines in order; out come their positions and hashes. A chain shows edits, cuts and swaps inside it; only an
anchor kept elsewhere shows that its end was cut off or the whole rewritten.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from gatewright.middleware.identifiers import new_id

__all__ = ["Chain", "Head", "Link", "Listener", "link_hash"]

_START: Final = bytes(32)


@dataclass(frozen=True, slots=True)
class Link:
    """Where a line stands in its chain. *prev* is the hash of the line before, 32 zero bytes for the first."""

    chain: str
    position: int
    prev: bytes
    hash: bytes


@dataclass(frozen=True, slots=True)
class Head:
    """How far a chain is written: *count* lines, the last of which has *hash*."""

    chain: str
    count: int
    hash: bytes


Listener: TypeAlias = "Callable[[Head], None]"
"""Hears how far a chain is written, right after it was; never waits and never raises."""


class Chain:
    """
    The growing end of one chain. Used by one thread at a time; a forked child begins a chain of its own.

    *listener* hears of each end that is written.
    """

    __slots__ = ("listener", "name", "position", "prev")

    def __init__(self, purpose: Literal["calls", "effects"], listener: Listener | None = None) -> None:
        self.listener: Listener | None = listener
        self.name: str = f"{purpose}-{new_id()}"
        self.position: int = 0
        self.prev: bytes = _START

    def link(self, line: bytes) -> Link:
        """Return the link that *line* would have, without moving on."""
        return Link(self.name, self.position, self.prev, link_hash(self.name, self.position, self.prev, line))

    def advance(self, link: Link) -> None:
        """Move on past *link*; called once its line is written."""
        self.position = link.position + 1
        self.prev = link.hash

    def settle(self) -> None:
        """Tell that everything up to here is written; called once it is."""
        if self.listener is not None and self.position:
            self.listener(Head(self.name, self.position, self.prev))


def link_hash(chain: str, position: int, prev: bytes, line: bytes) -> bytes:
    """Return SHA-256 over chain name, NUL, position as decimal, NUL, the previous hash and the line."""
    return hashlib.sha256(b"%s\0%d\0%s%s" % (chain.encode(), position, prev, line)).digest()
