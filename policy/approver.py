"""
May this person approve that call? The rules of an approver, over the duties of a call that waits.

In come a snapshot, the approver as a verified caller, and what is asked for; out come the duties that the approver's
word counts for, or the reason why it counts for none. Approving runs nothing and grants nothing else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gatewright.policy.caller import Caller
from gatewright.policy.conditions import ConditionSet
from gatewright.policy.model import Json
from gatewright.policy.references import MISSING, Missing
from gatewright.policy.snapshot import Snapshot
from gatewright.policy.toolfile import Approval

__all__ = ["Approvable", "Standby", "is_approved", "weigh_approver"]


@dataclass(frozen=True, slots=True)
class Approvable:
    """
    A call that waits: whose it is, of which tool, and the approval duties of its entry and limits, references filled.

    *actor* is the id of the agent acting for *subject*, None where nobody acts.
    """

    tenant: str
    subject: str
    actor: str | None
    tool: str
    duties: tuple[Approval, ...]


@dataclass(frozen=True, slots=True)
class Standby:
    """
    What an approver's word is worth: *counts* holds the indices of the duties it counts for.

    Where it counts for none, *reason* says why, for the event log only.
    """

    counts: frozenset[int] = frozenset()
    reason: str = ""


def weigh_approver(snapshot: Snapshot, approver: Caller, asked: Approvable, today: dt.date) -> Standby:
    """
    Return which duties of *asked* the word of *approver* counts for on *today* (UTC).

    The approver is of the same tenant, is nobody's agent, is neither the requester nor the requester's actor, and
    holds one of the duty's roles, which gives `approve` on the tool by Casbin; the duty's `where` holds for the
    approver's claims. Source: DESIGN.md section 7, POLICY.md "Duties".
    """
    if approver.tenant != asked.tenant:
        return Standby(reason="another tenant")
    if approver.actor is not None:
        return Standby(reason="an agent cannot approve")
    if approver.subject in (asked.subject, asked.actor):
        return Standby(reason="the requester cannot approve")
    standing = snapshot.engine.standing(approver, today)
    if standing.excluded:
        return Standby(reason="excluded")
    roles = [
        role for role in standing.roles if snapshot.engine.decide(standing, asked.tool, "approve", (role,)).allowed
    ]
    counts = frozenset(at for at, duty in enumerate(asked.duties) if _counts(duty, roles, approver))
    return Standby(counts, "" if counts else "no role that may approve this, or where does not hold")


def is_approved(duties: Sequence[Approval], votes: Mapping[str, Iterable[int]]) -> bool:
    """Whether *votes*, the duties each approver's word counts for, are enough distinct approvers for every duty."""
    return bool(duties) and all(
        sum(at in set(counted) for counted in votes.values()) >= duty.count for at, duty in enumerate(duties)
    )


def _counts(duty: Approval, roles: Sequence[str], approver: Caller) -> bool:
    if set(duty.by).isdisjoint(roles):
        return False
    said = {**approver.claims, "subject": approver.subject, "tenant": approver.tenant}
    return not ConditionSet(duty.where).unmet(said, _nothing)


def _nothing(_kind: str, _path: str) -> Json | Missing:
    """A reference that is still there was never filled, and what is not filled never holds."""
    return MISSING
