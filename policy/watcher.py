"""
Did anything change? A thread that looks every so often, and sooner where the file system gives a hint.

In come a function that looks and a folder; nothing comes out. A hint only wakes the thread: what counts is what it
finds when it looks, so that a lost hint costs no more than a second.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import watchfiles

__all__ = ["Watcher"]

_DEBOUNCE_MS: Final = 50
_STEP_MS: Final = 50
_WAKES_MS: Final = 500
"""Milliseconds after which the thread that waits for hints sees whether it should end, or its folder is a new one."""

_log = logging.getLogger("gatewright.policies")


class Watcher:
    """
    Calls *look* every *poll_s* seconds on a daemon thread, and right after a hint about *hints*.

    *look* never raises. *pause* may be used by it to wait, and ends early once the watcher is to stop.
    """

    def __init__(self, look: Callable[[], object], poll_s: float, hints: Path | None) -> None:
        self._look = look
        self._poll_s = poll_s
        self._hints = hints
        self._stopped = threading.Event()
        self._woken = threading.Event()
        self._threads: list[threading.Thread] = []

    @property
    def is_running(self) -> bool:
        """Whether the thread is there."""
        return any(thread.is_alive() for thread in self._threads)

    def start(self) -> None:
        """Look from now on; does nothing where that is so already."""
        if self.is_running:
            return
        self._stopped, self._woken = threading.Event(), threading.Event()
        runs = [("gatewright-policies", self._run)]
        if self._hints is not None:
            runs.append(("gatewright-hints", self._listen))
        self._threads = [threading.Thread(target=run, name=name, daemon=True) for name, run in runs]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Look no more, and wait until the threads have ended."""
        self._stopped.set()
        self._woken.set()
        threads, self._threads = self._threads, []
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join()

    def forget(self) -> bool:
        """Say whether it ran, and forget its threads: in a process that was forked off there are none."""
        was_running, self._threads = bool(self._threads), []
        return was_running

    def pause(self, seconds: float) -> bool:
        """Wait *seconds*, less where the watcher is to stop; return whether it is."""
        return self._stopped.wait(seconds)

    def _run(self) -> None:
        stopped, woken = self._stopped, self._woken
        while not stopped.is_set():
            woken.wait(self._poll_s)
            woken.clear()
            if not stopped.is_set():
                self._look()

    def _listen(self) -> None:
        """Wake the other thread at every hint. Whatever goes wrong here costs the hints alone."""
        stopped, woken = self._stopped, self._woken
        while not stopped.is_set():
            try:
                for changes in self._changes(stopped):
                    if changes:
                        woken.set()
            except Exception as error:  # noqa: BLE001 - the poll goes on without hints
                _log.debug("no hints: %s", type(error).__name__)
            stopped.wait(self._poll_s)

    def _changes(self, stopped: threading.Event) -> Iterable[object]:
        return watchfiles.watch(
            self._hints or ".",
            watch_filter=None,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=stopped,
            rust_timeout=_WAKES_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            ignore_permission_denied=True,
        )
