"""Which rows settled a decision: the first of the subject's side and of the actor's, looked up when asked for."""

from __future__ import annotations

import datetime as dt

import pytest

from gatewright.policy.caller import Actor, Caller
from gatewright.policy.decision import DENIED
from small_policies import TODAY, caller, engine_of

COPILOT = Actor("bot", frozenset({"copilot"}))
ALLOWS = """\
p, analyst, *, logs.*, call, allow
p, viewer, *, logs.query, call, allow
p, viewer, acme, tools/reading, *, allow
p, copilot, *, logs.query, call, allow
g, lead, viewer, *
g2, logs.query, tools/reading, 2026-09-30
"""


def rows_of(rows: str, who: Caller, obj: str = "logs.query", today: dt.date = TODAY) -> tuple[int, ...]:
    """The lines of the rows that settle a call of *obj*."""
    engine = engine_of(rows)
    decision = engine.decide(engine.standing(who, today), obj, "call")
    assert decision.rows == decision.rows
    return tuple(int(row.removeprefix("policy.csv:")) for row in decision.rows)


def test_the_first_row_that_allows_is_named() -> None:
    """In the order of lines, whether it names the role, one that is inherited, a pattern or a group."""
    assert rows_of(ALLOWS, caller("viewer", "analyst")) == (1,)
    assert rows_of(ALLOWS, caller("lead")) == (2,)
    assert rows_of(ALLOWS.partition("\n")[2].partition("\n")[2], caller("lead")) == (1,)
    assert rows_of(f"p, subject:ann, *, logs.query, call, allow\n{ALLOWS}", caller("analyst")) == (1,)


def test_with_an_actor_a_row_of_each_side_is_named() -> None:
    """One row where it is the same."""
    assert rows_of(ALLOWS, caller("viewer", actor=COPILOT)) == (2, 4)
    assert rows_of("p, *, *, logs.query, call, allow\n", caller(actor=COPILOT)) == (1,)
    assert rows_of(f"p, actor:bot, *, logs.*, *, allow\n{ALLOWS}", caller("viewer", actor=COPILOT)) == (3, 1)


def test_only_the_roles_that_were_asked_for_are_named() -> None:
    """The decision keeps what it was asked."""
    engine = engine_of(ALLOWS)
    standing = engine.standing(caller("viewer", "analyst"), TODAY)
    assert engine.decide(standing, "logs.query", "call", ("viewer",)).rows == ("policy.csv:2",)


def test_the_first_row_that_denies_is_named_alone() -> None:
    """The subject's before the actor's; the actor's where only that denies."""
    denies = "p, copilot, *, logs.query, call, deny\np, suspended, *, *, *, deny\np, suspended, *, logs.*, call, deny\n"
    rows = denies + ALLOWS
    assert rows_of(rows, caller("viewer", "suspended")) == (2,)
    assert rows_of(rows, caller("viewer", "suspended", actor=COPILOT)) == (2,)
    assert rows_of(rows, caller("viewer", actor=COPILOT)) == (1,)
    assert rows_of(f"p, subject:ann, *, logs.query, *, deny\n{ALLOWS}", caller("viewer")) == (1,)


def test_what_has_ended_settles_nothing() -> None:
    """A row, or the link of a tool to the group that a row is about."""
    ended = "p, viewer, *, logs.query, call, allow, 2026-09-29\n"
    assert rows_of(ended + ALLOWS, caller("viewer")) == (3,)
    group = "p, viewer, *, tools/reading, call, allow\np, viewer, *, logs.*, call, allow\n"
    link = "g2, logs.query, tools/reading, 2026-09-30\n"
    assert rows_of(group + link, caller("viewer")) == (1,)
    assert rows_of(group + link, caller("viewer"), today=TODAY + dt.timedelta(days=1)) == (2,)


@pytest.mark.promise("P4")
@pytest.mark.parametrize("name", ["logs.purge", "logs.melts", "x"])
def test_a_hidden_and_a_made_up_name_have_the_very_same_answer(name: str) -> None:
    """It is one constant, and names no row."""
    engine = engine_of(ALLOWS + "p, oncall, *, logs.purge, call, allow\n")
    decision = engine.decide(engine.standing(caller("viewer"), TODAY), name, "call")
    assert decision is DENIED
    assert (decision.allowed, decision.rows, decision.fault) == (False, (), "")
