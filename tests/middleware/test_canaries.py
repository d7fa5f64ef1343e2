"""A secret in any argument comes out nowhere: whichever layer refuses it, whichever exception holds it."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, SecretStr, field_validator

from desk import Desk, open_one
from gatewright import Conflict, Fact, Failed, Guard, Invalid, NotFound, Resource, Stopped
from gatewright.middleware.check import check

CANARY = "s3cr3t-canary-7f"
OPEN: dict[str, Any] = {
    "type": "object",
    "properties": {"x": {"type": "string"}},
    "required": ["x"],
    "additionalProperties": False,
}


def refuse(value: Any) -> Any:
    """A validator of a developer's: its text holds the value."""
    raise ValueError(f"not {value}")


class Strict(BaseModel):
    """A model that takes less than its JSON Schema says."""

    model_config = ConfigDict(extra="forbid")

    password: str
    pin: int = 0

    @field_validator("password")
    @classmethod
    def short(cls, value: str) -> str:
        """Refuse a long one, loudly."""
        if len(value) > 4:
            raise ValueError(f"{value} is too long")
        return value


class Lax(BaseModel):
    """A model that ignores what it does not know."""

    model_config = ConfigDict(extra="ignore")

    a: int


def coerced_after(x: Annotated[str, AfterValidator(refuse)]) -> None:
    """A validator after."""


def coerced_before(x: Annotated[str, BeforeValidator(refuse)]) -> None:
    """A validator before."""


def coerced_secret(x: Annotated[SecretStr, AfterValidator(refuse)]) -> None:
    """A secret."""


def coerced_model(x: Strict) -> None:
    """A model."""


def coerced_bytes(x: Annotated[bytes, AfterValidator(refuse)]) -> None:
    """Bytes."""


def plain(x: str) -> str:
    """Return what came."""
    return x


def raising(error: Callable[[str], BaseException]) -> Callable[..., Any]:
    """A tool whose exception holds the value, in its text and in its cause."""

    def tool(x: str) -> str:
        """Fail."""
        try:
            raise LookupError(x)
        except LookupError as cause:
            raise error(x) from cause

    return tool


def loud(arguments: Any, *_: Any) -> Any:
    """A rule, fact or check that raises with what it was given."""
    raise RuntimeError(f"bad: {arguments}")


def invalid(arguments: Any, *_: Any) -> Any:
    """A rule that refuses, with the value where a developer might put it."""
    raise Invalid(arguments["x"], field=f"/{arguments['x']}", expected="something else")


def load(id: str, tenant: str) -> Any:
    """A loader that raises with the id."""
    raise OSError(f"no {id} in {tenant}")


ORDER = {"order": Resource("order", at="/x", load=load, scope="tenant")}
GRANT = "p, agent, *, order:*, read, allow\n"
LAYERS: list[tuple[str, Any, dict[str, Any], Any]] = [
    ("type", plain, {}, {"x": [CANARY]}),
    ("enum", plain, {"schema": {**OPEN, "properties": {"x": {"enum": ["a", "b"]}}}}, {"x": CANARY}),
    ("maxLength", plain, {"schema": {**OPEN, "properties": {"x": {"type": "string", "maxLength": 3}}}}, {"x": CANARY}),
    ("pattern", plain, {"schema": {**OPEN, "properties": {"x": {"type": "string", "pattern": "^q"}}}}, {"x": CANARY}),
    ("format", plain, {"schema": {**OPEN, "properties": {"x": {"type": "string", "format": "date"}}}}, {"x": CANARY}),
    ("unknown value", plain, {}, {"x": "y", "made_up": CANARY}),
    ("unknown name", plain, {}, {"x": "y", CANARY + "!": 1}),
    ("malformed", plain, {}, f'{{"x": "{CANARY}" "'),
    ("duplicate", plain, {}, f'{{"x": "{CANARY}", "x": "{CANARY}"}}'),
    ("after", coerced_after, {"schema": OPEN}, {"x": CANARY}),
    ("before", coerced_before, {"schema": OPEN}, {"x": CANARY}),
    ("secret", coerced_secret, {"schema": OPEN}, {"x": CANARY}),
    ("bytes", coerced_bytes, {"schema": OPEN}, {"x": CANARY}),
    ("model", coerced_model, {}, {"x": {"password": CANARY}}),
    ("model's extra", coerced_model, {}, {"x": {"password": "p", "made_up": CANARY}}),
    ("model's type", coerced_model, {}, {"x": {"password": "p", "pin": CANARY}}),
    ("rule", plain, {"rules": [loud]}, {"x": CANARY}),
    ("invalid", plain, {"rules": [invalid]}, {"x": CANARY}),
    ("fact", plain, {"facts": {"f": Fact(loud)}}, {"x": CANARY}),
    ("check", plain, {"checks": [loud]}, {"x": CANARY}),
    ("loader", plain, {"resources": ORDER}, {"x": CANARY}),
    ("exception", raising(RuntimeError), {}, {"x": CANARY}),
    ("failed", raising(lambda x: Failed("internal", reason=x, field=f"/{x}")), {}, {"x": CANARY}),
    ("conflict", raising(Conflict), {}, {"x": CANARY}),
    ("not found", raising(NotFound), {}, {"x": CANARY}),
    ("exit", raising(SystemExit), {}, {"x": CANARY}),
    ("result", plain, {"result": {"type": "integer"}}, {"x": CANARY}),
]
IDS = [name for name, *_ in LAYERS]


