"""Which models load: those whose every part has a meaning here, in any layout, and no other."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

import pytest

from gatewright.policy.engine import compile_engine
from gatewright.policy.errors import Misuse, PolicyInvalid
from gatewright.policy.folder import DEFAULT_MODEL
from gatewright.policy.matcher import check_distribution, read_model
from small_policies import policies_of

MATCHER = DEFAULT_MODEL.partition("m = ")[2]
WRAPPED = DEFAULT_MODEL.replace(" && (p.dom", " && \\\n(p.dom")


def lines_of(text: str) -> list[int]:
    """The lines of what is wrong with the model *text*."""
    with pytest.raises(PolicyInvalid) as caught:
        read_model(text)
    assert {finding.code for finding in caught.value.findings} == {"model"}
    return [finding.place.line for finding in caught.value.findings]


def with_matcher(text: str) -> str:
    """The model with *text* as its matcher."""
    return DEFAULT_MODEL.replace(MATCHER, f"{text}\n")


@pytest.mark.parametrize(
    "text",
    [
        DEFAULT_MODEL,
        WRAPPED,
        DEFAULT_MODEL.replace(" ", ""),
        WRAPPED.replace("\n", "\r\n"),
        WRAPPED.replace("\\\n", "\\  \n   "),
        DEFAULT_MODEL.replace("\n[", "\n\n# a comment: r = x\n; another\n["),
        DEFAULT_MODEL.replace(" && ", "  &&\t"),
    ],
)
def test_the_layout_of_a_model_does_not_matter(text: str) -> None:
    """Blanks, comments, line ends and lines that go on: one plan, which says all of the matcher."""
    assert read_model(text).plan == read_model(DEFAULT_MODEL).plan
    assert read_model(text).plan.is_whole


@pytest.mark.case(28)
@pytest.mark.parametrize(
    "matcher",
    [
        "eval(p.sub)",
        "true",
        "1 == 1",
        "True or g(r.sub, p.sub, r.dom)",
        "9**9**9 && g(r.sub, p.sub, r.dom)",
        "r.sub.__class__ == p.sub",
        "r.sub.admin == p.sub",
        f"{MATCHER.strip()} || true",
        f"{MATCHER.strip()} || r.sub == 'root'",
        f"{MATCHER.strip()} && eval(p.act)",
        f"{MATCHER.strip()} && p.eft == 'allow'",
        f"{MATCHER.strip()} && r.until == p.until",
        f"{MATCHER.strip()} && g3(r.obj, p.obj)",
        f"{MATCHER.strip()} && timeMatch(p.act, p.obj)",
        f"{MATCHER.strip()} && keyMatch(p.obj, r.obj)",
        f"{MATCHER.strip()} && regexMatch(r.obj, '(?=a)')",
        f"{MATCHER.strip()} && r.obj in p.obj",
        MATCHER.replace("r.dom)", "r.dom, r.obj)").strip(),
        MATCHER.replace("p.dom == r.dom", "p.dom != r.dom").strip(),
        MATCHER.replace("p.dom == r.dom", "p.dom == r.act").strip(),
        MATCHER.replace("p.dom == r.dom", "regexMatch(r.dom, p.dom)").strip(),
        MATCHER.replace("g(r.sub, p.sub, r.dom)", "g(r.obj, p.sub, r.dom)").strip(),
        MATCHER.replace(' && (p.dom == "*" || p.dom == r.dom)', "").strip(),
    ],
)
def test_a_matcher_that_means_something_else_is_refused(matcher: str) -> None:
    """Nothing in a model is ever evaluated."""
    assert set(lines_of(with_matcher(matcher))) == {11}


@pytest.mark.case(13)
@pytest.mark.parametrize("literal", ["p.apple", "r.list", "a && b", "a || !b", "a # b", "p_apple"])
def test_a_literal_in_a_matcher_is_exactly_what_it_says(literal: str) -> None:
    """The bare library rewrites fields, operators and comments inside of quotes."""
    model = read_model(with_matcher(f"{MATCHER.strip()} && r.obj == '{literal}'"))
    for obj, answer in ((literal, True), (literal.replace(".", "_").replace("&&", "and") + " ", False)):
        request = ("a", "t", obj, "call")
        assert model.predicate(*request, "*", "*", obj, "*", lambda *_: False, lambda *_: False) is answer


@pytest.mark.parametrize(("spelling", "line"), [("p_sub", 11), ("p .sub", 11)])
def test_a_field_is_spelt_with_its_dot(spelling: str, line: int) -> None:
    """What the library makes of a field is no spelling of it, and what it would not take for a field is none."""
    assert lines_of(with_matcher(MATCHER.replace("p.sub", spelling).strip())) == [line]


@pytest.mark.case(15)
@pytest.mark.parametrize(
    "effect",
    [
        "!some(where (p.eft == deny))",
        "some(where (p.eft == allow))",
        "priority(p.eft) || deny",
        "some(where (p.eft == allow)) || !some(where (p.eft == deny))",
    ],
)
def test_an_effect_without_an_allow_or_without_denies_is_refused(effect: str) -> None:
    """Nobody is let in for want of a deny row."""
    allow_and_deny = "some(where (p.eft == allow)) && !some(where (p.eft == deny))"
    assert lines_of(DEFAULT_MODEL.replace(allow_and_deny, effect)) == [9]


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        ("[matchers]", "r2 = sub\n[matchers]", [10]),
        ("[matchers]", "e2 = some(where (p.eft == allow))\n[matchers]", [10]),
        ("[matchers]", "[constraints]\nc = sod\n[matchers]", [11]),
        ("g2 = _, _", "g2 = _, _\ng3 = _, _", [8]),
        ("g2 = _, _", "g2 = _, _\ng = _, _, _", [8]),
        ("g2 = _, _", "g2 = _, _\nx = 1", [8]),
        ("g2 = _, _\n", "", [10]),
        ("g2 = _, _", "g2 = _, _, _", [7, 11]),
        ("g = _, _, _", "g = _, _, _, (_, _)", [6]),
        ("r = sub, dom, obj, act", "r = sub, obj, act", [11]),
        ("r = sub, dom, obj, act", "r = sub, dom, obj, act, act", [2]),
        ("r = sub, dom, obj, act", "r = sub, dom, obj", [2, 11]),
        ("r = sub, dom, obj, act", "r = sub, dom, obj, act, age", [2]),
        ("eft, until, ref", "eft, until, level", [4]),
        ("p = sub, dom, obj, act", "p = dom, obj, act", [4, 11]),
        ("[matchers]\n", "[matchers]\nm2 = true\n", [11]),
        ("[matchers]\n", "[matchers]\nm = true\n", [12]),
        ("e = some", "e = priority(p.eft) || deny\ne = some", [10]),
        ("[matchers]\n", "[Matchers]\n", [1, 11]),
        ("m = (", "M = (", [1, 11]),
    ],
)
def test_definitions_that_differ_or_are_missing_doubled_or_unknown_are_refused(
    before: str, after: str, lines: list[int]
) -> None:
    """Also those that the library passes over, and the second of two, which it would take."""
    assert lines_of(DEFAULT_MODEL.replace(before, after, 1)) == lines


@pytest.mark.parametrize("text", ["", "[matchers]", "r sub", "[request_definition]\nr\n", "\x00", "[matchers]\nm = \\"])
def test_what_is_no_model_is_refused(text: str) -> None:
    """With findings, whatever the library's parser raises."""
    assert lines_of(text)


