"""
Which argument of a tool takes the cursor that continues a page? Found, or checked, when the tool is registered.

In come the schemas of a tool's arguments and result; out comes the argument's name, or None. Seals nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, cast

from gatewright.middleware.page import is_page_schema, properties_of
from gatewright.policy.errors import Misuse
from gatewright.policy.model import Schema
from gatewright.policy.published import flat_root

__all__ = ["cursor_argument"]

_WORDS: Final = frozenset({"type", "description", "default", "examples", "title"})


def cursor_argument(tool: str, stated: str | None, schema: Schema, result: Schema | None) -> str | None:
    """
    Return the argument of *tool* that takes the cursor of a page: the *stated* one, else `cursor` where it can be one.

    Raises:
        Misuse: the stated one cannot, or the *result* gives no cursors.
    """
    is_paged = result is not None and is_page_schema(result)
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    name = "cursor" if stated is None else stated.removeprefix("/")
    if stated is None and not (is_paged and _takes_cursors(properties.get(name))):
        return None
    if result is None or not is_paged:
        raise Misuse(f"{tool}: cursor is given, but the result is no page", "return Page[…]")
    if not _takes_cursors(properties.get(name)):
        raise Misuse(f"{tool}: {stated!r} cannot take a cursor", "an argument of type str | None = None")
    told = properties_of(flat_root(result))["next_cursor"]
    if not _takes_cursors(cast("Schema", told)):
        raise Misuse(f"{tool}: next_cursor of the result is narrowed", "any string or null: it leaves sealed")
    return name


def _takes_cursors(schema: Schema | None) -> bool:
    """Whether *schema* accepts every string: a sealed cursor is longer than the tool's own, and of other characters."""
    if schema is None or schema.keys() - _WORDS - {"anyOf"}:
        return False
    branches = cast("Sequence[Schema]", schema.get("anyOf", [schema]))
    return any(_is_any_text(each) for each in branches)


def _is_any_text(schema: Schema) -> bool:
    kinds = schema.get("type")
    has_text = "string" in (kinds if isinstance(kinds, list | tuple) else [kinds])
    return has_text and not schema.keys() - _WORDS
