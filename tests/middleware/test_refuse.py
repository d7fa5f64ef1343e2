"""Refusals and failures as callers, models, logs and events see them: the cases from practice, by number."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from gatewright import Failed, Guard, Page, Stopped
from gatewright.middleware.results import Result
from gatewright.middleware.sentences import POLICY_NOTE
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

CLOCK = FakeClock()
ISSUER = FakeIssuer(algorithm="EdDSA", clock=CLOCK)
CONSTANT = b'{"status":"forbidden","retryable":false}'
SECRET = "hunter2-s3cret"
PROVIDERS = ("plain", "openai", "openai-responses", "anthropic", "gemini", "mcp")
POLICIES = {
    "names.yaml": "roles: { agent: {}, boss: {}, nobody: {} }\ntenants: { acme: {}, globex: {} }\ntypes: {}\n",
    "policy.csv": (
        "p, agent, *, note.add, call, allow\np, agent, *, note.find, call, allow\np, boss, *, note.add, call, allow\n"
        "p, boss, *, note.find, call, allow\np, boss, *, note.wipe, call, allow\n"
        "p, agent, globex, note.find, call, deny\n"
    ),
    "identity.yaml": json.dumps({"issuers": [ISSUER.profile(["acme", "globex"])]}),
    "tools/note.yaml": """
tool: note.add
allow:
  - id: agent
    roles: [agent]
    arguments: { pin: { maxLength: 8 }, tenant: { enum: [acme] } }
  - { id: boss, roles: [boss], arguments: { tenant: { enum: [acme, globex, initech] } } }
---
tool: note.find
allow:
  - { id: agent, roles: [agent], result: { keep: { /items: { mine: { const: true } } } } }
  - { id: boss, roles: [boss] }
---
tool: note.wipe
allow: [ { id: boss, roles: [boss] } ]
---
tool: note.off
allow: []
""",
}


class Note(BaseModel):
    """A row."""

    model_config = ConfigDict(extra="forbid")

    text: str
    stars: int
    mine: bool = True


class Desk:
    """A guard over notes whose tool returns or raises what the test wants."""

    def __init__(self) -> None:
        self.journal = ListJournal()
        self.value: Any = Page[Note](items=[])
        self.ran: list[str] = []
        self.guard = Guard(POLICIES, journal=self.journal, ledger=":memory:", keys="k" * 32, clock=CLOCK, watch=False)
        words: dict[str, Any] = {"use_when": "Asked for.", "not_for": "Anything else."}

        @self.guard.tool("note.add", kind="read", **words)
        def add(
            text: str,
            pin: Annotated[str, Field(max_length=32)] = "",
            stars: Annotated[int, Field(ge=0)] = 0,
            tenant: Literal["acme", "globex", "initech"] = "acme",
        ) -> str:
            """Add a note."""
            self.ran.append("note.add")
            return text

        @self.guard.tool("note.find", kind="read", **words)
        def find() -> Page[Note]:
            """Find notes."""
            self.ran.append("note.find")
            if isinstance(self.value, Exception):
                raise self.value
            return self.value  # type: ignore[no-any-return]

        @self.guard.tool("note.wipe", kind="write", **words)
        def wipe(everything: bool) -> None:
            """Wipe notes."""
            self.ran.append("note.wipe")

        @self.guard.tool("note.off", kind="read", **words)
        def off(text: str) -> None:
            """Be switched off."""
            self.ran.append("note.off")

        self.find = find

    def ask(self, tool: str, raw: Any = "{}", role: str = "agent", tenant: str = "acme") -> Result:
        """One call as a model makes it."""
        given = raw if isinstance(raw, str | bytes) else json.dumps(raw)
        return self.guard.call(tool, given, token=ISSUER.token("amy", tenant, [role]))

    def listed(self, role: str = "agent", tenant: str = "acme") -> list[str]:
        """The tools that the caller is shown."""
        return [tool["name"] for tool in self.guard.tools(ISSUER.token("amy", tenant, [role]))]

    def kinds(self) -> list[str]:
        """The kinds of the last call's events."""
        return [event.kind for event in self.guard.events(self.guard.last_call_id or "")]


@pytest.fixture
def desk() -> Iterator[Desk]:
    """A desk, closed afterwards."""
    made = Desk()
    yield made
    made.guard.close()


def everything_told(desk: Desk, result: Result, caplog: pytest.LogCaptureFixture) -> str:
    """All that a call leaves behind: its answer in every form, events and log records."""
    told = [result.to_bytes().decode(), repr(result), str(result), json.dumps(result.to_error())]
    told += [json.dumps(result.to_message(provider, "c", name="n")) for provider in PROVIDERS]  # type: ignore[arg-type]
    told += [line.decode() for line in desk.journal.lines]
    told += [f"{record.getMessage()} {record.args} {record.exc_info}" for record in caplog.records]
    return "\n".join(told)


