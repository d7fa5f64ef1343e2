"""Tools as providers are shown them: the right envelope, names that come back, the same bytes."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.policy.model import ToolSpec
from gatewright.policy.rendering import (
    FORMATS,
    Format,
    describe_tool,
    parse_name,
    render,
    render_name,
)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"service": {"const": "shop"}, "limit": {"type": "integer", "maximum": 200}},
    "required": ["service"],
    "additionalProperties": False,
}
READ = ToolSpec(
    name="logs.query",
    kind="read",
    action="read",
    description="Find log lines of a service.",
    use_when="a person asks what a service logged",
    not_for="metrics",
    schema=SCHEMA,
)
WRITE = ToolSpec("refund.create", "write", "refund", "Refund.", "asked to refund", "disputes", SCHEMA)
EVERYWHERE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

names = st.from_regex(r"[A-Za-z0-9_.\-]{1,128}", fullmatch=True)
tricky = st.text(alphabet="a_.-x2e5fh", min_size=1, max_size=12)


def description_in(rendered: dict[str, Any]) -> str:
    return str(rendered.get("function", rendered)["description"])


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("spec", [READ, WRITE], ids=["read", "write"])
def test_every_rendering_says_when_to_use_it_when_not_and_what_it_does(format: Format, spec: ToolSpec) -> None:
    """The model reads the use, the misuse and the side effects in the description of every provider."""
    text = description_in(render(spec, SCHEMA, format).plain())
    assert spec.description in text
    assert f"Use when: {spec.use_when}" in text
    assert f"Not for: {spec.not_for}" in text
    assert ("only reads" if spec.kind == "read" else "changes data") in text


def test_each_provider_gets_its_envelope() -> None:
    """Names, arguments and hints stand where the provider's wire format has them."""
    text = describe_tool(READ)
    assert render(READ, SCHEMA, "plain").plain() == {
        "name": "logs.query",
        "kind": "read",
        "description": text,
        "parameters": SCHEMA,
    }
    assert render(READ, SCHEMA, "openai").plain() == {
        "type": "function",
        "function": {"name": "logs__query", "description": text, "parameters": SCHEMA, "strict": False},
    }
    assert render(READ, SCHEMA, "anthropic").plain() == {
        "name": "logs__query",
        "description": text,
        "input_schema": SCHEMA,
    }
    assert render(READ, SCHEMA, "mcp").plain() == {
        "name": "logs.query",
        "description": text,
        "inputSchema": SCHEMA,
        "annotations": {"readOnlyHint": True},
    }
    gemini: Any = render(READ, SCHEMA, "gemini").plain()
    assert gemini["name"] == "logs__query"
    assert gemini["parameters_json_schema"]["properties"]["service"] == {"type": "string", "enum": ["shop"]}


def test_mcp_shows_the_result_and_that_a_write_may_destroy() -> None:
    """The output schema and the hints are MCP's own."""
    tool: Any = render(WRITE, SCHEMA, "mcp", result={"type": "object"}).plain()
    assert tool["outputSchema"] == {"type": "object"}
    assert tool["annotations"] == {"readOnlyHint": False, "destructiveHint": True}


@pytest.mark.parametrize("format", FORMATS)
def test_a_rendering_is_byte_stable_and_leaves_the_schema_alone(format: Format) -> None:
    """The same tool and schema give the same bytes, and the canonical schema is as it was."""
    before = json.dumps(SCHEMA)
    first, second = (json.dumps(render(READ, SCHEMA, format).plain()) for _ in range(2))
    assert first == second
    assert json.dumps(SCHEMA) == before


@given(st.one_of(names, tricky))
def test_a_name_is_valid_everywhere_and_comes_back(name: str) -> None:
    """Every canonical name renders to letters that all providers take, and parses to itself."""
    rendered = render_name(name)
    assert EVERYWHERE.fullmatch(rendered)
    assert parse_name(rendered, [name]) == name


@given(st.lists(st.one_of(names, tricky), unique=True, max_size=8))
def test_two_names_never_give_one(some: list[str]) -> None:
    """Rendering keeps names apart, also from names that look like renderings."""
    every = {*some, *map(render_name, some), "a__b", "x--a-5f-5fb"}
    assert len({render_name(name) for name in every}) == len(every)


@given(st.one_of(names, tricky))
def test_what_is_no_rendering_comes_back_as_it_is(made_up: str) -> None:
    """Parsing makes no name that does not render to what was parsed."""
    parsed = parse_name(made_up)
    assert parsed == made_up or render_name(parsed) == made_up
