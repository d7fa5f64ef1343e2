"""
Which policies are in force? The last set that loaded whole, swapped by one assignment.

In come a function that builds a set and one that fingerprints its source; out comes `current`, at any time and to any
number of threads. What fails to build is told to the listener and changes nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Generic, Protocol, TypeVar

from gatewright.policy.errors import Finding, Place, PolicyInvalid

__all__ = ["Health", "Listener", "Store"]

POLL_S: Final = 1.0
"""Seconds between looks at the source; a change is live within two."""

_log = logging.getLogger("gatewright.policies")
_T = TypeVar("_T")
_U = TypeVar("_U", contravariant=True)


class Listener(Protocol[_U]):
    """Hears of loads, while nothing else is loaded. Raising changes nothing and is logged."""

    def loaded(self, old: _U | None, new: _U) -> None:
        """A new set is in force."""
        ...

    def rejected(self, findings: tuple[Finding, ...]) -> None:
        """A set did not build; the last good one stays in force."""
        ...


@dataclass(frozen=True, slots=True)
class Health:
    """
    How the store is: *degraded* since a load failed, *findings* why, *age_s* since the set in force was built, and
    *revision* is that set's, where the store was told how to name one.
    """

    degraded: bool
    age_s: float
    findings: tuple[Finding, ...] = ()
    revision: str = ""


class Store(Generic[_T]):
    """
    Holds one built value and replaces it as a whole.

    *build* reads the source anew; *fingerprint* says what it looks like, by its content. *revision_of* names a value.

    Raises:
        PolicyInvalid: the first build failed; there is no last good set to go on with.
    """

    def __init__(
        self,
        build: Callable[[], _T],
        fingerprint: Callable[[], str] | None = None,
        *,
        listener: Listener[_T] | None = None,
        poll_s: float = POLL_S,
        revision_of: Callable[[_T], str] | None = None,
    ) -> None:
        self._build = build
        self._fingerprint = fingerprint
        self._listener = listener
        self._poll_s = poll_s
        self._revision_of = revision_of
        self._reloading = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._findings: tuple[Finding, ...] = ()
        self._seen: str | None = self._look()
        self._built_at = time.monotonic()
        self._current = build()
        self._tell_loaded(None, self._current)

    @property
    def current(self) -> _T:
        """The value in force; one reference, so that a reader sees all of it or none."""
        return self._current

    @property
    def health(self) -> Health:
        """How the store is now."""
        current = self._current
        revision = "" if self._revision_of is None else self._revision_of(current)
        return Health(bool(self._findings), time.monotonic() - self._built_at, self._findings, revision)

    def reload(self) -> _T | None:
        """Build aside and swap; return the new value, or None where it did not build and the last good one stays."""
        with self._reloading:
            return self._load(is_asked=True)

    def poll(self) -> _T | None:
        """Reload where the source looks different; None where it does not, or where it did not build."""
        if self._fingerprint is None:
            return None
        with self._reloading:
            try:
                is_same = self._look() == self._seen
            except Exception as error:  # noqa: BLE001 - the last good set stays whatever looking runs into
                self._give_up(error, is_asked=False)
                return None
            return None if is_same else self._load(is_asked=False)

    def start(self) -> None:
        """
        Poll on a daemon thread from now on; does nothing where there is no source to look at.

        A process that was forked off has no such thread, and starts one of its own.
        """
        if self._fingerprint is None or (self._thread is not None and self._thread.is_alive()):
            return
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, name="gatewright-policies", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop polling and wait until the thread has ended."""
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._poll_s):
            self.poll()

    def _load(self, *, is_asked: bool) -> _T | None:
        try:
            self._seen = self._look()
            built = self._build()
        except PolicyInvalid as error:
            self._reject(error.findings, is_asked=is_asked)
            return None
        except Exception as error:  # noqa: BLE001 - the last good set stays whatever a build runs into
            self._give_up(error, is_asked=is_asked)
            return None
        old, self._current = self._current, built
        self._built_at = time.monotonic()
        self._findings = ()
        self._tell_loaded(old, built)
        return built

    def _give_up(self, error: Exception, *, is_asked: bool) -> None:
        """Nothing is known to be wrong with the source itself, so the next poll tries again."""
        self._seen = None
        self._reject(_unforeseen(error), is_asked=is_asked)

    def _look(self) -> str:
        """The source's fingerprint; what cannot be read looks like nothing else, and is tried again."""
        if self._fingerprint is None:
            return ""
        try:
            return self._fingerprint()
        except PolicyInvalid as error:
            return f"unreadable: {error}"

    def _reject(self, findings: tuple[Finding, ...], *, is_asked: bool) -> None:
        """Note why; the listener hears it once, however often a poll meets it again."""
        is_known = findings == self._findings
        self._findings = findings
        if self._listener is not None and (is_asked or not is_known):
            self._tell(self._listener.rejected, findings)

    def _tell_loaded(self, old: _T | None, new: _T) -> None:
        if self._listener is not None:
            self._tell(self._listener.loaded, old, new)

    def _tell(self, hear: Callable[..., None], *what: object) -> None:
        try:
            hear(*what)
        except Exception as error:  # noqa: BLE001 - whoever listens decides nothing here
            _log.error("a listener of policies raised %s", type(error).__name__)


def _unforeseen(error: Exception) -> tuple[Finding, ...]:
    return (Finding(Place(""), "unforeseen", f"loading ended with {type(error).__name__}"),)
