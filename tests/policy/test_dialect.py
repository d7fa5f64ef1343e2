"""The closed dialect: what a schema may say, what is refused and where, and how it is normalised."""

from __future__ import annotations

import json
import re
import socket
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from gatewright.policy.dialect import SchemaInvalid, check_schema, compile_schema, read_schema
from gatewright.policy.keywords import FORMATS, KEYWORDS


def with_x(schema: Any, **rest: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}, **rest}


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


REFUSED = {
    "unknown keyword": (with_x({"requird": ["a"]}), "unknown_keyword", "/properties/x/requird"),
    "misspelt deep down": (
        with_x({"items": {"anyOf": [{"maximun": 1}]}}),
        "unknown_keyword",
        "/properties/x/items/anyOf/0/maximun",
    ),
    "unknown format": (with_x({"format": "int32"}), "unknown_format", "/properties/x/format"),
    "dynamic reference": (with_x({"$dynamicRef": "#x"}), "unsupported_keyword", "/properties/x/$dynamicRef"),
    "dynamic anchor": (with_x({"$dynamicAnchor": "x"}), "unsupported_keyword", "/properties/x/$dynamicAnchor"),
    "OpenAPI's nullable": (with_x({"nullable": True}), "unsupported_keyword", "/properties/x/nullable"),
    "content": (with_x({"contentEncoding": "base64"}), "unsupported_keyword", "/properties/x/contentEncoding"),
    "nested id": (with_x({"$id": "http://a/b"}), "unsupported_keyword", "/properties/x/$id"),
    "remote reference": (with_x({"$ref": "http://example.com/a"}), "remote_reference", "/properties/x/$ref"),
    "file reference": (with_x({"$ref": "file:///etc/hostname"}), "remote_reference", "/properties/x/$ref"),
    "relative reference": (with_x({"$ref": "a.json#/b"}), "remote_reference", "/properties/x/$ref"),
    "anchor reference": (with_x({"$ref": "#a"}), "unsupported_reference", "/properties/x/$ref"),
    "dangling reference": (with_x({"$ref": "#/$defs/a"}), "dangling_reference", "/properties/x/$ref"),
    "reference to no schema": (with_x({"$ref": "#/type"}), "not_a_schema", "/type"),
    "self reference": ({"$ref": "#"}, "self_reference", ""),
    "self reference of a definition": (
        with_x({"$ref": "#/$defs/a"}, **{"$defs": {"a": {"$ref": "#/$defs/a"}}}),
        "self_reference",
        "/$defs/a",
    ),
    "indirect self reference": (
        with_x(
            {"$ref": "#/$defs/a"},
            **{"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"not": {"$ref": "#/$defs/a"}}}},
        ),
        "self_reference",
        "/$defs/a",
    ),
    "array root": ({"type": "array"}, "not_an_object", "/type"),
    "nullable root": ({"type": ["object", "null"]}, "not_an_object", "/type"),
    "root of anything": ({}, "not_an_object", ""),
    "root of some alternatives": ({"anyOf": [{"type": "object"}, {"type": "string"}]}, "not_an_object", ""),
    "open root": ({"type": "object", "additionalProperties": True}, "open_object", "/additionalProperties"),
    "open root, written otherwise": (
        {"type": "object", "additionalProperties": {}},
        "open_object",
        "/additionalProperties",
    ),
    "open alternative": (
        {"type": "object", "anyOf": [{"type": "object", "additionalProperties": True}]},
        "open_object",
        "/anyOf/0/additionalProperties",
    ),
    "open root by reference": (
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "unevaluatedProperties": True}}},
        "open_object",
        "/unevaluatedProperties",
    ),
    "too large": (with_x({"description": "x" * 65536}), "too_large", ""),
    "too deep": (with_x(nested(64)), "too_deep", "/properties/x" + "/items" * 64),
    "too deep JSON": (with_x({"default": json.loads("[" * 300 + "]" * 300)}), "too_deep", ""),
    "not JSON": (with_x({"maximum": float("nan")}), "not_json", ""),
    "look-around": (with_x({"pattern": "^(?=a)"}), "unsupported_pattern", "/properties/x/pattern"),
    "back-reference": (with_x({"pattern": "(a)\\1"}), "unsupported_pattern", "/properties/x/pattern"),
    "pattern of names": (
        with_x({"patternProperties": {"(": {}}}),
        "unsupported_pattern",
        "/properties/x/patternProperties/(",
    ),
    "required name that is not there": (with_x({}, required=["y"]), "required_undeclared", "/required"),
    "wrong type of keyword": (with_x({"minimum": "1"}), "not_a_schema", "/properties/x/minimum"),
    "wrong type name": (with_x({"type": "strin"}), "not_a_schema", "/properties/x/type"),
    "list for a schema": (with_x({"not": []}), "not_a_schema", "/properties/x/not"),
    "schema for a list": (with_x({"anyOf": {}}), "not_a_schema", "/properties/x/anyOf"),
    "draft 3": (with_x({}, **{"$schema": "http://json-schema.org/draft-03/schema#"}), "unsupported_draft", "/$schema"),
    "siblings that draft 7 ignores": (
        with_x(
            {"$ref": "#/definitions/a", "maximum": 1},
            definitions={"a": {}},
            **{"$schema": "http://json-schema.org/draft-07/schema#"},
        ),
        "ambiguous_reference",
        "/properties/x/$ref",
    ),
}


