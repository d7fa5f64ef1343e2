"""Regular expressions that mean the same everywhere and run in linear time; the others are refused."""

from __future__ import annotations

import pytest

from gatewright.policy.patterns import fault_of


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^[a-z]+$",
        "^\\d{4}-\\d{2}$",
        "(?:a|b)c",
        "(?<year>\\d+)",
        "[\\[\\]]",
        "\\p{L}+",
        "[^a-c]",
        "\\.",
        "a\\-b",
        "[&]",
        "[\\]a]",
        "[^\\]]",
        "a*?b+?c??d{2}?e{2,3}?",
        "[b]*\\d+(?:c)?\\w{3}x{2,}",
        "\\p{Script=Greek}*[\\p{Lu}\\d]+",
        "\\u{1F600}+\\u0041?\\x41*",
        "\\{a\\}\\]",
        "(a|b?|c*)",
        "^$",
    ],
)
def test_ordinary_patterns_pass(pattern: str) -> None:
    """What is plain ECMA-262 and regular is taken."""
    assert fault_of(pattern) == ""


@pytest.mark.parametrize(
    "pattern",
    [
        "(?=a)",
        "(?!a)",
        "(?<=a)b",
        "(?<!a)b",
        "(a)\\1",
        "(?<x>a)\\k<x>",
        "(?i)a",
        "(?P<x>a)",
        "(?x)a b",
        "\\Aa",
        "a\\z",
        "a\\Z",
        "[a&&b]",
        "[a--b]",
        "[[a]b]",
        "[[:alpha:]]",
        "a{1000}{1000}",
        "a{2}{3}",
        "a**",
        "a*+",
        "a?+",
        "a{1,2}+",
        "a+??",
        "*",
        "^*",
        "a|+b",
        "?a",
        "(*a)",
        "^{1}$",
        "[]a]",
        "[^]a]",
        "[]",
        "a]",
        "a}",
        "a{",
        "\\pL",
        "\\bcat\\b",
        "a\\B",
        "(",
        "[",
        "a\\",
    ],
)
def test_what_is_not_ecma_or_not_linear_is_refused(pattern: str) -> None:
    """Look-around, back-references, flags, set operations and other engines' words are refused with a reason."""
    assert fault_of(pattern) != ""
