"""CASES 49 to 55 through whole calls: what a schema says, and what then reaches the tool."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from desk import Desk
from gatewright import Misuse
from gatewright.policy.keywords import FORMATS
from one_argument import closed, got, refused, tool

SPELLINGS = ("1.0", "true", '"1"', "1e2", "1E0", "-0.0", "10.0e-1", "false", "null", "[1]", '{"a":1}', "1.5", '"one"')


INTEGER: dict[str, Any] = {"type": "integer"}


INTEGERS: dict[str, tuple[Any, str]] = {
    "top": (closed(x=INTEGER), '{"x":%s}'),
    "list": (closed(x={"type": "array", "items": INTEGER}), '{"x":[0,%s]}'),
    "object": (closed(x={"type": "object", "properties": {"n": INTEGER}}), '{"x":{"n":%s}}'),
    "alternative": (closed(x={"anyOf": [INTEGER, {"type": "array", "maxItems": 0}]}), '{"x":%s}'),
    "option": (closed(x={"enum": [1, 0, 100]}), '{"x":%s}'),
    "constant": (closed(x={"const": 1}), '{"x":%s}'),
    "constant in a list": (closed(x={"type": "array", "items": {"const": 1}}), '{"x":[%s]}'),
    "map": (closed(x={"type": "object", "additionalProperties": INTEGER}), '{"x":{"k":%s}}'),
    "reference": ({**closed(x={"$ref": "#/$defs/n"}), "$defs": {"n": INTEGER}}, '{"x":%s}'),
}


@pytest.mark.case(49)
@pytest.mark.parametrize("where", INTEGERS)
def test_what_is_not_written_as_an_integer_is_none(where: str) -> None:
    """Wherever it stands: no point, no exponent, no boolean, no string; the tool was not entered."""
    schema, form = INTEGERS[where]
    desk = tool(schema)
    for written in SPELLINGS:
        refused(desk, form % written, "schema")
    assert desk.call("some.thing", form % "1").status == "ok"


@pytest.mark.case(49)
@pytest.mark.parametrize("cut", ["{ maximum: 5 }", "{ enum: [1, 2] }", "{ const: 1 }", "{ minimum: 0, maximum: 1 }"])
def test_an_entry_does_not_loosen_what_an_integer_is(cut: str) -> None:
    """Narrowed arguments are as strict as the base, as text and as a mapping; the tool receives an int."""
    desk = tool(closed(x={"type": "integer"}), f"{{ id: a, roles: [agent], arguments: {{ x: {cut} }} }}")
    for value in (1.0, True, "1", 1e0):
        refused(desk, json.dumps({"x": value}))
        assert desk.guard.call("some.thing", {"x": value}, token=desk.token()).status == "invalid_arguments"
    assert type(got(desk, '{"x":1}')) is int


@pytest.mark.case(49)
def test_a_number_may_be_written_either_way_and_a_pin_is_what_it_says() -> None:
    """A float stays a float on the way to the tool, and an integer an integer."""
    desk = tool(closed(x={"type": "number"}))
    assert [repr(got(desk, f'{{"x":{text}}}')) for text in ("1", "1.0", "1e2", "-0", "0.5")] == [
        "1",
        "1.0",
        "100.0",
        "0",
        "0.5",
    ]
    refused(desk, '{"x":true}')
    refused(desk, '{"x":"1"}')


WRONG = {
    "date": ("nope", "2026-02-30", "2026-2-3", "20260203", "2026-02-03T00:00:00Z", "", "2026-02-03\n"),
    "date-time": (
        "nope",
        "2026-02-03",
        "2026-02-03T10:00:00",
        "2026-02-03 10:00:00Z",
        "2026-02-03T25:00:00Z",
        "1770112800",
    ),
    "duration": ("1h", "P", "PT", "P1DT", "1 day"),
    "email": ("a", "@b.c", "a b@example.com", "a@"),
    "hostname": ("-a.b", "a_b.c", "", "a..b"),
    "ipv4": ("256.1.1.1", "1.2.3", "01.2.3.4", "1.2.3.4/8"),
    "ipv6": ("1.2.3.4", "::1::", "fe80::1%eth0", ":"),
    "json-pointer": ("a", "/~2", "#/a"),
    "time": ("10:00", "25:00:00Z", "10:00:00"),
    "uri": ("no pe", "/relative", "//host", "", "http://a b"),
    "uri-reference": ("a b", "\\\\server"),
    "uuid": ("x", "{123e4567-e89b-12d3-a456-426614174000}", "123e4567e89b12d3a456426614174000"),
}


@pytest.mark.case(50)
@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_is_a_check(name: str) -> None:
    """In the base schema, and where an entry asks for it."""
    for desk in (
        tool(closed(x={"type": "string", "format": name})),
        tool(closed(x={"type": "string"}), f"{{ id: a, roles: [agent], arguments: {{ x: {{ format: {name} }} }} }}"),
    ):
        for text in WRONG[name]:
            assert refused(desk, {"x": text}, "schema")


@pytest.mark.case(50)
@pytest.mark.parametrize(
    "name", ["int32", "binary", "password", "iri", "idn-email", "regex", "uri-template", "Date", "date time", ""]
)
def test_a_format_that_nobody_checks_is_refused_at_registration(name: str) -> None:
    """With its place."""
    with pytest.raises(Misuse, match="unknown_format"):
        tool(closed(x={"type": "string", "format": name}))


@pytest.mark.case(51)
@pytest.mark.parametrize(
    "form",
    [
        "{url}",
        "{url}#/$defs/a",
        "{url}#",
        "//127.0.0.1:{port}/a",
        "file:///etc/hostname",
        "file:a.json",
        "a.json",
        "../a.json",
        "urn:a:b",
        "#anchor",
        "data:application/json,{{}}",
    ],
)
@pytest.mark.parametrize("word", ["$ref", "$dynamicRef", "$recursiveRef", "$schema", "$id"])
def test_nothing_is_referred_to_that_is_not_in_the_schema(form: str, word: str) -> None:
    """Wherever it stands, also where nothing needs it; a listener hears nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        target = form.format(url=f"http://127.0.0.1:{port}/a.json", port=port)
        for where in ({word: target}, {"items": {word: target}}, {"anyOf": [{"type": "string"}, {word: target}]}):
            with pytest.raises(Misuse):
                tool(closed(x=where))
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.case(52)
@pytest.mark.parametrize("where", ["base", "entry", "names"])
def test_a_pattern_matches_as_ecma_says(where: str) -> None:
    """`$` takes no newline, classes are ASCII, and what is not anchored matches anywhere."""

    def asks(pattern: str) -> Desk:
        if where == "names":
            return tool(closed(x={"type": "object", "patternProperties": {pattern: {}}, "additionalProperties": False}))
        if where == "base":
            return tool(closed(x={"type": "string", "pattern": pattern}))
        return tool(
            closed(x={"type": "string"}),
            f"{{ id: a, roles: [agent], arguments: {{ x: {{ pattern: {json.dumps(pattern)} }} }} }}",
        )

    def sent(text: str) -> Any:
        return {"x": {text: 1} if where == "names" else text}

    for pattern, good, bad in (
        ("^[a-z]+$", "ab", ("ab\n", "\nab", "ab\r", "ab\u2028", "AB", "")),
        ("^\\d{2}$", "12", ("١٢", "12\n", "１２", "123")),
        ("^\\w+$", "a_1", ("é", "a b", "a\n")),
        ("^a.b$", "a-b", ("a\nb", "a\u2028b")),
        ("public", "not public at all", ("Public", "publi c")),
        ("^(a+)+$", "a" * 30, ("a" * 5000 + "!",)),
    ):
        desk = asks(pattern)
        assert got(desk, sent(good)) == sent(good)["x"]
        began = time.perf_counter()
        for text in bad:
            refused(desk, sent(text), "schema")
        assert time.perf_counter() - began < 2


