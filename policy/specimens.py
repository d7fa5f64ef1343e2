"""
Which strings does a pattern or a format take? A handful of specimens, short, long and in between.

In comes a pattern of the dialect; out come strings that very likely match it, for a validator to be asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Final

__all__ = ["FORMAT_SPECIMENS", "specimens"]

FORMAT_SPECIMENS: Final[Mapping[str, Sequence[str]]] = {
    "date": ("2026-01-31", "1999-12-01"),
    "date-time": ("2026-01-31T10:00:00Z", "1999-12-01T23:59:59+01:00"),
    "duration": ("P1D", "PT2H"),
    "email": ("a@example.com", "b.c@example.org"),
    "hostname": ("example.com", "a"),
    "ipv4": ("127.0.0.1", "10.0.0.255"),
    "ipv6": ("::1", "2001:db8::1"),
    "json-pointer": ("/a", "/a/0"),
    "time": ("10:00:00Z", "23:59:59+01:00"),
    "uri": ("https://example.com/a", "urn:a"),
    "uri-reference": ("/a", "https://example.com/"),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000"),
}
"""Strings of every format of the dialect."""

_CLASSES: Final = {"d": "07", "w": "a_", "s": " ", "D": "x", "W": "-", "S": "x", "n": "\n", "t": "\t", "r": "\r"}
_TRIED: Final = "a0A_-. z9Z/:@#xéЖ"
_COUNT: Final = re.compile(r"\{(\d+)(,?)(\d*)\}")
_MOST: Final = 12
_LONGEST: Final = 64


def specimens(pattern: str, lengths: Iterable[int]) -> list[str]:
    """
    Return strings that *pattern* very likely matches, some as long as *lengths* ask where it repeats something.

    >>> specimens("^ord-[0-9]{2}$", ())[0]
    'ord-00'
    """
    found = [text for extra in (0, 1, *lengths) for text in islice(_Reader(pattern, extra).alternatives(), _MOST)]
    return list(dict.fromkeys(found))[: _MOST * 4]


class _Reader:
    """Reads a pattern from left to right; what repeats without end does so *extra* times more than it must."""

    def __init__(self, pattern: str, extra: int) -> None:
        self._text = pattern
        self._extra = extra
        self._at = 0

    def alternatives(self) -> Iterator[str]:
        """Yield strings of every alternative up to the end or a closing parenthesis."""
        found = [list(islice(self._sequence(), _MOST))]
        while self._peek() == "|":
            self._at += 1
            found.append(list(islice(self._sequence(), _MOST)))
        for each in found:
            yield from each

    def _sequence(self) -> Iterator[str]:
        parts: list[Sequence[str]] = []
        while self._at < len(self._text) and self._peek() not in "|)":
            atom = self._atom()
            least, most = self._count()
            counts = dict.fromkeys((least, min(least + self._extra, most)))
            parts.append([text * count for count in counts for text in atom][:4])
        return map("".join, product(*parts))

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _atom(self) -> Sequence[str]:
        character = self._text[self._at]
        self._at += 1
        if character in "^$":
            return [""]
        if character == ".":
            return ["a", "0"]
        if character == "(":
            self._at += len(re.match(r"(\?:|\?<[^>]*>)?", self._text[self._at :])[0])  # type: ignore[index]
            inner = list(islice(self.alternatives(), _MOST))
            self._at += 1
            return inner
        if character == "[":
            return self._set()
        return self._escaped() if character == "\\" else [character]

    def _escaped(self) -> Sequence[str]:
        character = self._peek()
        self._at += 1
        if character in "bB":
            return [""]
        if character in "pP":
            self._at = self._text.find("}", self._at) + 1
            return ["a", "A"]
        return list(_CLASSES.get(character, character))

    def _set(self) -> Sequence[str]:
        """Members of a character class, the first and the last that are common letters first."""
        start = self._at - 1
        while self._peek() not in ("]", ""):
            self._at += 2 if self._peek() == "\\" else 1
        self._at += 1
        try:
            matches = re.compile(self._text[start : self._at], re.ASCII).fullmatch
        except re.error:
            return ["a"]
        return [letter for letter in _TRIED if matches(letter)][:3] or ["a"]

    def _count(self) -> tuple[int, int]:
        sign = self._peek()
        counted = _COUNT.match(self._text, self._at)
        least, most = 1, 1
        if sign and sign in "*+?":
            self._at += 1
            least, most = {"*": (0, _LONGEST), "+": (1, _LONGEST), "?": (0, 1)}[sign]
        elif counted is not None:
            self._at = counted.end()
            least = int(counted[1])
            most = int(counted[3]) if counted[3] else _LONGEST + least if counted[2] else least
        if (sign in "*+?" or counted is not None) and self._peek() == "?":
            self._at += 1
        return least, most
