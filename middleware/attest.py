"""
Has anybody changed the events since they were written? Lines held to their chains, and chains to signed checkpoints.

In come stored lines with their links, and the lines of an anchor; out come findings, each with its chain and position.
Repairs nothing. `tools/verify_events.py` answers the same question without any of our code.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

import orjson
from sqlalchemy import Engine, select
from sqlalchemy.exc import DatabaseError

from gatewright.middleware.checkpoint import statement
from gatewright.middleware.linked import is_whole, split_link
from gatewright.middleware.linking import link_hash
from gatewright.middleware.record import Header, header_of
from gatewright.middleware.stores import StoreUnavailable, storable
from gatewright.middleware.tables import event_line
from gatewright.policy.errors import GatewrightError

__all__ = ["Attestation", "Checkpoint", "Flaw", "Linked", "attest", "linked_rows", "linked_texts", "read_checkpoints"]

_START: Final = bytes(32)
_BATCH: Final = 4_096

Code: TypeAlias = Literal[
    "unlinked", "changed", "missing", "repeated", "misfiled", "cut", "rewritten", "after_end", "forged_checkpoint"
]


class Linked(NamedTuple):
    """A stored line with its link. *filed* is what the store indexes it by, None where it indexes nothing."""

    chain: str
    position: int
    prev: bytes
    hash: bytes
    line: bytes
    filed: Header | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One line of an anchor; *is_signed* whether one of the given keys has signed it."""

    chain: str
    count: int
    hash: bytes
    closed: bool
    is_signed: bool


@dataclass(frozen=True, slots=True, order=True)
class Flaw:
    """Something is not as it was written: *position* counts the lines of *chain* from 0."""

    chain: str
    position: int
    code: Code


@dataclass(slots=True)
class Attestation:
    """What was found. *unproven* counts the lines behind the last checkpoint of their chain, None without an anchor."""

    flaws: list[Flaw] = field(default_factory=list)
    lines: int = 0
    events: int = 0
    chains: int = 0
    checkpoints: int = 0
    unproven: int | None = None


@dataclass(slots=True)
class _End:
    count: int = 0
    hash: bytes = _START
    proven: int = 0
    closed: int | None = None


def attest(lines: Iterable[Linked | None], checkpoints: Iterable[Checkpoint] | None) -> Attestation:
    """
    Hold *lines*, in the order in which they are stored, to their chains and to *checkpoints*.

    A line that has no link is None. Without checkpoints, an end that was cut off and a history that was rewritten as a
    whole cannot be seen.
    """
    found = Attestation()
    wanted: dict[tuple[str, int], list[Checkpoint]] = {}
    for each in checkpoints or ():
        found.checkpoints += 1
        if each.is_signed:
            wanted.setdefault((each.chain, each.count), []).append(each)
        else:
            found.flaws.append(Flaw(each.chain, each.count, "forged_checkpoint"))
    ends: dict[str, _End] = {}
    for line in lines:
        found.lines += 1
        if line is None:
            found.flaws.append(Flaw("", found.lines - 1, "unlinked"))
        else:
            _follow(line, ends.setdefault(line.chain, _End()), wanted, found)
    for chain, count in wanted:
        reached = ends.get(chain, _End()).count
        found.flaws.append(Flaw(chain, reached, "cut") if reached < count else Flaw(chain, count - 1, "rewritten"))
    for chain, end in ends.items():
        if end.closed is not None and end.count > end.closed:
            found.flaws.append(Flaw(chain, end.closed, "after_end"))
    found.chains = len(ends)
    if checkpoints is not None:
        found.unproven = sum(end.count - end.proven for end in ends.values())
    found.flaws.sort()
    return found


def _follow(line: Linked, end: _End, wanted: dict[tuple[str, int], list[Checkpoint]], found: Attestation) -> None:
    """Take *line* as the next of its chain, and note what speaks against that."""
    found.events += _events(line.line)
    if line.position != end.count:
        code: Code = "repeated" if line.position < end.count else "missing"
        found.flaws.append(Flaw(line.chain, line.position, code))
        if code == "repeated":
            return
    elif line.prev != end.hash or link_hash(line.chain, line.position, line.prev, line.line) != line.hash:
        found.flaws.append(Flaw(line.chain, line.position, "changed"))
    elif line.filed is not None and not _is_filed(line.line, line.filed):
        found.flaws.append(Flaw(line.chain, line.position, "misfiled"))
    end.count, end.hash = line.position + 1, line.hash
    held = wanted.get((line.chain, end.count))
    if held is not None and all(each.hash == line.hash for each in held):
        del wanted[line.chain, end.count]
        end.proven = end.count
        if any(each.closed for each in held):
            end.closed = end.count


def _is_filed(line: bytes, filed: Header) -> bool:
    """Whether a store indexes a line by what it says; NUL cannot be in an index."""
    told = header_of(line)
    interaction = None if told.interaction is None else storable(told.interaction)
    return (filed.at, filed.call, filed.interaction) == (told.at, told.call, interaction)


def _events(line: bytes) -> int:
    try:
        return len(orjson.loads(line)["events"])
    except (ValueError, LookupError, TypeError):
        return 0


def linked_texts(path: Path) -> Iterator[Linked | None]:
    """Give the lines of a file of JSON lines; None for one that has no link."""
    with path.open("rb") as stream:
        for written in stream:
            parts = split_link(written)
            if parts is not None and is_whole(written):
                link, line = parts
                yield Linked(link.chain, link.position, link.prev, link.hash, line, None)
            elif is_whole(written):
                yield None


def linked_rows(engine: Engine, what: str) -> Iterator[Linked]:
    """Give the lines of a store, in the order in which they were written; raises StoreUnavailable."""
    columns = event_line.c
    reading = select(
        columns.chain, columns.position, columns.prev, columns.hash, columns.line, columns.at, columns.call,
        columns.interaction,
    ).order_by(columns.id)  # fmt: skip
    try:
        with engine.connect().execution_options(reading=True, yield_per=_BATCH) as connection:
            for chain, position, prev, hash, line, at, call, interaction in connection.execute(reading):
                filed = Header(at, call, call if interaction is None else interaction)
                yield Linked(chain, position, bytes(prev), bytes(hash), bytes(line), filed)
    except DatabaseError as error:
        raise StoreUnavailable(what) from error


def read_checkpoints(path: Path, is_signed: Callable[[bytes, str], bool]) -> Iterator[Checkpoint]:
    """
    Give the checkpoints of an anchor's file; *is_signed* answers for a statement and a signature.

    A line that is no checkpoint is given as one that nobody signed.
    """
    with path.open("rb") as stream:
        for text in stream:
            try:
                yield _checkpoint(json.loads(text), is_signed)
            except (ValueError, LookupError, TypeError, AttributeError, GatewrightError):
                yield Checkpoint("", 0, b"", closed=False, is_signed=False)


def _checkpoint(told: dict[str, object], is_signed: Callable[[bytes, str], bool]) -> Checkpoint:
    chain, count, hash, closed = str(told["chain"]), told["count"], str(told["hash"]), told["closed"] is True
    if not isinstance(count, int):
        raise TypeError("a count is a number")
    signed = is_signed(statement(chain, count, hash, str(told["at"]), closed=closed), str(told["signature"]))
    return Checkpoint(chain, count, bytes.fromhex(hash), closed, signed)
