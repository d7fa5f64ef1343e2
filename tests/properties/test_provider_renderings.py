"""Role schemas as providers are shown them: within their published rules, never narrower, every loss named."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from random_schemas import corpus, role_schemas

from gatewright.policy.dialect import SchemaInvalid, check_schema, compile_schema
from gatewright.policy.model import ToolSpec
from gatewright.policy.narrowing import any_of
from gatewright.policy.rendering import Format, Rendering, render
from gatewright.policy.strict import drop_nulls, make_strict
from provider_rules import against_anthropic, against_gemini, against_openai

OBJECTS = [value for value in corpus(300, seed=6) if isinstance(value, dict)]
RULES: dict[Format, Callable[[dict[str, Any]], Iterator[str]]] = {
    "openai": against_openai,
    "openai-strict": against_openai,
    "anthropic": against_anthropic,
    "gemini": against_gemini,
}
PLACES = {"openai": "parameters", "openai-strict": "parameters", "anthropic": "input_schema"}

_checked = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
_often = settings(_checked, max_examples=400 if "--long" in sys.argv else 20)


@st.composite
def shown_schemas(draw: st.DrawFn) -> dict[str, Any]:
    """The role schema of one entry, or of several."""
    alternatives = draw(st.lists(role_schemas(), min_size=1, max_size=3))
    try:
        return dict(any_of([check_schema(schema, where="t") for schema in alternatives]))
    except SchemaInvalid:
        reject()


def rendered(schema: Any, format: Format) -> Rendering:
    """A tool with this role schema."""
    spec = ToolSpec("a.b", "read", "read", "Do it.", "asked", "else", schema)
    return render(spec, schema, format)


def arguments_of(rendering: Rendering, format: Format) -> Any:
    """The schema of the arguments in a rendering."""
    tool: Any = rendering.plain()
    return tool.get("function", tool)[PLACES.get(format, "parameters_json_schema")]


@pytest.mark.parametrize("format", RULES)
@_often
@given(schema=shown_schemas())
def test_every_role_schema_renders_to_what_the_provider_takes(format: Format, schema: Any) -> None:
    """Nothing in the rendering is against the provider's rules."""
    assert list(RULES[format](rendered(schema, format).plain())) == []


@pytest.mark.promise("P2")
@pytest.mark.parametrize("format", ["openai", "anthropic", "gemini"])
@_often
@given(schema=shown_schemas())
def test_a_rendering_is_never_narrower_and_tells_where_it_is_wider(format: Format, schema: Any) -> None:
    """What the role schema accepts fits the rendering; where more fits it, a loss is listed."""
    rendering = rendered(schema, format)
    own, shown = compile_schema(schema), compile_schema(arguments_of(rendering, format))
    for value in OBJECTS:
        if own.accepts(value):
            assert shown.accepts(value), value
        elif not rendering.losses:
            assert not shown.accepts(value), value


@pytest.mark.promise("P2")
@_often
@given(schema=shown_schemas())
def test_a_strict_rendering_is_never_narrower_and_no_null_is_dropped_that_counts(schema: Any) -> None:
    """What is accepted fits it, left-out arguments as nulls; dropping them gives it back, and changes nothing else."""
    strict = make_strict(schema)
    own = compile_schema(schema)
    shown = compile_schema(strict.schema)
    for value in OBJECTS:
        if own.accepts(value):
            assert drop_nulls(value, strict.nulls) == value
            if strict.is_strict:
                taken = [drop_nulls(each, strict.nulls) for each in completed(value, strict.schema)]
                assert any((strict.losses or own.accepts(each)) and bare(each) == bare(value) for each in taken), value
            else:
                assert shown.accepts(value), value
        elif not strict.losses and shown.accepts(value):
            assert own.accepts(drop_nulls(value, strict.nulls)), value


@_often
@given(schema=shown_schemas())
def test_what_a_strict_provider_sends_is_taken_where_nothing_is_lost(schema: Any) -> None:
    """A value of the strict schema is accepted once its nulls are dropped, unless a loss says otherwise."""
    strict = make_strict(schema)
    own, shown = compile_schema(schema), compile_schema(strict.schema)
    for value in OBJECTS:
        for each in completed(value, strict.schema) if strict.is_strict else ():
            assert shown.accepts(each)
            assert strict.losses or own.accepts(drop_nulls(each, strict.nulls)), each


def completed(value: Any, schema: Any) -> Iterator[Any]:
    """Every way in which *value* with nulls for what it leaves out fits the strict *schema*."""
    if "anyOf" in schema:
        for branch in schema["anyOf"]:
            yield from completed(value, branch)
        return
    if isinstance(value, dict) and "properties" in schema:
        if value.keys() <= schema["properties"].keys():
            yield from _objects(value, list(schema["properties"].items()))
    elif isinstance(value, list) and "items" in schema:
        wholes = [next(completed(item, schema["items"]), _NO) for item in value]
        if _NO not in wholes and compile_schema(schema).accepts(wholes):
            yield wholes
    elif compile_schema(schema).accepts(value):
        yield value


def bare(value: Any) -> Any:
    """*value* without nulls: an optional argument that takes null of its own can only be sent as null."""
    if isinstance(value, dict):
        return {name: bare(item) for name, item in value.items() if item is not None}
    return [bare(item) for item in value] if isinstance(value, list) else value


_NO = object()


def _objects(value: dict[str, Any], properties: list[tuple[str, Any]]) -> Iterator[dict[str, Any]]:
    if not properties:
        yield {}
        return
    (name, child), *rest = properties
    for first in completed(value.get(name), child):
        for others in _objects(value, rest):
            yield {name: first, **others}
