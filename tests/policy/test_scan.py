"""Other models: what their matcher says is run on the rows, and nothing but True matches."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from gatewright.policy.caller import Actor
from gatewright.policy.engine import Engine, Granted, compile_engine
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import DEFAULT_MODEL
from gatewright.policy.plan import plan_lookup
from gatewright.policy.policyset import PolicySet
from gatewright.policy.predicate import FIELDS, Predicate
from gatewright.policy.scan import Scan
from gatewright.policy.standing import Roles
from gatewright.policy.syntax import parse_matcher
from small_policies import TODAY, caller, may, policies_of

WHO = 'g(r.sub, p.sub, r.dom) && (p.dom == "*" || p.dom == r.dom)'
ROWS = """\
p, viewer, *, logs.query, call, allow
p, analyst, acme, logs.*, call, allow
p, suspended, *, logs.*, call, deny
p, copilot, *, logs.query, call, allow
p, subject:bea, *, logs.purge, call, allow, 2026-09-30
g, lead, viewer, *
g, subject:cid, lead, acme
"""


def with_matcher(text: str) -> str:
    """The model of POLICY.md with another matcher."""
    return DEFAULT_MODEL.partition("m = ")[0] + f"m = {text}\n"


def engine_with(matcher: str, rows: str = ROWS) -> Engine:
    """The engine over *rows* under *matcher*."""
    return compile_engine(policies_of(rows, model=with_matcher(matcher)))


def test_a_matcher_of_another_form_decides_by_what_it_says() -> None:
    """Comparisons, lists and negations of it, with roles, denies and days as ever."""
    engine = engine_with(
        f'{WHO} && r.obj == p.obj && r.act in ("call", "approve") && !(r.obj == "logs.purge" && p.sub == "x")',
        ROWS.replace("logs.*", "logs.purge"),
    )
    assert may(engine, caller("viewer"), "logs.query")
    assert may(engine, caller("viewer"), "logs.query", "approve")
    assert not may(engine, caller("viewer"), "logs.query", "read")
    assert may(engine, caller("lead"), "logs.query")
    assert may(engine, caller(subject="cid"), "logs.query")
    assert not may(engine, caller(subject="cid", tenant="globex"), "logs.query")
    assert may(engine, caller(subject="bea"), "logs.purge")
    assert not may(engine, caller(subject="bea"), "logs.purge", today=TODAY.replace(month=10))


def test_denies_count_for_every_role_held_and_allows_for_those_asked() -> None:
    """And a subject's roles are not given with the subject's own rows."""
    engine = engine_with(f"{WHO} && keyMatch(r.obj, p.obj) && keyMatch(r.act, p.act)")
    both = engine.standing(caller("viewer", "suspended"), TODAY)
    assert not engine.decide(both, "logs.query", "call", ("viewer",)).allowed
    assert engine.decide(both, "logs.query", "call").rows == ("policy.csv:3",)
    held = engine.standing(caller("analyst", "viewer"), TODAY)
    assert engine.decide(held, "logs.purge", "call", ("analyst",)).allowed
    assert not engine.decide(held, "logs.purge", "call", ("viewer",)).allowed
    given = engine.standing(caller(subject="cid"), TODAY)
    assert engine.decide(given, "logs.query", "call", ("lead",)).allowed
    assert not engine.decide(given, "logs.query", "call", ()).allowed


def test_an_actor_must_be_allowed_as_well() -> None:
    """By the same matcher."""
    engine = engine_with(f"{WHO} && keyMatch(r.obj, p.obj) && keyMatch(r.act, p.act)")
    copilot = Actor("bot", frozenset({"copilot"}))
    standing = engine.standing(caller("analyst", actor=copilot), TODAY)
    assert engine.decide(standing, "logs.query", "call").rows == ("policy.csv:2", "policy.csv:4")
    assert not engine.decide(standing, "logs.purge", "call").allowed
    assert engine.opening_roles(standing, ("analyst", "viewer"), "logs.query") == {"analyst"}


def test_a_role_is_asked_by_its_own_name_where_the_matcher_has_no_g() -> None:
    """What a role inherits is nothing to such a matcher, stock Casbin's neither."""
    matcher = 'r.sub == p.sub && (p.dom == "*" || p.dom == r.dom) && r.obj == p.obj && r.act == p.act'
    engine = engine_with(matcher, ROWS.replace("logs.*", "logs.purge"))
    standing = engine.standing(caller("lead"), TODAY)
    assert not engine.decide(standing, "logs.query", "call", ("lead",)).allowed
    assert engine.decide(engine.standing(caller("viewer"), TODAY), "logs.query", "call", ("viewer",)).allowed


