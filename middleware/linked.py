"""
How does a file of JSON lines carry the links of its lines? In front of each, where they sort and can be cut off.

In come lines with their links, or a file; out come a file's lines, or what was linked. Judges nothing (`attest` does).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gatewright.middleware.linking import Link
from gatewright.middleware.record import header_of

__all__ = ["is_of", "is_whole", "link_line", "split_link", "written_lines"]

_LINK: Final = re.compile(
    rb'\{"_chain":"([a-z]+-[0-9a-f]{32})","_hash":"([0-9a-f]{64})","_position":(\d+),"_prev":"([0-9a-f]{64})",'
)


def link_line(line: bytes, link: Link) -> bytes:
    """Return *line* as a file's line that carries its link; its keys stay sorted."""
    members = (link.chain.encode(), link.hash.hex().encode(), link.position, link.prev.hex().encode())
    return b'{"_chain":"%s","_hash":"%s","_position":%d,"_prev":"%s",' % members + line[1:] + b"\n"


def split_link(written: bytes) -> tuple[Link, bytes] | None:
    """Return the link that a file's line carries, and the line that was hashed; None where it carries none."""
    found = _LINK.match(written)
    if found is None:
        return None
    chain, hash, position, prev = (part.decode() for part in found.groups())
    return Link(chain, int(position), bytes.fromhex(prev), bytes.fromhex(hash)), b"{" + written[found.end() : -1]


def is_whole(written: bytes) -> bool:
    """Whether a file's line is whole: of others a full disk took a part, and the call that they tell of was refused."""
    return written.endswith(b"}\n")


def written_lines(path: Path, call: str | None, interaction: str | None) -> Iterator[bytes]:
    """Give the lines in a file of JSON lines without their links, oldest first."""
    with path.open("rb") as stream:
        for written in stream:
            parts = split_link(written)
            line = written[:-1] if parts is None else parts[1]
            if is_whole(written) and is_of(line, call, interaction):
                yield line


def is_of(line: bytes, call: str | None, interaction: str | None) -> bool:
    """Whether *line* is of this call and this interaction, where they are stated."""
    header = header_of(line)
    return (call is None or header.call == call) and (interaction is None or header.interaction == interaction)
