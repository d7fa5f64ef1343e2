"""
What is one page of a longer answer? `Page[T]`, the return type of tools that list things; `Stamped[T]` for one value.

In come items and where to go on; out comes the JSON of a page, in which items, next_cursor and truncated always stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gatewright.policy.model import Json, Schema
from gatewright.policy.published import flat_root

__all__ = ["PAGE_FIELDS", "Page", "Stamped", "is_page_schema", "properties_of"]

T = TypeVar("T")

PAGE_FIELDS: Final = ("items", "next_cursor", "truncated")
"""What every page has, also an empty one."""


def _is_none(value: object) -> bool:
    return value is None


def _state_fields(schema: dict[str, Any]) -> None:
    """Say in the JSON Schema what the JSON is like: three fields always, the others as strings or not at all."""
    schema["required"] = list(PAGE_FIELDS)
    for name, field in schema["properties"].items():
        field.pop("default", None)
        field.pop("title", None)
        if name not in PAGE_FIELDS:
            schema["properties"][name] = {"type": "string"}


class Page(BaseModel, Generic[T]):
    """
    A page of items.

    *next_cursor* None: there is no next page. *truncated* says that rows were left out without a cursor to them.
    *as_of* (a time), *version* and *ref* say of what the page is; they are left out of the JSON where not given.

    >>> Page[int](items=[1, 2]).model_dump(mode="json")
    {'items': [1, 2], 'next_cursor': None, 'truncated': False}
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, hide_input_in_errors=True, json_schema_extra=_state_fields
    )

    items: list[T]
    next_cursor: str | None = None
    truncated: bool = False
    as_of: str | None = Field(default=None, exclude_if=_is_none)
    version: str | None = Field(default=None, exclude_if=_is_none)
    ref: str | None = Field(default=None, exclude_if=_is_none)


@dataclass(frozen=True, slots=True)
class Stamped(Generic[T]):
    """
    One value, with what it is of: *as_of* (a time), *version* and *ref* stand beside its data in the result.

    The result schema and the cuts are those of *data* alone.
    """

    data: T
    as_of: str | None = None
    version: str | None = None
    ref: str | None = None


def is_page_schema(schema: Schema) -> bool:
    """Answer whether *schema* is that of a page."""
    return properties_of(flat_root(schema)).keys() >= set(PAGE_FIELDS)


def properties_of(schema: Schema) -> Mapping[str, Json]:
    """Return what *schema* has under `properties`, nothing where that is no object."""
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}