def test_a_model_without_a_tenant_is_for_one_tenant_alone() -> None:
    """Its callers are those of that tenant, also where an issuer may assert others."""
    model = (
        (
            DEFAULT_MODEL.replace("r = sub, dom, obj, act", "r = sub, obj, act")
            .replace("p = sub, dom,", "p = sub,")
            .replace("g = _, _, _", "g = _, _")
            .partition("m = ")[0]
        )
        + "m = g(r.sub, p.sub) && r.obj == p.obj && r.act == p.act\n"
    )
    policies = replace(policies_of(ROWS), model=model)
    with pytest.raises(PolicyInvalid, match="several are declared"):
        compile_engine(policies)
    engine = compile_engine(replace(policies, names=replace(policies.names, tenants=frozenset({"acme"}))))
    assert may(engine, caller("lead"), "logs.query")
    assert not may(engine, caller("lead", tenant="globex"), "logs.query")


def test_a_row_that_is_no_pattern_of_its_operator_keeps_the_policies_from_loading() -> None:
    """With the place of the row."""
    rows = "p, viewer, *, logs.query, call, allow\np, subject:(, *, logs.purge, call, deny\n"
    with pytest.raises(PolicyInvalid, match=r"policy\.csv:2:1: pattern: regexMatch"):
        engine_with(f"{WHO} && regexMatch(r.sub, p.sub) && r.obj == p.obj", rows)


@pytest.mark.parametrize("near", ["logs.query\n", "logs\x00.query", "logs.query\u2028"])
def test_what_cannot_be_seen_is_in_no_request(near: str) -> None:
    """No pattern has to say so."""
    engine = engine_with(
        f"{WHO} && (regexMatch(r.obj, p.obj) || keyMatch(r.obj, p.obj))", "p, viewer, *, logs.*, call, allow\n"
    )
    assert may(engine, caller("viewer"), "logs.query")
    assert not may(engine, caller("viewer"), near)


def test_more_is_thought_granted_than_is_and_never_less() -> None:
    """Of a type; what is granted of an id is decided by id."""
    rows = "p, viewer, *, service:a, read, allow\np, viewer, *, service:no, read, deny\n"
    engine = engine_with(f"{WHO} && keyMatch(r.obj, p.obj) && r.act == p.act && r.act != 'x'", rows)
    standing = engine.standing(caller("viewer"), TODAY)
    assert engine.granted(standing, ("viewer",), "service", "read") == Granted(frozenset("a"), False)
    assert engine.granted(standing, ("viewer",), "invoice", "read") == Granted(frozenset(), False)
    assert engine.denies_type(standing, "service", "read")
    assert not engine.denies_type(standing, "invoice", "read")
    by_regex = engine_with(f"{WHO} && regexMatch(r.obj, p.obj)", rows)
    assert by_regex.granted(standing, ("viewer",), "invoice", "read").open


def scan_of(predicate: Predicate) -> tuple[Scan, PolicySet]:
    """Rows under a matcher that is *predicate*."""
    policies = policies_of("p, viewer, *, logs.query, call, allow\n")
    plan = plan_lookup(parse_matcher("r.sub == 'x'", {}), frozenset(FIELDS))
    return Scan(policies, plan, predicate, Roles(policies)), policies


@pytest.mark.case(25)
@pytest.mark.parametrize("answer", [None, "false", "true", 1, 1.0, [True], False])
def test_only_true_matches(answer: object) -> None:
    """Whatever else counts as true elsewhere."""
    scan, policies = scan_of(lambda *_: cast("bool", answer))
    standing = Roles(policies).standing(caller("viewer"), TODAY)
    assert not scan.ask(standing, None, "logs.query", "call").allowed
    matching, _ = scan_of(lambda *_: True)
    assert matching.ask(standing, None, "logs.query", "call").allowed


@pytest.mark.case(25)
@pytest.mark.promise("P1")
def test_a_matcher_that_raises_denies_and_says_what_was_raised() -> None:
    """Also where the row that it failed on is a deny."""
    rows = "p, viewer, *, logs.query, call, allow\n"
    failing = engine_with(
        f"{WHO} && (r.obj == p.obj || ipMatch(r.act, '10.0.0.0/8'))", rows + "p, viewer, *, logs.purge, call, deny\n"
    )
    decision = failing.decide(failing.standing(caller("viewer"), TODAY), "logs.query", "call")
    assert (decision.allowed, decision.fault, decision.rows) == (False, "ValueError", ())
