"""
May what came at a place be quoted to the model that wrote it? Only where the catalog marks the argument `echo`.

In come a tool's flags and the arguments; out comes what answers for a place, when a message is written and not before:
no complaint, event or log ever holds a value.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from gatewright.policy.model import Json, Pointer
from gatewright.policy.pointers import parse_pointer

__all__ = ["Quote", "quote_from", "quote_nothing"]

Quote: TypeAlias = Callable[[str], "str | None"]
"""JSON pointer → the value there as JSON text, or None where it may not be quoted."""

_LONGEST: Final = 100


def quote_nothing(_place: str) -> None:
    """Quote nothing."""
    return


def quote_from(flags: Mapping[str, frozenset[str]], arguments: Json) -> Quote:
    """
    Return what quotes *arguments* at the places that *flags* mark `echo`, or below them: a scalar, and no long one.

    A place that is `secret`, or lies above or below one that is, is never quoted.
    """
    marked = [parse_pointer(place) for place, words in flags.items() if "echo" in words]
    secret = [parse_pointer(place) for place, words in flags.items() if "secret" in words]
    if not marked:
        return quote_nothing

    def quote(place: str) -> str | None:
        pointer = parse_pointer(place)
        if not any(_leads(above, pointer) for above in marked):
            return None
        if any(_leads(each, pointer) or _leads(pointer, each) for each in secret):
            return None
        return _text(arguments, pointer)

    return quote


def _leads(above: Pointer, pointer: Pointer) -> bool:
    """Whether *above* is the place of *pointer*, or one that it lies in; `*` is any name or index."""
    together = zip(above, pointer, strict=False)
    return len(above) <= len(pointer) and all(one == other or "*" in (one, other) for one, other in together)


def _text(value: Json, pointer: Pointer) -> str | None:
    for token in pointer:
        if isinstance(value, Mapping) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            return None
    if isinstance(value, list | tuple | Mapping):
        return None
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else None