def test_a_model_that_the_library_reads_otherwise_is_refused() -> None:
    """A comment that ends a line which goes on: two readings, so none."""
    assert lines_of(WRAPPED.replace("\\\n", "\\\n# here\n"))


def test_a_missing_definition_is_named() -> None:
    """With its section."""
    with pytest.raises(PolicyInvalid) as caught:
        read_model(DEFAULT_MODEL.partition("[policy_effect]")[0])
    assert [each.message for each in caught.value.findings] == ["[matchers] has no m", "[policy_effect] has no e"]


def test_policies_with_another_model_do_not_compile() -> None:
    """The engine is never built for a meaning that it does not have."""
    with pytest.raises(PolicyInvalid):
        compile_engine(policies_of("p, viewer, *, logs.query, call, allow\n", model=with_matcher("true")))


@pytest.fixture
def distributions(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, list[str]]]:
    """What seems to be installed."""
    found = {"casbin": ["pycasbin"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: found)
    check_distribution.cache_clear()
    yield found
    check_distribution.cache_clear()


def test_only_pycasbin_may_provide_casbin(distributions: dict[str, list[str]]) -> None:
    """Two distributions write the same files, and the last one wins."""
    check_distribution()
    check_distribution.cache_clear()
    distributions["casbin"] = ["pycasbin", "casbin"]
    with pytest.raises(Misuse):
        check_distribution()
