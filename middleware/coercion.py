"""
Does an argument have to be turned into something for its annotation? What is JSON anyway stays as it is.

In comes an annotation; out comes the function that makes such a value of JSON, or None. It never decides whether an
argument is acceptable: the schema has done that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import PydanticUserError, TypeAdapter, WithJsonSchema
from pydantic.fields import FieldInfo

from gatewright.policy.errors import Misuse

__all__ = ["coercion", "is_plain"]

_SCALARS: Final = (str, int, float, bool, NoneType, None, Any, object)
_CONTAINERS: Final = (list, dict, Mapping, Sequence)
_TELLING: Final = (FieldInfo, WithJsonSchema, annotated_types.BaseMetadata, annotated_types.GroupedMetadata, str)
"""What may stand in `Annotated` without changing a value: it only says something about it."""


def coercion(annotation: Any) -> Callable[[Any], Any] | None:
    """
    Return the function that turns JSON into what *annotation* says, None where JSON is that already.

    Raises:
        Misuse: pydantic does not know such a type.
    """
    if is_plain(annotation):
        return None
    try:
        return TypeAdapter(annotation).validate_python
    except (PydanticUserError, TypeError) as error:
        raise Misuse(
            "an annotation is of a type that JSON cannot become", "annotate it with what JSON holds"
        ) from error


def is_plain(annotation: Any) -> bool:
    """
    Answer whether values of *annotation* are plain JSON.

    >>> is_plain(list[str | None]), is_plain(Literal["a", 1]), is_plain(bytes)
    (True, True, False)
    """
    origin = get_origin(annotation)
    if origin is Annotated:
        core, *told = get_args(annotation)
        return is_plain(core) and all(isinstance(each, _TELLING) for each in told)
    if origin is Literal:
        return all(isinstance(value, str | int | bool | NoneType) for value in get_args(annotation))
    if origin in (Union, UnionType, *_CONTAINERS):
        return all(is_plain(each) for each in get_args(annotation))
    return annotation in _SCALARS or annotation in _CONTAINERS
