"""What the rows say of one request: who is allowed, who is denied, and what never matches."""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import replace
from typing import Any, cast

import pytest

from gatewright.policy.caller import Actor, Caller
from gatewright.policy.engine import Engine, Granted, compile_engine
from small_policies import TODAY, caller, engine_of, may, policies_of

VIEWER = "p, viewer, *, logs.query, call, allow\n"


GROUPS = "g2, logs.query, tools/reading\n"


COPILOT = Actor("bot", frozenset({"copilot"}))


def decided(engine: Engine, who: Caller, obj: str, roles: tuple[str, ...] | None = None) -> bool:
    """Whether *who* may call *obj* through *roles*."""
    return engine.decide(engine.standing(who, TODAY), obj, "call", roles).allowed


def test_a_role_is_allowed_what_its_row_says_and_nothing_near_it() -> None:
    """Other tools, actions, roles and spellings are denied."""
    engine = engine_of(VIEWER)
    assert may(engine, caller("viewer"), "logs.query")
    assert not may(engine, caller("viewer"), "logs.purge")
    assert not may(engine, caller("viewer"), "logs.query", "approve")
    assert not may(engine, caller("analyst"), "logs.query")
    assert not may(engine, caller("viewer"), "Logs.query")


def test_a_deny_of_any_role_held_wins_over_every_allow() -> None:
    """Also where the allow is asked for another role alone."""
    engine = engine_of(VIEWER + "p, suspended, *, logs.*, call, deny\n")
    assert not may(engine, caller("viewer", "suspended"), "logs.query")
    assert not decided(engine, caller("viewer", "suspended"), "logs.query", ("viewer",))
    assert may(engine, caller("viewer"), "logs.query")


@pytest.mark.parametrize("row", ["p, subject:ann, acme", "p, *, acme", "p, *, *"])
def test_denies_of_the_subject_and_of_everyone_count(row: str) -> None:
    """Whatever the roles allow."""
    engine = engine_of(f"{VIEWER}{row}, logs.query, call, deny\n")
    assert not decided(engine, caller("viewer"), "logs.query", ("viewer",))


def test_rows_of_one_tenant_never_reach_another() -> None:
    """Neither allows, nor denies, nor roles."""
    rows = "p, viewer, acme, logs.query, call, allow\np, viewer, acme, notes-add, call, deny\n"
    engine = engine_of(f"{rows}p, viewer, *, notes-add, call, allow\np, lead, *, logs.purge, call, allow\n")
    there = engine_of("g, subject:ann, lead, acme\np, lead, *, logs.purge, call, allow\n")
    assert may(engine, caller("viewer"), "logs.query")
    assert not may(engine, caller("viewer", tenant="globex"), "logs.query")
    assert not may(engine, caller("viewer"), "notes-add")
    assert may(engine, caller("viewer", tenant="globex"), "notes-add")
    assert may(there, caller(), "logs.purge")
    assert not may(there, caller(tenant="globex"), "logs.purge")


def test_a_row_counts_until_its_last_day_has_passed() -> None:
    """Allows, denies, roles and groups, for roles and for subjects."""
    last = dt.date(2026, 9, 30)
    after = last + dt.timedelta(days=1)
    for row in (
        "p, viewer, *, logs.query, call, allow, 2026-09-30",
        "p, subject:ann, *, logs.query, call, allow, 2026-09-30",
        "p, lead, *, logs.query, call, allow\ng, viewer, lead, *, 2026-09-30",
        "p, viewer, *, tools/reading, call, allow\ng2, logs.query, tools/reading, 2026-09-30",
    ):
        engine = engine_of(f"{row}\n")
        assert may(engine, caller("viewer"), "logs.query", today=last), row
        assert not may(engine, caller("viewer"), "logs.query", today=after), row
    denied = engine_of(f"{VIEWER}p, viewer, *, logs.query, call, deny, 2026-09-30\n")
    assert not may(denied, caller("viewer"), "logs.query", today=last)
    assert may(denied, caller("viewer"), "logs.query", today=after)


