"""
Does this value match that pattern? Casbin's built-in operators, strict: in full, a dot is a dot, no trailing newline.

In come a value of the request and a pattern of a row; out comes a yes or no. Every pattern runs in linear time. What
differs from Casbin's own operators, and why, is in docs/decisions/casbin-operators.md.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import zip_longest
from typing import Final, TypeAlias

from gatewright.policy.globs import fault_of_glob, glob_expression
from gatewright.policy.patterns import fault_of
from gatewright.policy.validator import SchemaValidator, compile_schema

__all__ = ["FAULTS", "OPERATORS", "has_open_alternative", "key_match", "star_fault"]

Operator: TypeAlias = "Callable[[str, str], bool]"
Fault: TypeAlias = "Callable[[str], str]"

_MOST_COMPILED: Final = 4096
_STAR: Final = re.compile(r"[^*]*(?:[.:/-]\*)?|\*")
_SPECIAL: Final = re.compile(r"[\\^$.*+?()\[\]{}|]")
_COLON: Final = re.compile(r":(?P<name>[^/]+)|/(?P<star>\*)")
_BRACES: Final = re.compile(r"\{(?P<name>[^/{}]+)\}|/(?P<star>\*)")
_PLAIN: Final = re.compile(r"\\.|\[(?:[^\]\\]|\\.)*\]", re.DOTALL)
_REPEATED: Final = re.compile(r"[*+?}](?:[*+]|\?[*+?])|\}\{|[*+?]\{")
_SEGMENT: Final = r"[^/\u0000-\u001f\u007f]+"
_ANYTHING: Final = r"[^\u0000-\u001f\u007f]*"


def key_match(value: str, pattern: str) -> bool:
    """
    Casbin's keyMatch: *pattern* literally, or up to its last `*`, which stands for something.

    >>> key_match("refund.create", "refund.*"), key_match("refund.", "refund.*")
    (True, False)
    """
    if not pattern.endswith("*"):
        return value == pattern
    return value.startswith(pattern[:-1]) and len(value) >= len(pattern)


def key_match2(value: str, pattern: str) -> bool:
    """Casbin's keyMatch2: `:name` is one segment, `/*` anything; all else is literal."""
    expression = _ANYTHING if pattern == "*" else _expression(pattern, _COLON)
    return _compiled(f"^{expression}$").accepts(value, integral_floats=False)


def key_match3(value: str, pattern: str) -> bool:
    """Casbin's keyMatch3: `{name}` is a part of one segment, `/*` anything; all else is literal."""
    return _compiled(f"^{_expression(pattern, _BRACES)}$").accepts(value, integral_floats=False)


def key_match4(value: str, pattern: str) -> bool:
    """Casbin's keyMatch4: as keyMatch3, and what has one name has one value."""
    given: dict[str, str] = {}
    parts = value.split("/")
    for number, (part, wanted) in enumerate(zip_longest(parts, pattern.split("/"))):
        if wanted == "*":
            return part is not None and all(each.isprintable() for each in parts[number:])
        if part is None or wanted is None or not _fits(part, wanted, given):
            return False
    return True


def key_match5(value: str, pattern: str) -> bool:
    """Casbin's keyMatch5: as keyMatch3, on what stands before the first `?` of *value*."""
    return key_match3(value.partition("?")[0], pattern)


def regex_match(value: str, pattern: str) -> bool:
    """Casbin's regexMatch, in full and in linear time."""
    return _compiled(f"^(?:{pattern})$").accepts(value, integral_floats=False)


def glob_match(value: str, pattern: str) -> bool:
    """Casbin's globMatch: `*`, `?` and `[…]` inside a segment, `**` any segments; none begins with a dot."""
    return _compiled(f"^{glob_expression(pattern)}$").accepts(value, integral_floats=False)


def ip_match(value: str, pattern: str) -> bool:
    """
    Casbin's ipMatch: *value* is *pattern*, or lies in it.

    Raises:
        ValueError: *value* is no address, so that no answer would be right.
    """
    return ipaddress.ip_address(value) in ipaddress.ip_network(pattern, strict=False)


