"""
Is this regular expression one that means the same everywhere and runs in linear time?

In comes a pattern; out comes what is wrong with it, or nothing. ECMA-262 syntax only, without look-around and
back-references: what the linear engine understands beyond ECMA-262 is refused too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from gatewright.policy.validator import is_linear

__all__ = ["fault_of"]

_ESCAPED: Final = frozenset("dDwWsSbBfnrtv0cxupP^$\\.*+?()[]{}|/-")
_GROUP: Final = re.compile(r"\(\?(?!:|<[A-Za-z_][A-Za-z0-9_]*>)")
_COUNTED: Final = re.compile(r"\{\d+(?:,\d*)?\}")
_REPEATED: Final = re.compile(r"[*+?][*+]|[*+?]\?[*+?]|(?:^|[(|^])[*+]|(?:^|[|^])\?")
_NAMED: Final = re.compile(r"\{[A-Za-z0-9_=]+\}")
_SET_OPERATIONS: Final = ("&&", "--", "~~")


def fault_of(pattern: str) -> str:
    """
    Return why *pattern* is refused, or an empty string.

    >>> fault_of("^[a-z]+$"), fault_of("^(?=a)b")
    ('', 'look-around, back-references and flags are not supported')
    """
    parts = _split(pattern)
    if not parts.escapes <= _ESCAPED:
        return "an escape that is not in ECMA-262: \\" + min(parts.escapes - _ESCAPED)
    if parts.is_bounded:
        return "word boundaries are ASCII in ECMA-262 and Unicode elsewhere; say them with classes"
    if _GROUP.search(parts.plain):
        return "look-around, back-references and flags are not supported"
    if any("[" in inside or any(word in inside for word in _SET_OPERATIONS) for inside in parts.classes):
        return "a set operation or an unescaped [ inside a character class"
    if any(inside in ("", "^") for inside in parts.classes):
        return "a character class that begins with ]; escape it"
    if _REPEATED.search(_COUNTED.sub("*", parts.plain)):
        return "something is repeated twice, or nothing is"
    if any(letter in _COUNTED.sub("", parts.plain) for letter in "{}]") or not parts.is_named:
        return "a { or } or ] that stands for itself is escaped"
    return "" if is_linear(pattern) else "the linear-time engine does not take it"


@dataclass(slots=True)
class _Parts:
    """
    A pattern taken apart: *plain* with `x` for each escape and class, the insides of its classes, its escapes.

    *is_bounded*: it has word boundaries. *is_named*: every property has its name in braces.
    """

    plain: str = ""
    classes: list[str] = field(default_factory=list)
    escapes: set[str] = field(default_factory=set)
    is_bounded: bool = False
    is_named: bool = True


def _split(pattern: str) -> _Parts:
    parts, index, is_inside = _Parts(), 0, False
    while index < len(pattern):
        character = pattern[index]
        if character == "\\":
            index = _read_escape(parts, pattern, index + 1, is_inside=is_inside)
            character = "x"
        elif is_inside and character == "]":
            is_inside, character = False, "x"
        elif not is_inside and character == "[":
            is_inside, character = True, ""
            parts.classes.append("")
        if is_inside and parts.classes:
            parts.classes[-1] += character
        else:
            parts.plain += character
        index += 1
    return parts


def _read_escape(parts: _Parts, pattern: str, at: int, *, is_inside: bool) -> int:
    """Note the escape whose letter stands at *at*; return where its last character stands."""
    letter = pattern[at : at + 1]
    parts.escapes.add(letter)
    parts.is_bounded |= letter in ("b", "B") and not is_inside
    named = _NAMED.match(pattern, at + 1) if letter in ("p", "P", "u") else None
    parts.is_named &= named is not None or letter not in ("p", "P")
    return at if named is None else named.end() - 1
