"""
Casbin's own example models and policies: those that load decide as stock pycasbin does, and the rest are refused.

Every name of an example is a role here, so that it can be asked for; every request over an example's words and words
near them is asked of both.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from pathlib import Path

import casbin
import pytest

from gatewright.policy.engine import Engine, compile_engine
from gatewright.policy.errors import Place, PolicyInvalid
from gatewright.policy.matcher import read_model
from gatewright.policy.model import Caller, Delegation, Link, Membership, Names, PolicySet, Rule
from shared_data import shared

TODAY = dt.date(2026, 9, 30)
EXAMPLES = shared("data/casbin-examples/examples")
PAIRS = {
    "basic_model": ["basic_policy"],
    "basic_with_root_model": ["basic_policy"],
    "glob_model": ["glob_policy"],
    "keymatch2_model": ["keymatch2_policy"],
    "keymatch_model": ["keymatch_policy"],
    "rbac_model": ["rbac_policy", "rbac_with_hierarchy_policy", "rbac_with_cycle_policy"],
    "rbac_model_in_multi_line": ["rbac_policy"],
    "rbac_model_matcher_using_in_op": ["rbac_policy"],
    "rbac_model_matcher_using_in_op_bracket": ["rbac_policy"],
    "rbac_with_all_pattern_model": ["rbac_with_all_pattern_policy"],
    "rbac_with_deny_model": ["rbac_with_deny_policy"],
    "rbac_with_domain_pattern_model": ["rbac_with_domain_pattern_policy"],
    "rbac_with_domains_model": [
        "rbac_with_domains_policy",
        "rbac_with_domains_policy2",
        "rbac_with_hierarchy_with_domains_policy",
    ],
    "rbac_with_pattern_model": ["rbac_with_pattern_policy"],
    "rbac_with_resource_roles_model": ["rbac_with_resource_roles_policy"],
}
REFUSED = {
    "abac_model": "r.obj.Owner",
    "abac_not_using_policy_model": "r.obj.Owner",
    "abac_rule_model": "eval",
    "basic_without_resources_model": "no obj",
    "basic_without_users_model": "no sub",
    "biba_model": "fields that map to nothing",
    "blp_model": "fields that map to nothing",
    "comment_model": "a comment that pycasbin takes for a field",
    "eval_operator_model": "eval",
    "keyget2_model": "keyGet2, which pycasbin does not have either",
    "keyget_model": "keyGet, which pycasbin does not have either",
    "keymatch_custom_model": "a function of the application",
    "lbac_model": "fields that map to nothing",
    "multiple_policy_definitions_model": "two definitions of one kind",
    "object_conditions_model": "eval",
    "orbac_model": "g3",
    "pbac_model": "eval",
    "priority_model": "an allow may win over a deny",
    "priority_model_enforce_context": "an allow may win over a deny",
    "priority_model_explicit": "an allow may win over a deny",
    "priority_model_explicit_customized": "an allow may win over a deny",
    "rbac_with_constraints_model": "constraints, which pycasbin passes over",
    "rbac_with_different_types_of_roles_model": "conditional roles",
    "rbac_with_domain_temporal_roles_model": "conditional roles",
    "rbac_with_domains_conditional_model": "conditional roles",
    "rbac_with_multiple_policy_model": "two definitions of one kind",
    "rbac_with_not_deny_model": "no explicit allow",
    "rbac_with_temporal_roles_model": "conditional roles",
    "rebac_model": "fields that map to nothing",
    "subject_priority_model": "an allow may win over a deny",
    "subject_priority_model_with_domain": "an allow may win over a deny",
}
ROWS_REFUSED = {"keymatch_with_rbac_in_domain": "allow_everything"}
NOT_COMPARED = {
    "basic_model_without_spaces": "is basic_model",
    "ipmatch_model": "nobody's name is an address here",
    "syntax_matcher_model": "has a test of its own",
}


def rows_of(policy: str) -> list[list[str]]:
    """The rows of an example, cell by cell."""
    text = (EXAMPLES / f"{policy}.csv").read_text("utf-8")
    return [[cell.strip() for cell in line.split(",")] for line in text.splitlines() if line.strip() and line[0] != "#"]


def policies_of(model: str, rows: list[list[str]]) -> PolicySet:
    """The example as a policy set: every name that may be asked for is a role, every domain a tenant."""
    text = (EXAMPLES / f"{model}.conf").read_text("utf-8")
    columns = read_model(text).columns
    rules, links, members = [], [], []
    for number, (kind, *cells) in enumerate(rows, 1):
        place = Place("policy.csv", number)
        if kind == "p":
            row = {"dom": "*", "eft": "allow", **dict(zip(columns, cells, strict=True))}
            eft = "deny" if row["eft"] == "deny" else "allow"
            rules.append(Rule(row["sub"], row["dom"], row["obj"], row["act"], eft, None, "", place))
        elif kind == "g":
            links.append(Link(cells[0], cells[1], cells[2] if len(cells) > 2 else "*", None, "", place))
        else:
            members.append(Membership(cells[0], cells[1], None, "", place))
    roles = {name: frozenset[str]() for name in people_of(rows)}
    tenants = frozenset(row[3] for row in rows if row[0] == "g" and len(row) > 3) | {"t"}
    tenants = tenants if "dom" in columns else frozenset("t")
    names = Names(roles, frozenset(), tenants, {}, Delegation(), {}, {})
    return PolicySet("r", text, names, tuple(rules), tuple(links), tuple(members), {}, {}, {}, {})


def people_of(rows: list[list[str]]) -> list[str]:
    """Who may be asked for: who is in a row, one that no row knows, and the two that matchers name."""
    found = {row[1] for row in rows if row[0] in ("p", "g")} | {row[2] for row in rows if row[0] == "g"}
    return sorted({*found, "nobody", "root", "a.p.p.l.e", "a_p_p_l_e"})


def requests_of(rows: list[list[str]], has_domain: bool) -> Iterator[tuple[str, str, str, str]]:
    """Every subject, domain, object and action of the rows, and words near them."""
    at = 3 if has_domain else 2
    rules = [row for row in rows if row[0] == "p"]
    objects = {near for row in rules for near in _near(row[at])} | {row[1] for row in rows if row[0] == "g2"}
    actions = {near for row in rules for near in _near(row[at + 1])} | {"GET", "GETX", "POST", "attach"}
    domains = {row[2] for row in rules} | {row[3] for row in rows if row[0] == "g" and len(row) > 3}
    domains = {domain.replace("*", "engine1") for domain in domains if domain != "*"} | {"t"} if has_domain else {"t"}
    words = (objects | {"data9", "/foo/x", "/a/foo/b"}, actions)
    for asked in itertools.product(people_of(rows), sorted(domains), *(sorted(each) for each in words)):
        if not any("*" in word or not word for word in asked):
            yield asked


def _near(cell: str) -> set[str]:
    plain = cell.replace("*", "x").replace(":", "")
    return {
        cell,
        plain,
        f"{plain}x",
        plain[:-1],
        plain.upper(),
        f"{plain}/y",
        cell.replace("*", ""),
        plain.replace(".", "x"),
    }


class Both:
    """Our engine and stock pycasbin over the same example."""

    def __init__(self, model: str, policy: str) -> None:
        self.rows = rows_of(policy)
        self.model = read_model((EXAMPLES / f"{model}.conf").read_text("utf-8"))
        self.ours: Engine = compile_engine(policies_of(model, self.rows))
        self.stock = casbin.Enforcer(str(EXAMPLES / f"{model}.conf"), str(EXAMPLES / f"{policy}.csv"))
        if self.model.has_tenant and self.stock.get_model().model.get("g"):
            self.stock.add_named_domain_matching_func("g", lambda asked, stated: stated == "*" or asked == stated)
            self.stock.build_role_links()

    def ask(self, sub: str, dom: str, obj: str, act: str) -> tuple[bool, bool]:
        """What ours says, and what stock says."""
        standing = self.ours.standing(Caller("someone", dom, frozenset({sub})), TODAY)
        decision = self.ours.decide(standing, obj, act)
        assert not decision.fault
        return decision.allowed, self.stock.enforce(*((sub, dom) if self.model.has_tenant else (sub,)), obj, act)


def explanation(both: Both, obj: str, act: str) -> str:
    """The line of docs/decisions/casbin-operators.md behind a denial that stock would allow; empty where none is."""
    cells = {cell for row in both.rows if row[0] == "p" for cell in row}
    if any(cell.endswith("*") and obj == cell[:-1] for cell in cells):
        return "a star stands for something"
    if any(pattern == "regexMatch" for pattern, _ in both.model.patterns()) and act not in cells:
        return "regexMatch matches in full"
    if any(pattern == "globMatch" for pattern, _ in both.model.patterns()) and "//" in f"{obj}/":
        return "no segment of a glob is empty"
    return ""


@pytest.mark.parametrize(("model", "policy"), [(model, policy) for model, found in PAIRS.items() for policy in found])
def test_an_example_decides_as_stock_casbin_decides_it(model: str, policy: str) -> None:
    """Over all of its words; ours never allows what stock denies, and each denial beyond stock's has its reason."""
    both = Both(model, policy)
    answers = [
        (asked, both.ask(*asked)) for asked in itertools.islice(requests_of(both.rows, both.model.has_tenant), 6000)
    ]
    unexplained = [
        (asked, ours, theirs)
        for asked, (ours, theirs) in answers
        if ours is not theirs and (ours or not explanation(both, asked[2], asked[3]))
    ]
    assert unexplained == []
    assert any(ours for _, (ours, _) in answers)