@pytest.mark.case(56)
@pytest.mark.parametrize(
    ("arguments", "field", "reason"),
    [
        ({"text": "x", "pin": SECRET}, "/pin", "too_long"),
        ({"text": "x", "pin": 7, "tenant": SECRET}, "/pin", "wrong_type"),
        ({"text": "x", "pin": "1", "stars": SECRET}, "/stars", "unknown_argument"),
        ({"text": "x", "pin": "1", SECRET: 1}, f"/{SECRET}", "unknown_argument"),
        ({"text": [SECRET], "pin": "1"}, "/text", "wrong_type"),
    ],
)
def test_an_error_names_place_and_rule_and_quotes_no_value(
    desk: Desk, caplog: pytest.LogCaptureFixture, arguments: dict[str, Any], field: str, reason: str
) -> None:
    """The answer says where, why and what is expected; logs and events hold the place and the reason alone."""
    caplog.set_level(logging.DEBUG)
    arguments.setdefault("tenant", "acme")
    result = desk.ask("note.add", arguments)
    first = result.to_json()["errors"][0]  # type: ignore[index, call-overload]
    assert (first["field"], first["reason"]) == (field, reason)  # type: ignore[index, call-overload]
    told = everything_told(desk, result, caplog)
    assert SECRET not in told.replace(f"/{SECRET}", "")
    assert desk.ran == []


@pytest.mark.case(56)
def test_an_enum_that_is_not_met_shows_this_roles_values_only(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    """What other roles may choose stands nowhere, in whatever language."""
    caplog.set_level(logging.DEBUG)
    for tenant in ("globex", "umbrella"):
        token = ISSUER.token("amy", "acme", ["agent"])
        raw = json.dumps({"text": "x", "pin": "1", "tenant": tenant})
        for locale in ("en", "zh"):
            result = desk.guard.call("note.add", raw, token=token, locale=locale)
            assert "acme" in result.to_bytes().decode()
            told = everything_told(desk, result, caplog)
            assert not any(other in told for other in ("globex", "initech", "umbrella"))


@pytest.mark.case(66)
@pytest.mark.parametrize(
    "row",
    [
        {"text": "x", "stars": "1"},
        {"text": "x", "stars": True},
        {"text": "x", "stars": 1.0},
        {"text": "x", "stars": 1, "secret": SECRET},
        {"text": None, "stars": 1, "mine": SECRET},
        {"stars": 1},
        [SECRET],
        SECRET,
    ],
)
def test_a_result_of_another_shape_is_withheld_whole(desk: Desk, caplog: pytest.LogCaptureFixture, row: Any) -> None:
    """Strict, nothing extra, and no input in the answer, an event, a log record or what a direct call raises."""
    caplog.set_level(logging.DEBUG)
    desk.value = {"items": [row], "next_cursor": None, "truncated": False}
    for role in ("agent", "boss"):
        result = desk.ask("note.find", role=role)
        assert result.to_json()["code"] == "invalid_result"
        assert SECRET not in everything_told(desk, result, caplog)
    with desk.guard.session(ISSUER.token("amy", "acme", ["boss"])), pytest.raises(Stopped) as stopped:
        desk.find()
    assert stopped.value.__cause__ is stopped.value.__context__ is None
    assert SECRET not in "".join(traceback.format_exception(stopped.value)) + repr(vars(type(stopped.value)))


@pytest.mark.case(68)
@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    "name",
    [
        *(
            "note.wipe",
            "note__wipe",
            "notes/note.wipe",
            "mcp__notes__note.wipe",
            "/note.wipe",
            "note.wipe/",
            "note:wipe",
        ),
        *(
            "NOTE.WIPE",
            "note.wipe ",
            " note.wipe",
            "note.wip\u0435",
            "functions.note.wipe",
            "tools/desk",
            "*",
            "note.*",
        ),
        *("", "note", "note.off", "note.gone", "note.find\x00", "../note.wipe"),
    ],
)
def test_a_tool_that_is_not_listed_cannot_be_called_by_any_name(desk: Desk, name: str) -> None:
    """Plain, prefixed, aliased, in another case or with look-alikes: forbidden, the constant, and no body."""
    assert name not in desk.listed()
    assert desk.ask(name, {"everything": True}).to_bytes() == CONSTANT
    assert desk.ran == []


@pytest.mark.case(68)
def test_lists_and_calls_are_decided_alike(desk: Desk) -> None:
    """For each role and tenant: what is listed is admitted, and nothing else is."""
    for role in ("agent", "boss", "nobody"):
        for tenant in ("acme", "globex"):
            listed = desk.listed(role, tenant)
            for tool in ("note.add", "note.find", "note.wipe", "note.off", "note.gone"):
                admitted = desk.ask(tool, "{", role, tenant).status == "invalid_arguments"
                assert admitted == (tool in listed), (role, tenant, tool)


