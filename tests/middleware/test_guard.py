"""Calls through the gate: what they answer, what they record, and what they never do."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from code_paths import lines_of
from desk import Desk, open_desk, open_one
from gatewright import Guard, Misuse, PolicyInvalid, ToolCall
from gatewright.middleware.failures import CallUnauthenticated
from gatewright.middleware.record import check_line, expand
from gatewright.middleware.results import FORBIDDEN, ApprovalRequired, Result
from gatewright.middleware.writer import JournalFull

ROUND: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
    ("order.find", '{"order":"a-1"}', "agent", {}),
    ("order.find", '{"order":"a-1"}', "supervisor", {}),
    ("order.find", '{"order":"g-1"}', "agent", {}),
    ("order.find", '{"order":"a-9"}', "agent", {}),
    ("order.find", '{"order":""}', "agent", {}),
    ("order.find", '{"order"', "agent", {}),
    ("order.list", '{"limit":2}', "agent", {"context": {"stage": "work"}}),
    ("order.list", '{"limit":9}', "agent", {"context": {"stage": "work"}}),
    ("order.list", '{"limit":2}', "agent", {}),
    ("order.refund", '{"order":"a-1","amount":5}', "agent", {}),
    ("order.refund", '{"order":"a-1","amount":true}', "agent", {}),
    ("order.refund", '{"order":"a-1","amount":5}', "supervisor", {}),
    ("order.cancel", '{"order":"a-1"}', "agent", {}),
    ("note.echo", '{"text":"x","tags":["a"]}', "agent", {}),
    ("note.stream", '{"count":2}', "agent", {}),
    ("desk.wipe", '{"everything":true}', "agent", {}),
    ("desk.melt", "{}", "agent", {}),
)
STATUSES = (
    *("ok", "ok", "forbidden", "not_found", "invalid_arguments", "invalid_arguments"),
    *("ok", "invalid_arguments", "forbidden"),
    *("ok", "invalid_arguments", "approval_required", "ok", "ok", "ok", "forbidden", "forbidden"),
)


@pytest.fixture
def desk() -> Desk:
    """A desk of its own for each test."""
    return open_desk()


def kinds(desk: Desk) -> list[str]:
    """The kinds of the last call's events."""
    return [event["event"] for event in desk.events()]


def test_sync_and_async_answer_alike(desk: Desk) -> None:
    """Decided once, driven twice: the same results, the same events, the same bodies entered."""
    other = open_desk()
    for (tool, raw, role, options), status in zip(ROUND, STATUSES, strict=True):
        token = desk.token(role)
        first = desk.call(tool, raw, token=token, **options)
        second = other.acall(tool, raw, token=token, **options)
        if isinstance(first, ApprovalRequired) and isinstance(second, ApprovalRequired):
            second = replace(second, approval_id=first.approval_id)
        assert (tool, raw, first.status, second) == (tool, raw, status, first)
    told = [[event.kind for event in each.journal.events()] for each in (desk, other)]
    assert told[0] == told[1]
    assert desk.ran == other.ran


@pytest.mark.promise("P9")
def test_every_call_has_exactly_one_terminal_event(desk: Desk) -> None:
    """Whatever it was answered, and by whichever driver."""
    for tool, raw, role, options in ROUND:
        desk.call(tool, raw, role, **options)
        desk.acall(tool, raw, role, **options)
    lines = [*desk.journal.iter_lines(), *desk.guard._runtime.ledger.iter_lines()]
    told = [event for line in lines for event in expand(line) if event.call is not None]
    calls = {event.call for event in told}
    assert len(calls) == 2 * len(ROUND)
    assert sorted(event.call or "" for event in told if event.kind == "call_answered") == sorted(map(str, calls))


def test_a_read_is_one_line_and_a_write_two(desk: Desk) -> None:
    """Reads go to the journal; effects to the ledger, before they happen and after."""
    desk.call("note.echo", {"text": "x"})
    assert len(desk.journal.lines) == 2  # policy_loaded and the call
    desk.call("order.refund", {"order": "a-1", "amount": 5})
    ledger = desk.guard._runtime.ledger
    assert len(desk.journal.lines) == 2
    assert len(list(ledger.iter_lines(call=desk.guard.last_call_id))) == 2