def desk_of(tool: Any, stated: dict[str, Any]) -> tuple[Desk, Any]:
    """A desk with one tool; a fact is asked for where there is one."""
    entry = (
        "{ id: a, roles: [agent], facts: { f: { const: 1 } } }" if "facts" in stated else "{ id: a, roles: [agent] }"
    )
    return open_one(tool, entry=entry, rows=GRANT, **stated)


@pytest.mark.case(56)
@pytest.mark.case(66)
@pytest.mark.promise("P9")
@pytest.mark.parametrize(("tool", "stated", "arguments"), [row[1:] for row in LAYERS], ids=IDS)
def test_no_refusal_holds_what_was_sent(
    tool: Any, stated: Any, arguments: Any, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not in the result in any of its forms, not in an event, not in a log record with its exception."""
    caplog.set_level(logging.DEBUG)
    desk, _ = desk_of(tool, stated)
    told: list[str] = []
    for form in ("text", "mapping", "task", "chinese"):
        raw = arguments if isinstance(arguments, str) or form == "mapping" else json.dumps(arguments)
        if form == "task":
            result = asyncio.run(desk.guard.acall("some.thing", raw, token=desk.token()))
        else:
            result = desk.guard.call("some.thing", raw, token=desk.token(), locale="zh" if form == "chinese" else "en")
        assert result.status != "ok"
        told += [repr(result), str(result.to_json()), str(result.to_error()), str(result.to_message("mcp", "c"))]
        told += [str(desk.events()), desk.guard.story(desk.guard.last_call_id or "")]
    told += [record.getMessage() + str(record.exc_info) + str(record.args) for record in caplog.records]
    told += [caplog.text, *capsys.readouterr()]
    assert CANARY not in "\n".join(told)


@pytest.mark.case(56)
@pytest.mark.case(66)
@pytest.mark.parametrize(("tool", "stated", "arguments"), [row[1:] for row in LAYERS], ids=IDS)
def test_no_exception_of_a_direct_call_holds_what_was_sent(tool: Any, stated: Any, arguments: Any) -> None:
    """Its text, its repr, its arguments, its causes and its printed traceback, but for the caller's own line."""
    if isinstance(arguments, str):
        return
    desk, guarded = desk_of(tool, stated)
    with desk.guard.session(desk.token()):
        try:
            guarded(**arguments)
        except Stopped as stopped:
            caught = stopped
    assert (caught.__cause__, caught.__context__) == (None, None)
    lines = traceback.format_exception(caught)
    assert CANARY not in repr(caught) + str(caught) + repr(caught.args) + repr(vars(caught)) + "".join(lines)


@pytest.mark.case(66)
@pytest.mark.parametrize("pin", ["1", True, 1.0, 1.5, None, [1]])
def test_nothing_is_coerced_on_the_way_to_a_model(pin: Any) -> None:
    """What is not an integer as JSON is refused by the schema, before pydantic could make one of it."""
    desk, _ = open_one(coerced_model)
    told = desk.call("some.thing", json.dumps({"x": {"password": "p", "pin": pin}})).to_json()
    assert (told["status"], told["field"], told["reason"]) == ("invalid_arguments", "/x/pin", "wrong_type")


@pytest.mark.case(66)
def test_an_extra_field_of_a_model_is_refused_whatever_the_model_says() -> None:
    """A model that ignores extras is closed all the same."""

    def tool(x: Lax) -> None:
        """Do nothing."""

    desk, _ = open_one(tool)
    told = desk.call("some.thing", {"x": {"a": 1, "b": 2}}).to_json()
    assert (told["field"], told["reason"]) == ("/x/b", "unknown_argument")


@pytest.mark.case(56)
@pytest.mark.parametrize(("tool", "stated", "arguments"), [row[1:] for row in LAYERS[:18]], ids=IDS[:18])
def test_judging_alone_holds_nothing_either(tool: Any, stated: Any, arguments: Any) -> None:
    """`Guard.check` and the function behind it say no more than a call does."""
    _, guarded = desk_of(tool, stated)
    for judge in (Guard.check, check):
        assert CANARY not in repr(judge(guarded, arguments)) + str(judge(guarded, arguments).to_json())
