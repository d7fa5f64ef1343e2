"""
Where are checkpoints kept, so that whoever can change the events cannot change them too? A file, a pipe, an address.

In come signed checkpoints, one line each; out they go to a place that the operator chose. Whatever does not take one
raises, and it is brought again.
"""

from __future__ import annotations

import os
import sys
from http.client import HTTPException
from pathlib import Path
from typing import BinaryIO, Final, Protocol, runtime_checkable
from urllib.request import Request

from gatewright.middleware.opener import open_way
from gatewright.policy.errors import GatewrightError

__all__ = ["Anchor", "AnchorUnavailable", "FileAnchor", "HttpAnchor", "StreamAnchor", "open_anchor"]

_TIMEOUT: Final = 5.0


class AnchorUnavailable(GatewrightError):
    """A checkpoint was not taken."""

    code = "anchor_unavailable"

    def __str__(self) -> str:
        return "the anchor took no checkpoint (is its place writable, its address reachable?)"


@runtime_checkable
class Anchor(Protocol):
    """Keeps checkpoints where the writer of events cannot change them. One thread at a time."""

    def take(self, checkpoint: bytes, /) -> None:
        """
        Keep *checkpoint*, one line of JSON without its line feed; return once it is kept.

        Raises:
            AnchorUnavailable: it is not kept.
        """


class FileAnchor:
    """A file that is only ever appended to, synced each time: on another disk, or one that only root may shorten."""

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path)

    def take(self, checkpoint: bytes, /) -> None:
        """Append *checkpoint*."""
        try:
            with self.path.open("ab", buffering=0) as stream:
                stream.write(checkpoint + b"\n")
                os.fsync(stream.fileno())
        except OSError as error:
            raise AnchorUnavailable from error


class StreamAnchor:
    """An open stream, such as standard output, whose reader keeps what comes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def take(self, checkpoint: bytes, /) -> None:
        """Write *checkpoint*."""
        try:
            self._stream.write(checkpoint + b"\n")
            self._stream.flush()
        except (OSError, ValueError) as error:
            raise AnchorUnavailable from error


class HttpAnchor:
    """An address that takes each checkpoint as the body of a POST and answers 2xx once it is kept."""

    def __init__(self, url: str, *, timeout: float = _TIMEOUT) -> None:
        self._opener = open_way(url, "an anchor")
        self._url = url
        self._timeout = timeout

    def take(self, checkpoint: bytes, /) -> None:
        """Send *checkpoint*."""
        headers = {"Content-Type": "application/json", "User-Agent": "gatewright"}
        request = Request(self._url, data=checkpoint, headers=headers, method="POST")  # noqa: S310 - its scheme was checked
        try:
            with self._opener.open(request, timeout=self._timeout):
                pass
        except (OSError, HTTPException, ValueError) as error:
            raise AnchorUnavailable from error


def open_anchor(place: str | Path) -> Anchor:
    """Return the anchor at *place*: `-` or `stdout`, an https URL, or a file by its path."""
    text = str(place)
    if text in ("-", "stdout"):
        return StreamAnchor(sys.stdout.buffer)
    return HttpAnchor(text) if "://" in text else FileAnchor(place)
