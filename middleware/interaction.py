"""
What has happened so far in one conversation or task of a model? Tools called, repairs used, schemas listed.

In comes an interaction's id and a caller; out comes the state that the two share. Bounded and expiring; nothing in it
grants anything, and nothing is shared across tenants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import Final, NamedTuple, TypeVar

from cachetools import TTLCache

from gatewright.policy.caller import Caller
from gatewright.policy.rendering import Format

__all__ = ["MOST_FAILURES", "Interaction", "Interactions", "Progress", "Shown"]

MOST_FAILURES: Final = 2
"""How often in a row one tool may fail with `retryable: true` in one interaction; after that it no longer says so."""

GUESSING_SECONDS: Final = 3600.0
"""How long refused calls are counted from the first of them."""

T = TypeVar("T")

_MOST: Final = 65_536
_LIFETIME: Final = 86_400.0
_MOST_COUNTED: Final = 1024


class Shown(NamedTuple):
    """How a tool was last listed: the digest of its role schema, and the format."""

    digest: str
    format: Format


class Progress:
    """What one caller has done in one interaction."""

    __slots__ = ("_called", "_denied", "_denied_since", "_excused", "_failures", "_lock", "_refused", "_shown")

    def __init__(self) -> None:
        self._lock = Lock()
        self._called: dict[str, None] = {}
        self._refused: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        self._denied: int = 0
        self._denied_since: float = 0.0
        self._excused: dict[str, str] = {}
        self._shown: dict[str, Shown] = {}

    @property
    def called(self) -> tuple[str, ...]:
        """The tools whose body was entered, in the order of their first time."""
        return tuple(self._called)

    @property
    def calls(self) -> int:
        """How many tools are among `called`."""
        return len(self._called)

    def enter(self, tool: str) -> None:
        """Note that *tool*'s body is entered. What is noted is never forgotten while the interaction is known."""
        if tool not in self._called:
            with self._lock:
                self._called[tool] = None

    def show(self, tools: Mapping[str, Shown]) -> None:
        """Note that *tools* were listed so."""
        with self._lock:
            self._shown.update(tools)

    def shown(self, tool: str) -> Shown | None:
        """Return how *tool* was last listed, None where it was not."""
        return self._shown.get(tool)

    def has_changed(self, tool: str, digest: str) -> bool:
        """Whether *tool* was last listed with another role schema than that of *digest*."""
        shown = self._shown.get(tool)
        return shown is not None and shown.digest != digest

    def count_refused(self, tool: str, digest: str | None = None) -> int:
        """
        Count a call of *tool* with arguments that were not accepted; return how many there were in a row.

        Where it was listed with another role schema than that of *digest*, the call is not counted, once a change:
        after it has been told so, a model that goes on with the old schema uses up its repairs.
        """
        with self._lock:
            attempt = self._refused.get(tool, 0)
            if digest is not None and self._excused.get(tool) != digest and self.has_changed(tool, digest):
                self._keep(self._excused, tool, digest)
                return attempt
            self._keep(self._refused, tool, attempt + 1)
        return attempt + 1

    def accept(self, tool: str) -> None:
        """Forget the refused arguments of *tool*: these were valid."""
        if tool in self._refused:
            with self._lock:
                self._refused.pop(tool, None)

    def count_failure(self, tool: str) -> int:
        """Count a retryable failure of *tool*; return how many there were in a row."""
        with self._lock:
            count = self._failures.get(tool, 0) + 1
            self._keep(self._failures, tool, count)
        return count

    def succeed(self, tool: str) -> None:
        """Forget the failures of *tool*."""
        if tool in self._failures:
            with self._lock:
                self._failures.pop(tool, None)

    def count_denied(self, now: float) -> None:
        """Count a call that was answered `forbidden` at *now*; the count begins anew an hour after its first one."""
        with self._lock:
            if not 0 <= now - self._denied_since < GUESSING_SECONDS:
                self._denied, self._denied_since = 0, now
            self._denied += 1

    def is_guessing(self, now: float, most: int | None) -> bool:
        """Whether *most* calls were answered `forbidden` within the hour before *now*."""
        if most is None or self._denied < most:
            return False
        return 0 <= now - self._denied_since < GUESSING_SECONDS

    def _keep(self, kept: dict[str, T], tool: str, value: T) -> None:
        kept[tool] = value
        if len(kept) > _MOST_COUNTED:
            del kept[next(iter(kept))]


class Interaction:
    """
    One conversation or task. The same object, or the same id, joins the calls of one guard.

    *id* is the application's, never the model's; *task* is a label for the event log. What happened in it is known for
    as long as somebody holds the object.
    """

    __slots__ = ("_joined", "id", "task")

    def __init__(self, id: str, task: str | None = None) -> None:
        self.id: str = id
        self.task: str | None = task
        self._joined: dict[tuple[Interactions, tuple[str, str, str]], Progress] = {}

    @property
    def called(self) -> tuple[str, ...]:
        """The tools whose body was entered, by anyone whose calls were made with this object."""
        return tuple(dict.fromkeys(tool for each in tuple(self._joined.values()) for tool in each.called))


class Interactions:
    """Every interaction of one guard, by its id, per tenant and subject, for a day after its last call."""

    def __init__(self, timer: Callable[[], float], *, most: int = _MOST, lifetime: float = _LIFETIME) -> None:
        self._known: TTLCache[tuple[str, str, str, str], Progress] = TTLCache(most, lifetime, timer)
        self._lock = Lock()

    def progress(self, interaction: Interaction | str | None, caller: Caller) -> Progress:
        """Return the state of *interaction* for *caller*; a fresh one where the call belongs to none."""
        if interaction is None:
            return Progress()
        whose = _key(caller)
        with self._lock:
            if isinstance(interaction, Interaction):
                return self._join(interaction, whose)
            return self._keep((*whose, interaction))

    def _join(self, interaction: Interaction, whose: tuple[str, str, str]) -> Progress:
        """What the object holds goes on counting for its id, also where it was forgotten meanwhile."""
        held = interaction._joined.get((self, whose))
        found = self._keep((*whose, interaction.id), held)
        interaction._joined[self, whose] = found
        return found

    def _keep(self, key: tuple[str, str, str, str], held: Progress | None = None) -> Progress:
        found = held or self._known.get(key) or Progress()
        self._known[key] = found
        return found


def _key(caller: Caller) -> tuple[str, str, str]:
    return caller.tenant, caller.subject, caller.issuer