def test_the_whole_way_of_a_read(desk: Desk) -> None:
    """Every step leaves its event, in order."""
    desk.call("note.echo", {"text": "x"})
    assert kinds(desk) == [
        "request_received",
        "identity_resolved",
        "tool_selected",
        "arguments_generated",
        "schema_validated",
        "permission_decided",
        "permission_rechecked",
        "execution_started",
        "execution_finished",
        "result_validated",
        "call_answered",
    ]


@pytest.mark.case(70)
@pytest.mark.promise("P4")
@pytest.mark.parametrize("raw", ['{"everything":true}', "{}", "{", "", "[]", '{"a":1,"a":2}', "\ufeff{}", b"\xff"])
def test_hidden_and_made_up_tools_look_the_same_whatever_the_arguments(desk: Desk, raw: Any) -> None:
    """Same bytes, no schema consulted, the arguments not looked at; only the event log knows which it was."""
    reasons = {}
    for tool in ("desk.wipe", "desk.melt", "Desk.wipe", "desk.wipe ", "x" * 200, "", "order.list"):
        result = desk.call(tool, raw)
        assert result is FORBIDDEN
        assert result.to_bytes() == b'{"status":"forbidden","retryable":false}'
        assert kinds(desk) == ["request_received", "identity_resolved", "tool_selected", "call_answered"]
        reasons[tool] = desk.event("tool_selected")["reason"]
    assert reasons["desk.wipe"] == "hidden"
    assert reasons["desk.melt"] == reasons["Desk.wipe"] == "unknown"
    assert reasons["order.list"] == "off_stage"
    assert desk.ran == []


@pytest.mark.promise("P5")
def test_a_denial_is_never_an_empty_success(desk: Desk) -> None:
    """Foreign, hidden and off-stage are refusals, never an empty page or null."""
    for tool, arguments in (("order.find", {"order": "g-1"}), ("desk.wipe", {"everything": True}), ("order.list", {})):
        assert desk.call(tool, arguments).to_json() == {"status": "forbidden", "retryable": False}


@pytest.mark.case(47)
@pytest.mark.promise("P7")
@pytest.mark.parametrize("name", ["user_id", "tenant", "role", "_meta", "subject", "caller", "token"])
def test_identity_never_comes_from_arguments(desk: Desk, name: str) -> None:
    """A name that is not in the role schema is unknown, whatever it pretends to be; the caller is the token's."""
    result = desk.call("order.find", {"order": "g-1", name: "globex"})
    assert result.to_json()["errors"][0]["reason"] == "unknown_argument"
    assert desk.ran == []
    assert desk.event("identity_resolved")["tenant"] == "acme"


@pytest.mark.case(47)
def test_the_caller_that_a_tool_is_given_is_the_verified_one(desk: Desk) -> None:
    """A parameter annotated with Caller is filled from the token, and is no argument."""
    desk.call("order.find", {"order": "a-1"}, token=desk.token(sub="amy"))
    assert desk.ran[0][1]["caller"].subject == "amy"
    shown = next(tool for tool in desk.guard.tools(desk.token()) if tool["name"] == "order.find")
    assert list(shown["parameters"]["properties"]) == ["order"]


@pytest.mark.case(81)
@pytest.mark.parametrize("ids", [("c1", "c1"), ("", ""), (None, None)])
@pytest.mark.parametrize("is_async", [False, True])
def test_calls_that_share_an_id_are_judged_and_answered_each(desk: Desk, ids: Any, is_async: bool) -> None:
    """The model's id is kept for the record; it is no identity."""
    calls = [
        ToolCall("note.echo", '{"text":"one"}', ids[0]),
        ToolCall("note.echo", '{"text":"two"}', ids[1]),
        ("desk.wipe", '{"everything":true}', ids[0]),
        ToolCall("note.echo", "{", ids[0]),
    ]
    token = desk.token()
    if is_async:
        results = asyncio.run(desk.guard.acall_many(calls, token=token))
    else:
        results = desk.guard.call_many(calls, token=token)
    assert [result.status for result in results] == ["ok", "ok", "forbidden", "invalid_arguments"]
    assert [run[1]["text"] for run in desk.ran] == ["one", "two"]
    answered = [event for event in desk.journal.events() if event.kind == "call_answered"]
    assert len({event.call for event in answered}) == 4
    assert {event.model_call for event in answered} == {ids[0] or None}