@pytest.mark.case(55)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_outside_the_dialect_is_refused_with_its_place(name: str) -> None:
    """Every refusal has a stable reason, the JSON pointer of the place, and says whose schema it is."""
    schema, reason, pointer = REFUSED[name]
    with pytest.raises(SchemaInvalid) as caught:
        check_schema(schema, where="logs.query")
    assert (caught.value.reason, caught.value.pointer, caught.value.where) == (reason, pointer, "logs.query")
    assert str(caught.value).startswith(f"logs.query#{pointer}: {reason}")


def test_the_other_validator_is_asked_at_registration() -> None:
    """What the meta-schema refuses is told with the keyword of it, by the validator that decides nothing later."""
    with pytest.raises(SchemaInvalid) as caught:
        check_schema(with_x({"minLength": -1}), where="t")
    assert caught.value.pointer == "/properties/x/minLength"
    assert caught.value.hint == "the meta-schema's minimum refuses it"


@pytest.mark.case(54)
@pytest.mark.promise("P11")
def test_a_doubling_bomb_is_refused_fast() -> None:
    """References that double at each of thirty levels are counted, not expanded."""
    doubling = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(30)}
    schema = with_x({"$ref": "#/$defs/d0"}, **{"$defs": {**doubling, "d30": {"type": "string"}}})
    times = []
    for _ in range(7):
        started = time.perf_counter()
        with pytest.raises(SchemaInvalid, match="too_many_subschemas"):
            check_schema(schema, where="t")
        times.append(time.perf_counter() - started)
    assert min(times) < 0.01


@pytest.mark.case(54)
def test_two_thousand_subschemas_pass_and_one_more_does_not() -> None:
    """The bound is on the schema once its references are followed."""
    definitions = {
        "d": {"type": "object", "properties": {f"p{i}": {} for i in range(98)}, "additionalProperties": False}
    }
    for count, fits in ((19, True), (20, False)):
        schema = {
            "type": "object",
            "properties": {f"a{i}": {"$ref": "#/$defs/d"} for i in range(count)},
            "$defs": definitions,
        }
        if fits:
            check_schema(schema, where="t")
        else:
            with pytest.raises(SchemaInvalid, match="too_many_subschemas"):
                check_schema(schema, where="t")


@pytest.mark.case(51)
@pytest.mark.promise("P11")
def test_nothing_is_fetched_while_loading_or_validating() -> None:
    """A reference to a loopback listener or a file is refused, and neither is touched, nor anything else opened."""
    check_schema(with_x({"type": "string"}), where="warm")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"
        with _Watch() as watch:
            for reference in (url, "file:///etc/hostname"):
                with pytest.raises(SchemaInvalid, match="remote_reference"):
                    check_schema(with_x({"$ref": reference}), where="t")
                with pytest.raises(SchemaInvalid):
                    compile_schema({"$ref": reference})
            compile_schema(check_schema(with_x({"format": "uri"}), where="t")).accepts({"x": url})
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert watch.seen == []


