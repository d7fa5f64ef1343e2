"""Foreign tool lists: every shape they come in, every word they use, and a report of what was made of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.middleware.guard import Guard
from gatewright.policy.dialect import SchemaInvalid, check_schema, compile_schema
from gatewright.policy.importer import Imported, import_tools
from gatewright.policy.keywords import FOREIGN_TYPES, TYPES
from shared_data import shared

PLAIN: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED = {**PLAIN, "additionalProperties": False}
WORDS = {"name": "city.find", "description": "Find a city."}

SHAPES: dict[str, Any] = {
    "OpenAI tools": [{"type": "function", "function": {**WORDS, "parameters": PLAIN, "strict": True}}],
    "OpenAI responses": {"tools": [{"type": "function", **WORDS, "parameters": PLAIN}]},
    "OpenAI functions": {"functions": [{**WORDS, "parameters": PLAIN}]},
    "Anthropic": [{**WORDS, "input_schema": PLAIN}],
    "MCP": {"tools": [{**WORDS, "inputSchema": PLAIN, "annotations": {"readOnlyHint": True}}]},
    "an MCP answer": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [{**WORDS, "inputSchema": PLAIN}]}},
    "Gemini": [{"functionDeclarations": [{**WORDS, "parametersJsonSchema": PLAIN}]}],
    "Gemini in capitals": [
        {
            "function_declarations": [
                {
                    **WORDS,
                    "parameters": json.loads(
                        json.dumps(PLAIN).replace('"object"', '"OBJECT"').replace('"string"', '"STRING"')
                    ),
                }
            ]
        }
    ],
    "a benchmark": [{**WORDS, "parameters": {**PLAIN, "type": "dict"}}],
    "a benchmark's line": {
        "id": "simple_1",
        "question": [],
        "function": [{**WORDS, "parameters": {**PLAIN, "type": "dict"}}],
    },
    "one tool": {**WORDS, "parameters": PLAIN},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_of_a_list_gives_the_same_tool(shape: str) -> None:
    """Whatever it is wrapped in, and whatever its schema is called."""
    found = import_tools(SHAPES[shape])
    assert found.faults == ()
    assert [(tool.name, tool.description, tool.schema) for tool in found.tools] == [
        ("city.find", "Find a city.", CLOSED)
    ]


def one(schema: Any) -> tuple[Any, list[tuple[str, str]]]:
    """The only argument's schema as imported, and the pointers of the changes to it with their effects."""
    root = {"type": "object", "properties": {"x": schema}, "additionalProperties": False}
    found = import_tools([{**WORDS, "parameters": root}])
    assert found.faults == ()
    (tool,) = found.tools
    properties: Any = tool.schema["properties"]
    made = [(change.pointer.removeprefix("/properties/x"), change.effect) for change in tool.changes]
    return properties["x"], made


@pytest.mark.parametrize(
    ("given", "wanted", "changes"),
    [
        ({"type": "float"}, {"type": "number"}, [("/type", "same")]),
        ({"type": "any"}, {}, [("/type", "same")]),
        ({"type": ["int", "None"]}, {"type": ["integer", "null"]}, [("/type", "same"), ("/type", "same")]),
        ({"type": ["float", "number"]}, {"type": "number"}, [("/type", "same")]),
        (
            {"type": "tuple", "items": {"type": "float"}},
            {"type": "array", "items": {"type": "number"}},
            [("/type", "same"), ("/items/type", "same")],
        ),
        (
            {"type": "tuple", "items": [{"type": "float"}, {"type": "String"}]},
            {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}]},
            [("/type", "same"), ("/items/0/type", "same"), ("/items/1/type", "same"), ("/items", "same")],
        ),
        (
            {"type": "ArrayList", "items": {"type": "long"}},
            {"type": "array", "items": {"type": "integer"}},
            [("/type", "same"), ("/items/type", "same")],
        ),
        ({"type": "dict"}, {"type": "object", "additionalProperties": True}, [("/type", "same"), ("", "same")]),
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}, [("/nullable", "same")]),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
            [("/nullable", "same")],
        ),
        ({"enum": ["a"], "nullable": True}, {"anyOf": [{"enum": ["a"]}, {"type": "null"}]}, [("/nullable", "same")]),
        ({"type": "integer", "format": "int32"}, {"type": "integer"}, [("/format", "wider")]),
        ({"type": "string", "format": "date"}, {"type": "string", "format": "date"}, []),
        ({"type": "string", "pattern": "^(?=a)"}, {"type": "string"}, [("/pattern", "wider")]),
        ({"type": "string", "example": "Bern"}, {"type": "string", "examples": ["Bern"]}, [("/example", "same")]),
        ({"type": "string", "x-order": 1}, {"type": "string"}, [("/x-order", "same")]),
        ({"type": "string", "maxLen": 1}, {"type": "string"}, [("/maxLen", "wider")]),
        ({"type": "float", "default": "None"}, {"type": "number"}, [("/type", "same"), ("/default", "same")]),
        (
            {"type": "number", "minimum": 0, "exclusiveMinimum": True},
            {"type": "number", "exclusiveMinimum": 0},
            [("/exclusiveMinimum", "same")],
        ),
    ],
    ids=lambda value: json.dumps(value)[:60],
)
def test_foreign_words_are_written_as_ours_and_told(given: Any, wanted: Any, changes: list[tuple[str, str]]) -> None:
    """Each change stands in the report with its place, and says whether more or fewer values are accepted."""
    assert one(given) == (wanted, changes)


