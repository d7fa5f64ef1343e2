"""The matcher's grammar is closed: what it holds is read exactly, and anything else is refused with its place."""

from __future__ import annotations

import pytest

from gatewright.policy.syntax import (
    All,
    Call,
    Comparison,
    Either,
    Expression,
    Literal,
    Negation,
    NotInGrammar,
    OneOf,
    Read,
    parse_matcher,
)

FUNCTIONS = {"keyMatch": 2, "g": 3, "g2": 2}
SAME = Comparison("==", Read("r", "sub"), Read("p", "sub"))
IN_GROUP = Call("g2", (Read("r", "obj"), Read("p", "obj")))


def refusal(text: str) -> tuple[str, int]:
    """Why *text* is refused, and where."""
    with pytest.raises(NotInGrammar) as caught:
        parse_matcher(text, FUNCTIONS)
    return caught.value.reason, caught.value.offset


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("r.sub == p.sub", SAME),
        ("(r.sub==p.sub)", SAME),
        ("r.sub == p.sub # said so", SAME),
        ("r.sub == p.sub && g2(r.obj, p.obj)", All((SAME, IN_GROUP))),
        ("r.sub == p.sub and g2(r.obj, p.obj)", All((SAME, IN_GROUP))),
        ("r.sub == p.sub || g2(r.obj, p.obj) && r.sub == p.sub", Either((SAME, All((IN_GROUP, SAME))))),
        ("(r.sub == p.sub or g2(r.obj, p.obj)) && r.sub == p.sub", All((Either((SAME, IN_GROUP)), SAME))),
        ("!g2(r.obj, p.obj) && r.sub == p.sub", All((Negation(IN_GROUP), SAME))),
        ("!(r.sub == p.sub)", Negation(SAME)),
        ("!!g2(r.obj, p.obj)", Negation(Negation(IN_GROUP))),
        ("r.act in ('read', \"write\")", OneOf(Read("r", "act"), ("read", "write"))),
        ("r.act in ['read']", OneOf(Read("r", "act"), ("read",))),
        ('"a" <= r.act', Comparison("<=", Literal("a"), Read("r", "act"))),
        ("g(r.sub, p.sub, r.dom)", Call("g", (Read("r", "sub"), Read("p", "sub"), Read("r", "dom")))),
    ],
)
def test_what_is_in_the_grammar_is_read_as_python_would_read_it(text: str, tree: Expression) -> None:
    """`&&` before `||`, and parentheses before both."""
    assert parse_matcher(text, FUNCTIONS) == tree


def test_a_matcher_may_be_long_where_it_is_not_deep() -> None:
    """Sixty conjuncts are no nesting."""
    assert parse_matcher(" && ".join(["r.sub == p.sub"] * 60), {}) == All((SAME,) * 60)


@pytest.mark.case(13)
@pytest.mark.parametrize(
    "literal", ["p.apple", "r.list", "a && b", "a || b", "!", "a # b", "", "'", "é", "p_apple", "in"]
)
def test_nothing_inside_a_literal_is_read(literal: str) -> None:
    """It is the text between its quotes."""
    assert parse_matcher(f'r.obj == "{literal}"', {}) == Comparison("==", Read("r", "obj"), Literal(literal))


@pytest.mark.case(28)
@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("true", 0),
        ("True", 0),
        ("eval(p.sub)", 0),
        ("r.sub", 5),
        ("r.sub == p.sub == p.obj", 15),
        ("r.sub.name == p.sub", 5),
        ("r.sub == p.sub.name", 14),
        ("r['sub'] == p.sub", 0),
        ("sub == p.sub", 0),
        ("x.sub == p.sub", 1),
        ("r.sub == 1", 9),
        ("1 == 1", 0),
        ("9**9**9", 0),
        ("r.sub + p.sub == 'a'", 6),
        ("r.sub == 'a\\n'", 9),
        ("r.sub == 'a", 9),
        ("r.sub == f'a'", 9),
        ("r.sub == r'a'", 9),
        ("r.sub == 'a' 'b'", 13),
        ("r.sub == `a`", 9),
        ("r.sub & p.sub", 6),
        ("(r.sub) == p.sub", 6),
        ("(r.sub == p.sub", 15),
        ("r.sub == p.sub)", 14),
        ("!r.sub == p.sub", 1),
        ("!r.act in ('a')", 1),
        ("r.act in p.act", 9),
        ("r.act in ()", 10),
        ("r.act in (p.act)", 9),
        ("r.act in ('a']", 13),
        ("r.act not in ('a')", 6),
        ("g2(r.obj)", 0),
        ("g2(r.obj, p.obj, r.dom)", 0),
        ("g2(g2(r.obj, p.obj), p.obj)", 3),
        ("g2 (r.obj, p.obj) == 'a'", 18),
        ("lambda: r.sub", 6),
        ("__import__('os')", 0),
        ("r.sub == p.sub; r.sub == p.sub", 14),
        ("r.sub == p.sub if r.sub == p.sub else r.sub == p.sub", 15),
        ("(" * 40 + "r.sub == p.sub" + ")" * 40, 32),
        (" " * 5000, 4096),
    ],
)
def test_anything_else_is_refused_where_it_stands(text: str, offset: int) -> None:
    """Arithmetic, attributes, subscripts, numbers, other calls, other literals."""
    assert refusal(text)[1] == offset


def test_a_refusal_says_why() -> None:
    """In words, with the character."""
    assert refusal("eval(p.sub)")[0] == "no such function here: eval"
    with pytest.raises(NotInGrammar, match=r"put parentheses around what is negated \(character 2\)"):
        parse_matcher("!r.sub == p.sub", {})
