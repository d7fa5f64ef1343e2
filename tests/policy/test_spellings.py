"""In which spellings an object is looked up: itself, and its prefixes where rows have a star behind a separator."""

from __future__ import annotations

import pytest

from gatewright.policy.errors import Place
from gatewright.policy.model import Rule
from gatewright.policy.plan import Ways
from gatewright.policy.spellings import Spellings

PREFIX = Ways(same=True, prefix=True)


def spellings_of(obj: str, *rows: str, ways: Ways = PREFIX) -> list[str]:
    """The spellings of *obj* beside rows about *rows*."""
    rules = [Rule("a", "*", row, "call", "allow", None, "", Place("policy.csv")) for row in rows]
    return Spellings(ways, rules).of(obj)


@pytest.mark.parametrize(
    ("obj", "rows", "spellings"),
    [
        ("logs.query", ["logs.*"], ["logs.query", "logs.*"]),
        ("logs.query", ["other.*"], ["logs.query", "logs.*"]),
        ("logs.a.b", ["x.*"], ["logs.a.b", "logs.*", "logs.a.*"]),
        ("logs.query", ["*"], ["logs.query", "*"]),
        ("logs.query", ["logs.query"], ["logs.query"]),
        ("logs.", ["logs.*"], ["logs."]),
        ("/a/b", ["/*"], ["/a/b", "/*", "/a/*"]),
        ("a:b-c", ["a:*", "a:b-*"], ["a:b-c", "a:*", "a:b-*"]),
        ("a:b-c", ["a:*"], ["a:b-c", "a:*"]),
    ],
)
def test_a_star_stands_for_what_is_behind_each_separator(obj: str, rows: list[str], spellings: list[str]) -> None:
    """Only separators that some row has before its star; never with nothing behind it."""
    assert spellings_of(obj, *rows) == spellings


def test_a_name_that_exists_has_no_more_spellings_than_one_that_does_not() -> None:
    """Of the same form."""
    rows = ("logs.query", "logs.*", "*")
    assert len(spellings_of("logs.query", *rows)) == len(spellings_of("logs.melts", *rows))


def test_a_star_is_a_letter_where_the_matcher_compares() -> None:
    """A row about `logs.*` is then about nothing that a request may name."""
    assert spellings_of("logs.query", "logs.*", "*", ways=Ways(same=True)) == ["logs.query"]
    assert spellings_of("logs.query", "logs.*", "*", ways=Ways(same=True, star=True)) == ["logs.query", "*"]
