"""
Where in a JSON value? Pointers (RFC 6901) in which `*` stands for every element or every property.

In come a value and a pointer; out come the places and values it names, or a changed copy. Never changes its input.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gatewright.policy.model import Json, Pointer

__all__ = ["format_pointer", "parse_pointer", "put", "read", "resource_ids"]

_JOIN = re.compile(r"@(?=/)")


def parse_pointer(text: str) -> Pointer:
    """
    Return the tokens of a pointer, or of a bare top-level name.

    >>> parse_pointer("/lines/*/tax"), parse_pointer("note")
    (('lines', '*', 'tax'), ('note',))
    """
    if not text.startswith("/"):
        return (text,) if text else ()
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/"))


def format_pointer(tokens: Pointer) -> str:
    """
    Return the JSON pointer of *tokens*.

    >>> format_pointer(("lines", "0", "a/b"))
    '/lines/0/a~1b'
    """
    return "".join("/" + token.replace("~", "~0").replace("/", "~1") for token in tokens)


def read(value: Json, pointer: Pointer, at: Pointer = ()) -> Iterator[tuple[Pointer, Json]]:
    """Yield (place, value) for everything *pointer* names in *value*; nothing where it names nothing."""
    if not pointer:
        yield at, value
        return
    head, rest = pointer[0], pointer[1:]
    if isinstance(value, Mapping):
        names = sorted(value) if head == "*" else [head] if head in value else []
        for name in names:
            yield from read(value[name], rest, (*at, name))
    elif isinstance(value, list | tuple) and head == "*":
        for index, item in enumerate(value):
            yield from read(item, rest, (*at, str(index)))


def put(value: Json, pointer: Pointer, item: Json, *, replace: bool) -> Json:
    """
    Return a copy of *value* with *item* at *pointer*, sharing what did not change.

    Parents are never made: where one is missing, nothing happens. A present value stays unless *replace*.
    """
    head, rest = pointer[0], pointer[1:]
    if isinstance(value, Mapping):
        if head == "*":
            return {name: put(child, rest, item, replace=replace) if rest else item for name, child in value.items()}
        if rest:
            return {**value, head: put(value[head], rest, item, replace=replace)} if head in value else value
        return value if head in value and not replace else {**value, head: item}
    if isinstance(value, list | tuple) and head == "*" and rest:
        return [put(child, rest, item, replace=replace) for child in value]
    return value


def resource_ids(at: str, arguments: Mapping[str, Json]) -> tuple[str, ...]:
    """
    Return the ids that the resource pointer *at* names in *arguments*, in order and without repeats.

    Several pointers joined with `@` give values joined the same way. A null names nothing; a value that is neither a
    string nor an integer gives the empty id, which no policy row can match.

    >>> resource_ids("/repo@/ref", {"repo": "web/shop", "ref": "main"})
    ('web/shop@main',)
    """
    columns = [
        [_id(value) for _, value in read(arguments, parse_pointer(part)) if value is not None]
        for part in _JOIN.split(at)
    ]
    if len(columns) == 1:
        return tuple(dict.fromkeys(columns[0]))
    height = max(len(column) for column in columns)
    if any(len(column) not in (1, height) for column in columns):
        return ("",) if any(columns) else ()
    rows = zip(*(column * height if len(column) == 1 else column for column in columns), strict=True)
    return tuple(dict.fromkeys("@".join(row) for row in rows))


def _id(value: Json) -> str:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""
