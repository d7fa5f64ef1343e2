"""What a caller is to the policies: roles held and inherited, on one day, in one tenant."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from itertools import pairwise
from typing import Any, cast

import pytest

from gatewright.policy import standing as room
from gatewright.policy.caller import Actor
from gatewright.policy.standing import EVERYONE, Roles
from small_policies import TODAY, caller, engine_of, may, policies_of

CHAIN = [f"step-{number}" for number in range(41)]
LINKS = "".join(f"g, {lower}, {upper}, *\n" for lower, upper in pairwise(CHAIN))


def roles_of(rows: str, *held: str, tenant: str = "acme", today: dt.date = TODAY, subject: str = "ann") -> set[str]:
    """The roles that a caller with *held* has under *rows*."""
    who = caller(*held, tenant=tenant, subject=subject)
    return set(Roles(policies_of(rows)).standing(who, today).roles)


def test_roles_are_held_with_all_that_they_inherit() -> None:
    """Through more than one step, and only upwards."""
    rows = "g, lead, analyst, *\ng, analyst, viewer, *\n"
    assert roles_of(rows, "lead") == {"lead", "analyst", "viewer"}
    assert roles_of(rows, "viewer") == {"viewer"}


def test_roles_are_inherited_in_the_tenant_of_the_row() -> None:
    """`*` is every tenant; a chain may go through both kinds."""
    rows = "g, lead, analyst, acme\ng, analyst, viewer, *\n"
    assert roles_of(rows, "lead") == {"lead", "analyst", "viewer"}
    assert roles_of(rows, "lead", tenant="globex") == {"lead"}
    assert roles_of(rows, "analyst", tenant="globex") == {"analyst", "viewer"}


def test_a_row_can_give_a_role_to_one_subject() -> None:
    """And to no other, and to no role of that name."""
    rows = "g, subject:ann, lead, acme\n"
    assert roles_of(rows) == {"lead"}
    assert roles_of(rows, subject="bea") == set()
    assert roles_of(rows, tenant="globex") == set()


def test_cycles_are_harmless() -> None:
    """Whoever is in one holds all of it."""
    rows = "g, lead, analyst, *\ng, analyst, viewer, *\ng, viewer, lead, *\n"
    assert roles_of(rows, "viewer") == {"lead", "analyst", "viewer"}


def test_a_link_counts_until_its_last_day_has_passed() -> None:
    """Also for a mask that was asked on the day before."""
    roles = Roles(policies_of("g, lead, viewer, *, 2026-09-30\n"))
    before, after = (roles.standing(caller("lead"), TODAY + dt.timedelta(days=days)) for days in (0, 1))
    assert before.roles == {"lead", "viewer"}
    assert after.roles == {"lead"}
    assert roles.mask(["lead"], before) == before.mask
    assert roles.mask(["lead"], after) == after.mask == roles.bit("lead")


@pytest.mark.case(18)
@pytest.mark.parametrize("steps", [9, 10, 11, 12, 40])
def test_a_long_chain_of_roles_is_held_to_its_end(steps: int) -> None:
    """The bare library stops at ten steps without a word."""
    engine = engine_of(f"{LINKS}p, {CHAIN[steps]}, *, logs.query, call, allow\n", roles=CHAIN)
    assert may(engine, caller(CHAIN[0]), "logs.query")


@pytest.mark.case(17)
def test_the_order_of_rows_changes_nothing() -> None:
    """Fifty shuffles, a `*` domain among them: every decision is the same, and no grant of one tenant is another's."""
    rows = [
        "g, lead, analyst, acme",
        "g, analyst, viewer, *",
        "g, subject:bea, lead, acme",
        "g, oncall, suspended, globex",
        "p, viewer, *, logs.query, call, allow",
        "p, analyst, acme, logs.purge, call, allow",
        "p, suspended, *, logs.*, call, deny",
    ]
    people = [
        (subject, role, tenant)
        for subject in ("ann", "bea")
        for role in ("lead", "oncall", "viewer")
        for tenant in ("acme", "globex")
    ]
    seen = set()
    for seed in range(50):
        random.Random(seed).shuffle(rows)
        engine = engine_of("\n".join(rows))
        seen.add(
            tuple(
                may(engine, caller(role, subject=subject, tenant=tenant), tool)
                for subject, role, tenant in people
                for tool in ("logs.query", "logs.purge")
            )
        )
        assert not may(engine, caller("lead", tenant="globex"), "logs.purge")
    assert len(seen) == 1


