"""
What if a result is too long? It is cut where the cut can be said, and nowhere else.

In come a released result and a number of bytes; out comes one that fits, marked as truncated, or None. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gatewright.middleware.outcome import dumps
from gatewright.middleware.results import Ok, OkPage
from gatewright.policy.model import Json

__all__ = ["shorten"]


def shorten(result: Ok | OkPage, most: int) -> Ok | OkPage | None:
    """
    Return *result* with as many of its first rows as fit into *most* bytes of JSON, `truncated` where some do not.

    Rows are the items of a page, or the elements of a list. None where there are no rows to cut, or not one fits: an
    empty page would say something else.
    """
    if len(result.to_bytes()) <= most:
        return result
    rows = result.items if isinstance(result, OkPage) else result.data
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        return None
    kept = _fitting(rows[:-1], most - len(_with_rows(result, []).to_bytes()))
    return _with_rows(result, kept) if kept else None


def _with_rows(result: Ok | OkPage, rows: list[Json]) -> Ok | OkPage:
    if isinstance(result, OkPage):
        return replace(result, items=rows, truncated=True)
    return replace(result, data=rows, truncated=True)


def _fitting(rows: Sequence[Json], room: int) -> list[Json]:
    kept: list[Json] = []
    room += 1  # the first row has no comma
    for row in rows:
        room -= len(dumps({"": row}).encode()) - len('{"":}') + 1
        if room < 0:
            break
        kept.append(row)
    return kept
