"""
What cells are in this line? Comma-separated values with quotes as in RFC 4180, each cell with its column.

In comes a line of text; out come its cells. Blanks around a cell mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["BadQuotes", "Cell", "lines_of", "split_line"]

_QUOTED: Final = re.compile(r' *"((?:[^"]|"")*)" *(?=,|$)')
_PIECE: Final = 65_536
_PLAIN: Final = re.compile(r"[^,]*")


class Cell(NamedTuple):
    """One cell; *column* is where its text starts, from 1."""

    text: str
    column: int
    is_quoted: bool


class BadQuotes(Exception):
    """Quotes that RFC 4180 does not know, in *column*."""

    def __init__(self, column: int) -> None:
        self.column = column
        super().__init__(column)


def lines_of(text: str) -> Iterator[str]:
    r"""
    Yield the lines of *text*, which end in `\n` or `\r\n`, a piece of the text at a time.

    >>> list(lines_of("a\r\nb\n"))
    ['a', 'b', '']
    """
    start, size = 0, len(text)
    while start <= size:
        end = text.find("\n", start + _PIECE)
        end = size if end < 0 else end
        yield from text[start:end].replace("\r\n", "\n").removesuffix("\r").split("\n")
        start = end + 1


def split_line(line: str) -> list[Cell]:
    """
    Return the cells of *line*.

    >>> [cell.text for cell in split_line('p, "a,b" , c')]
    ['p', 'a,b', 'c']

    Raises:
        BadQuotes: a quote stands where none can.
    """
    cells, at = [], 0
    while True:
        found = _QUOTED.match(line, at)
        if found is not None:
            cells.append(Cell(found[1].replace('""', '"'), line.index('"', at) + 1, True))
        else:
            found = _PLAIN.match(line, at)
            raw = found[0] if found else ""
            if '"' in raw:
                raise BadQuotes(line.index('"', at) + 1)
            text = raw.strip(" ")
            cells.append(Cell(text, at + len(raw) - len(raw.lstrip(" ")) + 1, False))
        at = (found.end() if found else at) + 1
        if at > len(line):
            return cells
