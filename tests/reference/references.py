"""
What stands where? Pointers into arguments, and references put in by plain substitution, never computed.

A reference that cannot be filled raises Unfilled; null and the empty string count as not there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from reference.schema import AUTHORITY, kind

KINDS = ("$identity", "$tenant", "$argument", "$fact", "$resource", "$context")
DATA = ("const", "enum", "pin", "default", "examples")
COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")

Sources = Mapping[str, Callable[[str], Any]]


class Unfilled(Exception):
    """A reference has nothing to stand for."""


def fill(value: Any, sources: Sources, keyword: str = "") -> Any:
    """*value* with the references of *sources* put in; const, enum and pattern from identity or tenant are marked."""
    if isinstance(value, list):
        return [fill(item, sources, "enum item" if keyword == "enum" else keyword) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (reference := next(iter(value))) in KINDS:
        return _look_up(value, reference, sources, keyword)
    filled = {name: fill(item, sources, keyword if keyword in DATA else name) for name, item in value.items()}
    if keyword not in DATA and "$identity" in sources:
        marked = [name for name in AUTHORITY if name in value and _mentions(value[name], ("$identity", "$tenant"))]
        filled |= {"$authority": marked} if marked else {}
    return filled


def _look_up(value: Mapping[str, Any], reference: str, sources: Sources, keyword: str) -> Any:
    if reference not in sources:
        return value
    try:
        found = sources[reference](value[reference])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as problem:
        raise Unfilled from problem
    if found is None or found == "" or (isinstance(found, list) and "" in found) or not _takes(keyword, found):
        raise Unfilled
    return found


def _takes(keyword: str, value: Any) -> bool:
    if keyword in BOUNDS:
        return kind(value) == "number" and (keyword != "multipleOf" or value > 0)
    if keyword in COUNTS:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if keyword == "pattern":
        return isinstance(value, str) and _is_pattern(value)
    if keyword == "enum":
        return isinstance(value, list) and bool(value)
    return keyword in (*DATA, "enum item")


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def _mentions(value: Any, kinds: tuple[str, ...]) -> bool:
    if isinstance(value, list):
        return any(_mentions(item, kinds) for item in value)
    if isinstance(value, dict):
        return any(name in kinds or _mentions(item, kinds) for name, item in value.items())
    return False


def is_unfilled(value: Any) -> bool:
    """Whether a reference still stands in *value*."""
    return _mentions(value, KINDS)


def tokens(name: str) -> tuple[str, ...]:
    """An argument's name or JSON pointer as tokens."""
    if not name.startswith("/"):
        return (name,)
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in name[1:].split("/"))


def places(pointer: tuple[str, ...], data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], bool]]:
    """Every place that *pointer* means in *data*, and whether something is there, else the first that is missing."""
    if not pointer:
        yield path, True
    elif pointer[0] == "*" and isinstance(data, list | dict):
        for key in data if isinstance(data, dict) else range(len(data)):
            yield from places(pointer[1:], data[key], (*path, key))
    elif isinstance(data, dict) and pointer[0] in data:
        yield from places(pointer[1:], data[pointer[0]], (*path, pointer[0]))
    else:
        yield (*path, pointer[0]), False


def at(path: tuple[Any, ...], data: Any) -> Any:
    """What stands at *path*."""
    for key in path:
        data = data[key]
    return data


def as_pointer(path: tuple[Any, ...]) -> str:
    """*path* as a JSON pointer."""
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)