def test_a_group_stands_for_its_tools_and_for_no_others() -> None:
    """In allows and in denies."""
    engine = engine_of(
        GROUPS + "p, viewer, *, tools/reading, call, allow\np, suspended, *, tools/reading, call, deny\n"
    )
    assert may(engine, caller("viewer"), "logs.query")
    assert not may(engine, caller("viewer"), "logs.purge")
    assert not may(engine, caller("viewer", "suspended"), "logs.query")


@pytest.mark.parametrize(
    ("row", "matched", "missed"),
    [
        ("logs.*", ["logs.query", "logs.purge", "logs.a.b"], ["logs.", "logs", "logsquery", "logsXquery", "log.query"]),
        ("notes-*", ["notes-add", "notes-add-all"], ["notes-", "notes", "notesXadd"]),
        ("notes-add-*", ["notes-add-all"], ["notes-add", "notes-add-"]),
    ],
)
def test_a_star_stands_for_something_behind_its_separator(row: str, matched: list[str], missed: list[str]) -> None:
    """Never for nothing, and never for a part of a word."""
    engine = engine_of(f"p, viewer, *, {row}, call, allow\n")
    assert all(may(engine, caller("viewer"), name) for name in matched)
    assert not any(may(engine, caller("viewer"), name) for name in missed)


def test_a_star_of_ids_stops_at_its_type() -> None:
    """`service:*` is no `invoice:1`, and `service:eu/*` no `service:us/1`."""
    engine = engine_of("p, viewer, *, service:eu/*, read, allow\np, analyst, *, service:*, *, allow\n")
    assert may(engine, caller("viewer"), "service:eu/a:b", "read")
    assert not may(engine, caller("viewer"), "service:us/a", "read")
    assert may(engine, caller("analyst"), "service:us/a", "mute")
    assert not may(engine, caller("analyst"), "invoice:1", "read")
    assert not may(engine, caller("analyst"), "service:", "read")


def test_a_deny_on_everything_denies_everything() -> None:
    """Tools and resources alike."""
    engine = engine_of(VIEWER + "p, viewer, *, service:a, read, allow\np, suspended, *, *, *, deny\n")
    assert not may(engine, caller("viewer", "suspended"), "logs.query")
    assert not may(engine, caller("viewer", "suspended"), "service:a", "read")


@pytest.mark.parametrize("word", ["", "*", "logs.*", "*.query"])
def test_a_request_with_a_pattern_or_without_a_name_is_denied(word: str) -> None:
    """A request is no row: a star in it is nobody's."""
    engine = engine_of("p, viewer, *, logs.*, *, allow\np, viewer, *, logs.query, call, allow\n")
    assert not may(engine, caller("viewer"), word)
    assert not may(engine, caller("viewer"), "logs.query", word)
    assert not may(engine, caller("viewer", tenant=word), "logs.query")
    assert not may(engine, caller("viewer", subject=word), "logs.query")
    assert not may(engine, caller("viewer", actor=Actor(word)), "logs.query")


@pytest.mark.case(29)
@pytest.mark.parametrize("odd", [None, 1, 1.0, True, b"call", ["call"], ("call",), {"call"}, {"call": 1}])
def test_a_request_of_another_kind_than_text_is_denied(odd: Any) -> None:
    """Also where a row would take any action."""
    engine = engine_of("p, viewer, *, logs.query, *, allow\np, viewer, *, service:1, *, allow\n")
    word = cast("str", odd)
    assert not may(engine, caller("viewer"), word)
    assert not may(engine, caller("viewer"), "logs.query", word)
    assert not may(engine, caller("viewer", tenant=word), "logs.query")
    assert not may(engine, caller("viewer", subject=word), "logs.query")
    assert not may(engine, caller("viewer", actor=Actor(word, frozenset({"copilot"}))), "logs.query")