def test_required_is_gathered_from_wherever_it_is_stated() -> None:
    """A flag on a property is moved to its parent's list; a name that is not there is dropped and told."""
    properties = {
        "a": {"type": "string", "required": True},
        "b": {"type": "string", "optional": True},
        "c": {"type": "string"},
    }
    (tool,) = import_tools(
        [{**WORDS, "parameters": {"type": "dict", "properties": properties, "required": ["b", "c", "d"]}}]
    ).tools
    assert tool.schema["required"] == ["c", "a"]
    assert {(change.pointer, change.effect) for change in tool.changes} >= {
        ("/properties/a/required", "same"),
        ("/properties/b/optional", "same"),
        ("/required", "wider"),
    }


def test_no_schema_at_all_is_a_tool_without_arguments() -> None:
    """Absent, null and empty are the same: nothing may be sent."""
    for entry in (
        WORDS,
        {**WORDS, "parameters": None},
        {**WORDS, "parameters": {}},
        {**WORDS, "input_schema": {"type": "object"}},
    ):
        (tool,) = import_tools([entry]).tools
        assert compile_schema(tool.schema).accepts({})
        assert not compile_schema(tool.schema).accepts({"x": 1})


def test_an_open_root_is_closed_and_told() -> None:
    """`additionalProperties: true` is a way to say anything at the root; here it is dropped."""
    (tool,) = import_tools([{**WORDS, "parameters": {**PLAIN, "additionalProperties": True}}]).tools
    assert tool.schema == CLOSED
    assert ("/additionalProperties", "narrower") in {(change.pointer, change.effect) for change in tool.changes}


FAULTY: dict[str, tuple[Any, str, str]] = {
    "no tool": ("f", "", "not_a_tool"),
    "no name": ({"description": "F."}, "", "not_a_tool"),
    "a name of nothing": ({"name": "///"}, "/name", "taken_name"),
    "an array for a schema": ({"name": "f", "parameters": []}, "", "not_a_schema"),
    "an array root": ({"name": "f", "parameters": {"type": "array"}}, "/type", "not_an_object"),
    "a remote reference": (
        {"name": "f", "parameters": {"type": "object", "properties": {"a": {"$ref": "https://example.com/a.json"}}}},
        "/properties/a/$ref",
        "remote_reference",
    ),
    "a dynamic reference": ({"name": "f", "parameters": {"$dynamicRef": "#a"}}, "/$dynamicRef", "unsupported_keyword"),
    "a type that nobody has": (
        {"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "blob"}}}},
        "/properties/a/type",
        "not_a_schema",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_what_cannot_be_taken_is_told_and_the_rest_is_taken(name: str) -> None:
    """One faulty tool does not stand in the way of the others."""
    entry, pointer, reason = FAULTY[name]
    found = import_tools([entry, {**WORDS, "parameters": PLAIN}])
    assert [tool.name for tool in found.tools] == ["city.find"]
    assert [(fault.pointer, fault.reason) for fault in found.faults] == [(pointer, reason)]
    assert any(reason in line for line in found.report)


def test_names_become_canonical_and_never_clash() -> None:
    """Other letters become underscores, which is told; a second tool of that name, or one like it, is not taken."""
    found = import_tools(
        [{**WORDS, "name": "find city!"}, {**WORDS, "name": "find_city"}, {**WORDS, "name": "Find_City"}]
    )
    assert [tool.name for tool in found.tools] == ["find_city"]
    assert [(fault.tool, fault.reason) for fault in found.faults] == [
        ("find_city", "taken_name"),
        ("Find_City", "taken_name"),
    ]


@pytest.mark.parametrize("data", [None, 7, "x", [], {}, [[]], [None], {"tools": {}}, {"tools": [[{"name": 1}]]}])
def test_any_json_has_an_outcome(data: Any) -> None:
    """Nothing raises."""
    assert isinstance(import_tools(data), Imported)


@pytest.mark.parametrize("word", sorted(FOREIGN_TYPES))
def test_a_raw_registration_of_a_foreign_type_is_refused_with_a_hint(word: str) -> None:
    """The hint says what to write, and that the importer writes it; the imported schema registers."""
    with pytest.raises(SchemaInvalid) as caught:
        check_schema({"type": "object", "properties": {"x": {"type": word}}}, where="t")
    assert (caught.value.reason, caught.value.pointer) == ("foreign_type", "/properties/x/type")
    assert FOREIGN_TYPES[word] in caught.value.hint
    assert "gatewright import" in caught.value.hint
    assert FOREIGN_TYPES[word] in (*TYPES, "")
    assert word not in TYPES
    assert import_tools([{"name": "f", "parameters": {"properties": {"x": {"type": word}}}}]).faults == ()


def test_recorded_tools_are_taken_and_recorded_calls_pass() -> None:
    """Fourteen tools of a public benchmark register as imported; of its 361 recorded calls all but one pass."""
    found = import_tools(json.loads(shared("data/tau-bench/airline-tools.json").read_text("utf-8")))
    assert (len(found.tools), found.faults) == (14, ())
    assert {change.effect for tool in found.tools for change in tool.changes} == {"narrower"}
    schemas = {tool.name: tool.schema for tool in found.tools}
    refused = []
    for line in shared("data/tau-bench/airline-calls.jsonl").read_text("utf-8").splitlines():
        call = json.loads(line)
        result = Guard.check(schemas[call["tool"]], call["arguments"])
        if result.status != "ok":
            refused.append((call["tool"], result.to_json()["reason"]))
    assert refused == [("update_reservation_flights", "unknown_argument")]
