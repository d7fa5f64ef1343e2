"""
What does a glob mean? Shell patterns over paths as one regular expression of the linear engine.

In comes a pattern of `*`, `?`, `[…]` and `**`; out comes an expression without anchors. Nothing in it matches a slash
that is not written, a segment that begins with a dot that is not written, or what cannot be seen.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["fault_of_glob", "glob_expression"]

_PIECE: Final = re.compile(
    r"(?P<star>\*)|(?P<one>\?)|\[(?P<not>[!^]?)(?P<set>[A-Za-z0-9_.-]+)\]|(?P<literal>.)", re.DOTALL
)
_SET: Final = re.compile(r"(?:[A-Za-z0-9_]-[A-Za-z0-9_]|[A-Za-z0-9_.])+-?")
_SPECIAL: Final = re.compile(r"[\\^$.*+?()\[\]{}|]")
_UNSEEN: Final = r"/\u0000-\u001f\u007f"
_ANY: Final = f"[^{_UNSEEN}]"
_FIRST: Final = f"[^.{_UNSEEN}]"
_SEGMENT: Final = f"{_FIRST}{_ANY}*"


def glob_expression(pattern: str) -> str:
    """
    Return *pattern* as a regular expression without anchors.

    >>> import re
    >>> [bool(re.fullmatch(glob_expression("/a/*.txt"), path)) for path in ("/a/b.txt", "/a/.txt", "/a/b/c.txt")]
    [True, False, False]
    """
    base = pattern.removesuffix("/**")
    segments = base.split("/")
    found = ""
    for number, segment in enumerate(segments):
        is_last = number == len(segments) - 1
        if segment == "**":
            found += f"(?:{_SEGMENT}/)*{_SEGMENT}" if is_last else f"(?:{_SEGMENT}/)*"
        else:
            found += _segment(segment) + ("" if is_last else "/")
    return f"{found}(?:/{_SEGMENT})*" if base != pattern else found


def fault_of_glob(pattern: str) -> str:
    """Why *pattern* is refused, or an empty string."""
    if not pattern.isprintable() or any(each in pattern for each in "\\{}"):
        return "backslashes, braces and what cannot be seen do not stand in a glob"
    if pattern.startswith("*/"):
        return "a glob does not begin with */: Casbin leaves that star out"
    for segment in pattern.split("/"):
        if "**" in segment and segment != "**":
            return "** is a whole segment"
        if re.search(r"\*[?\[]", segment):
            return "a * is followed by a letter or a slash"
    sets = [match for match in _PIECE.finditer(pattern) if match["set"]]
    if any(match["literal"] in ("[", "]") for match in _PIECE.finditer(pattern)) or any(
        _SET.fullmatch(match["set"]) is None or _is_reversed(match["set"]) for match in sets
    ):
        return "a set holds letters, digits and ranges of them"
    return ""


def _is_reversed(inside: str) -> bool:
    return any(low > high for low, high in re.findall(r"(\w)-(\w)", inside))


def _segment(segment: str) -> str:
    """One segment; what stands first in it is no dot unless a dot is written."""
    pieces = list(_PIECE.finditer(segment))
    return "".join(_piece(match, number, pieces) for number, match in enumerate(pieces))


def _piece(match: re.Match[str], number: int, pieces: list[re.Match[str]]) -> str:
    if match["star"]:
        if number:
            return f"{_ANY}*"
        is_needed = len(pieces) == 1 or pieces[1]["literal"] == "."
        return _SEGMENT if is_needed else f"(?:{_SEGMENT})?"
    if match["one"]:
        return _ANY if number else _FIRST
    if match["set"]:
        inside = match["set"].replace(".", "") if number == 0 and not match["not"] else match["set"]
        beside = (_UNSEEN if number else f".{_UNSEEN}") if match["not"] else ""
        return f"[{'^' if match['not'] else ''}{beside}{inside}]" if inside else "[^\\u0000-\\uffff]"
    return _SPECIAL.sub(r"\\\g<0>", match[0])
