"""
How does an application hold the policies of its guard? Which are in force, load them again, go back to earlier ones.

In come a guard's runtime and what the application asks; out come revisions and health. Decides nothing about a call.
"""

from __future__ import annotations

from pathlib import Path

from gatewright.middleware.runtime import Runtime
from gatewright.middleware.supply import Supply
from gatewright.policy.health import Health

__all__ = ["PolicyControls"]


class PolicyControls:
    """What a guard says of its policies, and can do with them."""

    _runtime: Runtime

    @property
    def folder(self) -> Path | None:
        """The policies folder, None where the policies are in memory."""
        return self._runtime.live.folder

    @property
    def health(self) -> Health:
        """Whether the newest policies are in force, how old they are, and whether revocations are seen; if not, why."""
        return self._runtime.notices.health(self._runtime.live.health)

    @property
    def revision(self) -> str:
        """The revision of the policies in force."""
        return self._current().live.snapshot.revision

    @property
    def kept_revisions(self) -> tuple[str, ...]:
        """The revisions that can be gone back to, the one that was in force last first."""
        return tuple(kept.revision for kept in self._runtime.live.kept)

    def reload(self) -> bool:
        """Load the policies again now; return whether they loaded. The last good ones stay where they did not."""
        return self._current().live.reload()

    def rollback(self, revision: str) -> bool:
        """
        Put an earlier *revision* into force in this process until the folder changes; return whether it loaded.

        The folder stays as it is; `gatewright rollback` puts that back, for every process. The first six characters
        of a revision will do.

        Raises:
            Misuse: it is not kept.
        """
        return self._current().live.go_back(revision)

    def supplies(self) -> dict[str, Supply]:
        """Return the facts and business rules of each registered tool: what policy tests ask."""
        return {name: tool.supply for name, tool in tuple(self._runtime.tools.items())}

    def _current(self) -> Runtime:
        live = self._runtime.live
        if live.is_stale:
            live.complete()
        return self._runtime
