"""
Has anybody changed the events? A second opinion on `gatewright events verify` that shares no code with it.

    python verify_events.py --anchor checkpoints.jsonl --key 1a2b3c4d=<64 hex digits> events.db ledger.db

Needs the standard library and, for signatures, `cryptography`; written from docs/tamper-evidence.md alone. Exit codes:
0 clean, 1 flaws, 2 could not run.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

PREFIX = re.compile(
    rb'\{"_chain":"([a-z]+-[0-9a-f]{32})","_hash":"([0-9a-f]{64})","_position":([0-9]+),"_prev":"([0-9a-f]{64})",'
)
ROWS = "SELECT chain, position, prev, hash, line, at, call, interaction FROM event_line ORDER BY id"
Row = tuple[str, int, bytes, bytes, bytes, tuple[str, str | None, str | None] | None]


def file_rows(path: Path) -> Iterator[Row | None]:
    """Lines of a file of JSON lines; None for one without a link."""
    with path.open("rb") as stream:
        for text in stream:
            found = PREFIX.match(text)
            if not text.endswith(b"}\n"):
                continue  # a full disk took a part of it
            if found is None:
                yield None
            else:
                chain, own, position, prev = (group.decode() for group in found.groups())
                line = b"{" + text[found.end() : -1]
                yield chain, int(position), bytes.fromhex(prev), bytes.fromhex(own), line, None


def store_rows(path: Path) -> Iterator[Row]:
    """Lines of a SQLite store, opened for reading alone."""
    connection = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)
    try:
        for chain, position, prev, own, line, at, call, interaction in connection.execute(ROWS):
            yield chain, position, prev, own, line, (at, call, interaction or call)
    finally:
        connection.close()


def read_anchor(path: Path, keys: dict[str, bytes]) -> tuple[dict[tuple[str, int], list[tuple[str, bool]]], list[str]]:
    """Checkpoints by chain and count, and what is wrong with their signatures."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    wanted: dict[tuple[str, int], list[tuple[str, bool]]] = {}
    flaws = []
    for number, text in enumerate(path.read_bytes().splitlines(), 1):
        try:
            told = json.loads(text)
            name, _, signature = told["signature"].partition(".")
            state = "closed" if told["closed"] is True else "open"
            parts = ("gatewright checkpoint v1", told["chain"], told["count"], told["hash"], told["at"], state)
            signed = "".join(f"{part}\n" for part in parts).encode()
            Ed25519PublicKey.from_public_bytes(keys[name]).verify(bytes.fromhex(signature), signed)
            wanted.setdefault((told["chain"], told["count"]), []).append((told["hash"], state == "closed"))
        except (ValueError, KeyError, TypeError, AttributeError, InvalidSignature):
            flaws.append(f"forged_checkpoint in line {number} of the anchor")
    return wanted, flaws


class Verifier:
    """Follows every chain through all stores, and ticks off checkpoints."""

    def __init__(self, wanted: dict[tuple[str, int], list[tuple[str, bool]]]) -> None:
        self.wanted = wanted
        self.ends: dict[str, tuple[int, bytes]] = {}
        self.proven: dict[str, int] = {}
        self.closed: dict[str, int] = {}
        self.flaws: list[str] = []
        self.lines = self.events = 0

    def take(self, row: Row | None) -> None:
        """Hold the next stored line to its chain."""
        self.lines += 1
        if row is None:
            self.flaws.append(f"unlinked line, the {self.lines}th that was read")
            return
        chain, position, prev, own, line, filed = row
        count, before = self.ends.get(chain, (0, bytes(32)))
        if position < count:
            self.flaws.append(f"repeated {chain} {position}")
            return
        if position > count:
            self.flaws.append(f"missing {chain} {count}")
        elif prev != before or hashlib.sha256(b"%s\0%d\0%s%s" % (chain.encode(), position, prev, line)).digest() != own:
            self.flaws.append(f"changed {chain} {position}")
        else:
            whole = json.loads(line)
            self.events += len(whole["events"])
            told = whole["at"], whole["call"].get("id"), whole["call"].get("interaction")
            if filed is not None and repr(filed) != repr(told).replace(r"\x00", "\ufffd"):
                self.flaws.append(f"misfiled {chain} {position}")
        self.ends[chain] = position + 1, own
        held = self.wanted.get((chain, position + 1))
        if held and all(stated == own.hex() for stated, _ in held):
            del self.wanted[chain, position + 1]
            self.proven[chain] = position + 1
            if any(closed for _, closed in held):
                self.closed[chain] = position + 1

    def finish(self) -> None:
        """What the checkpoints say that the lines do not."""
        for chain, count in self.wanted:
            reached = self.ends.get(chain, (0, b""))[0]
            self.flaws.append(f"cut {chain} {reached}" if reached < count else f"rewritten {chain} {count - 1}")
        for chain, count in self.closed.items():
            if self.ends[chain][0] > count:
                self.flaws.append(f"after_end {chain} {count}")


def main() -> int:
    """Verify what is named, print, and say how it went."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stores", nargs="+", type=Path, help="SQLite stores, or files ending in .jsonl")
    parser.add_argument("--anchor", type=Path, help="the file that keeps the checkpoints")
    parser.add_argument("--key", action="append", default=[], help="id=public key in hex; may be said several times")
    asked = parser.parse_args()
    keys = {name: bytes.fromhex(value) for name, _, value in (key.partition("=") for key in asked.key)}
    wanted, flaws = read_anchor(asked.anchor, keys) if asked.anchor is not None else ({}, [])
    verifier = Verifier(wanted)
    for store in asked.stores:
        for row in file_rows(store) if store.suffix == ".jsonl" else store_rows(store):
            verifier.take(row)
    verifier.finish()
    for flaw in (*flaws, *verifier.flaws):
        print(flaw)
    behind = sum(end - verifier.proven.get(chain, 0) for chain, (end, _) in verifier.ends.items())
    print(f"{verifier.lines} lines, {verifier.events} events, {len(verifier.ends)} chains, {behind} lines unproven")
    return 1 if flaws or verifier.flaws else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError, sqlite3.Error) as error:
        sys.exit(print(f"could not run: {error}", file=sys.stderr) or 2)
