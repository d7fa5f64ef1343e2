"""
Is this a schema we can enforce? The closed dialect: draft 2020-12 without what can't be checked, bounded or shown.

In comes a schema as a developer wrote it; out comes the same schema normalised and closed, with notes on what was
changed, or `SchemaInvalid` with the place. Fetches nothing; asks `jsonschema` for a second opinion, here only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

import jsonschema
from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

from gatewright.policy.closing import close
from gatewright.policy.definitions import pointed_at, with_definitions
from gatewright.policy.expansion import check_expansion
from gatewright.policy.keywords import Note, SchemaInvalid
from gatewright.policy.migration import migrate
from gatewright.policy.model import Json, Schema
from gatewright.policy.scalars import kinds_of
from gatewright.policy.validator import SchemaValidator, compile_schema, thaw

__all__ = ["CheckedSchema", "SchemaInvalid", "SchemaValidator", "check_schema", "compile_schema", "read_schema"]

_LARGEST: Final = 64 * 1024
_DEEPEST_JSON: Final = 256


@dataclass(frozen=True, slots=True)
class CheckedSchema:
    """A schema of the dialect, and what was changed to make it one."""

    schema: Schema
    notes: tuple[Note, ...]


def check_schema(schema: Schema, *, where: str, is_known: bool = False) -> Schema:
    """
    Return *schema* normalised: closed, in draft 2020-12, its references all `#/$defs/NAME`.

    *is_known* says that it comes from a catalog, so that its tool's registration has had the second opinion on it.

    Raises:
        SchemaInvalid: it is outside the dialect; names *where*, the place and a stable reason.
    """
    return read_schema(schema, where=where, is_known=is_known).schema


def read_schema(schema: Schema, *, where: str, is_known: bool = False) -> CheckedSchema:
    """Return *schema* normalised, with the notes; raises as `check_schema` does."""
    try:
        return _read(schema, is_known)
    except SchemaInvalid as error:
        raise SchemaInvalid(error.reason, error.pointer, where=where, hint=error.hint) from error


def _read(schema: Schema, is_known: bool) -> CheckedSchema:
    _check_size(schema)
    migrated = migrate(cast("Schema", thaw(schema)))
    check_expansion(migrated.body, migrated.definitions, migrated.places)
    body, notes = _object_root(migrated.body, migrated.definitions)
    closed = close(body, migrated.definitions)
    whole = with_definitions(closed.body, closed.definitions)
    if not is_known:
        _ask_second_opinion(whole)
    compile_schema(whole)
    return CheckedSchema(whole, (*migrated.notes, *notes, *closed.notes))


def _check_size(schema: Schema) -> None:
    if not isinstance(schema, Mapping):
        raise SchemaInvalid("not_a_schema", hint="a schema is a JSON object")
    level: list[object] = [schema]
    for _ in range(_DEEPEST_JSON):
        level = [child for value in level for child in _inside(value)]
        if not level:
            break
    else:
        raise SchemaInvalid("too_deep", hint=f"at most {_DEEPEST_JSON} levels of JSON")
    try:
        text = json.dumps(thaw(schema), ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise SchemaInvalid("not_json", hint="a schema holds only what JSON can hold") from error
    if len(text) > _LARGEST:
        raise SchemaInvalid("too_large", hint=f"at most {_LARGEST // 1024} KiB")


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _object_root(body: Schema, definitions: Mapping[str, Json]) -> tuple[Schema, tuple[Note, ...]]:
    """Return *body* with `type: object` at its root; a reference at the root is put in place."""
    for _ in definitions:
        target = definitions[pointed_at(body["$ref"])] if "$ref" in body else None
        if not isinstance(target, Mapping):
            break
        siblings = {keyword: value for keyword, value in body.items() if keyword != "$ref"}
        if siblings.keys() & target.keys():
            raise SchemaInvalid("ambiguous_reference", "/$ref", hint="a reference at the root stands alone")
        body = {**target, **siblings}
    if kinds_of(body) == ("object",):
        return body, ()
    if "type" in body or not _is_object(body, definitions):
        raise SchemaInvalid("not_an_object", "/type" if "type" in body else "", hint="the root has type: object")
    return {"type": "object", **body}, (Note("typed", ""),)


def _is_object(schema: Json, definitions: Mapping[str, Json], depth: int = 0) -> bool:
    """Whether *schema* plainly speaks of objects and of nothing else."""
    if not isinstance(schema, Mapping) or depth > len(definitions) + 2:
        return False
    if "type" in schema:
        return kinds_of(schema) == ("object",)
    if "$ref" in schema:
        return _is_object(definitions[pointed_at(schema["$ref"])], definitions, depth + 1)
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            branches = cast("list[Json]", schema[keyword])
            return all(_is_object(branch, definitions, depth + 1) for branch in branches)
    return "properties" in schema


def _ask_second_opinion(schema: Schema) -> None:
    """Check *schema* against the meta-schema with the other validator; its registry holds the specifications only."""
    meta = jsonschema.Draft202012Validator.META_SCHEMA
    validator = jsonschema.Draft202012Validator(meta, registry=REGISTRY)
    error = next(iter(validator.iter_errors(schema)), None)
    if error is not None:
        pointer = "".join(f"/{str(token).replace('~', '~0').replace('/', '~1')}" for token in error.absolute_path)
        raise SchemaInvalid("not_a_schema", pointer, hint=f"the meta-schema's {error.validator} refuses it")
