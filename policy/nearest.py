"""
What did somebody mean who wrote this name? The declared name that is nearest to it.

In come an unknown name and the declared ones; out comes a hint, or nothing. Bounded, so that a broken file costs no
more than a sound one.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from itertools import islice
from typing import Final

__all__ = ["is_slip", "nearest"]

_MOST_COMPARED: Final = 500
_LONGEST: Final = 64


def nearest(name: str, known: Collection[str]) -> str:
    """
    Return a hint that names the declared name nearest to *name*; empty where none is near.

    >>> nearest("viewr", ["viewer", "oncall"]), nearest("x", ["viewer"])
    ("did you mean 'viewer'?", '')
    """
    if len(name) > _LONGEST:
        return ""
    candidates = [each for each in islice(known, _MOST_COMPARED) if abs(len(each) - len(name)) <= 3]
    near = difflib.get_close_matches(name, candidates, 1)
    return f"did you mean {near[0]!r}?" if near else ""


def is_slip(name: str, other: str) -> bool:
    """
    Answer whether one slip of the hand makes *name* of *other*: a character more, less or other, or two swapped.

    >>> is_slip("vieer", "viewer"), is_slip("veiwer", "viewer"), is_slip("oncall", "viewer")
    (True, True, False)
    """
    if abs(len(name) - len(other)) > 1 or name == other:
        return False
    start = next((at for at, pair in enumerate(zip(name, other, strict=False)) if pair[0] != pair[1]), None)
    if start is None:
        return True
    left, right = name[start:], other[start:]
    return left[1:] in (right, right[1:]) or left == right[1:] or (left[:2] == right[1::-1] and left[2:] == right[2:])