@pytest.mark.case(12)
@pytest.mark.parametrize(
    "near", ["logsXquery", "logs.query\n", "logs.query ", " logs.query", "logs.query\x00", "logs-query"]
)
def test_a_dot_is_a_dot_and_a_newline_is_not_the_end(near: str) -> None:
    """Names are compared, never searched with patterns."""
    engine = engine_of(VIEWER + "p, viewer, *, service:report.txt, read, allow\n")
    assert not may(engine, caller("viewer"), near)
    assert not may(engine, caller("viewer"), "service:reportXtxt", "read")
    assert not may(engine, caller("viewer"), "service:report.txt\n", "read")


@pytest.mark.case(13)
@pytest.mark.parametrize("tool", ["p.search", "r.list"])
def test_names_that_look_like_the_model_s_fields_match_exactly(tool: str) -> None:
    """The bare library rewrites `p.` to `p_`."""
    engine = engine_of(f"p, viewer, *, {tool}, call, allow\n")
    assert may(engine, caller("viewer"), tool)
    assert not may(engine, caller("viewer"), tool.replace(".", "_"))


@pytest.mark.case(14)
@pytest.mark.parametrize("subject", ["viewer", "subject:viewer", "*", "copilot"])
def test_a_subject_that_is_called_as_a_role_does_not_hold_it(subject: str) -> None:
    """Subjects, actors and roles are apart."""
    engine = engine_of(VIEWER + "p, copilot, *, logs.query, call, allow\n")
    assert not may(engine, caller(subject=subject), "logs.query")


@pytest.mark.case(14)
def test_subjects_and_actors_of_one_name_are_apart() -> None:
    """A row of one is none of the other's."""
    engine = engine_of(
        VIEWER + "p, subject:bot, *, logs.query, call, allow\np, actor:ann, *, logs.query, call, allow\n"
    )
    assert not may(engine, caller("viewer", actor=Actor("bot")), "logs.query")
    assert not may(engine, caller(), "logs.query")


@pytest.mark.case(15)
@pytest.mark.parametrize("role", ["pwned", "Viewer", "viewer ", "*", "copilot", ""])
def test_a_role_that_is_not_declared_grants_nothing(role: str) -> None:
    """Nor does no role at all."""
    engine = engine_of(VIEWER + "p, copilot, *, logs.query, call, allow\np, suspended, *, logs.purge, call, deny\n")
    assert not may(engine, caller(role), "logs.query")
    assert not may(engine, caller(), "logs.query")


def test_an_actor_must_be_allowed_as_well() -> None:
    """By a row of a role of its own, of its id, or of everyone."""
    rows = "p, copilot, *, logs.query, call, allow\np, actor:bot, *, logs.purge, call, allow\n"
    engine = engine_of(f"p, viewer, *, logs.*, call, allow\n{rows}")
    assert may(engine, caller("viewer", actor=COPILOT), "logs.query")
    assert may(engine, caller("viewer", actor=COPILOT), "logs.purge")
    assert not may(engine, caller("viewer", actor=Actor("other")), "logs.query")
    assert not may(engine, caller(actor=COPILOT), "logs.query")
    assert may(engine_of("p, *, *, logs.query, call, allow\n"), caller(actor=Actor("other")), "logs.query")


def test_an_actor_can_be_given_a_role_by_a_row() -> None:
    """In the tenant that the row names."""
    engine = engine_of("g, actor:bot, copilot, acme\np, copilot, *, logs.query, call, allow\n" + VIEWER)
    assert may(engine, caller("viewer", actor=Actor("bot")), "logs.query")
    assert not may(engine, caller("viewer", actor=Actor("bot"), tenant="globex"), "logs.query")


@pytest.mark.parametrize("sub", ["copilot", "actor:bot"])
def test_a_deny_of_the_actor_wins(sub: str) -> None:
    """Of its role or its id."""
    rows = f"p, *, *, logs.query, call, allow\np, {sub}, *, logs.query, call, deny\n"
    assert not may(engine_of(rows), caller("viewer", actor=COPILOT), "logs.query")
    assert may(engine_of(rows), caller("viewer"), "logs.query")


