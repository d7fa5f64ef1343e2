"""
Has anybody changed the events? Stores held to their chains, and chains to the checkpoints of an anchor.

In come places of stores, an anchor's file and public keys; out come flaws, a line each, and what was looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer

from gatewright.middleware.attest import Attestation, Linked, attest, linked_rows, linked_texts, read_checkpoints
from gatewright.middleware.places import EVENTS, LEDGER
from gatewright.middleware.seal import PublicKeys
from gatewright.middleware.stores import StoreUnavailable, read_store
from gatewright.policy.errors import Misuse

__all__ = ["verify"]

_Places = Annotated[list[str] | None, typer.Option("--from", help="A journal or ledger; may be said several times.")]
_Anchor = Annotated[Path | None, typer.Option(help="The file that keeps the checkpoints.")]
_Keys = Annotated[list[str] | None, typer.Option("--key", help="ID=HEX of a public key; may be said several times.")]


def verify(places: _Places = None, anchor: _Anchor = None, keys: _Keys = None) -> None:
    """Say whether the events are as they were written; without an anchor, only whether their chains hold together."""
    stores: list[str | Path] = [*places] if places else [place for place in (EVENTS, LEDGER) if place.exists()]
    if not stores:
        raise Misuse("there is no journal here", "say --from PATH, once for each store")
    checkpoints = None
    if anchor is not None:
        if not anchor.is_file():
            raise StoreUnavailable(f"anchor {anchor}")
        checkpoints = read_checkpoints(anchor, _public(keys).is_signed)
    found = attest(_lines(stores), checkpoints)
    for flaw in found.flaws:
        print(f"{flaw.code:<17} {flaw.chain} {flaw.position}".rstrip())
    print(_summary(found))
    if found.flaws:
        raise typer.Exit(1)


def _public(keys: list[str] | None) -> PublicKeys:
    if not keys:
        raise Misuse("checkpoints cannot be checked without a public key", "say --key ID=HEX (KeyRing.public_keys)")
    try:
        pairs = [key.partition("=") for key in keys]
        return PublicKeys({name: bytes.fromhex(value) for name, _, value in pairs})
    except ValueError:
        pass
    raise Misuse("a key is ID=HEX", "KeyRing.public_keys() has them")


def _lines(stores: Iterable[str | Path]) -> Iterator[Linked | None]:
    for place in stores:
        if not str(place).endswith(".jsonl"):
            yield from linked_rows(read_store(place, f"store {place}"), f"store {place}")
        elif Path(place).is_file():
            yield from linked_texts(Path(place))
        else:
            raise StoreUnavailable(f"store {place}")


def _summary(found: Attestation) -> str:
    looked = f"{found.lines} lines, {found.events} events, {found.chains} chains, {found.checkpoints} checkpoints"
    if found.unproven is None:
        return f"{looked}; without an anchor a cut end and a history rewritten as a whole cannot be seen"
    return f"{looked}; {found.unproven} lines behind the last checkpoint of their chain"
