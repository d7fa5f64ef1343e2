"""
What can an application do beside calls? Revoke, answer for approvers, find out what became of writes, and read back.

In come a guard's runtime and what the application asks; out come approvals, revocations, events and findings. Decides
nothing about a call that is under way.
"""

from __future__ import annotations

from gatewright.middleware.approvals import Approvals
from gatewright.middleware.drive import answer_waits, answer_waits_async
from gatewright.middleware.history import call_events, tell_call
from gatewright.middleware.receive import receive_event
from gatewright.middleware.reconcile import Recovered, recover
from gatewright.middleware.record import Event
from gatewright.middleware.revocation import Revocation, Revocations
from gatewright.middleware.runtime import Runtime

__all__ = ["Afterwards"]


class Afterwards:
    """What a guard offers beside calls."""

    _runtime: Runtime

    @property
    def revocations(self) -> Revocations:
        """What is revoked: `guard.revocations.revoke_token("…")`, of sessions, subjects and actors likewise."""
        return self._runtime.revocations

    def receive_event(self, text: str) -> tuple[Revocation, ...]:
        """Take a Security Event Token (RFC 8417) of an issuer; return what it revoked. Raises EventRefused."""
        return receive_event(text, self._runtime)

    @property
    def approvals(self) -> Approvals:
        """What waits for people: they list, approve, reject and withdraw with tokens of their own."""
        return Approvals(self._runtime)

    def recover(self, operation_id: str | None = None) -> tuple[Recovered, ...]:
        """
        Find out what became of writes whose outcome is unknown: of all, or of one. Runs no tool again.

        Each is authorized again, as who made it and under the policies of now; where it would be allowed, the tool's
        `reconcile` is asked, and its answer settles the operation. For the start of a process and for a timer.

        Raises:
            StoreUnavailable: the ledger cannot be used.
        """
        return answer_waits(recover(self._runtime, operation_id))

    async def arecover(self, operation_id: str | None = None) -> tuple[Recovered, ...]:
        """Find out from a task what became of writes, as `recover` does from a thread."""
        return await answer_waits_async(recover(self._runtime, operation_id))

    def events(self, call_id: str) -> tuple[Event, ...]:
        """Return what happened to a call, in order; *call_id* is the runtime's id."""
        self._runtime.journal.flush()
        return call_events(call_id, self._runtime.journal, self._runtime.ledger)

    def story(self, call_id: str) -> str:
        """Return what happened to a call as a text that a person can read."""
        return tell_call(self.events(call_id))