def test_masks_hold_a_bit_for_each_role() -> None:
    """None is shared, an id has none, and everyone's is apart."""
    roles = Roles(policies_of(""))
    names = ["viewer", "analyst", "lead", "oncall", "suspended", "assistant", "copilot", "*"]
    bits = [roles.bit(name) for name in names]
    assert all(bit.bit_count() == 1 for bit in bits)
    assert len(set(bits)) == len(names)
    assert roles.bit("*") == EVERYONE
    assert roles.bit("subject:ann") == 0


def test_a_mask_of_roles_has_only_those_that_are_held() -> None:
    """Naming a role does not give it."""
    roles = Roles(policies_of("g, lead, viewer, *\n"))
    standing = roles.standing(caller("analyst"), TODAY)
    assert roles.mask(["lead", "viewer", "pwned"], standing) == 0
    assert roles.mask(["analyst", "lead"], standing) == roles.bit("analyst")


def test_remembered_masks_are_of_one_tenant_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one tenant inherits is not taken for another's, and many tenants do not fill the memory."""
    monkeypatch.setattr(room, "_MOST_MASKS", 4)
    roles = Roles(policies_of("g, lead, viewer, acme\n"))
    for _ in range(3):
        for tenant in ("acme", "globex", "t1", "t2", "t3", "t4", "t5"):
            standing = roles.standing(caller("lead", tenant=tenant), TODAY)
            assert roles.mask(["lead"], standing) == standing.mask
            assert len(roles._masks) <= 4


def test_actors_and_subjects_never_hold_each_other_s_roles() -> None:
    """Claimed or inherited."""
    actor = Actor("bot", frozenset({"viewer", "copilot"}))
    standing = Roles(policies_of("")).standing(caller("copilot", "viewer", actor=actor), TODAY)
    assert (standing.roles, standing.actor_roles) == ({"viewer"}, {"copilot"})
    policies = policies_of("g, lead, viewer, *\ng, actor:bot, copilot, *\n")
    first, second = policies.links
    crossed = (replace(first, role="copilot"), replace(second, role="viewer"), replace(first, member="copilot"))
    actor = Actor("bot", frozenset({"lead"}))
    standing = Roles(replace(policies, links=crossed)).standing(caller("lead", "copilot", actor=actor), TODAY)
    assert (standing.roles, standing.actor_roles) == ({"lead", "viewer"}, frozenset())
    standing = Roles(replace(policies, links=crossed)).standing(caller("copilot"), TODAY)
    assert standing.roles == frozenset()


@pytest.mark.case(29)
@pytest.mark.parametrize("odd", [None, 1, b"ann", ["ann"], ("ann",), "", "*", "a*"])
def test_a_caller_that_is_not_named_by_texts_is_nobody(odd: Any) -> None:
    """Subject, tenant and actor; it is excluded from everything."""
    roles = Roles(policies_of("g, subject:ann, lead, *\n"))
    word = cast("str", odd)
    for who in (caller("lead", subject=word), caller("lead", tenant=word), caller("lead", actor=Actor(word))):
        standing = roles.standing(who, TODAY)
        assert (standing.excluded, standing.roles, standing.mask) == (True, frozenset(), 0)


@pytest.mark.case(29)
@pytest.mark.parametrize("odd", ["lead", None, ["lead"], 1])
def test_roles_that_are_no_set_are_none(odd: Any) -> None:
    """A text is not asked for the letters in it."""
    roles = Roles(policies_of(""))
    assert roles.standing(replace(caller(), roles=odd), TODAY).excluded
    assert roles.standing(caller("lead", actor=Actor("bot", roles=odd)), TODAY).excluded


def test_exclusion_holds_both_ways_and_over_inherited_roles() -> None:
    """Written one way in the file."""
    roles = Roles(policies_of("g, lead, suspended, acme\n", excludes="excludes: [viewer]"))
    assert roles.standing(caller("viewer", "suspended"), TODAY).excluded
    assert roles.standing(caller("viewer", "lead"), TODAY).excluded
    assert not roles.standing(caller("viewer", "lead", tenant="globex"), TODAY).excluded
    assert not roles.standing(caller("suspended", "analyst"), TODAY).excluded