def test_a_decision_through_given_roles_has_those_and_the_subject_only() -> None:
    """What the caller's other roles allow does not count; roles not held do not either."""
    engine = engine_of(VIEWER + "p, subject:ann, *, notes-add, call, allow\ng, lead, viewer, *\n")
    assert not decided(engine, caller("viewer", "analyst"), "logs.query", ("analyst",))
    assert not decided(engine, caller("analyst"), "logs.query", ("viewer",))
    assert decided(engine, caller("lead"), "logs.query", ("lead",))
    assert decided(engine, caller("lead"), "logs.query", ("viewer",))
    assert decided(engine, caller("analyst"), "notes-add", ("analyst",))
    assert decided(engine, caller(), "notes-add", ())


def test_roles_given_to_a_subject_by_a_row_are_not_the_subject_s_own_rows() -> None:
    """They count where they are asked for."""
    engine = engine_of(VIEWER + "g, subject:ann, viewer, acme\n")
    assert decided(engine, caller("analyst"), "logs.query", ("viewer",))
    assert not decided(engine, caller("analyst"), "logs.query", ("analyst",))


def test_a_decision_names_the_first_row_that_settled_it() -> None:
    """The deny where one matches; the subject's and the actor's row where both were asked."""
    rows = f"{VIEWER}{VIEWER}p, copilot, *, logs.*, call, allow\np, suspended, *, logs.query, call, deny\n"
    engine = engine_of(rows)
    found = [
        engine.decide(engine.standing(who, TODAY), "logs.query", "call").rows
        for who in (caller("viewer"), caller("viewer", actor=COPILOT), caller("viewer", "suspended"), caller())
    ]
    assert found == [("policy.csv:1",), ("policy.csv:1", "policy.csv:3"), ("policy.csv:4",), ()]


def test_callers_with_roles_that_exclude_each_other_are_denied_everything() -> None:
    """Held or inherited, in either direction."""
    rows = "p, *, *, logs.query, call, allow\np, *, *, service:*, read, allow\ng, lead, suspended, *\n"
    engine = engine_of(rows, excludes="excludes: [viewer]")
    assert may(engine, caller("viewer"), "logs.query")
    for both in (("viewer", "suspended"), ("viewer", "lead")):
        standing = engine.standing(caller(*both), TODAY)
        assert not engine.decide(standing, "logs.query", "call").allowed
        assert engine.opening_roles(standing, both, "logs.query") == frozenset()
        assert engine.granted(standing, both, "service", "read") == Granted(frozenset(), False)


def test_opening_roles_are_those_held_that_may_call() -> None:
    """One denied tool is open to none of them."""
    engine = engine_of(VIEWER + "g, lead, viewer, *\np, suspended, *, logs.query, call, deny\n")
    asked = ("viewer", "analyst", "lead")
    assert engine.opening_roles(engine.standing(caller("lead", "analyst"), TODAY), asked, "logs.query") == {
        "viewer",
        "lead",
    }
    assert not engine.opening_roles(engine.standing(caller("lead", "suspended"), TODAY), asked, "logs.query")
    assert not engine.opening_roles(engine.standing(caller("lead", actor=COPILOT), TODAY), asked, "logs.query")


def test_what_everyone_may_call_opens_only_the_roles_that_are_held() -> None:
    """A row of the subject or of `*` gives nobody a role."""
    engine = engine_of("p, *, *, logs.query, call, allow\np, subject:ann, *, notes-add, call, allow\n")
    standing = engine.standing(caller("analyst"), TODAY)
    for tool in ("logs.query", "notes-add"):
        assert engine.opening_roles(standing, ("viewer", "analyst", "pwned"), tool) == {"analyst"}


