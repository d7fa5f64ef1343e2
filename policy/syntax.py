"""
What does a matcher say? Its text read once into a tree of a closed grammar.

In comes the text of a Casbin matcher; out comes an `Expression`, or `NotInGrammar` with the place. Literals are kept as
they stand: nothing in them is ever rewritten, and nothing here is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gatewright.policy.errors import GatewrightError

__all__ = [
    "All",
    "Call",
    "Comparison",
    "Either",
    "Expression",
    "Literal",
    "Negation",
    "NotInGrammar",
    "OneOf",
    "Operand",
    "Read",
    "parse_matcher",
]


@dataclass(frozen=True, slots=True)
class Read:
    """`r.field` or `p.field`."""

    side: str
    field: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A quoted text, exactly as it stands between its quotes."""

    text: str


Operand: TypeAlias = "Read | Literal"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands and one of == != < <= > >=."""

    sign: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class OneOf:
    """An operand `in` a list of literals."""

    item: Operand
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A built-in operator or a g function with its operands."""

    name: str
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """`!`."""

    part: Expression


@dataclass(frozen=True, slots=True)
class All:
    """`&&`."""

    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """`||`."""

    parts: tuple[Expression, ...]


Expression: TypeAlias = "Comparison | OneOf | Call | Negation | All | Either"

_MOST_CHARACTERS: Final = 4096
_DEEPEST: Final = 32
_TOKEN: Final = re.compile(
    r"""\s*(?:(?P<text>"[^"\\\n]*"|'[^'\\\n]*')|(?P<read>[rp]\.[A-Za-z_]\w*)|(?P<word>[A-Za-z_]\w*)"""
    r"""|(?P<sign>&&|\|\||==|!=|<=|>=|[<>!()\[\],]))""",
    re.ASCII,
)
_END: Final = re.compile(r"\s*(?:#.*)?\Z", re.ASCII | re.DOTALL)
_SPELLINGS: Final = {"and": "&&", "or": "||", "not": "!"}
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})


class NotInGrammar(GatewrightError):
    """
    The matcher holds something that the closed grammar does not.

    Attributes:
        reason: what it is. offset: where it begins in the text.
    """

    code = "not_in_grammar"

    def __init__(self, reason: str, offset: int) -> None:
        self.reason = reason
        self.offset = offset
        super().__init__(reason, offset)

    def __str__(self) -> str:
        return f"{self.reason} (character {self.offset + 1})"


def parse_matcher(text: str, functions: Mapping[str, int]) -> Expression:
    """
    Read *text*; *functions* maps the names that may be called to how many operands they take.

    `!` binds no tighter than a call or parentheses let it: Casbin's ports differ on `!r.sub == p.sub`.

    >>> parse_matcher('r.sub == "p.apple"', {})
    Comparison(sign='==', left=Read(side='r', field='sub'), right=Literal(text='p.apple'))

    Raises:
        NotInGrammar: it holds anything but boolean operators, comparisons, `in`, reads, literals and calls.
    """
    if len(text) > _MOST_CHARACTERS:
        raise NotInGrammar(f"a matcher of more than {_MOST_CHARACTERS} characters", _MOST_CHARACTERS)
    return _Parser(_tokens(text), functions).parse()


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    offset: int


def _tokens(text: str) -> list[_Token]:
    found, at = [], 0
    while _END.match(text, at) is None:
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            raise NotInGrammar(f"{text[at]!r} does not stand in a matcher", at)
        kind = match.lastgroup or ""
        word = match[kind]
        spelt = _SPELLINGS.get(word, word) if kind == "word" else word
        found.append(_Token("sign" if spelt != word else kind, spelt, match.start(kind)))
        at = match.end()
    return [*found, _Token("end", "the end", len(text))]


class _Parser:
    """Recursive descent; each method takes what it names from the front of the tokens."""

    def __init__(self, tokens: list[_Token], functions: Mapping[str, int]) -> None:
        self.tokens = tokens
        self.functions = functions
        self.at = 0
        self.depth = 0

    def parse(self) -> Expression:
        found = self._either()
        if self._next.kind != "end":
            raise self._unexpected()
        return found

    @property
    def _next(self) -> _Token:
        return self.tokens[self.at]

    def _take(self, *wanted: str) -> _Token | None:
        """The next token if it is one of the signs *wanted*."""
        token = self._next
        if token.kind == "sign" and token.text in wanted:
            self.at += 1
            return token
        return None

    def _need(self, sign: str) -> None:
        if self._take(sign) is None:
            raise self._unexpected(f"expected {sign!r}, not ")

    def _unexpected(self, before: str = "") -> NotInGrammar:
        return NotInGrammar(
            f"{before}{self._next.text}" if before else f"unexpected {self._next.text}", self._next.offset
        )

    def _either(self) -> Expression:
        parts = [self._all()]
        while self._take("||"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def _all(self) -> Expression:
        parts = [self._part()]
        while self._take("&&"):
            parts.append(self._part())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _part(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotInGrammar("nested too deep", self._next.offset)
        found = self._negation() if self._take("!") else self._inner()
        self.depth -= 1
        return found

    def _negation(self) -> Expression:
        token = self._next
        part = self._part()
        if token.text != "(" and isinstance(part, Comparison | OneOf):
            raise NotInGrammar("put parentheses around what is negated", token.offset)
        return Negation(part)

    def _inner(self) -> Expression:
        if self._take("("):
            found = self._either()
            self._need(")")
            return found
        if self._next.kind == "word":
            return self._call()
        left = self._operand()
        sign = self._next
        if self._take(*_COMPARISONS):
            return Comparison(sign.text, left, self._operand())
        if sign.kind == "word" and sign.text == "in":
            self.at += 1
            return OneOf(left, self._options())
        raise self._unexpected("expected a comparison, not ")

    def _operand(self) -> Operand:
        token = self._next
        self.at += 1
        if token.kind == "text":
            return Literal(token.text[1:-1])
        if token.kind == "read":
            side, _, field = token.text.partition(".")
            return Read(side, field)
        self.at -= 1
        raise self._unexpected("expected r.…, p.… or a text, not ")

    def _options(self) -> tuple[str, ...]:
        opening = self._take("(", "[")
        if opening is None:
            raise self._unexpected("expected a list of texts, not ")
        found = [self._operand()]
        while self._take(","):
            found.append(self._operand())
        self._need(")" if opening.text == "(" else "]")
        texts = [each.text for each in found if isinstance(each, Literal)]
        if len(texts) < len(found):
            raise NotInGrammar("a list of texts holds texts only", opening.offset)
        return tuple(texts)

    def _call(self) -> Call:
        token = self._next
        if token.text not in self.functions:
            raise NotInGrammar(f"no such function here: {token.text}", token.offset)
        self.at += 1
        self._need("(")
        operands = [self._operand()]
        while self._take(","):
            operands.append(self._operand())
        self._need(")")
        if len(operands) != self.functions[token.text]:
            raise NotInGrammar(f"{token.text} takes {self.functions[token.text]} operands", token.offset)
        return Call(token.text, tuple(operands))
