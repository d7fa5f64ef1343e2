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
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final, Generic, Protocol, TypeVar

from gatewright.policy.errors import Finding, Place, PolicyInvalid
from gatewright.policy.forking import renew_after_fork
from gatewright.policy.health import Health
from gatewright.policy.pacing import uncollected, unhurried
from gatewright.policy.teardown import Teardown
from gatewright.policy.watcher import Watcher

__all__ = ["Health", "Listener", "Store"]

POLL_S: Final = 1.0
"""Seconds between looks at the source; a change is live within two."""

MOST_SETTLING: Final = 20
"""Looks that may differ from one another before a source counts as one that changes without end."""

MOST_PATIENCE_S: Final = 30.0
"""Seconds that the last calls under an old set are waited for before it is let go of all the same."""

_CHANGING: Final = Finding(Place(""), "changing", "the folder changes while it is looked at", "swap it as a whole")
_log = logging.getLogger("gatewright.policies")
_T = TypeVar("_T")
_U = TypeVar("_U", contravariant=True)


class Listener(Protocol[_U]):
    """Hears of loads, while nothing else is loaded. Raising changes nothing and is logged."""

    def loaded(self, old: _U | None, new: _U) -> None:
        """A new set is in force."""
        ...

    def rejected(self, findings: tuple[Finding, ...], looks: str) -> None:
        """A set of a source that looks like *looks* did not build; the last good one stays in force."""
        ...


class Store(Generic[_T]):
    """
    Holds one built value and replaces it as a whole.

    *build* reads the source anew; *fingerprint* says what it looks like, by its content, and is asked right before.
    *revision_of* names a value. *hints* is a folder whose file events make the store look at once. A source that looks
    different is built once it has looked the same for *settle_s* seconds. A value is outdated *max_age_s* seconds after
    the source was last seen to say it; *now* is a monotonic clock.

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
        hints: Path | None = None,
        settle_s: float = 0.0,
        max_age_s: float | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._build = build
        self._fingerprint = fingerprint
        self._listener = listener
        self._revision_of = revision_of
        self._settle_s = settle_s
        self._max_age_s = None if fingerprint is None else max_age_s
        self._now = now
        self._watcher = Watcher(self._watch, poll_s, hints)
        self._loading = threading.Lock()
        self._retired: list[_T] = []
        self._findings: tuple[Finding, ...] = ()
        self._held = False
        self._seen: str | None = self._look()
        self.current: _T = self._made(build, nullcontext())
        self._loaded_at = self._confirmed_at = now()
        self._tell_loaded(None, self.current)
        renew_after_fork(self)

    @property
    def is_outdated(self) -> bool:
        """Whether the value in force is older than its maximum age."""
        return self._max_age_s is not None and self._now() - self._confirmed_at > self._max_age_s

    @property
    def health(self) -> Health:
        """How the store is now."""
        current, now = self.current, self._now()
        outdated = self.is_outdated
        return Health(
            degraded=bool(self._findings) or outdated,
            age_s=0.0 if self._fingerprint is None else now - self._confirmed_at,
            findings=self._findings,
            revision="" if self._revision_of is None else self._revision_of(current),
            outdated=outdated,
            held=self._held,
            loaded_s=now - self._loaded_at,
        )

    def reload(self) -> _T | None:
        """Build aside and swap; return the new value, or None where it did not build and the last good one stays."""
        with self._loading:
            return self._load(self._build, is_asked=True)

    def hold(self, build: Callable[[], _T]) -> _T | None:
        """Put what *build* gives into force until the source changes from how it looks now; None as of `reload`."""
        with self._loading:
            held = self._load(build, is_asked=True)
            self._held = self._held or held is not None
            return held

    def poll(self) -> _T | None:
        """Reload where the source looks different; None where it does not, or where it did not build."""
        if self._fingerprint is None:
            return None
        with self._loading:
            try:
                is_same = self._is_as_seen()
            except Exception as error:  # noqa: BLE001 - the last good set stays whatever looking runs into
                self._give_up(error, is_asked=False)
                return None
            return None if is_same else self._load(self._build, is_asked=False)

    def start(self) -> None:
        """Look on a thread of its own from now on, where there is a source; a forked process has one of its own."""
        if self._fingerprint is not None:
            self._watcher.start()

    def stop(self) -> None:
        """Look no more, and wait until the thread has ended."""
        self._watcher.stop()
        self._bury(patience_s=0.0)

    def renew(self) -> None:
        """Go on in a process that was forked off."""
        self._loading = threading.Lock()
        if self._watcher.forget():
            self._watcher.start()

    def _watch(self) -> None:
        self.poll()
        self._bury(patience_s=MOST_PATIENCE_S)

    def _is_as_seen(self) -> bool:
        """Whether the source looks as it did; where it does not, once it has looked the same for a while."""
        looks = self._look()
        for _ in range(MOST_SETTLING):
            if looks == self._seen:
                if not self._findings:
                    self._confirmed_at = self._now()
                return True
            if not self._settle_s or self._watcher.pause(self._settle_s):
                return False
            before, looks = looks, self._look()
            if looks == before:
                return False
        raise PolicyInvalid([_CHANGING])

    def _load(self, build: Callable[[], _T], *, is_asked: bool) -> _T | None:
        try:
            self._seen = self._look()
            built = self._made(build, unhurried())
        except PolicyInvalid as error:
            self._reject(error.findings, is_asked=is_asked)
            return None
        except Exception as error:  # noqa: BLE001 - the last good set stays whatever a build runs into
            self._give_up(error, is_asked=is_asked)
            return None
        self._retired.append(self.current)
        self.current = built
        self._loaded_at = self._confirmed_at = self._now()
        self._findings, self._held = (), False
        with unhurried():
            self._tell_loaded(self._retired[-1], built)
        if not self._watcher.is_running:
            self._bury(patience_s=0.0)
        return built

    @staticmethod
    def _made(build: Callable[[], _T], pace: AbstractContextManager[None]) -> _T:
        with uncollected(), pace:
            return build()

    def _bury(self, patience_s: float) -> None:
        """Let go of what was replaced: here, or where the watcher runs there, which can wait for calls under way."""
        while self._retired:
            going = Teardown(self._retired.pop())
            going.wait(self._watcher.pause, patience_s)
            going.finish()

    def _give_up(self, error: Exception, *, is_asked: bool) -> None:
        """Nothing is known to be wrong with the source itself, so the next poll tries again."""
        self._seen = None
        self._reject(error.findings if isinstance(error, PolicyInvalid) else _unforeseen(error), is_asked=is_asked)

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
            self._tell(self._listener.rejected, findings, self._seen or "")

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