@pytest.mark.case(54)
@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        closed(x={"$ref": "#/properties/x"}),
        {
            **closed(x={"$ref": "#/$defs/a"}),
            "$defs": {"a": {"allOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}},
        },
        {**closed(x={"$ref": "#/$defs/a"}), "$defs": {"a": {"not": {"$ref": "#/$defs/a"}}}},
        {**closed(x={"$ref": "#/$defs/a"}), "$defs": {"a": {"dependentSchemas": {"k": {"$ref": "#/$defs/a"}}}}},
        closed(x={"allOf": [{"allOf": [{"type": "string"}] * 60}] * 60}),
        closed(x=json.loads('{"items":' * 400 + "{}" + "}" * 400)),
    ],
    ids=["root", "itself", "circle", "not itself", "dependent on itself", "wide", "deep"],
)
def test_a_schema_that_never_ends_is_refused_at_registration(schema: Any) -> None:
    """At once."""
    began = time.perf_counter()
    with pytest.raises(Misuse):
        tool(schema)
    assert time.perf_counter() - began < 1


@pytest.mark.case(54)
@pytest.mark.parametrize("levels", [20, 31, 400, 10_000])
def test_a_tree_is_judged_to_the_depth_that_is_decoded(levels: int) -> None:
    """A recursive schema is fine; a value deeper than the decoder takes is malformed, in bounded time."""
    tree = {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/t"}}, {"type": "integer"}]}
    desk = tool({**closed(x={"$ref": "#/$defs/t"}), "$defs": {"t": tree}})
    raw = '{"x":' + "[" * levels + "1" + "]" * levels + "}"
    began = time.perf_counter()
    if levels < 32:
        assert json.dumps(got(desk, raw)) == "[" * levels + "1" + "]" * levels
        assert refused(desk, raw.replace("1", '"1"'), "schema")
    else:
        assert refused(desk, raw, "syntax") == "too_deep"
    assert time.perf_counter() - began < 1


@pytest.mark.case(55)
@pytest.mark.parametrize(
    ("schema", "good", "extra"),
    [
        (closed("x", x={}), {}, {"y": 1}),
        (closed("x", x={"type": "object", "properties": {"a": {}}}), {"a": 1}, {"b": 1}),
        (closed("x", x={"type": "array", "items": {"properties": {"a": {}}}}), [{"a": 1}], [{"a": 1, "b": 1}]),
        (closed("x", x={"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}), {"a": 1, "b": 1}, {"c": 1}),
        (closed("x", x={"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}), {"b": 1}, {"c": 1}),
        (closed("x", x={"properties": {"a": {}}, "allOf": [{"properties": {"b": {}}}]}), {"a": 1, "b": 1}, {"c": 1}),
        (
            closed("x", x={"properties": {"k": {}}, "if": {"required": ["k"]}, "then": {"properties": {"m": {}}}}),
            {"k": 1, "m": 1},
            {"m": 1},
        ),
    ],
    ids=["top", "nested", "in a list", "composed", "alternatives", "beside parts", "conditional"],
)
def test_what_does_not_say_is_closed(schema: Any, good: Any, extra: Any) -> None:
    """Extra names are refused at every depth, composed objects by what their parts evaluate."""
    desk = tool(schema)
    assert got(desk, {"x": good}) == good
    if extra == {"y": 1}:
        assert refused(desk, {"x": 1, **extra}) == "unknown_argument"
    else:
        assert refused(desk, {"x": extra}) == "unknown_argument"


@pytest.mark.case(55)
@pytest.mark.parametrize(
    "word", ["requird", "propertys", "maxlength", "Type", "enums", "additionalproperties", "x-anything", "required "]
)
def test_a_misspelt_keyword_is_refused_at_registration(word: str) -> None:
    """At the root, in an argument, in a definition that is used, below a condition."""
    for schema in (
        {**closed(x={}), word: 1},
        closed(x={word: 1}),
        {**closed(x={"$ref": "#/$defs/a"}), "$defs": {"a": {word: 1}}},
        closed(x={"if": {word: 1}, "then": {}}),
    ):
        with pytest.raises(Misuse, match="unknown_keyword"):
            tool(schema)
