"""Which ids of a type a caller is granted, and where a pattern makes that open."""

from __future__ import annotations

import pytest

from gatewright.policy.caller import Actor, Caller
from gatewright.policy.engine import Granted
from small_policies import TODAY, caller, engine_of

COPILOT = Actor("bot", frozenset({"copilot"}))


def granted(rows: str, who: Caller, *roles: str) -> Granted:
    """What *roles* of *who* are granted to read of services."""
    engine = engine_of(rows)
    return engine.granted(engine.standing(who, TODAY), roles, "service", "read")


def test_granted_ids_are_the_literal_allows_minus_the_denies() -> None:
    """Of the given roles and the subject; other types, actions, tenants and roles are left out."""
    rows = """\
p, viewer, *, service:a, read, allow
p, viewer, *, service:b, *, allow
p, viewer, *, service:c, mute, allow
p, viewer, globex, service:d, read, allow
p, viewer, *, invoice:e, read, allow
p, analyst, *, service:f, read, allow
p, subject:ann, *, service:g, read, allow
p, viewer, *, service:no, read, allow
p, *, *, service:no, read, deny
p, viewer, *, service:old, read, allow, 2026-09-29
"""
    assert granted(rows, caller("viewer", "analyst"), "viewer") == Granted(frozenset("abg"), False)


def test_a_pattern_makes_what_is_granted_open() -> None:
    """A pattern of another role does not."""
    rows = "p, viewer, *, service:*, read, allow\np, analyst, *, service:a, read, allow\n"
    assert granted(rows, caller("viewer", "analyst"), "viewer") == Granted(frozenset(), True)
    assert granted(rows, caller("viewer", "analyst"), "analyst") == Granted(frozenset("a"), False)
    assert granted(rows, caller("lead"), "viewer") == Granted(frozenset(), False)


@pytest.mark.parametrize(
    ("actor_rows", "open_"),
    [
        ("", False),
        ("p, copilot, *, service:*, read, allow\n", True),
        ("p, copilot, *, service:a, read, allow\n", True),
        ("p, actor:bot, *, service:a, read, allow\n", True),
        ("p, copilot, *, service:no, read, allow\n", False),
        ("p, copilot, globex, service:*, read, allow\n", False),
        ("p, copilot, *, service:a, mute, allow\n", False),
    ],
)
def test_a_pattern_is_open_to_an_actor_with_a_grant_of_its_own(actor_rows: str, open_: bool) -> None:
    """A pattern, or an id that is granted to both."""
    rows = f"p, viewer, *, service:*, read, allow\np, *, *, service:no, read, deny\n{actor_rows}"
    assert granted(rows, caller("viewer", actor=COPILOT), "viewer") == Granted(frozenset(), open_)


def test_ids_granted_to_both_remain_with_an_actor() -> None:
    """The subject's literal ids that the actor may read too."""
    rows = "p, viewer, *, service:a, read, allow\np, viewer, *, service:b, read, allow\n"
    rows += "p, copilot, *, service:b, *, allow\n"
    assert granted(rows, caller("viewer", actor=COPILOT), "viewer") == Granted(frozenset("b"), False)


@pytest.mark.parametrize(
    ("row", "denies"),
    [
        ("viewer, *, service:a, read, deny", True),
        ("suspended, *, service:a, read, deny", False),
        ("subject:ann, acme, service:a-*, *, deny", True),
        ("*, *, *, *, deny", True),
        ("copilot, *, service:a, read, deny", True),
        ("actor:bot, *, service:a, read, deny", True),
        ("assistant, *, service:a, read, deny", False),
        ("viewer, globex, service:a, read, deny", False),
        ("viewer, *, invoice:a, read, deny", False),
        ("viewer, *, service:a, mute, deny", False),
        ("viewer, *, service:a, read, allow", False),
        ("viewer, *, service:a, read, deny, 2026-09-29", False),
    ],
)
def test_a_type_is_denied_where_a_row_that_can_match_names_ids_of_it(row: str, denies: bool) -> None:
    """Any role held, the subject, everyone and the actor."""
    engine = engine_of(f"p, {row}\n")
    assert engine.denies_type(engine.standing(caller("viewer", actor=COPILOT), TODAY), "service", "read") is denies
