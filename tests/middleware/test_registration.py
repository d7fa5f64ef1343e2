"""What a decorator states: the base schema that annotations mean, and every mistake that is told at once."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import functools
import hashlib
import json
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from pydantic import BaseModel, Field, WithJsonSchema

from desk import WORDS, Desk, Order, load_order, open_desk
from gatewright import Caller, Fact, Misuse, Page, Resource
from gatewright.middleware.registration import Statement, Tool, register
from gatewright.policy.catalog import spec_to_json

UtcSecond = Annotated[dt.datetime, WithJsonSchema({"type": "string"})]
SERVICE = {"service": Resource("service", at="/service", load=lambda name, tenant: None, scope="tenant")}


class Service(BaseModel):
    """A service, as a loader returns it."""

    name: str


class Line(BaseModel):
    """One line."""

    text: str
    level: Literal["info", "warn"] = "info"


class Colour(enum.Enum):
    """Two colours."""

    red = "red"
    blue = "blue"


def tool_of(function: Any, **stated: Any) -> Tool:
    """Register a function with the words that are always needed."""
    return register(function, Statement(**{"name": "some.thing", "kind": "read", **WORDS, **stated}), {})


def properties(function: Any, **stated: Any) -> Any:
    """The properties of a function's base schema."""
    return tool_of(function, **stated).spec.schema["properties"]


def test_the_base_schema_of_the_design_is_exactly_what_it_says() -> None:
    """Four arguments, bounds from Field, a time that is a plain string in JSON, nothing else allowed."""

    def query_logs(
        service: Service, start: UtcSecond, end: UtcSecond, limit: Annotated[int, Field(ge=1, le=200)]
    ) -> Page[Line]:
        """Return log lines."""
        raise NotImplementedError

    assert tool_of(query_logs, resources=SERVICE).spec.schema == {
        "type": "object",
        "properties": {
            "service": {"type": "string", "minLength": 1},
            "start": {"type": "string"},
            "end": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 200},
        },
        "required": ["service", "start", "end", "limit"],
        "additionalProperties": False,
    }


def test_descriptions_defaults_and_types_come_from_the_annotations() -> None:
    """Whatever pydantic can say in JSON Schema, without titles."""

    def many(
        note: Annotated[str, Field(description="In words", max_length=9)],
        colour: Colour,
        lines: list[Line],
        kind: Literal["a", "b"],
        key: uuid.UUID,
        day: dt.date = dt.date(2026, 1, 2),
        tags: dict[str, int] | None = None,
        ratio: float = 0.5,
    ) -> None:
        """Take many."""

    schema = tool_of(many).spec.schema
    assert schema["required"] == ["note", "colour", "lines", "kind", "key"]
    shown: Any = schema["properties"]
    assert shown["note"] == {"type": "string", "description": "In words", "maxLength": 9}
    assert shown["kind"] == {"type": "string", "enum": ["a", "b"]}
    assert shown["day"] == {"type": "string", "format": "date", "default": "2026-01-02"}
    assert shown["ratio"] == {"type": "number", "default": 0.5}
    assert "title" not in json.dumps(schema)
    assert '"additionalProperties": false' in json.dumps(schema["$defs"])


def test_the_result_schema_is_that_of_the_return_annotation() -> None:
    """A page keeps its three fields; no annotation says nothing; a stream is an array."""

    def page() -> Page[Line]:
        """Return a page."""
        raise NotImplementedError

    def anything():  # type: ignore[no-untyped-def]
        """Return anything."""

    result: Any = tool_of(page).spec.result
    assert result["required"] == ["items", "next_cursor", "truncated"]
    assert tool_of(anything).spec.result is None
    assert tool_of(page, result={"type": "object"}).spec.result == {"type": "object"}


def test_a_schema_may_be_given_as_a_mapping_or_a_file(tmp_path: Path) -> None:
    """It stands in the place of what the annotations say, closed all the same."""
    schema = {"type": "object", "properties": {"order": {"type": "string", "pattern": "^a"}}, "required": ["order"]}
    (tmp_path / "order.json").write_text(json.dumps(schema))

    def find(order: str) -> None:
        """Find."""

    def any_of_them(**rest: Any) -> None:
        """Find."""

    for given in (schema, tmp_path / "order.json", str(tmp_path / "order.json")):
        for function in (find, any_of_them):
            assert tool_of(function, schema=given).spec.schema == {**schema, "additionalProperties": False}


