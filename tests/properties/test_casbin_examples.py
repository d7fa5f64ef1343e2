"""
Casbin's own example models and policies: those that load decide as stock pycasbin does, and the rest are refused.

Every name of an example is a role here, so that it can be asked for; every request over an example's words and words
near them is asked of both.
"""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import casbin
import pytest
from casbin.persist.adapters.string_adapter import StringAdapter

from gatewright.policy.caller import Caller
from gatewright.policy.engine import Engine, compile_engine
from gatewright.policy.errors import Place, PolicyInvalid
from gatewright.policy.matcher import Model, read_model
from gatewright.policy.model import Delegation, Link, Membership, Names, Rule
from gatewright.policy.policyset import PolicySet
from shared_data import shared

TODAY = dt.date(2026, 9, 30)
EXAMPLES = shared("data/casbin-examples/examples")
EXPECTED = Path(__file__).with_name("casbin_differences.txt")
MOST = 3000
MOST_OF_OTHERS = 150
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
    "ipmatch_model": "subjects are no addresses",
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


@functools.cache
def readable() -> dict[str, Model]:
    """The models that load, by name."""
    return {name: read_model(_text(name)) for name in model_names() if name not in REFUSED}


def model_names() -> list[str]:
    """Every example model."""
    return sorted(path.stem for path in EXAMPLES.glob("*.conf"))


def pairs() -> list[tuple[str, str]]:
    """Every model that loads with every policy whose rows are as wide as it has them, its own and others'."""
    policies = sorted(path.stem for path in EXAMPLES.glob("*.csv"))
    return [(name, policy) for name, model in readable().items() for policy in policies if _fits(model, policy)]


def _fits(model: Model, policy: str) -> bool:
    rows = rows_of(policy)
    wide = {"p": len(model.columns), **model.links}
    effects = {row[-1] for row in rows if row[0] == "p"} if "eft" in model.columns else {"allow"}
    return all(wide.get(row[0]) == len(row) - 1 for row in rows) and effects <= {"allow", "deny"} and len(rows) > 1


def _text(model: str) -> str:
    return (EXAMPLES / f"{model}.conf").read_text("utf-8")


def rows_of(policy: str) -> list[list[str]]:
    """The rows of an example, cell by cell; a colon in a subject is written as a dot, for no role is called so here."""
    text = (EXAMPLES / f"{policy}.csv").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.strip() and line[0] != "#"]
    return [_renamed(*(cell.strip() for cell in line.split(","))) for line in lines]


def _renamed(kind: str, *cells: str) -> list[str]:
    people = {"p": 1, "g": 2}.get(kind, 0)
    return [kind, *(cell.replace(":", ".") for cell in cells[:people]), *cells[people:]]


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
    """Our engine and stock pycasbin over the same rows."""

    def __init__(self, model: str, policy: str) -> None:
        self.rows = rows_of(policy)
        self.model = readable()[model]
        self.ours: Engine = compile_engine(policies_of(model, self.rows))
        text = "\n".join(", ".join(row) for row in self.rows)
        self.stock = casbin.Enforcer(str(EXAMPLES / f"{model}.conf"), StringAdapter(text))
        if self.model.has_tenant and self.stock.get_model().model.get("g"):
            self.stock.add_named_domain_matching_func("g", lambda asked, stated: stated == "*" or asked == stated)
            self.stock.build_role_links()

    def requests(self, most: int) -> list[tuple[str, str, str, str]]:
        """At most *most* requests over the rows' words and near misses, the same ones on every machine."""
        asked = [*requests_of(self.rows, self.model.has_tenant)]
        return asked if len(asked) <= most else random.Random(1).sample(asked, most)

    def ask(self, sub: str, dom: str, obj: str, act: str) -> tuple[bool, bool]:
        """What ours says, and what stock says."""
        standing = self.ours.standing(Caller("someone", dom, frozenset({sub})), TODAY)
        decision = self.ours.decide(standing, obj, act, (sub,))
        assert not decision.fault
        return decision.allowed, self.stock.enforce(*((sub, dom) if self.model.has_tenant else (sub,)), obj, act)

    def cells(self) -> set[str]:
        """Every cell of the p rows."""
        return {cell for row in self.rows if row[0] == "p" for cell in row[1:]}

    def uses(self, operator: str) -> bool:
        """Whether the matcher calls *operator* on a cell."""
        return any(name == operator for name, _ in self.model.patterns())