@pytest.mark.case(81)
def test_two_equal_writes_with_one_model_id_are_two_writes(desk: Desk) -> None:
    """An id of a tool call is never the key of an operation."""
    for _ in range(2):
        assert desk.call("order.refund", {"order": "a-1", "amount": 5}, call_id="c1").status == "ok"
    assert len(desk.ran) == 2


def test_a_mapping_works_and_is_marked(desk: Desk) -> None:
    """An application may pass a mapping; the log says that the model's own text was not seen."""
    result = desk.guard.call("note.echo", {"text": "x"}, token=desk.token())
    assert result.status == "ok"
    assert desk.event("request_received")["raw"] is False
    assert desk.event("arguments_generated")["raw"] is False


@pytest.mark.case(81)
@pytest.mark.promise("P8")
def test_one_call_that_fails_loses_no_result_of_the_others() -> None:
    """Whatever a body raises, each call has its own answer, in its place."""
    ran: list[int] = []

    def body(number: int) -> int:
        """Fail in the middle."""
        ran.append(number)
        if number == 2:
            raise SystemExit(2)
        return number

    desk, _ = open_one(body, kind="write")
    calls = [ToolCall("some.thing", {"number": number}, "same-id") for number in (1, 2, 3)]
    calls.insert(1, ToolCall("no.such.tool", {}))
    statuses = [result.status for result in desk.guard.call_many(calls, token=desk.token())]
    assert statuses == ["ok", "forbidden", "unknown", "ok"]
    statuses = [result.status for result in asyncio.run(desk.guard.acall_many(calls, token=desk.token()))]
    assert statuses == ["ok", "forbidden", "unknown", "ok"]
    assert ran == [1, 2, 3, 1, 2, 3]


@pytest.mark.case(81)
@pytest.mark.promise("P8")
@pytest.mark.parametrize("wrong", [("some.thing",), ToolCall("some.thing", {"number": 2}, None, 7), 5])
def test_a_batch_with_something_else_in_it_runs_nothing(wrong: Any) -> None:
    """The mistake is told before the first call: later it would lose the result of a write that has been done."""
    ran: list[int] = []

    def body(number: int) -> int:
        """Run."""
        ran.append(number)
        return number

    desk, _ = open_one(body, kind="write")
    calls = [ToolCall("some.thing", {"number": 1}), wrong]
    with pytest.raises(Misuse):
        desk.guard.call_many(calls, token=desk.token())
    with pytest.raises(Misuse):
        asyncio.run(desk.guard.acall_many(calls, token=desk.token()))
    assert ran == []


@pytest.mark.case(80)
def test_the_caller_of_a_call_cannot_change_the_arguments_any_more(desk: Desk) -> None:
    """A mapping is copied when it is decoded; what its owner does to it later changes nothing."""
    arguments: dict[str, Any] = {"text": "x", "tags": ["a"]}

    def meddle() -> None:
        arguments["text"] = "other"
        arguments["tags"].append("b")

    other = open_desk(after_authorize=[lambda call: meddle()])
    result = other.guard.call("note.echo", arguments, token=other.token())
    assert arguments["tags"] == ["a", "b"]
    assert result.to_json()["data"] == {"text": "x", "tags": ["a"]}


@pytest.mark.promise("P11")
@pytest.mark.parametrize("name", [None, 1, b"note.echo", [], "note.echo\x00", "\ud800", "a" * 10_000, "n\u043ete.echo"])
@pytest.mark.parametrize("raw", [None, 1, object(), [], {1: 2}, {"text": object()}, "\ud800", "null", b"\xff\xfe"])
def test_nothing_that_is_sent_raises(desk: Desk, name: Any, raw: Any) -> None:
    """Names and arguments of any kind have an answer."""
    for tool in (name, "note.echo"):
        assert desk.guard.call(tool, raw, token=desk.token()).status in ("forbidden", "invalid_arguments")
        assert asyncio.run(desk.guard.acall(tool, raw, token=desk.token())).status != "ok"
    assert desk.ran == []


