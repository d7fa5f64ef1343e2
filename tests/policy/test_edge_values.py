"""Every keyword and format of the dialect at its edges, beside jsonschema-rs, jsonschema and pydantic."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import re
import uuid
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import jsonschema
import jsonschema_rs
import pytest
from pydantic import AnyUrl, Field, TypeAdapter, ValidationError

from gatewright.policy.dialect import compile_schema
from gatewright.policy.keywords import ANNOTATIONS, FORMATS, KEYWORDS, TYPES

TABLE = json.loads((Path(__file__).parent / "edge_values.json").read_text("utf-8"))
ROWS = [
    pytest.param(row["schema"], text, *answers, id=f"{json.dumps(row['schema'])} {text}"[:90])
    for row in TABLE["rows"]
    for text, answers in row["values"].items()
]
WITHOUT_EDGES = ANNOTATIONS | {"$defs"}

_KINDS: dict[str, Any] = {"integer": int, "number": float, "string": str, "boolean": bool, "null": None}
_FORMATS: dict[str, Any] = {
    "date": dt.date,
    "date-time": dt.datetime,
    "time": dt.time,
    "duration": dt.timedelta,
    "uuid": uuid.UUID,
    "uri": AnyUrl,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
}
_FIELDS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multiple_of",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
    "pattern": "pattern",
}


def pydantic_type(schema: Any) -> Any:
    """The annotation that a developer would write for *schema*, or None where there is none."""
    if not isinstance(schema, dict) or set(schema) - {"type", "format", "enum", "const", "items", *_FIELDS}:
        return None
    if "enum" in schema or "const" in schema:
        members = schema.get("enum", [schema.get("const")])
        plain = all(isinstance(member, str | int) for member in members)
        return Literal[tuple(members)] if plain else None
    kind = schema.get("type")
    if kind == "array":
        found: Any = list[pydantic_type(schema.get("items", {})) or Any]  # type: ignore[misc]
    elif "format" in schema:
        found = _FORMATS.get(schema["format"])
    else:
        found = _KINDS.get(str(kind))
    fields: dict[str, Any] = {_FIELDS[word]: value for word, value in schema.items() if word in _FIELDS}
    return Annotated[found, Field(**fields)] if found is not None and fields else found


def pydantic_answer(schema: Any, text: str) -> bool | None:
    annotation = pydantic_type(schema)
    if annotation is None and schema.get("type") != "null":
        return None
    adapter: TypeAdapter[Any] = TypeAdapter(cast("Any", annotation))
    try:
        adapter.validate_json(text, strict=True)
    except ValidationError:
        return False
    return True


def rust_answer(schema: Any, value: Any) -> bool:
    """What jsonschema-rs answers by itself; that it raises is a refusal."""
    try:
        return jsonschema_rs.Draft202012Validator(schema).is_valid(value)
    except ValueError:
        return False


def all_answers(schema: Any, text: str) -> list[bool | None]:
    """What we, jsonschema-rs by itself, jsonschema by itself and pydantic answer."""
    value = json.loads(text)
    return [
        compile_schema(schema).accepts(value),
        rust_answer(schema, value),
        jsonschema.Draft202012Validator(schema).is_valid(value),
        pydantic_answer(schema, text),
    ]


@pytest.mark.case(49)
@pytest.mark.case(50)
@pytest.mark.case(52)
@pytest.mark.case(66)
@pytest.mark.parametrize(("schema", "text", "right", "rust", "python", "pydantic"), ROWS)
def test_the_table_of_edge_values_holds(
    schema: Any, text: str, right: bool, rust: bool, python: bool, pydantic: bool | None
) -> None:
    """We answer what the table calls right; what the three libraries answer is as the table says."""
    assert all_answers(schema, text) == [right, rust, python, pydantic]


def test_every_keyword_format_and_type_has_edge_values() -> None:
    """Nothing enters the dialect without a row that accepts and a row that refuses."""
    seen: dict[str, set[bool]] = {}
    for row in TABLE["rows"]:
        for word in _words(row["schema"]):
            seen.setdefault(word, set()).update(answers[0] for answers in row["values"].values())
    wanted = (KEYWORDS - WITHOUT_EDGES) | {f"format:{name}" for name in FORMATS} | {f"type:{kind}" for kind in TYPES}
    assert {word for word in wanted if seen.get(word) != {True, False}} == set()


def test_where_we_and_a_library_differ_there_is_a_written_rule() -> None:
    """Each row with a disagreement names a rule of the table, and each rule is named."""
    used = set()
    for row in TABLE["rows"]:
        differ = any(
            len({answer for answer in answers if answer is not None}) > 1 for answers in row["values"].values()
        )
        assert differ == bool(row.get("rules")), row
        used.update(row.get("rules", ()))
    assert used == set(TABLE["rules"])


def test_each_rule_has_its_paragraph() -> None:
    """docs/decisions/schema-edges.md says of every rule what it is and why."""
    page = (Path(__file__).parents[2] / "docs/decisions/schema-edges.md").read_text("utf-8")
    assert re.findall(r"^## (.+)$", page, flags=re.M) == list(TABLE["rules"])


def _words(schema: Any) -> set[str]:
    if isinstance(schema, list):
        return {word for item in schema for word in _words(item)}
    if not isinstance(schema, dict):
        return set()
    words = set(schema) | {word for item in schema.values() for word in _words(item)}
    words |= {f"format:{schema['format']}"} if isinstance(schema.get("format"), str) else set()
    kinds = schema.get("type", [])
    return words | {f"type:{kind}" for kind in ([kinds] if isinstance(kinds, str) else kinds) if isinstance(kind, str)}
