"""
Where and how does a value break its schema? Errors as values: places, keywords and shapes, never the value itself.

In come the raw errors of jsonschema-rs; out come `SchemaError`s, alternatives unrolled to the nearest branch.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from jsonschema_rs import ValidationError

from gatewright.policy.model import Json, Schema

__all__ = ["Place", "SchemaError", "Shape", "freeze", "kind_of", "read_errors", "shape_of"]

Place: TypeAlias = "tuple[str | int, ...]"
"""Where in a value: property names and array indices."""


@dataclass(frozen=True, slots=True)
class Shape:
    """
    What came, without what it was: its JSON type, and its length where it has one.

    *integral* marks a number such as 20.0: written as a float, though its value is whole.
    """

    kind: str
    size: int | None = None
    integral: bool = False


@dataclass(frozen=True, slots=True)
class SchemaError:
    """
    One failing keyword. *path* is the place in the value, *keyword_path* the place in the schema.

    *expected* is what the keyword asks for, in hashable JSON: a limit, the types, the options, the missing or unknown
    name. *shape* describes what came.
    """

    path: Place
    keyword: str
    keyword_path: Place
    expected: Json
    shape: Shape | None

    def order(self) -> tuple[object, ...]:
        """A key that sorts errors by place, array indices as numbers, then by keyword."""
        return (*_sortable(self.path), (2,)), self.keyword, repr(self.expected), _sortable(self.keyword_path)


def read_errors(errors: Iterable[ValidationError], schema: Schema) -> list[SchemaError]:
    """Return what *errors* say about a value of *schema*, one `SchemaError` a failing keyword or unknown name."""
    return [found for error in errors for found in _read(error, schema)]


def shape_of(value: object) -> Shape:
    """
    Describe *value* without telling it.

    >>> shape_of("abcdefg"), shape_of(20.0)
    (Shape(kind='string', size=7, integral=False), Shape(kind='number', size=None, integral=True))
    """
    kind = kind_of(value)
    size = len(cast("Sequence[object]", value)) if kind in ("string", "array", "object") else None
    return Shape(kind, size, isinstance(value, float) and value.is_integer())


def kind_of(value: object) -> str:
    """Return the JSON type of *value*; an integer is `integer`, any float `number`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def freeze(value: Json) -> Json:
    """Return *value* hashable: a list becomes a tuple, and an array or object inside it its JSON text."""
    if isinstance(value, list | tuple):
        return tuple(_text(item) if isinstance(item, list | tuple | Mapping) else item for item in value)
    return _text(value) if isinstance(value, Mapping) else value


def _read(error: ValidationError, schema: Schema) -> Iterator[SchemaError]:
    name = error.kind.name
    fields = error.kind.as_dict()
    path: Place = tuple(error.instance_path)
    keywords: Place = tuple(error.schema_path)
    shape = shape_of(error.instance)
    if name == "custom":
        name = str(fields["keyword"])
    if name in ("anyOf", "oneOf"):
        branches = [read_errors(branch, schema) for branch in fields["context"]]
        yield from _nearest(branches, path, keywords, shape)
    elif name in ("additionalProperties", "unevaluatedProperties"):
        for unknown in fields["unexpected"]:
            yield SchemaError(path, "additionalProperties", keywords, str(unknown), None)
    elif name in ("type", "enum", "const"):
        yield SchemaError(path, name, keywords, freeze(_at(schema, keywords)), shape)
    elif name == "contains":
        yield SchemaError(path, str(keywords[-1]), keywords, freeze(_at(schema, keywords)), shape)
    elif name in ("not", "propertyNames", "falseSchema", "unevaluatedItems", "additionalItems"):
        yield SchemaError(path, name, keywords, None, shape)
    else:
        yield SchemaError(path, name, keywords, freeze(next(iter(fields.values()), None)), shape)


def _nearest(branches: list[list[SchemaError]], path: Place, keywords: Place, shape: Shape) -> Iterator[SchemaError]:
    """Yield what the alternative that comes nearest says; one joint error where none is of the right type."""
    if not branches or not all(branches):
        yield SchemaError(path, str(keywords[-1]), keywords, "one", shape)
        return
    right = [branch for branch in branches if not _fails(branch, path, "type")]
    if not right:
        kinds = [kind for branch in branches for error in branch if error.path == path for kind in _kinds(error)]
        yield SchemaError(path, "type", keywords, tuple(dict.fromkeys(kinds)), shape)
        return
    if len(right) > 1 and all(len(branch) == 1 and _fails(branch, path, "const", "enum") for branch in right):
        options = [option for branch in right for option in _options(branch[0])]
        yield SchemaError(path, "enum", keywords, tuple(dict.fromkeys(options)), shape)
        return
    yield from min(right, key=_distance)


def _distance(branch: list[SchemaError]) -> tuple[bool, int]:
    """How far a branch is: one whose constants differ is another kind of thing, farther than any count of errors."""
    return any(error.keyword == "const" for error in branch), len(branch)


def _fails(branch: list[SchemaError], path: Place, *keywords: str) -> bool:
    return any(error.path == path and error.keyword in keywords for error in branch)


def _kinds(error: SchemaError) -> Iterator[str]:
    if error.keyword == "type":
        yield from (error.expected,) if isinstance(error.expected, str) else cast("tuple[str, ...]", error.expected)


def _options(error: SchemaError) -> tuple[Json, ...]:
    return cast("tuple[Json, ...]", error.expected) if error.keyword == "enum" else (error.expected,)


def _at(schema: Schema, keywords: Place) -> Json:
    found: Json = schema
    for token in keywords:
        found = cast("Mapping[str | int, Json]", found)[token]
    return found


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _sortable(path: Place) -> tuple[tuple[int, int | str], ...]:
    return tuple((0, token) if isinstance(token, int) else (1, token) for token in path)