@pytest.mark.parametrize("token", [None, "", "x", "a.b.c", 7, "\ud800", "x" * 100_000])
def test_whoever_cannot_be_identified_is_told_so_alone(desk: Desk, token: Any) -> None:
    """No tool, no schema and no argument is looked at for nobody."""
    answers = {desk.guard.call(tool, raw, token=token) for tool in ("note.echo", "desk.melt") for raw in ("{}", "{")}
    assert len(answers) == 1
    assert answers.pop().status == "unauthenticated"
    assert kinds(desk) == ["request_received", "identity_resolved", "call_answered"]
    assert desk.ran == []


def test_a_context_that_only_the_runtime_knows_is_misuse(desk: Desk) -> None:
    """The application cannot say which day it is or what was called; that is its developer's mistake."""
    for name in ("date", "calendar", "called"):
        with pytest.raises(Misuse, match=name):
            desk.call("note.echo", {"text": "x"}, context={name: 1})
    with pytest.raises(Misuse, match="not JSON"):
        desk.call("note.echo", {"text": "x"}, context={"stage": object()})


def test_what_cannot_be_recorded_is_not_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full journal: the read answers failed/unavailable, and so does a refusal, hidden and made-up alike."""

    def full(line: bytes) -> None:
        raise JournalFull

    monkeypatch.setattr(desk.journal, "append", full)
    results: set[Result] = {desk.call(tool, {"text": "x"}) for tool in ("note.echo", "desk.wipe", "desk.melt")}
    assert {result.to_bytes() for result in results} == {
        b'{"status":"failed","code":"unavailable","effect":"none","retryable":true,"retry_after":null,"next":"retry"}'
    }


def test_tools_are_listed_with_the_callers_own_schemas(desk: Desk) -> None:
    """Hidden and off-stage tools are not there, bounds are the caller's."""
    listed = {tool["name"]: tool for tool in desk.guard.tools(desk.token())}
    assert list(listed) == ["order.find", "order.refund", "order.cancel", "note.echo", "note.stream"]
    assert listed["order.refund"]["parameters"]["properties"]["amount"]["maximum"] == 100
    staged = [tool["name"] for tool in desk.guard.tools(desk.token(), context={"stage": "work"})]
    assert "order.list" in staged
    assert [tool["name"] for tool in desk.guard.tools(desk.token("supervisor"))][-1] == "desk.wipe"


@pytest.mark.promise("P2")
def test_what_is_shown_is_what_is_enforced(desk: Desk) -> None:
    """The bound of the listed schema is the bound of the call."""
    listed = {tool["name"]: tool["parameters"] for tool in desk.guard.tools(desk.token())}
    most = listed["order.refund"]["properties"]["amount"]["maximum"]
    assert desk.call("order.refund", {"order": "a-1", "amount": most}).status == "ok"
    assert desk.call("order.refund", {"order": "a-1", "amount": most + 1}).status == "invalid_arguments"


def test_nobody_is_shown_nothing(desk: Desk) -> None:
    """Without a token there is no list, and that is not an empty one."""
    with pytest.raises(CallUnauthenticated):
        desk.guard.tools(None)


def test_a_list_is_a_copy(desk: Desk) -> None:
    """What a framework does to a rendering reaches no other caller."""
    desk.guard.tools(desk.token())[0]["parameters"].clear()
    assert desk.guard.tools(desk.token())[0]["parameters"]


@pytest.mark.parametrize("format", ["openai", "anthropic", "mcp", "gemini"])
def test_lists_come_in_the_forms_of_providers(desk: Desk, format: Any) -> None:
    """One rendering a tool, whatever the provider; equal bytes each time."""
    first, second = (json.dumps(desk.guard.tools(desk.token(), format=format)) for _ in range(2))
    assert first == second
    assert "Use when: a customer asks for it" in first


def test_messages_speak_the_language_of_the_call(desk: Desk) -> None:
    """By call, else by guard."""
    chinese = desk.call("note.echo", "{}", locale="zh").to_json()["errors"][0]["message"]
    english = desk.call("note.echo", "{}").to_json()["errors"][0]["message"]
    assert chinese != english
    assert open_desk(locale="zh").call("note.echo", "{}").to_json()["errors"][0]["message"] == chinese