class _Watch:
    """Counts what the interpreter opens and connects to, by its audit events."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.on = False
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and event in ("open", "socket.connect", "socket.getaddrinfo", "socket.__new__", "urllib.Request"):
            self.seen.append(f"{event} {arguments}")

    def __enter__(self) -> _Watch:
        self.on = True
        return self

    def __exit__(self, *_: object) -> None:
        self.on = False


@pytest.mark.case(55)
def test_an_object_that_does_not_say_is_closed_and_noted() -> None:
    """Absent `additionalProperties` is closed at every depth; a map that says what it holds stays one."""
    read = read_schema(
        {
            "type": "object",
            "properties": {
                "x": {"type": "array", "items": {"properties": {"a": {}}}},
                "map": {"type": "object", "additionalProperties": {"type": "integer"}},
                "any": {"type": "object", "additionalProperties": True},
            },
        },
        where="t",
    )
    assert [(note.code, note.pointer) for note in read.notes] == [("closed", "/properties/x/items"), ("closed", "")]
    validator = compile_schema(read.schema)
    assert not validator.accepts({"y": 1})
    assert not validator.accepts({"x": [{"b": 1}]})
    assert validator.accepts({"x": [{"a": 1}], "map": {"k": 1}, "any": {"k": 1}})


@pytest.mark.case(55)
def test_a_composed_object_is_closed_by_what_its_parts_evaluate() -> None:
    """With `allOf`, the parts stay open and the whole is closed; a definition used both ways is kept twice."""
    schema = {
        "type": "object",
        "properties": {
            "both": {"allOf": [{"$ref": "#/$defs/A"}, {"properties": {"b": {"type": "integer"}}}]},
            "one": {"$ref": "#/$defs/A"},
        },
        "$defs": {"A": {"type": "object", "properties": {"a": {"type": "integer"}}}},
    }
    validator = compile_schema(check_schema(schema, where="t"))
    assert validator.accepts({"both": {"a": 1, "b": 2}, "one": {"a": 1}})
    assert not validator.accepts({"both": {"a": 1, "c": 2}})
    assert not validator.accepts({"one": {"a": 1, "b": 2}})


def test_alternatives_are_closed_one_by_one() -> None:
    """An `anyOf` of objects needs no closing of its own: each alternative is closed."""
    schema = {
        "type": "object",
        "anyOf": [{"properties": {"a": {}}}, {"$ref": "#/$defs/B"}],
        "$defs": {"B": {"properties": {"b": {}}}},
    }
    checked = check_schema(schema, where="t")
    assert "unevaluatedProperties" not in checked
    validator = compile_schema(checked)
    assert [validator.accepts(value) for value in ({"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {"c": 1})] == [
        True,
        True,
        False,
        False,
    ]


def test_what_only_tests_is_left_alone() -> None:
    """Below `not`, `if` and `contains` nothing is closed: closing there would let more through."""
    tested = {"properties": {"kind": {"const": "x"}}, "required": ["kind"]}
    schema = with_x({"properties": {"kind": {}, "n": {}}, "not": {"$ref": "#/$defs/T"}}, **{"$defs": {"T": tested}})
    validator = compile_schema(check_schema(schema, where="t"))
    assert not validator.accepts({"x": {"kind": "x", "n": 1}})
    assert validator.accepts({"x": {"kind": "y", "n": 1}})


def test_older_drafts_are_migrated_where_nothing_is_lost() -> None:
    """`definitions`, tuples, boolean bounds and dependencies are written as draft 2020-12 writes them."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://example.com/tool",
        "type": "object",
        "definitions": {"n": {"minimum": 3, "exclusiveMinimum": True}},
        "properties": {
            "n": {"$ref": "#/definitions/n"},
            "pair": {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": False},
            "again": {"$ref": "#/properties/pair"},
        },
        "dependencies": {"n": ["pair"], "pair": {"required": ["again"]}},
    }
    pair = {"prefixItems": [{"type": "string"}, {"type": "integer"}], "items": False}
    assert check_schema(schema, where="t") == {
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/n"}, "pair": pair, "again": {"$ref": "#/$defs/properties_pair"}},
        "dependentRequired": {"n": ["pair"]},
        "dependentSchemas": {"pair": {"required": ["again"]}},
        "unevaluatedProperties": False,
        "$defs": {"n": {"exclusiveMinimum": 3}, "properties_pair": pair},
    }


