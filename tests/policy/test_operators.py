"""Casbin's operators: as stock pycasbin has them, but for what docs/decisions/casbin-operators.md lists."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from casbin.util import builtin_operators as stock

from gatewright.policy.operators import FAULTS, OPERATORS

STOCK: dict[str, Callable[[str, str], bool]] = {
    "keyMatch": stock.key_match,
    "keyMatch2": stock.key_match2,
    "keyMatch3": stock.key_match3,
    "keyMatch4": stock.key_match4,
    "keyMatch5": stock.key_match5,
    "regexMatch": stock.regex_match,
    "globMatch": stock.glob_match,
    "ipMatch": stock.ip_match,
}
PATTERNS = {
    "keyMatch": ["a", "b", "/", ".", "*", ":", "/*"],
    "keyMatch2": ["a", "b", "/", "/*", ":x", ":y", ".", "-"],
    "keyMatch3": ["a", "b", "/", "/*", "{x}", "{y}", ".", "-"],
    "keyMatch4": ["a", "/", "/*", "{x}", "/{x}", "/{y}", "/{x}", "."],
    "keyMatch5": ["a", "/", "/*", "{x}", ".", "-"],
    "globMatch": ["a", "b", "/", "*", "?", "**", "/**", "[ab]", "[!a]", ".", "[a-b]"],
    "regexMatch": ["a", "b", ".", "(a|b)", "[ab]", "a+", "b*", "x?", "/", "[^/]+"],
    "ipMatch": ["10.", "1.", "2", "0.0", "/8", "/16", "192.168.", "::1"],
}
VALUES = ["a", "b", "/", ".", "x", "aa", "?", ":", "-", "/a", "/b"]
ADDRESSES = ["10.1.0.2", "10.0.0.1", "192.168.2.0", "::1", "1.2.0.0"]


def is_explained(name: str, value: str, pattern: str, ours: bool) -> bool:
    """Whether a difference is one that the decision page lists; each makes us match less."""
    if ours:
        return False
    if name == "keyMatch":
        return value == pattern[:-1]
    if name == "globMatch":
        return value.endswith("/") or "//" in value + pattern or pattern.startswith("**")
    if name == "regexMatch":
        return not stock.regex_match(value, f"(?:{pattern})\\Z")
    return "." in pattern


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_an_operator_answers_as_casbin_s_own_does(name: str) -> None:
    """Thousands of values and patterns; whatever differs has its line on the page, and matches less with us."""
    dice = random.Random(7)
    matched, differing = 0, []
    for _ in range(6000):
        pattern = "".join(dice.choices(PATTERNS[name], k=dice.randint(1, 5)))
        value = dice.choice(ADDRESSES) if name == "ipMatch" else "".join(dice.choices(VALUES, k=dice.randint(1, 5)))
        if FAULTS[name](pattern):
            continue
        ours, theirs = OPERATORS[name](value, pattern), STOCK[name](value, pattern)
        matched += ours
        if ours is not theirs and not is_explained(name, value, pattern, ours):
            differing.append((value, pattern, ours))
    assert differing == []
    assert matched >= 25


@pytest.mark.case(12)
@pytest.mark.parametrize("name", ["keyMatch", "keyMatch2", "keyMatch3", "keyMatch4", "keyMatch5", "globMatch"])
def test_a_dot_is_a_dot(name: str) -> None:
    """And nothing else that regular expressions give a meaning is more than a letter in a path."""
    assert OPERATORS[name]("/files/report.txt", "/files/report.txt")
    assert not OPERATORS[name]("/files/reportXtxt", "/files/report.txt")
    assert OPERATORS[name]("/a+(b)$", "/a+(b)$")
    assert not OPERATORS[name]("/aa(b)", "/a+(b)")


@pytest.mark.case(12)
@pytest.mark.parametrize(
    ("name", "value", "pattern"),
    [
        ("keyMatch", "/f/a", "/f/a"),
        ("keyMatch2", "/f/a", "/f/:id"),
        ("keyMatch2", "/f/a/b", "/f/*"),
        ("keyMatch3", "/f/a", "/f/{id}"),
        ("keyMatch4", "/f/a", "/f/{id}"),
        ("keyMatch4", "/f/a", "/f/*"),
        ("keyMatch5", "/f/a", "/f/{id}"),
        ("regexMatch", "GET", "GET|POST"),
        ("regexMatch", "/f/a", "/f/.+"),
        ("globMatch", "/f/a", "/f/*"),
        ("globMatch", "/f/a", "/**"),
    ],
)
def test_patterns_match_in_full_and_no_newline_is_the_end(name: str, value: str, pattern: str) -> None:
    """Nothing before, nothing behind, nothing that cannot be seen inside."""
    match = OPERATORS[name]
    assert match(value, pattern)
    assert not match(f"{value}\n", pattern)
    assert not match(f"x{value}", pattern)
    if pattern.isalnum() or pattern == "/f/a":
        assert not match(f"{value}x", pattern)


@pytest.mark.parametrize(
    ("name", "value", "pattern", "matches"),
    [
        ("keyMatch4", "/parent/1/child/1", "/parent/{id}/child/{id}", True),
        ("keyMatch4", "/parent/1/child/2", "/parent/{id}/child/{id}", False),
        ("keyMatch4", "/parent/1/child/2", "/parent/{id}/child/{other}", True),
        ("keyMatch4", "/v-1.0/v-1.0", "/v-{x}.0/v-{x}.0", True),
        ("keyMatch4", "/a/b/c", "/a/*", True),
        ("keyMatch4", "/a", "/a/{x}", False),
        ("keyMatch4", "/a/b/c", "/a/{x}", False),
        ("keyMatch5", "/foo/bar?status=1&type=2", "/foo/bar", True),
        ("keyMatch5", "/foo/bar?/../x", "/foo/{x}", True),
        ("regexMatch", "GETX", "GET", False),
        ("regexMatch", "POST", "GET|POST", True),
        ("regexMatch", "\u0663", "\\d", False),
        ("ipMatch", "10.1.2.3", "10.1.0.0/16", True),
        ("ipMatch", "10.2.2.3", "10.1.0.0/16", False),
        ("globMatch", "/logs/.hidden", "/logs/*", False),
        ("globMatch", "/logs/a/b", "/logs/*", False),
        ("globMatch", "/logs", "/logs/**", True),
    ],
)
def test_what_an_operator_means(name: str, value: str, pattern: str, matches: bool) -> None:
    """One line each."""
    assert FAULTS[name](pattern) == ""
    assert OPERATORS[name](value, pattern) is matches


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("keyMatch", "a*"),
        ("keyMatch", "a.*b"),
        ("keyMatch", "*.*"),
        ("keyMatch2", "/a*"),
        ("keyMatch3", "*"),
        ("keyMatch3", "/{a"),
        ("keyMatch3", "/a}"),
        ("keyMatch3", "/{{a}}"),
        ("keyMatch4", "/*/a"),
        ("keyMatch4", "/{a}-{b}"),
        ("keyMatch5", "/{a}{b}"),
        ("regexMatch", "("),
        ("regexMatch", "(a+)+\\1"),
        ("regexMatch", "(?=a)a"),
        ("regexMatch", "a)|(b"),
        ("regexMatch", "a**"),
        ("regexMatch", "a++"),
        ("regexMatch", "a\n"),
        ("ipMatch", "10.0.0.0/33"),
        ("ipMatch", "localhost"),
        ("globMatch", "{a,b}"),
        ("globMatch", "a**"),
        ("globMatch", "*/a"),
        ("globMatch", "[b-a]"),
        ("globMatch", "[a"),
        ("globMatch", "*?"),
        ("globMatch", "a\\*"),
    ],
)
def test_a_pattern_that_an_operator_could_only_misread_is_refused(name: str, pattern: str) -> None:
    """When the row loads, and not when somebody is asked for."""
    assert FAULTS[name](pattern)


@pytest.mark.case(52)
def test_no_pattern_takes_long() -> None:
    """What makes Python's own expressions run for hours ends at once."""
    assert not OPERATORS["regexMatch"]("a" * 5000 + "!", "(a+)+")
    assert not OPERATORS["keyMatch2"]("/a" * 2000 + "!", "/*" * 12 + "/b")
    assert not OPERATORS["globMatch"]("/" + "a" * 5000, "/" + "*a" * 12 + "b")


def test_what_is_no_address_has_no_answer() -> None:
    """An exception is a denial, also where a deny row asks."""
    with pytest.raises(ValueError, match="does not appear to be"):
        OPERATORS["ipMatch"]("viewer", "10.0.0.0/8")