@pytest.mark.case(70)
@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    "raw", ["{}", "{", "", b"\xff", '{"everything":1}', '{"everything":true}', "[" * 99, "null", "{" + " " * 2_000_000]
)
def test_hidden_disabled_and_made_up_tools_are_one(desk: Desk, raw: Any) -> None:
    """Equal bytes, messages and events, whatever the arguments; no schema has been asked."""
    heard = set()
    for tool in ("note.wipe", "note.off", "note.gone", "no.such"):
        result = desk.ask(tool, raw)
        messages = [json.dumps(result.to_message(provider, "c", name="n")) for provider in PROVIDERS]  # type: ignore[arg-type]
        heard.add((result.to_bytes(), *messages, *desk.kinds()))
        assert "schema_validated" not in desk.kinds()
    assert len(heard) == 1
    assert next(iter(heard))[0] == CONSTANT


@pytest.mark.case(73)
@pytest.mark.promise("P5")
def test_a_search_without_the_right_is_refused_and_one_with_it_may_be_empty(desk: Desk) -> None:
    """No right: forbidden. Rows that are kept away: ok with the constant mark. None there: the same page."""
    assert desk.ask("note.find", tenant="globex").to_bytes() == CONSTANT
    assert desk.ask("note.find", role="nobody").to_bytes() == CONSTANT
    assert desk.ran == []
    empty = {"status": "ok", "items": [], "next_cursor": None, "truncated": False}
    assert desk.ask("note.find").to_json() == {**empty, "filtered": True}
    desk.value = Page[Note](items=[Note(text="x", stars=1, mine=False)])
    assert desk.ask("note.find").to_json() == {**empty, "filtered": True}
    assert "filtered" not in desk.ask("note.find", role="boss").to_json()


@pytest.mark.case(73)
def test_code_that_calls_without_the_right_gets_an_exception_and_no_empty_value(desk: Desk) -> None:
    """There is no value that could be taken for nothing."""
    for tenant, role in (("globex", "agent"), ("acme", "nobody")):
        with desk.guard.session(ISSUER.token("amy", tenant, [role])), pytest.raises(Stopped) as refusal:
            desk.find()
        assert refusal.value.result.to_bytes() == CONSTANT


@pytest.mark.case(75)
@pytest.mark.parametrize(
    ("tool", "value", "role", "status"),
    [
        ("note.wipe", None, "agent", "forbidden"),
        ("note.find", PermissionError(SECRET), "agent", "forbidden"),
        ("note.find", Failed("business_rule"), "agent", "failed"),
        ("note.find", TimeoutError(SECRET), "agent", "failed"),
        ("note.find", KeyError(SECRET), "boss", "failed"),
        ("note.find", {"items": "none"}, "boss", "failed"),
        ("note.add", None, "boss", "invalid_arguments"),
    ],
)
def test_a_refusal_or_failure_is_no_structured_content(
    desk: Desk, tool: str, value: Any, role: str, status: str
) -> None:
    """An error with text blocks: the JSON, then the sentences; no output schema has anything to complain of."""
    (shown,) = [
        each
        for each in desk.guard.tools(ISSUER.token("amy", "acme", ["boss"]), format="mcp")
        if each["name"] == "note.find"
    ]
    assert shown["outputSchema"]["type"] == "object"
    desk.value = value
    result = desk.ask(tool, role=role)
    message = result.to_message("mcp", "c")
    assert result.status == status
    assert set(message) == {"content", "isError"}
    assert message["isError"] is True
    blocks: Any = message["content"]
    assert json.loads(blocks[0]["text"]) == result.to_json()
    assert all(block["type"] == "text" for block in blocks)
    assert (POLICY_NOTE[0] in [block["text"] for block in blocks]) == (status == "forbidden")
    assert SECRET not in json.dumps(message)


@pytest.mark.case(76)
@pytest.mark.parametrize(
    "raw",
    [
        f'{{"text": "{SECRET}"',
        f'{{"text": "{SECRET}", }}',
        f"{{'text': '{SECRET}'}}",
        f'{{"text": "a", "text": "{SECRET}"}}',
        f'{{"text": NaN, "pin": "{SECRET}"}}',
        f'{{"{SECRET}": 1e999}}',
        f'["{SECRET}"]',
        f'"{SECRET}"',
        SECRET,
        f'{{"text": "{SECRET}\\ud800"}}',
        f'{{"text": "{SECRET}\x00"}}',
        f'\ufeff{{"text": "{SECRET}"}}',
        SECRET.encode() + b"\xff",
        f'{{"text": {"[" * 50}"{SECRET}"{"]" * 50}}}',
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_malformed_arguments_leave_nothing_of_themselves(
    desk: Desk, caplog: pytest.LogCaptureFixture, raw: str | bytes, is_async: bool
) -> None:
    """Not in the answer, an event, a log record or a message, for tools one may call and tools one may not."""
    caplog.set_level(logging.DEBUG)
    token = ISSUER.token("amy", "acme", ["agent"])
    for tool in ("note.add", "note.wipe"):
        if is_async:
            result = asyncio.run(desk.guard.acall(tool, raw, token=token))
        else:
            result = desk.guard.call(tool, raw, token=token)
        assert result.status == ("invalid_arguments" if tool == "note.add" else "forbidden")
        assert SECRET not in everything_told(desk, result, caplog)
    assert desk.ran == []