def test_the_same_caller_is_remembered_by_key_and_day() -> None:
    """Another key, another day: asked anew. Without a key nothing is remembered."""
    engine = engine_of("p, lead, *, logs.query, call, allow\ng, viewer, lead, *, 2026-09-30\n")
    known = replace(caller("viewer"), key=b"1")
    assert engine.standing(known, TODAY) is engine.standing(known, TODAY)
    assert engine.standing(caller("viewer"), TODAY) is not engine.standing(caller("viewer"), TODAY)
    assert may(engine, known, "logs.query")
    assert not may(engine, known, "logs.query", today=TODAY + dt.timedelta(days=1))
    assert not may(engine, replace(caller("analyst"), key=b"2"), "logs.query")


@pytest.mark.case(19)
def test_a_decision_does_not_outlive_its_rule() -> None:
    """A row taken away or a deny added is felt in the next engine at once, for remembered callers too."""
    known = replace(caller("viewer"), key=b"1")
    engine = engine_of(VIEWER)
    assert may(engine, known, "logs.query")
    assert not may(engine_of("p, viewer, *, logs.purge, call, allow\n"), known, "logs.query")
    assert not may(engine_of(f"{VIEWER}p, subject:ann, *, logs.query, call, deny\n"), known, "logs.query")


class _Broken(frozenset[str]):
    """Roles that cannot be asked."""

    def __contains__(self, item: object) -> bool:
        raise RuntimeError("cannot be asked")


@pytest.mark.case(25)
@pytest.mark.parametrize("fault", [RuntimeError, TypeError, RecursionError, KeyError])
def test_an_exception_while_deciding_is_a_denial(fault: type[Exception]) -> None:
    """Whatever is raised, nothing is allowed."""

    def failing() -> Any:
        raise fault("odd")
        yield "viewer"

    engine = engine_of(VIEWER)
    standing = engine.standing(caller("viewer"), TODAY)
    assert engine.decide(standing, "logs.query", "call", ("viewer",)).allowed
    assert not engine.decide(standing, "logs.query", "call", failing()).allowed
    assert not engine.decide(replace(standing, roles=_Broken(["viewer"])), "logs.query", "call", ("viewer",)).allowed


@pytest.mark.case(25)
def test_only_true_allows() -> None:
    """An answer is a bool and nothing that counts as one."""
    engine = engine_of(VIEWER)
    for who in (caller("viewer"), caller()):
        assert type(engine.decide(engine.standing(who, TODAY), "logs.query", "call").allowed) is bool


@pytest.mark.case(2)
@pytest.mark.promise("P1")
def test_eight_threads_decide_as_one_does() -> None:
    """No exception, no denial of a permitted call, no allow of a denied one; callers come and go from the caches."""
    engine = engine_of(VIEWER + "g, lead, viewer, acme\np, suspended, *, logs.query, call, deny\n")
    wrong: list[object] = []
    start = threading.Barrier(8)

    def decide(thread: int) -> None:
        start.wait(10)
        try:
            for count in range(1500):
                who = replace(caller("lead"), key=b"%d" % (count % 700), subject=f"s{count}")
                bad = replace(caller("lead", "suspended"), key=b"x%d" % (count % 700))
                if not decided(engine, who, "logs.query", ("lead",)) or decided(engine, bad, "logs.query", ("lead",)):
                    wrong.append((thread, count))
        except Exception as error:  # noqa: BLE001 - any exception is the failure that is looked for
            wrong.append(error)

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []


def test_ten_thousand_rows_of_subjects_compile_and_cost_a_decision_nothing() -> None:
    """Rows of ids are found by id: the engine looks at none of the others."""
    rows = "".join(f"p, subject:s{number}, *, logs.query, call, allow\n" for number in range(10_000))
    engine = compile_engine(policies_of(rows))
    standing = engine.standing(caller(subject="s9999"), TODAY)
    assert engine.decide(standing, "logs.query", "call").rows == ("policy.csv:10000",)
    assert not may(engine, caller(subject="s10000"), "logs.query")