def rules_behind(both: Both, asked: tuple[str, str, str, str], ours: bool) -> list[str]:
    """The lines of docs/decisions/casbin-operators.md that each make *asked* differ; the first one counts."""
    sub, _, obj, act = asked
    cells = both.cells()
    if ours:
        return ["literal-as-written"] if sub == "a.p.p.l.e" else []
    found = {
        "star-is-something": both.uses("keyMatch") and any(c.endswith("*") and obj == c[:-1] for c in cells),
        "regex-in-full": both.uses("regexMatch") and act not in cells,
        "dot-is-a-dot": both.uses("keyMatch2") and act in cells and obj not in cells,
        "no-empty-segment": both.uses("globMatch") and "//" in f"{obj}/",
    }
    return [rule for rule, holds in found.items() if holds]


def observed(model: str, policy: str, most: int) -> set[str]:
    """A line for each rule by which this pair differs from stock; fails where no rule says why."""
    both = Both(model, policy)
    lines = set()
    for asked in both.requests(most):
        ours, theirs = both.ask(*asked)
        if ours is not theirs:
            rules = rules_behind(both, asked, ours)
            assert rules, (model, policy, asked, ours)
            lines.add(f"{model} {policy} {rules[0]}")
    return lines


@functools.cache
def all_observed() -> frozenset[str]:
    """The lines of every pair that loads, its own policies at length."""
    found: set[str] = set()
    for model, policy in pairs():
        if policy_loads(model, policy):
            is_own = policy.removesuffix("_policy") in model
            found |= observed(model, policy, MOST if is_own else MOST_OF_OTHERS)
    return frozenset(found)


def policy_loads(model: str, policy: str) -> bool:
    """Whether each row is a pattern of the operator that it is given to."""
    try:
        return bool(compile_engine(policies_of(model, rows_of(policy))))
    except PolicyInvalid:
        return False


def differing(lines: Iterable[str]) -> set[str]:
    """What is expected and does not happen, or happens and is not expected."""
    return set(lines) ^ all_observed()


def test_every_example_decides_as_stock_casbin_or_by_a_rule_that_is_written_down() -> None:
    """Over its own policies and those of others, words and near misses; each difference by the one rule of its line."""
    assert differing(EXPECTED.read_text().splitlines()) == set()


def test_no_expected_difference_is_one_too_many() -> None:
    """Without any one of its lines the test above fails."""
    lines = EXPECTED.read_text().splitlines()
    assert len(lines) == len(set(lines)) > 10
    assert all(differing([*lines[:at], *lines[at + 1 :]]) == {line} for at, line in enumerate(lines))


def test_a_good_part_of_the_requests_is_allowed() -> None:
    """A comparison of refusals alone would show little."""
    own = [(model, policy) for model, policy in pairs() if policy.removesuffix("_policy") in model]
    both = [Both(*pair) for pair in own if policy_loads(*pair)]
    allowed = [sum(each.ask(*asked)[0] for asked in each.requests(400)) for each in both]
    assert sum(count > 0 for count in allowed) > len(allowed) * 0.8
    assert sum(allowed) > 150


@pytest.mark.long
@pytest.mark.parametrize(("model", "policy"), pairs())
def test_every_pair_of_model_and_policy_decides_alike_at_length(model: str, policy: str) -> None:
    """All requests of each pair."""
    if policy_loads(model, policy):
        assert observed(model, policy, 10**6) <= {*EXPECTED.read_text().splitlines()}


@pytest.mark.parametrize("model", sorted(REFUSED))
def test_an_example_that_has_no_meaning_here_is_refused(model: str) -> None:
    """With findings in model.conf."""
    with pytest.raises(PolicyInvalid, match=r"model\.conf"):
        read_model(_text(model))


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
    """A model loads, or it is known why not."""
    assert set(REFUSED) <= set(model_names())
    assert set(ROWS_REFUSED) <= set(readable())
    assert len(pairs()) > 150
