"""Values are quoted to the model that wrote them where the catalog says so, and nowhere else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from desk import open_one
from gatewright.policy.complaints import message, schema_complaints, syntax_complaint
from gatewright.policy.dialect import compile_schema
from gatewright.policy.quoting import quote_from, quote_nothing

CANARY = "s3cr3t-canary"
ECHO = frozenset({"echo"})
SECRET = frozenset({"secret"})


@pytest.mark.parametrize(
    ("flags", "place", "quoted"),
    [
        ({"/a": ECHO}, "/a", '"x"'),
        ({"/a": SECRET | ECHO}, "/a", None),
        ({}, "/a", None),
        ({"/a": frozenset({"loggable"})}, "/a", None),
        ({"/in": ECHO}, "/in/b", "7"),
        ({"/in": ECHO, "/in/b": SECRET}, "/in/b", None),
        ({"/in": ECHO, "/in/b": SECRET}, "/in", None),
        ({"/in/b": ECHO, "/in": SECRET}, "/in/b", None),
        ({"/list/*/c": ECHO}, "/list/1/c", "true"),
        ({"/list": ECHO, "/list/*/c": SECRET}, "/list/1/c", None),
        ({"/list": ECHO}, "/list/9/c", None),
        ({"/in": ECHO}, "/in", None),
        ({"/long": ECHO}, "/long", None),
        ({"/odd": ECHO}, "/odd", '"a\\n\\u001b"'),
        ({"/a": ECHO}, "", None),
    ],
)
def test_a_scalar_is_quoted_where_it_is_marked(flags: Any, place: str, quoted: str | None) -> None:
    """At a marked place or below it, never at, above or below a secret one, and nothing long or composed."""
    value = {"a": "x", "in": {"b": 7}, "list": [{}, {"c": True}], "long": "x" * 99, "odd": "a\n\x1b"}
    assert quote_from(flags, value)(place) == quoted
    assert quote_nothing(place) is None


def test_a_message_quotes_in_the_place_of_the_shape() -> None:
    """The model reads its own value back, in either language; without the mark it reads the shape."""
    schema = {"type": "object", "properties": {"d": {"type": "string", "format": "date"}}}
    (complaint,) = schema_complaints(compile_schema(schema).errors({"d": "31.1."}), schema)
    quote = quote_from({"/d": ECHO}, {"d": "31.1."})
    assert message(complaint, "en", quote).endswith('expected a date such as 2026-01-31; got "31.1.".')
    assert message(complaint, "zh", quote).endswith('收到的是 "31.1."。')
    assert message(complaint, "en").endswith("got a string of 5 characters.")
    assert "31.1." not in repr(complaint)
    assert "got" not in message(syntax_complaint("malformed", 3), "en", lambda _: "x")


@pytest.mark.parametrize("marked", [True, False])
def test_a_call_quotes_what_is_marked_and_no_event_holds_it(marked: bool, caplog: pytest.LogCaptureFixture) -> None:
    """Towards the model alone: not in the journal, not in a log, not in the result's repr, not in an exception."""

    def tool(day: str, other: str) -> None:
        """Do nothing."""

    schema = {
        "type": "object",
        "properties": {"day": {"type": "string", "maxLength": 3}, "other": {"type": "string", "maxLength": 3}},
        "required": ["day", "other"],
    }
    desk, _ = open_one(tool, schema=schema, echo=["day"] if marked else [])
    caplog.set_level(0)
    result = desk.call("some.thing", {"day": CANARY, "other": "another-canary"})
    told = json.dumps(result.to_json())
    assert (CANARY in told) is marked
    assert "another-canary" not in told
    assert CANARY not in repr(result) + caplog.text + repr(desk.events())
    assert desk.event("schema_validated")["errors"][0] == {"field": "/day", "layer": "schema", "reason": "too_long"}
