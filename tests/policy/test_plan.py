"""Which conjuncts become ways to look rows up, and when that is all there is."""

from __future__ import annotations

import pytest

from gatewright.policy.plan import Plan, Ways, plan_lookup
from gatewright.policy.predicate import FIELDS
from gatewright.policy.syntax import parse_matcher

FUNCTIONS = {"keyMatch": 2, "regexMatch": 2, "g": 3, "g2": 2}
WHO = 'g(r.sub, p.sub, r.dom) && (p.dom == "*" || p.dom == r.dom)'


def plan_of(text: str) -> Plan:
    """The plan of a matcher over rows with all four fields."""
    return plan_lookup(parse_matcher(text, FUNCTIONS), frozenset(FIELDS))


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("r.obj == p.obj", Ways(same=True)),
        ("p.obj == r.obj", Ways(same=True)),
        ('"*" == p.obj || r.obj == p.obj', Ways(same=True, star=True)),
        ("keyMatch(r.obj, p.obj)", Ways(same=True, prefix=True)),
        ("g2(r.obj, p.obj)", Ways(same=True, linked=True)),
        ("keyMatch(r.obj, p.obj) || g2(r.obj, p.obj)", Ways(same=True, prefix=True, linked=True)),
    ],
)
def test_rows_are_looked_up_by_what_a_conjunct_says_of_one_field(text: str, ways: Ways) -> None:
    """And nothing is left to run where each field has its conjunct."""
    plan = plan_of(f"{WHO} && ({text}) && r.act == p.act")
    assert plan.ways["obj"] == ways
    assert plan.is_whole


@pytest.mark.parametrize(
    "text",
    [
        "r.obj == p.act",
        "keyMatch(r.obj, p.act)",
        "keyMatch(p.obj, p.obj)",
        "regexMatch(r.obj, p.obj)",
        "r.obj != p.obj",
        "!(r.obj == p.obj)",
        'p.obj == "all"',
        'r.obj == "*"',
        "r.obj == p.obj || r.act == p.act",
        "r.obj == p.obj || r.obj == 'x'",
        "(r.obj == p.obj && r.act == p.act) || g2(r.obj, p.obj)",
        "g2(p.obj, r.obj)",
        "p.act == '*' || r.obj == p.obj",
    ],
)
def test_what_is_of_another_form_is_left_to_run(text: str) -> None:
    """Nothing is looked up by it."""
    plan = plan_of(f"{WHO} && ({text})")
    assert set(plan.ways) == {"sub", "dom"}
    assert not plan.is_whole


@pytest.mark.parametrize(
    "text",
    [
        f"{WHO} && r.obj == p.obj",
        f"{WHO} && r.obj == p.obj && r.act == p.act && r.act == p.act",
        f"{WHO} && r.obj == p.obj && keyMatch(r.act, p.act)",
        f"{WHO} && r.obj == p.obj && r.act == p.act && r.act != 'call'",
        "g(r.sub, p.sub, r.dom) && keyMatch(r.dom, p.dom) && r.obj == p.obj && r.act == p.act",
    ],
)
def test_a_plan_is_whole_only_where_masks_can_say_all_of_the_matcher(text: str) -> None:
    """A field without a conjunct, a second conjunct, a prefix of what is no object."""
    assert not plan_of(text).is_whole
