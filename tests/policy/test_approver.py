"""Who may approve: each rule of an approver, alone."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from gatewright.policy.approver import Approvable, is_approved, weigh_approver
from gatewright.policy.caller import Actor, Caller
from gatewright.policy.folder import load_policies
from gatewright.policy.snapshot import Snapshot, compile_snapshot
from gatewright.policy.source import Source
from gatewright.policy.toolfile import Approval
from small_policies import spec

DAY = dt.date(2026, 10, 28)
TEXTS = {
    "names.yaml": "roles: { agent: {}, lead: {}, chief: {}, auditor: { excludes: [lead] } }\nactors: [bot]\n"
    "tenants: { acme: {}, globex: {} }\ntypes: {}\ndelegate: {}\n",
    "policy.csv": "p, lead, *, refund.create, approve, allow\np, subject:max, acme, refund.create, approve, allow\n"
    "p, chief, *, refund.create, approve, allow, 2026-10-27, T-1\np, subject:eve, acme, refund.create, approve, deny\n"
    "p, bot, *, refund.create, approve, allow\np, agent, *, refund.create, call, allow\n",
    "identity.yaml": "issuers: []\n",
}
ASKED = Approvable("acme", "amy", "desk-bot", "refund.create", (Approval(("lead", "chief")),))
LEAD = Caller("sam", "acme", frozenset({"lead"}))


@pytest.fixture(scope="module")
def snapshot() -> Snapshot:
    """Policies with one tool that leads may approve."""
    return compile_snapshot(load_policies(Source.from_texts(TEXTS), {"refund.create": spec("refund.create")}))


def test_a_role_that_may_approve_counts(snapshot: Snapshot) -> None:
    """The named role, with `approve` on the tool."""
    assert weigh_approver(snapshot, LEAD, ASKED, DAY).counts == {0}


@pytest.mark.parametrize(
    "approver",
    [
        replace(LEAD, tenant="globex"),
        replace(LEAD, subject="amy"),
        replace(LEAD, subject="desk-bot"),
        replace(LEAD, subject="eve"),
        replace(LEAD, actor=Actor("bob", frozenset({"bot"}))),
        replace(LEAD, roles=frozenset()),
        replace(LEAD, roles=frozenset({"agent"})),
        replace(LEAD, roles=frozenset({"chief"})),
        replace(LEAD, roles=frozenset({"lead", "auditor"})),
        Caller("max", "acme", frozenset({"agent"})),
    ],
)
def test_anybody_else_does_not_count(snapshot: Snapshot, approver: Caller) -> None:
    """Another tenant, the requester, its actor, a deny, an agent, a role without the right or past its day."""
    weight = weigh_approver(snapshot, approver, ASKED, DAY)
    assert not weight.counts
    assert weight.reason


def test_a_row_of_ones_own_counts_with_the_named_role(snapshot: Snapshot) -> None:
    """The right by a subject row, the role by the token: both are needed, and both are there."""
    assert weigh_approver(snapshot, Caller("max", "acme", frozenset({"chief"})), ASKED, DAY).counts == {0}


def test_where_speaks_of_the_approver(snapshot: Snapshot) -> None:
    """Names are the approver's claims; one that is absent, or a reference that was never filled, never holds."""
    asked = replace(ASKED, duties=(Approval(("lead",), where={"branch": {"const": "zh1"}}),))
    for branch, counts in (("zh1", {0}), ("be2", set()), (None, set())):
        claims = {} if branch is None else {"branch": branch}
        assert weigh_approver(snapshot, replace(LEAD, claims=claims), asked, DAY).counts == counts
    late = replace(ASKED, duties=(Approval(("lead",), where={"branch": {"const": {"$argument": "branch"}}}),))
    assert not weigh_approver(snapshot, replace(LEAD, claims={"branch": "zh1"}), late, DAY).counts


def test_every_duty_needs_its_own_count_of_distinct_approvers() -> None:
    """Two duties, one of them twice; no duty at all is never approved."""
    duties = (Approval(("lead",), count=2), Approval(("chief",)))
    assert not is_approved(duties, {"sam": {0, 1}})
    assert not is_approved(duties, {"sam": {0}, "eva": {0}})
    assert is_approved(duties, {"sam": {0, 1}, "eva": {0}})
    assert not is_approved((), {"sam": {0}})