def star_fault(pattern: str) -> str:
    """Why *pattern* is refused by keyMatch, or an empty string."""
    if "*" not in pattern or _STAR.fullmatch(pattern):
        return ""
    return "a * stands alone or last after . : / or -"


def has_open_alternative(pattern: str) -> bool:
    """
    Answer whether a regular expression has a `|` that no parentheses hold.

    >>> has_open_alternative("a|b"), has_open_alternative("(a|b)c")
    (True, False)
    """
    depth = 0
    for each in _PLAIN.sub("x", pattern):
        depth += (each == "(") - (each == ")")
        if each == "|" and depth <= 0:
            return True
    return False


def _fits(part: str, wanted: str, given: dict[str, str]) -> bool:
    """Whether one segment fits; its name, where it has one, must have the same value as before."""
    match = _BRACES.search(wanted)
    if match is None:
        return part == wanted
    before, after = wanted[: match.start()], wanted[match.end() :]
    inside = part[len(before) : len(part) - len(after)]
    if not inside or part != f"{before}{inside}{after}" or not inside.isprintable():
        return False
    return given.setdefault(match["name"], inside) == inside


def _expression(pattern: str, parts: re.Pattern[str]) -> str:
    """*pattern* as a regular expression in which only *parts* are more than literal."""
    return "".join(_pieces(pattern, parts))


def _pieces(pattern: str, parts: re.Pattern[str]) -> Iterator[str]:
    at = 0
    for match in parts.finditer(pattern):
        yield _SPECIAL.sub(r"\\\g<0>", pattern[at : match.start()])
        yield f"/{_ANYTHING}" if match["star"] else _SEGMENT
        at = match.end()
    yield _SPECIAL.sub(r"\\\g<0>", pattern[at:])


@lru_cache(maxsize=_MOST_COMPILED)
def _compiled(expression: str) -> SchemaValidator:
    return compile_schema({"type": "string", "pattern": expression})


def _colon_fault(pattern: str) -> str:
    return "" if pattern == "*" else _part_fault(pattern, _COLON)


def _braces_fault(pattern: str) -> str:
    rest = _BRACES.sub("", pattern)
    return "braces stand around one name" if "{" in rest or "}" in rest else _part_fault(pattern, _BRACES)


def _one_name_fault(pattern: str) -> str:
    if any(segment.count("{") > 1 for segment in pattern.split("/")):
        return "at most one name stands in a segment"
    return _braces_fault(pattern)


def _named_fault(pattern: str) -> str:
    if "/*" in pattern.removesuffix("/*"):
        return "a * stands last here"
    return _one_name_fault(pattern)


def _part_fault(pattern: str, parts: re.Pattern[str]) -> str:
    return "a * stands after a /" if "*" in parts.sub("", pattern) else ""


def _regex_fault(pattern: str) -> str:
    if not pattern.isprintable():
        return "a character that cannot be seen"
    if _REPEATED.search(_PLAIN.sub("x", pattern)):
        return "what is repeated is not repeated again"
    return fault_of(pattern) or fault_of(f"^(?:{pattern})$")


def _network_fault(pattern: str) -> str:
    try:
        ipaddress.ip_network(pattern, strict=False)
    except ValueError:
        return "neither an address nor a network"
    return ""


OPERATORS: Final[Mapping[str, Operator]] = {
    "keyMatch": key_match,
    "keyMatch2": key_match2,
    "keyMatch3": key_match3,
    "keyMatch4": key_match4,
    "keyMatch5": key_match5,
    "regexMatch": regex_match,
    "globMatch": glob_match,
    "ipMatch": ip_match,
}
"""What a matcher may call, by the name it has in Casbin."""

FAULTS: Final[Mapping[str, Fault]] = {
    "keyMatch": star_fault,
    "keyMatch2": _colon_fault,
    "keyMatch3": _braces_fault,
    "keyMatch4": _named_fault,
    "keyMatch5": _one_name_fault,
    "regexMatch": _regex_fault,
    "globMatch": fault_of_glob,
    "ipMatch": _network_fault,
}
"""Why a row's pattern is refused by an operator when it loads; an empty string where it is not."""
