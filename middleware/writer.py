"""
How do lines get written without holding up the calls they tell of? A bounded queue, and one thread that writes batches.

In come lines from any thread; out they go in order, a batch at a time, to a function that writes them. A batch that
fails is kept and tried again; meanwhile the queue fills, and then says so. Never drops a line that it took.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from gatewright.policy.errors import GatewrightError

__all__ = ["BATCH", "JournalFull", "JournalUnavailable", "Writer"]

BATCH: Final = 1_024
_LIMIT: Final = 16_384
_LINGER: Final = 0.004
_RETRY: Final = 0.5
_log = logging.getLogger("gatewright.journal")
_writers: weakref.WeakSet[Writer] = weakref.WeakSet()


class JournalUnavailable(GatewrightError):
    """A line could not be taken; the call whose line it was must be answered `failed`, code `unavailable`."""

    code = "journal_unavailable"

    def __str__(self) -> str:
        return "the journal takes no lines (the cause is chained, or was logged when it was met)"


class JournalFull(JournalUnavailable):
    """The bounded queue is full: lines come faster than the store takes them, or it takes none."""

    code = "journal_full"

    def __str__(self) -> str:
        return "the journal's queue is full (its store is too slow, or takes nothing)"


class Writer:
    """
    A queue and the thread that empties it; the thread starts with the first line.

    Attributes:
        drained: how many lines have been written.
        failing: the last attempt to write failed, and the batch is being tried again.
    """

    def __init__(self, write: Callable[[Sequence[bytes]], None], limit: int = _LIMIT) -> None:
        self._write = write
        self._limit = limit
        self._closed = False
        self._begin()
        _writers.add(self)

    def _begin(self) -> None:
        self._queue: deque[bytes | threading.Event] = deque()
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._idle = False
        self._thread: threading.Thread | None = None
        self.drained: int = 0
        self.failing: bool = False

    @property
    def backlog(self) -> int:
        """How many lines are taken and not yet being written."""
        return len(self._queue)

    def append(self, line: bytes) -> None:
        """
        Take *line*.

        Raises:
            JournalFull: the queue is full. JournalUnavailable: the journal is closed.
        """
        if len(self._queue) >= self._limit:
            raise JournalUnavailable if self._closed else JournalFull
        if self._thread is None:
            self._start()
        self._queue.append(line)
        if self._idle:
            self._wake.set()

    def flush(self) -> None:
        """
        Wait until every line taken before is written.

        Raises:
            JournalUnavailable: the writer stopped, or writing fails at present.
        """
        if self._thread is None:
            return
        passed = threading.Event()
        self._queue.append(passed)
        self._wake.set()
        while not passed.wait(0.05):
            if self.failing or not self._thread.is_alive():
                raise JournalUnavailable

    def close(self) -> None:
        """Write what is left, trying twice at the most where writing fails, and end the thread."""
        with self._lock:
            self._closed = True
            self._limit = 0
            thread = self._thread
        self._stop.set()
        self._wake.set()
        if thread is not None:
            thread.join()

    def _start(self) -> None:
        with self._lock:
            if self._closed:
                raise JournalUnavailable
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="gatewright-journal", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while True:
            batch, passed = self._take()
            if batch and not self._written(batch):
                return
            for event in passed:
                event.set()
            if len(batch) == BATCH:
                continue
            if batch or passed:
                self._stop.wait(_LINGER)
            elif self._stop.is_set():
                return
            else:
                self._rest()

    def _take(self) -> tuple[list[bytes], list[threading.Event]]:
        batch: list[bytes] = []
        passed: list[threading.Event] = []
        while self._queue and len(batch) < BATCH:
            item = self._queue.popleft()
            if isinstance(item, bytes):
                batch.append(item)
            else:
                passed.append(item)
        return batch, passed

    def _written(self, batch: list[bytes]) -> bool:
        """Write *batch*, again and again until it succeeds; False where it never did, twice after the end."""
        left = 2
        while left:
            left -= self._stop.is_set()
            try:
                self._write(batch)
            except Exception:  # noqa: BLE001 - whatever it was, the lines are kept and calls are told when the queue is full
                if not self.failing:
                    _log.exception("the journal cannot be written; %d lines wait", len(batch) + len(self._queue))
                self.failing = True
            else:
                self.failing = False
                self.drained += len(batch)
                return True
            self._stop.wait(_RETRY)
        _log.error("the journal closed with %d lines unwritten", len(batch) + len(self._queue))
        return False

    def _rest(self) -> None:
        """Sleep until a line comes. `append` looks at `_idle` after it has queued, so no line is overlooked."""
        self._idle = True
        if not self._queue and not self._stop.is_set():
            self._wake.wait()
        self._idle = False
        self._wake.clear()


def _end() -> None:
    """Write what is queued when the process ends, also where nobody closed the journal."""
    for writer in tuple(_writers):
        writer.close()


atexit.register(_end)


def _reset() -> None:
    for writer in _writers:
        writer._begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)
