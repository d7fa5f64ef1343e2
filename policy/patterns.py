"""
Is this regular expression one that means the same everywhere and runs in linear time?

In comes a pattern; out comes what is wrong with it, or nothing. ECMA-262 syntax only, without look-around and
back-references: what the linear engine understands beyond ECMA-262 is refused too.
"""

from __future__ import annotations

import re
from typing import Final

from gatewright.policy.validator import is_linear

__all__ = ["fault_of"]

_ESCAPED: Final = frozenset("dDwWsSbBfnrtv0cxupP^$\\.*+?()[]{}|/-")
_GROUP: Final = re.compile(r"\(\?(?!:|<[A-Za-z_][A-Za-z0-9_]*>)")
_SET_OPERATIONS: Final = ("&&", "--", "~~")


def fault_of(pattern: str) -> str:
    """
    Return why *pattern* is refused, or an empty string.

    >>> fault_of("^[a-z]+$"), fault_of("^(?=a)b")
    ('', 'look-around, back-references and flags are not supported')
    """
    plain, classes, escapes = _split(pattern)
    if not escapes <= _ESCAPED:
        return "an escape that is not in ECMA-262: \\" + min(escapes - _ESCAPED)
    if _GROUP.search(plain):
        return "look-around, back-references and flags are not supported"
    if any("[" in inside or any(word in inside for word in _SET_OPERATIONS) for inside in classes):
        return "a set operation or an unescaped [ inside a character class"
    return "" if is_linear(pattern) else "the linear-time engine does not take it"


def _split(pattern: str) -> tuple[str, list[str], set[str]]:
    """Return the pattern without escapes and classes, the insides of its classes without escapes, and the escapes."""
    plain: list[str] = []
    classes: list[str] = []
    escapes: set[str] = set()
    inside: list[str] | None = None
    index = 0
    while index < len(pattern):
        character = pattern[index]
        if character == "\\":
            escapes.add(pattern[index + 1 : index + 2])
            index += 1
        elif inside is not None and character == "]":
            classes.append("".join(inside))
            inside = None
        elif inside is not None:
            inside.append(character)
        elif character == "[":
            inside = []
        else:
            plain.append(character)
        index += 1
    return "".join(plain), classes, escapes