def test_a_recursive_root_becomes_a_definition() -> None:
    """A tree of the root itself, as pydantic and others write it, is one definition and a closed root."""
    tree = {"type": "object", "properties": {"left": {"$ref": "#"}, "value": {"type": "integer"}}}
    validator = compile_schema(check_schema(tree, where="t"))
    assert validator.accepts({"left": {"left": {"value": 1}}})
    assert not validator.accepts({"left": {"left": {"valu": 1}}})


def test_checking_again_changes_nothing() -> None:
    """A normalised schema is its own normal form."""
    for schema in (
        with_x(
            {"$ref": "#/$defs/a b"}, **{"$defs": {"a b": {"properties": {"p": {"$ref": "#/$defs/a b"}}}, "gone": {}}}
        ),
        with_x({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        {"type": "object", "allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
    ):
        once = check_schema(schema, where="t")
        assert check_schema(once, where="t") == once
        assert not read_schema(once, where="t").notes


def test_definitions_that_nothing_needs_are_left_out() -> None:
    """What is not referred to is not shown, and is not looked at."""
    schema = with_x({}, **{"$defs": {"gone": {"bogus": 1}}})
    assert "$defs" not in check_schema(schema, where="t")


def test_a_one_of_that_closing_would_open_is_refused() -> None:
    """A value that fits two open alternatives is refused by `oneOf`, and closing one of them would let it through."""
    alternatives = [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "integer"}}}]
    with pytest.raises(SchemaInvalid, match="ambiguous_alternatives") as caught:
        check_schema({"type": "object", "properties": {"x": {"oneOf": alternatives}}}, where="t")
    assert caught.value.pointer == "/properties/x/oneOf"
    closed = [{"type": "object", **each, "additionalProperties": False} for each in alternatives]
    assert compile_schema(check_schema(with_x({"oneOf": closed}), where="t")).accepts({"x": {"a": 1}})


def test_alternatives_that_a_constant_tells_apart_stay_a_plain_one_of() -> None:
    """A union with a discriminator, as pydantic writes it, needs nothing beside it."""
    cat = {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {}}, "required": ["kind"]}
    dog = {"type": "object", "properties": {"kind": {"enum": ["dog", "wolf"]}}, "required": ["kind"]}
    pet = {
        "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}, {"type": "null"}],
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat"}},
    }
    schema = with_x(pet, **{"$defs": {"Cat": cat, "Dog": dog}})
    read = read_schema(schema, where="t")
    assert read.schema["properties"] == {"x": {"oneOf": pet["oneOf"]}}
    assert ("dropped", "/properties/x/discriminator") in {(note.code, note.pointer) for note in read.notes}
    validator = compile_schema(read.schema)
    assert validator.accepts({"x": {"kind": "cat", "lives": 9}})
    assert not validator.accepts({"x": {"kind": "dog", "lives": 9}})


def test_the_page_names_every_keyword_format_and_reason() -> None:
    """docs/schemas.md is what its readers may rely on."""
    root = Path(__file__).parents[2]
    listed = set(re.findall(r"`([$a-z_A-Z0-9-]+)`", (root / "docs/schemas.md").read_text("utf-8")))
    assert listed >= (KEYWORDS | FORMATS)
    raised = {
        reason
        for path in ("dialect", "migration", "expansion", "closing", "validator")
        for reason in re.findall(
            r'(?:SchemaInvalid|_refuse)\(\s*"(\w+)"', (root / f"policy/{path}.py").read_text("utf-8")
        )
    }
    assert raised <= listed
    assert len(raised) > 10