def test_a_refusal_sentence_stands_in_the_message_alone(desk: Desk) -> None:
    """The tool file's own sentence is for admitted callers, beside the constant and never in it."""
    result = desk.call("order.refund", {"order": "g-1", "amount": 5})
    assert result == FORBIDDEN
    assert result.to_bytes() == FORBIDDEN.to_bytes()
    assert "No such order for this customer." in str(result.to_message("openai", "c1"))
    assert desk.ran == []


def test_policies_in_memory_are_checked_at_once() -> None:
    """What is wrong without knowing the tools is said when the guard is made."""
    with pytest.raises(PolicyInvalid, match=r"policy\.csv:1"):
        open_desk({"rows": "p, agent, *, order.find, call, maybe\n"})


def test_policies_in_memory_take_the_registered_tools_as_their_catalog() -> None:
    """What needs the tools is checked when the guard is first used."""
    desk = open_desk({"tools": "tool: order.find\nallow: [ { id: a, roles: [agent], arguments: { colour: {} } } ]\n"})
    with pytest.raises(PolicyInvalid, match="colour"):
        desk.call("order.find", {"order": "a-1"})


def test_a_tool_added_later_is_open_from_then_on(desk: Desk) -> None:
    """Policies in memory follow the registered tools."""
    words = {"use_when": "x", "not_for": "y"}
    desk.call("note.echo", {"text": "x"})
    before = desk.guard.revision

    @desk.guard.tool("note.more", kind="read", **words)
    def more() -> int:
        """Return more."""
        return 1

    assert desk.guard.revision != before
    assert desk.call("note.more").status == "forbidden"


def test_a_missing_folder_is_an_error_with_a_place(tmp_path: Any) -> None:
    """No guard without policies."""
    with pytest.raises(PolicyInvalid, match="folder_missing"):
        Guard(tmp_path / "nowhere", journal="memory", ledger=":memory:")


def test_a_guard_closes_what_it_opened_and_nothing_else(tmp_path: Any) -> None:
    """A journal that was passed in stays open."""
    desk = open_desk()
    with desk.guard:
        desk.call("note.echo", {"text": "x"})
    assert not desk.journal.closed
    desk.guard.close()


@pytest.mark.case(70)
@pytest.mark.promise("P4")
@pytest.mark.parametrize("raw", ['{"everything":true}', "{"])
def test_hidden_and_made_up_tools_take_the_same_path(desk: Desk, raw: str) -> None:
    """Line by line, warm, whatever the arguments look like."""
    token = desk.token()
    names = ("desk.wipe", "desk.melt", "zzz")
    for name in names:
        desk.guard.call(name, raw, token=token)
    paths = [lines_of(lambda name=name: desk.guard.call(name, raw, token=token)) for name in names]  # type: ignore[misc]
    assert paths[0] == paths[1] == paths[2]
    assert len(paths[0]) > 50
    assert desk.ran == []


@pytest.mark.promise("P11")
@pytest.mark.parametrize(
    "said",
    [
        {"interaction": object()},
        {"interaction": 3},
        {"operation": ["refund"]},
        {"locale": 5},
        {"context": 5},
        {"context": {1: 2}},
    ],
)
def test_what_an_application_says_of_a_call_has_its_type(said: dict[str, Any]) -> None:
    """A mistake of the application is told to it at once, in our own words."""
    desk = open_desk()
    with pytest.raises(Misuse):
        desk.guard.call("note.echo", {"text": "x"}, token=desk.token(), **said)


@pytest.mark.parametrize("call_id", [5, object(), None, "", "\ud800", "x" * 100_000, "a\nb\x00\u2028"])
def test_whatever_a_model_takes_for_an_id_changes_nothing(call_id: Any) -> None:
    """The model's id stands beside the runtime's own, and decides nothing."""
    desk = open_desk()
    assert desk.guard.call("note.echo", {"text": "x"}, token=desk.token(), call_id=call_id).status == "ok"
    check_line(desk.journal.lines[-1])
