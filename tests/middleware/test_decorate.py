"""The guarded function itself: what it looks like, and what calling it directly does."""

from __future__ import annotations

import asyncio
import datetime as dt
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, get_type_hints

import pytest
from pydantic import Field, WithJsonSchema

from desk import WORDS, Desk, Order, open_desk, open_one
from gatewright import Caller, Misuse
from gatewright.middleware.decorate import tool_of
from gatewright.middleware.failures import (
    ApprovalNeeded,
    ArgumentsRefused,
    CallFailed,
    CallForbidden,
    CallUnauthenticated,
    RecordNotFound,
)

UtcSecond = Annotated[dt.datetime, WithJsonSchema({"type": "string"})]


@pytest.fixture
def desk() -> Desk:
    """A desk of its own for each test."""
    return open_desk()


def plain(order: str, limit: Annotated[int, Field(ge=1)] = 5, *, deep: bool = False) -> list[str]:
    """Return something."""
    return [order]


async def later(order: str) -> list[str]:
    """Return something later."""
    return [order]


async def stream(order: str) -> AsyncIterator[str]:
    """Return something bit by bit."""
    yield order


@pytest.mark.parametrize("function", [plain, later, stream])
def test_a_guarded_function_is_a_function_of_the_same_kind(desk: Desk, function: Callable[..., Any]) -> None:
    """Frameworks look at kind, name, docstring, signature and annotations."""
    guarded = desk.guard.tool("some.thing", kind="read", **WORDS)(function)
    assert inspect.isfunction(guarded)
    for asks in (inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgeneratorfunction):
        assert asks(guarded) == asks(function)
    assert (guarded.__name__, guarded.__doc__, guarded.__module__, guarded.__qualname__) == (
        function.__name__,
        function.__doc__,
        function.__module__,
        function.__qualname__,
    )
    assert str(inspect.signature(guarded)) == str(inspect.signature(function, eval_str=True))
    assert str(get_type_hints(guarded, include_extras=True)) == str(get_type_hints(function, include_extras=True))


def test_a_guarded_function_does_not_lead_to_the_unguarded_one(desk: Desk) -> None:
    """No `__wrapped__`, and `inspect.unwrap` stays where it is."""
    guarded = desk.guard.tool("some.thing", kind="read", **WORDS)(plain)
    assert not hasattr(guarded, "__wrapped__")
    assert inspect.unwrap(guarded) is guarded


def test_a_direct_call_in_a_session_returns_the_plain_value(desk: Desk) -> None:
    """The value that the tool returned, in its own type."""
    with desk.guard.session(desk.token("supervisor")):
        assert desk.tools["order.find"]("a-1") == Order(id="a-1", total=50, email="ann@example.org")
        assert desk.tools["order.find"](order="a-2").total == 500
    assert desk.event("request_received")["adapter"] == "session"


def test_a_direct_call_gets_what_the_cuts_leave(desk: Desk) -> None:
    """What is hidden from the caller is not in the value either: it goes on to a model."""
    with desk.guard.session(desk.token()):
        assert desk.tools["order.find"]("a-1") == Order(id="a-1", total=50, email=None)


def test_a_direct_call_awaits_and_iterates(desk: Desk) -> None:
    """The same for async functions and streams."""

    async def use() -> Any:
        with desk.guard.session(desk.token(), context={"stage": "work"}):
            page = await desk.tools["order.list"](2)
            return page, [number async for number in desk.tools["note.stream"](3)]

    page, numbers = asyncio.run(use())
    assert [order.id for order in page.items] == ["a-1", "a-2"]
    assert numbers == [0, 1, 2]


@pytest.mark.promise("P7")
def test_a_direct_call_outside_a_session_is_refused(desk: Desk) -> None:
    """No session means nobody; the body is not entered."""
    with pytest.raises(CallUnauthenticated) as caught:
        desk.tools["note.echo"]("x")
    assert caught.value.result.to_json()["reason"] == "token_missing"
    with pytest.raises(CallUnauthenticated):
        asyncio.run(desk.tools["order.list"](1))
    assert desk.ran == []
    assert desk.event("request_received")["adapter"] == "direct"
    assert desk.event("identity_resolved")["outcome"] == "token_missing"


@pytest.mark.parametrize(
    ("tool", "arguments", "role", "error"),
    [
        ("order.find", {"order": "g-1"}, "agent", CallForbidden),
        ("order.find", {"order": "a-9"}, "agent", RecordNotFound),
        ("note.echo", {"text": 7}, "agent", ArgumentsRefused),
        ("note.echo", {"text": "x", "colour": 1}, "agent", ArgumentsRefused),
        ("note.echo", {}, "agent", ArgumentsRefused),
        ("order.refund", {"order": "a-1", "amount": 5}, "supervisor", ApprovalNeeded),
        ("desk.wipe", {"everything": True}, "agent", CallForbidden),
    ],
)
def test_a_direct_call_raises_the_stopped_of_its_status(
    desk: Desk, tool: str, arguments: dict[str, Any], role: str, error: type[Exception]
) -> None:
    """It holds the public result and the call's id, no cause and no context."""
    with desk.guard.session(desk.token(role)), pytest.raises(error) as caught:
        desk.tools[tool](**arguments)
    assert caught.value.call_id == desk.guard.last_call_id  # type: ignore[attr-defined]
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert desk.ran == []
    assert desk.event("call_answered")["status"] == error.code  # type: ignore[attr-defined]