@pytest.mark.parametrize("model", sorted(REFUSED))
def test_an_example_that_has_no_meaning_here_is_refused(model: str) -> None:
    """With findings in model.conf."""
    with pytest.raises(PolicyInvalid, match=r"model\.conf"):
        read_model((EXAMPLES / f"{model}.conf").read_text("utf-8"))


@pytest.mark.parametrize("model", sorted(ROWS_REFUSED))
def test_an_example_whose_rows_have_no_meaning_here_is_refused(model: str) -> None:
    """The model loads; the row does not."""
    with pytest.raises(PolicyInvalid, match=ROWS_REFUSED[model]):
        compile_engine(policies_of(model, rows_of(model)))


@pytest.mark.case(13)
def test_the_literal_of_an_example_is_matched_as_it_is_written() -> None:
    """Stock pycasbin rewrites a.p.p.l.e, and then nobody is called that."""
    both = Both("syntax_matcher_model", "basic_policy")
    assert both.ask("a.p.p.l.e", "t", "data1", "read") == (True, False)
    assert not any(both.ask(name, "t", "data1", "read")[0] for name in ("alice", "a_p_p_l_e", "nobody"))


def test_every_example_is_accounted_for() -> None:
    """None is forgotten, and none stands in two lists."""
    found = sorted(Path(path).stem for path in EXAMPLES.glob("*.conf"))
    assert sorted([*PAIRS, *REFUSED, *ROWS_REFUSED, *NOT_COMPARED]) == found
