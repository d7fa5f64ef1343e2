"""
How far had each chain come, and who says so? Signed checkpoints, on their way to an anchor beside the calls.

In come the heads of chains as they are written; out go signed lines, every few lines and every few seconds. Never
waits in a call: a thread signs and brings, and what an anchor did not take is brought again.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import weakref
from collections.abc import Callable
from typing import Final

from gatewright.middleware.anchor import Anchor
from gatewright.middleware.linking import Head
from gatewright.middleware.record import stamp
from gatewright.middleware.seal import KeyRing

__all__ = ["LINES", "SECONDS", "Checkpoints", "statement"]

LINES: Final = 64
"""A checkpoint is due after so many lines of a chain: about 700 events, for the line of a read holds eleven."""

SECONDS: Final = 10.0
"""A checkpoint is due after so many seconds, where anything was written."""

_RETRY: Final = 1.0
_log = logging.getLogger("gatewright.anchor")


class Checkpoints:
    """
    Signs how far chains are written and brings that to *anchor*; `heed` is what chains tell.

    A forked child begins anew. What is written faster than the anchor takes checkpoints is in the next one.
    """

    def __init__(
        self, keys: KeyRing, anchor: Anchor, clock: Callable[[], float], *, lines: int = LINES, seconds: float = SECONDS
    ) -> None:
        self._keys = keys
        self._anchor = anchor
        self._clock = clock
        self._lines = lines
        self._seconds = seconds
        self._begin()
        _all.add(self)

    def _begin(self) -> None:
        self._heads: dict[str, Head] = {}
        self._signed: dict[str, int] = {}
        self._lock = threading.Lock()
        self._bringing = threading.Lock()
        self._due = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.failing: bool = False

    def heed(self, head: Head) -> None:
        """Note that a chain is written up to *head*."""
        self._heads[head.chain] = head
        if self._thread is None:
            self._start()
        if head.count - self._signed.get(head.chain, 0) >= self._lines:
            self._due.set()

    def bring(self, *, closing: bool = False) -> bool:
        """
        Sign the head of every chain that has grown and bring it to the anchor; return whether all were taken.

        *closing* says that nothing more comes of the calls, which is signed too; a write may still end.
        """
        with self._bringing:
            try:
                for head in tuple(self._heads.values()):
                    closed = closing and head.chain.startswith("calls-")
                    if closed or head.count > self._signed.get(head.chain, 0):
                        self._anchor.take(self._line(head, closed=closed))
                        self._signed[head.chain] = head.count
            except Exception:  # noqa: BLE001 - an anchor of the application's may raise anything; it is tried again
                if not self.failing:
                    _log.exception("the anchor takes no checkpoints; it is tried again")
                self.failing = True
                return False
            self.failing = False
        return True

    def close(self, *, closing: bool) -> None:
        """Bring what is left, once the chains are written to their ends, and end the thread."""
        self._stop.set()
        self._due.set()
        if self._thread is not None:
            self._thread.join()
        if not self.bring(closing=closing):
            _log.error("the last checkpoints were not taken by the anchor")

    def _start(self) -> None:
        with self._lock:
            if self._thread is None and not self._stop.is_set():
                self._thread = threading.Thread(target=self._run, name="gatewright-checkpoints", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._stop.is_set():
            self._due.wait(self._seconds)
            self._due.clear()
            if not self._stop.is_set() and not self.bring():
                self._stop.wait(_RETRY)

    def _line(self, head: Head, *, closed: bool) -> bytes:
        at = stamp(self._clock())
        told = {"at": at, "chain": head.chain, "closed": closed, "count": head.count, "hash": head.hash.hex(), "v": 1}
        signed = statement(head.chain, head.count, head.hash.hex(), at, closed=closed)
        whole = {**told, "signature": self._keys.sign(signed)}
        return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode()


def statement(chain: str, count: int, hash: str, at: str, *, closed: bool) -> bytes:
    """Return the bytes that are signed of a checkpoint; *hash* is in hexadecimal digits (docs/tamper-evidence.md)."""
    state = "closed" if closed else "open"
    return f"gatewright checkpoint v1\n{chain}\n{count}\n{hash}\n{at}\n{state}\n".encode()


_all: Final[weakref.WeakSet[Checkpoints]] = weakref.WeakSet()


def _forked() -> None:
    for checkpoints in _all:
        checkpoints._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