def test_the_action_is_the_kind_unless_given() -> None:
    """What Casbin is asked for each resource."""

    def find(order: str) -> None:
        """Find."""

    assert tool_of(find).spec.action == "read"
    assert tool_of(find, kind="write", action="refund").spec.action == "refund"


def test_everything_stated_is_in_the_catalog_record() -> None:
    """Facts with their field, resources, flags, and the names of rules and checks; equal statements, equal digests."""

    def find(order: str, note: str) -> None:
        """Find."""

    def tidy(arguments: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        return arguments

    def in_stock(arguments: dict[str, Any], resources: dict[str, Any]) -> None: ...

    stated: dict[str, Any] = {
        "facts": {"words": Fact(lambda arguments: 1, field="/note"), "size": lambda arguments: 2},
        "resources": {"order": Resource("order", at="/order", load=load_order, scope="tenant")},
        "rules": [tidy],
        "checks": [in_stock],
        "reasons": ["gone"],
        "secret": ["note"],
        "echo": ["/note"],
        "context": {"stage": {"type": "string"}},
    }
    spec = tool_of(find, **stated).spec
    assert {name: fact.field for name, fact in spec.facts.items()} == {"words": "/note", "size": ""}
    assert (spec.rules, spec.checks, spec.reasons) == (("tidy",), ("in_stock",), frozenset({"gone"}))
    assert spec.flags == {"/note": frozenset({"secret", "echo"})}
    assert spec.resources["order"].scope == "tenant"
    assert spec.digest == tool_of(find, **stated).spec.digest != tool_of(find).spec.digest


def nothing() -> None:
    """Do nothing."""


def undocumented() -> None: ...


class Thing:
    """Something with methods."""

    @classmethod
    def built(cls) -> None:
        """Build."""

    @property
    def shown(self) -> int:
        """Show."""
        return 1

    def do(self, order: str) -> str:
        """Do it."""
        return order


def several(*orders: str) -> None:
    """Take several."""


def only_by_position(order: str, /) -> None:
    """Take one."""


def unannotated(order) -> None:  # type: ignore[no-untyped-def]
    """Take one."""


def defaulted(order: str = Field("x")) -> None:
    """Take one."""


def of_unknown_type(order: threading.Lock) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Take one."""


def of_a_type_without_json(order: Iterator[Any] | Thing) -> None:
    """Take one."""


def generated() -> Iterator[int]:
    """Yield."""
    yield 1


def with_rest(order: str, **rest: Any) -> None:
    """Take one and more."""


def needing(order: str, note: str) -> None:
    """Take two."""


@pytest.mark.parametrize(
    ("function", "stated", "what"),
    [
        (undocumented, {}, "no description"),
        (nothing, {"description": "  "}, "no description"),
        (nothing, {"use_when": " "}, "use_when is empty"),
        (nothing, {"not_for": ""}, "not_for is empty"),
        (nothing, {"name": "a b"}, "no tool name"),
        (nothing, {"name": ""}, "no tool name"),
        (nothing, {"name": "n\u043ete"}, "no tool name"),
        (nothing, {"name": "x" * 129}, "no tool name"),
        (nothing, {"kind": "delete"}, "kind is 'delete'"),
        (nothing, {"timeout": 0}, "timeout is 0"),
        (Thing.__dict__["built"], {}, "above @classmethod"),
        (Thing.__dict__["shown"], {}, "above @property"),
        (staticmethod(nothing), {}, "above @staticmethod"),
        (Thing.do, {}, "self has no annotation"),
        (functools.partial(nothing), {}, "not partial"),
        (Thing, {}, "not type"),
        (several, {}, "of any number"),
        (only_by_position, {}, "positional-only"),
        (unannotated, {}, "no annotation"),
        (defaulted, {}, "is a Field"),
        (of_unknown_type, {}, "cannot be resolved"),
        (of_a_type_without_json, {}, "a type that JSON cannot become"),
        (generated, {}, "sync generator"),
        (with_rest, {}, "has no schema"),
        (nothing, {"injected": ["ctx"]}, "no parameter ctx"),
        (needing, {"facts": {"f": Fact(len, field="/colour")}}, "fact f names no argument"),
        (needing, {"resources": {"r": Resource("order", at="/colour")}}, "resource r names no argument"),
        (needing, {"resources": {"r": Resource("order", at="/order@/colour")}}, "resource r names no argument"),
        (needing, {"secret": ["colour"]}, "secret names no argument"),
        (needing, {"schema": {"type": "object", "properties": {"colour": {}}}}, "the function does not"),
        (needing, {"schema": {"type": "object", "properties": {"order": {}, "note": {}}}}, "may be left out"),
        (needing, {"schema": {"type": "array"}}, "not_an_object"),
        (needing, {"schema": {"type": "object", "requird": []}}, "requird"),
        (needing, {"schema": "/nowhere.json"}, "cannot be read"),
        (needing, {"result": {"type": "string", "format": "colour"}}, "result"),
    ],
)
def test_misuse_is_told_when_decorating(function: Any, stated: dict[str, Any], what: str) -> None:
    """With what is wrong; nothing waits for a call to fail."""
    with pytest.raises(Misuse) as caught:
        tool_of(function, **stated)
    assert what in str(caught.value)
    assert caught.value.hint


def test_a_stream_is_a_read() -> None:
    """What changes something has one outcome."""

    async def stream() -> Any:
        """Stream."""
        yield 1

    with pytest.raises(Misuse, match="a stream is a read"):
        tool_of(stream, kind="write")


def test_a_record_needs_a_loader() -> None:
    """A parameter that is given the record of a resource that nothing loads could never be filled."""

    def find(order: Order) -> None:
        """Find."""

    with pytest.raises(Misuse, match="no loader"):
        tool_of(find, resources={"order": Resource("order", at="/order")})


def test_a_bound_method_may_be_guarded() -> None:
    """Its object is bound already, and is no argument."""
    assert list(properties(Thing().do)) == ["order"]


@dataclasses.dataclass
class Parcel:
    """A parcel."""

    id: str


class Letter(TypedDict):
    """A letter."""

    id: str


@pytest.mark.parametrize("kind", [Order, Parcel, Letter, dict, Mapping[str, Any]])
def test_a_parameter_of_a_class_is_given_the_record(kind: Any) -> None:
    """Where it is named like the argument that names the resource."""

    def find(order, caller):  # type: ignore[no-untyped-def]
        """Find."""

    find.__annotations__ = {"order": kind, "caller": Caller}
    tool = tool_of(find, resources={"order": Resource("order", at="/order", load=load_order)})
    assert [each.source for each in tool.signature.parameters] == ["record", "caller"]
    assert tool.spec.schema["properties"] == {"order": {"type": "string", "minLength": 1}}


def test_a_file_that_others_share_is_pinned_by_its_bytes(tmp_path: Path) -> None:
    """The catalog names the file and what `sha256sum` says of it; other bytes are another tool."""

    def find(order: str) -> None:
        """Find."""

    path = tmp_path / "order.json"
    digests = set()
    for text in ('{"type":"object","properties":{"order":{"type":"string"}},"required":["order"]}', "same, spaced"):
        path.write_text(text if text.startswith("{") else path.read_text() + "\n")
        spec = tool_of(find, schema=path).spec
        assert spec.schema_source == {"file": "order.json", "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
        assert spec_to_json(spec)["schema_source"] == spec.schema_source
        digests.add(spec.digest)
    assert len(digests) == 2
    assert tool_of(find).spec.schema_source == {}


@pytest.mark.parametrize("name", ["note.echo", "Note.echo", "note_echo", "n0te.echo", "note-echo"])
def test_names_that_could_be_taken_for_one_another_are_refused(name: str) -> None:
    """The same, in other case, or with letters that look alike."""
    desk: Desk = open_desk()
    with pytest.raises(Misuse, match=r"registered already|could be taken for note.echo"):
        desk.guard.tool(name, kind="read", **WORDS)(nothing)  # type: ignore[arg-type]


def test_annotations_may_name_what_is_local_to_the_decorated_place() -> None:
    """A class inside a function, with postponed annotations."""
    desk = open_desk()

    class Local(BaseModel):
        """Known here alone."""

        size: int

    @desk.guard.tool("local.thing", kind="read", **WORDS)  # type: ignore[arg-type]
    def take(thing: Local) -> int:
        """Take it."""
        return thing.size

    assert "local.thing" in str(desk.guard.catalog())