def test_a_direct_call_may_pass_python_values_that_have_a_json_form() -> None:
    """A datetime is judged as its JSON, and the function gets a datetime."""

    def note_at(at: UtcSecond) -> str:
        """Return when."""
        assert isinstance(at, dt.datetime)
        return at.isoformat()

    desk, guarded = open_one(note_at)
    with desk.guard.session(desk.token()):
        assert guarded(dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)) == "2026-01-01T12:00:00+00:00"
        assert guarded("2026-01-01T12:00:00Z") == "2026-01-01T12:00:00+00:00"
        with pytest.raises(ArgumentsRefused):
            guarded(object())
        with pytest.raises(ArgumentsRefused):
            guarded("noon")
    assert desk.guard.call("some.thing", '{"at":"noon"}', token=desk.token()).to_json()["field"] == "/at"


def test_positional_arguments_are_counted_as_python_does() -> None:
    """Too many, and one given twice, are the caller's programming errors; nothing is entered."""
    desk = open_desk()
    with desk.guard.session(desk.token()):
        with pytest.raises(TypeError, match="takes 2 positional"):
            desk.tools["note.echo"]("x", [], 3)
        with pytest.raises(TypeError, match="multiple values"):
            desk.tools["note.echo"]("x", text="y")
    assert desk.ran == []


def test_what_a_framework_injects_is_no_argument_and_is_passed_on() -> None:
    """An injected parameter is not in the schema, is not judged, and reaches the body."""

    def noted(text: str, ctx: Any = None) -> str:
        """Return it."""
        return f"{text} {ctx}"

    desk, guarded = open_one(noted, injected=["ctx"])
    assert list(tool_of(guarded)[0].spec.schema["properties"]) == ["text"]  # type: ignore[arg-type]
    with desk.guard.session(desk.token()):
        assert guarded("x", ctx=object) == "x <class 'object'>"
    assert desk.call("some.thing", {"text": "x"}).to_json()["data"] == "x None"
    assert desk.call("some.thing", {"text": "x", "ctx": "y"}).to_json()["errors"][0]["reason"] == "unknown_argument"


def test_a_caller_parameter_cannot_be_passed() -> None:
    """Whoever calls directly cannot say who is calling either."""

    def who(caller: Caller) -> str:
        """Return who."""
        return caller.subject

    desk, guarded = open_one(who)
    with desk.guard.session(desk.token(sub="amy")):
        assert guarded(caller="bob") == "amy"
        assert guarded() == "amy"


def test_a_guarded_tool_inside_a_tool_is_a_call_of_its_own() -> None:
    """For the same caller, with the outer call as its parent: what the caller may not do, the tool cannot do either."""
    desk = open_desk()
    outcomes: list[Any] = []

    def nested() -> None:
        desk.on_run = lambda: None
        outcomes.append(desk.tools["note.echo"](text="inner"))
        with pytest.raises(CallForbidden):
            desk.tools["desk.wipe"](everything=True)

    desk.on_run = nested
    assert desk.call("order.find", {"order": "a-1"}).status == "ok"
    outer = next(event for event in desk.journal.events() if event.fields.get("tool") == "order.find")
    inner = {event.call for event in desk.journal.events() if event.parent == outer.call}
    assert len(inner) == 2
    assert outcomes == [{"text": "inner", "tags": []}]
    assert [name for name, _ in desk.ran] == ["order.find", "note.echo"]


def test_a_call_that_an_adapter_opened_is_continued_once() -> None:
    """With the judged arguments, whatever the framework passes; a second use is a call of its own."""
    desk = open_desk()
    guarded = desk.tools["note.echo"]
    with desk.guard.opened("note.echo", '{"text":"judged"}', token=desk.token()) as left:
        assert left.result is None
        assert guarded(text="other") == {"text": "judged", "tags": []}
        with pytest.raises(CallUnauthenticated):
            guarded(text="other")
    assert left.result is not None
    assert left.result.to_json()["data"] == {"text": "judged", "tags": []}
    assert [run[1]["text"] for run in desk.ran] == ["judged"]


def test_a_call_that_an_adapter_opened_and_nobody_continued_ends() -> None:
    """It has its terminal event, and says that nothing happened."""
    desk = open_desk()
    with desk.guard.opened("note.echo", '{"text":"x"}', token=desk.token()) as left:
        pass
    assert left.result is not None
    assert left.result.to_json()["code"] == "cancelled"
    assert desk.event("call_answered")["status"] == "failed"
    assert desk.ran == []


def test_a_call_that_is_stopped_cannot_be_continued() -> None:
    """The adapter has the refusal at once, and the function finds no open call."""
    desk = open_desk()
    with desk.guard.opened("desk.wipe", '{"everything":true}', token=desk.token()) as left:
        assert left.result is not None
        assert left.result.status == "forbidden"
        with pytest.raises(CallUnauthenticated):
            desk.tools["desk.wipe"](everything=True)
    assert desk.ran == []


def test_an_open_call_of_one_tool_is_not_continued_by_another() -> None:
    """The function must be the tool that was judged."""
    desk = open_desk()
    with desk.guard.opened("note.echo", '{"text":"x"}', token=desk.token()), pytest.raises(CallUnauthenticated):
        desk.tools["order.find"](order="a-1")
    assert desk.ran == []


def test_a_tool_that_raises_stops_a_direct_call_and_says_nothing() -> None:
    """The exception is not in the chain of the one that is raised."""

    def broken() -> None:
        """Break."""
        raise ValueError("secret")

    desk, guarded = open_one(broken)
    with desk.guard.session(desk.token()), pytest.raises(CallFailed) as caught:
        guarded()
    assert "secret" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_what_is_not_guarded_is_misuse_to_ask_about() -> None:
    """`check` and adapters need the function that the decorator returned."""
    for thing in (plain, "note.echo", 7, []):
        with pytest.raises(Misuse, match="no guarded function"):
            tool_of(thing)
