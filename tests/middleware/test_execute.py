"""The body: how often it is entered, with what, for how long, and what becomes of its exceptions."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from desk import Desk, open_desk, open_one
from gatewright import Conflict, Failed, Invalid, NoEffect, NotFound, Resource, current_operation
from gatewright.middleware.chain import Chain
from gatewright.middleware.gate import Gate
from gatewright.middleware.record import expand
from gatewright.middleware.results import FORBIDDEN, Result
from gatewright.middleware.stores import StoreUnavailable


class Held:
    """Something that bodies wait for until the test lets them go."""

    def __init__(self) -> None:
        self.event = threading.Event()
        self.entered = threading.Event()
        self.left = threading.Event()

    def wait(self) -> None:
        """Wait in a body."""
        self.entered.set()
        self.event.wait(10)
        self.left.set()


@pytest.fixture
def held() -> Iterator[Held]:
    """Let go at the end, whatever happened."""
    holding = Held()
    yield holding
    holding.event.set()


def raising(error: BaseException, **options: Any) -> Desk:
    """A desk whose only tool raises."""

    def tool() -> None:
        """Raise."""
        desk.entered("some.thing")
        raise error

    desk, _ = open_one(tool, reasons=["told"], **options)
    return desk


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("secret"), {"status": "failed", "code": "internal"}),
        (SystemExit("secret"), {"status": "failed", "code": "internal"}),
        (asyncio.CancelledError("secret"), {"status": "failed", "code": "cancelled"}),
        (TimeoutError("secret"), {"status": "failed", "code": "timeout"}),
        (ConnectionError("secret"), {"status": "failed", "code": "unavailable"}),
        (PermissionError("secret"), {"status": "forbidden"}),
        (Failed("rate_limited", retry_after=3), {"status": "failed", "code": "rate_limited", "retry_after": 3}),
        (Failed("business_rule", reason="told"), {"code": "business_rule", "reason": "told"}),
        (Conflict("told"), {"status": "conflict", "reason": "told"}),
        (Conflict("secret"), {"status": "conflict", "reason": None}),
        (NotFound(), {"status": "forbidden"}),
        (NoEffect(Failed("unavailable")), {"status": "failed", "code": "unavailable"}),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
def test_what_a_read_raises_becomes_its_result_and_nothing_of_it_leaves(
    error: BaseException, told: dict[str, Any], is_async: bool
) -> None:
    """Typed failures as they are typed, others by the default map; no text, in results or in events."""
    desk = raising(error)
    result = (desk.acall if is_async else desk.call)("some.thing")
    assert told.items() <= result.to_json().items()
    recorded = b"".join(desk.journal.lines)
    assert b"secret" not in recorded + result.to_bytes()
    assert b'"outcome":"raised"' in recorded


@pytest.mark.promise("P8")
@pytest.mark.parametrize("error", [ValueError(), Failed("unavailable"), Conflict(), TimeoutError(), SystemExit()])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_write_that_raises_is_unknown(error: BaseException, is_async: bool) -> None:
    """Whatever it was: it may have happened. The operation waits for somebody to find out."""
    desk = raising(error, kind="write")
    result = (desk.acall if is_async else desk.call)("some.thing")
    ledger = desk.guard._runtime.ledger
    assert result.status == "unknown"
    assert result.to_json()["operation_id"] == ledger.operations("unknown")[0].id
    assert len(desk.ran) == 1


@pytest.mark.promise("P8")
def test_a_write_that_says_it_had_no_effect_is_failed() -> None:
    """And may be tried again under its name where its failure may."""
    desk = raising(NoEffect(Failed("unavailable")), kind="write")
    for _ in range(2):
        result = desk.call("some.thing", operation="op-1")
        assert result.to_json()["code"] == "unavailable"
        assert result.to_json()["effect"] == "none"
    assert len(desk.ran) == 2


@pytest.mark.promise("P8")
def test_a_write_whose_result_breaks_its_schema_has_happened() -> None:
    """It says so, and its operation succeeded: nothing will run it again."""

    def tool() -> int:
        """Return something else."""
        return "seven"  # type: ignore[return-value]

    desk, _ = open_one(tool, kind="write")
    first, again = (desk.call("some.thing", operation="op-1") for _ in range(2))
    assert first.to_json()["code"] == "invalid_result"
    assert first.to_json()["effect"] == "done"
    assert again == first
    assert len(desk.guard._runtime.ledger.operations("succeeded")) == 1


def test_the_arguments_of_a_body_are_its_own() -> None:
    """What a body does to them is not in the record, and not in the next call."""

    def tool(tags: list[str]) -> int:
        """Change what it got."""
        tags.append("more")
        return len(tags)

    desk, _ = open_one(tool)
    for _ in range(2):
        assert desk.call("some.thing", {"tags": ["a"]}).to_json()["data"] == 2


@pytest.mark.parametrize("is_async", [False, True])
def test_a_read_that_takes_too_long_is_a_timeout(held: Held, is_async: bool) -> None:
    """The thread cannot be stopped, so nobody waits for it; what it returns later counts no more."""

    def tool() -> str:
        """Wait."""
        held.wait()
        return "late"

    desk, _ = open_one(tool, timeout=0.05)
    result = (desk.acall if is_async else desk.call)("some.thing")
    assert result.to_json()["code"] == "timeout"
    assert held.entered.is_set()
    held.event.set()
    assert held.left.wait(10)
    told = [event for event in desk.journal.events() if event.kind in ("execution_finished", "call_answered")]
    assert [(event.kind, event.fields.get("outcome")) for event in told] == [
        ("execution_finished", "timed_out"),
        ("call_answered", None),
    ]


@pytest.mark.promise("P8")
@pytest.mark.case(87)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_write_that_takes_too_long_is_unknown(held: Held, is_async: bool) -> None:
    """The key stays taken, and the same call again is not run again."""

    def tool() -> str:
        """Wait."""
        desk.entered("some.thing")
        held.wait()
        return "late"

    desk, _ = open_one(tool, kind="write", timeout=0.05)
    call = desk.acall if is_async else desk.call
    first = call("some.thing", operation="op-1")
    assert first.status == "unknown"
    assert call("some.thing", operation="op-1") == first
    held.event.set()
    assert held.left.wait(10)
    assert len(desk.ran) == 1


def test_a_duty_can_shorten_the_timeout(held: Held) -> None:
    """The tool's own or the duty's, whichever is less."""

    def tool() -> None:
        """Wait."""
        held.wait()

    desk, _ = open_one(tool, timeout=60, entry="{ id: a, roles: [agent], duties: { timeout: 1s } }")
    assert desk.call("some.thing").to_json()["code"] == "timeout"
    started = next(event for event in desk.journal.events() if event.kind == "execution_started")
    assert started.fields["timeout_ms"] == 1000


def test_an_async_tool_has_a_timeout_too() -> None:
    """Its task is cancelled."""

    async def tool() -> None:
        """Wait."""
        await asyncio.sleep(60)

    desk, _ = open_one(tool, timeout=0.01)
    assert desk.acall("some.thing").to_json()["code"] == "timeout"
    assert desk.call("some.thing").to_json()["code"] == "timeout"


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("flavour", ["sync", "async"])
def test_a_cancelled_call_ends_with_its_event(held: Held, kind: str, flavour: str) -> None:
    """The task is cancelled as asked; a read says cancelled, a write that was entered unknown."""
    entered = asyncio.Event()

    def blocking() -> None:
        """Wait in a thread."""
        held.wait()

    async def waiting() -> None:
        """Wait in a task."""
        entered.set()
        await asyncio.sleep(60)

    desk, _ = open_one(waiting if flavour == "async" else blocking, kind=kind)

    async def cancel() -> None:
        task = asyncio.create_task(desk.guard.acall("some.thing", "{}", token=desk.token()))
        if flavour == "async":
            await entered.wait()
        else:
            await asyncio.to_thread(held.entered.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancel())
    held.event.set()
    ledger = desk.guard._runtime.ledger
    if kind == "write":
        assert len(ledger.operations("unknown")) == 1
    lines = [*desk.journal.lines, *ledger.iter_lines()]
    assert sum(line.count(b'["call_answered"') for line in lines) == 1
    assert (b'"status":"unknown"' if kind == "write" else b'"code":"cancelled"') in b"".join(lines)


def test_the_operation_is_there_in_the_body_of_a_write_alone() -> None:
    """Its key is for the backend; a read has none."""
    keys: list[str] = []

    def tool() -> str:
        """Use the key."""
        operation = current_operation()
        keys.append(operation.key)
        operation.committed("order-7")
        return operation.id

    desk, _ = open_one(tool, kind="write")
    result = desk.call("some.thing", operation="op-1")
    assert desk.call("some.thing", operation="op-1") == result
    assert len(keys) == 1
    assert desk.guard._runtime.ledger.operations("succeeded")[0].key == keys[0]
    read, _ = open_one(tool)
    assert read.call("some.thing").to_json()["code"] == "internal"


@pytest.mark.promise("P8")
@pytest.mark.case(83)
def test_a_name_is_bound_to_its_arguments() -> None:
    """The same name with other arguments is a conflict that shows nothing of the first."""
    desk = open_desk()
    first = desk.call("order.refund", {"order": "a-1", "amount": 5}, operation="op-1")
    again = desk.call("order.refund", {"amount": 5, "order": "a-1"}, operation="op-1")
    other = desk.call("order.refund", {"order": "a-1", "amount": 6}, operation="op-1")
    assert (first.status, again) == ("ok", first)
    assert other.to_json() == {
        "status": "conflict",
        "code": "key_reused",
        "reason": None,
        "retryable": False,
        "next": "reread_state",
    }
    assert len(desk.ran) == 1


@pytest.mark.promise("P8")
@pytest.mark.case(86)
def test_a_replay_is_authorized_first() -> None:
    """Whoever may not do it any more is not told how it went."""
    desk = open_desk()
    arguments = {"order": "a-1", "amount": 5}
    assert desk.call("order.refund", arguments, operation="op-1").status == "ok"
    without_roles = desk.issuer.token("amy", "acme", [])
    assert desk.call("order.refund", arguments, operation="op-1", token=without_roles) == FORBIDDEN
    assert len(desk.ran) == 1


@pytest.mark.case(84)
def test_a_name_belongs_to_one_caller() -> None:
    """Another subject's operation of the same name is another one."""
    desk = open_desk()
    for subject in ("amy", "ann"):
        token = desk.token(sub=subject)
        assert desk.call("order.refund", {"order": "a-1", "amount": 5}, operation="op-1", token=token).status == "ok"
    assert len(desk.ran) == 2


@pytest.mark.promise("P8")
@pytest.mark.parametrize("interaction", ["chat", None])
def test_a_repeat_of_an_unresolved_write_in_its_interaction_is_that_write(interaction: str | None) -> None:
    """Nobody knows whether it happened, so it does not run again; elsewhere it is another write."""
    desk = raising(ValueError(), kind="write")
    first, second = (desk.call("some.thing", interaction=interaction) for _ in range(2))
    assert first.status == second.status == "unknown"
    assert (first == second) is (interaction == "chat")
    assert len(desk.ran) == (1 if interaction == "chat" else 2)


@pytest.mark.promise("P8")
def test_a_ledger_that_is_gone_lets_no_write_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """No durable record, no effect; reads go on."""
    desk = open_desk()

    def gone(*_: object) -> None:
        raise StoreUnavailable("ledger")

    monkeypatch.setattr(desk.guard._runtime.ledger, "start", gone)
    for call in (desk.call, desk.acall):
        assert call("order.refund", {"order": "a-1", "amount": 5}).to_json()["code"] == "unavailable"
        assert call("note.echo", {"text": "x"}).status == "ok"
    assert [name for name, _ in desk.ran] == ["note.echo", "note.echo"]


@pytest.mark.promise("P8")
@pytest.mark.case(88)
def test_an_outcome_that_cannot_be_recorded_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """It happened, and nobody could prove it: the operation stays as it started."""
    desk = open_desk()

    def gone(*_: object, **__: object) -> None:
        raise StoreUnavailable("ledger")

    monkeypatch.setattr(desk.guard._runtime.ledger, "finish", gone)
    assert desk.call("order.refund", {"order": "a-1", "amount": 5}, operation="op-1").status == "unknown"
    assert len(desk.ran) == 1


def test_a_stream_is_rechecked_while_it_runs() -> None:
    """Every hundred items somebody asks whether the caller may still have them."""

    async def tool(count: int) -> Any:
        """Count."""
        for number in range(count):
            if number == 150:
                desk.clock.advance(10_000)
            yield number

    desk, _ = open_one(tool)
    for call in (desk.call, desk.acall):
        assert call("some.thing", {"count": 90}).status == "ok"
        result: Result = call("some.thing", {"count": 1000})
        assert result.to_json()["reason"] == "token_expired"


def test_facts_that_raise_are_absent_and_rules_that_raise_refuse() -> None:
    """A condition on an absent fact does not hold; a rule that breaks is a refusal; neither tells why."""

    def tool(text: str) -> str:
        """Return it."""
        desk.entered("some.thing")
        return text

    def broken(*_: Any) -> Any:
        raise ValueError("secret")

    entry = "{ id: a, roles: [agent], facts: { size: { maximum: 5 } } }"
    desk, _ = open_one(tool, facts={"size": broken}, entry=entry)
    assert desk.call("some.thing", {"text": "x"}).status == "invalid_arguments"
    assert "secret" not in repr(desk.events())
    for rule in (broken, lambda arguments, settings: None):
        desk, _ = open_one(tool, rules=[rule])
        assert desk.call("some.thing", {"text": "x"}) == FORBIDDEN
        assert "secret" not in repr(desk.events())
        assert desk.event("call_answered")["step"] == "validate"
        assert desk.event("call_answered")["cause"].startswith(("ValueError at ", "TypeError at "))
    assert desk.ran == []


@pytest.mark.promise("P11")
@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("where", ["rule", "fact"])
@pytest.mark.parametrize("is_async", [False, True])
def test_rules_and_facts_are_asked_under_the_timeout(held: Held, kind: str, where: str, is_async: bool) -> None:
    """One that hangs is a refusal whose reason the events hold, and the body is not entered."""

    def tool(text: str) -> str:
        """Return it."""
        desk.entered("some.thing")
        return text

    def slow(arguments: dict[str, Any], *_: Any) -> Any:
        held.wait()
        return arguments if where == "rule" else 1

    stated = {"rules": [slow]} if where == "rule" else {"facts": {"size": slow}}
    entry = (
        "{ id: a, roles: [agent], facts: { size: { maximum: 5 } } }" if where == "fact" else "{ id: a, roles: [agent] }"
    )
    desk, _ = open_one(tool, kind=kind, entry=entry, timeout=0.05, **stated)
    assert (desk.acall if is_async else desk.call)("some.thing", {"text": "x"}) == FORBIDDEN
    assert held.entered.is_set()
    decided = [each for each in expand(desk.journal.lines[-1]) if each.kind == "permission_decided"]
    assert decided[0].fields["reason"] == f"{where}s: not in time"
    assert desk.ran == []


@pytest.mark.promise("P9")
@pytest.mark.parametrize("error", [SystemExit("secret"), asyncio.CancelledError(), GeneratorExit()])
@pytest.mark.parametrize("where", ["rules", "facts", "checks", "loader", "step"])
@pytest.mark.parametrize("is_async", [False, True])
def test_nothing_a_function_of_the_tool_raises_ends_more_than_its_call(
    error: BaseException, where: str, is_async: bool
) -> None:
    """What would end the process or the task is a refusal like any other exception, with one terminal event."""

    def tool(order: str) -> str:
        """Return it."""
        desk.entered("some.thing")
        return order

    def stray(*_: Any) -> Any:
        raise error

    stated: dict[str, Any] = {
        "rules": {"rules": [stray]},
        "facts": {
            "facts": {"size": stray},
            "entry": "{ id: a, roles: [agent], facts: { size: { on_violation: forbidden } } }",
        },
        "checks": {"checks": [stray]},
        "loader": {"resources": {"order": Resource("order", "/order", stray)}},
        "step": {"options": {"after_validate": [stray]}},
    }[where]
    desk, _ = open_one(tool, rows="p, agent, *, order:*, read, allow\n", **stated)
    assert (desk.acall if is_async else desk.call)("some.thing", {"order": "a-1"}) == FORBIDDEN
    line = desk.journal.lines[-1]
    assert [each.kind for each in expand(line)].count("call_answered") == 1
    assert b"secret" not in line
    assert desk.ran == []


@pytest.mark.promise("P8")
def test_a_rule_that_drops_an_argument_stops_a_write_before_it_starts() -> None:
    """The body could not be entered, so nothing of it is unknown."""

    def tool(text: str) -> str:
        """Return it."""
        desk.entered("some.thing")
        return text

    desk, _ = open_one(tool, kind="write", rules=[lambda arguments, settings: {}])
    assert desk.call("some.thing", {"text": "x"}) == FORBIDDEN
    assert desk.event("call_answered")["step"] == "validate"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Conflict("told"), "conflict"),
        (NotFound(), "forbidden"),
        (Failed("unavailable"), "failed"),
        (ValueError("secret"), "forbidden"),
    ],
)
def test_checks_may_stop_a_call(error: Exception, status: str, is_async: bool) -> None:
    """They see arguments and records; what they raise that is typed is told, anything else is a refusal."""
    seen: list[Any] = []

    def tool(order: str) -> None:
        """Do it."""
        desk.entered("some.thing")

    def check(arguments: dict[str, Any], resources: dict[str, Any]) -> None:
        seen.append((arguments, resources))
        raise error

    async def later(arguments: dict[str, Any], resources: dict[str, Any]) -> None:
        check(arguments, resources)

    desk, _ = open_one(tool, checks=[later if is_async else check], reasons=["told"])
    assert desk.call("some.thing", {"order": "a-1"}).status == status
    assert desk.acall("some.thing", {"order": "a-1"}).status == status
    assert seen == [({"order": "a-1"}, {})] * 2
    assert desk.ran == []
    assert b"secret" not in b"".join(desk.journal.lines)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("answer", [ValueError("secret"), "no record", 7, object()])
def test_a_loader_that_breaks_is_a_refusal(answer: Any, is_async: bool) -> None:
    """The same constant as for a foreign record; the event says that the loader did."""

    def tool(order: str) -> None:
        """Do it."""
        desk.entered("some.thing")

    def load(id: str, tenant: str) -> Any:
        assert (id, tenant) == ("a-1", "acme")
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def load_later(id: str, tenant: str) -> Any:
        return load(id, tenant)

    resources = {"order": Resource("order", "/order", load_later if is_async else load)}
    desk, _ = open_one(tool, resources=resources, rows="p, agent, *, order:*, read, allow\n")
    assert desk.call("some.thing", {"order": "a-1"}) == FORBIDDEN
    assert desk.event("permission_decided")["reason"].startswith("loader: order")
    assert desk.acall("some.thing", {"order": "a-1"}) == FORBIDDEN
    assert desk.ran == []
    assert b"secret" not in b"".join(desk.journal.lines)


def test_a_loader_runs_under_the_timeout_of_the_call(held: Held) -> None:
    """One that hangs is given up, and that is a refusal."""

    def tool(order: str) -> None:
        """Do it."""
        desk.entered("some.thing")

    def load(id: str, tenant: str) -> None:
        held.wait()

    resources = {"order": Resource("order", "/order", load)}
    desk, _ = open_one(tool, resources=resources, rows="p, agent, *, order:*, read, allow\n", timeout=0.05)
    assert desk.call("some.thing", {"order": "a-1"}) == FORBIDDEN
    assert desk.event("permission_decided")["reason"] == "loader: order: TimeoutError"
    assert desk.acall("some.thing", {"order": "a-1"}) == FORBIDDEN
    assert not held.left.is_set()
    assert desk.ran == []


@pytest.mark.case(80)
def test_a_body_gets_a_record_of_its_own() -> None:
    """What it does to it is not in what the loader keeps."""
    kept = {"id": "a-1", "tags": ["a"]}

    def tool(order: dict[str, Any]) -> int:
        """Change the record."""
        order["tags"].append("b")
        return len(order["tags"])

    resources = {"order": Resource("order", "/order", lambda id, tenant: kept)}
    desk, _ = open_one(tool, resources=resources, rows="p, agent, *, order:*, read, allow\n")
    for _ in range(2):
        assert desk.call("some.thing", {"order": "a-1"}).to_json()["data"] == 2
    assert kept["tags"] == ["a"]


@pytest.mark.case(80)
def test_facts_and_rules_cannot_change_what_was_judged() -> None:
    """Each gets a copy; only what a rule returns goes on."""

    def tool(tags: list[str]) -> list[str]:
        """Return them."""
        return tags

    def meddling(arguments: dict[str, Any]) -> int:
        arguments["tags"].append("fact")
        return len(arguments["tags"])

    def rule(arguments: dict[str, Any], settings: Any) -> dict[str, Any]:
        settings["longest"] = 0
        arguments["tags"].append("rule")
        return {"tags": [*arguments["tags"][:-1]]}

    entry = "{ id: a, roles: [agent], facts: { size: { maximum: 2 } } }"
    for rules in ([], [rule]):
        desk, _ = open_one(tool, facts={"size": meddling}, rules=rules, entry=entry)
        assert desk.call("some.thing", {"tags": ["a"]}).to_json()["data"] == ["a"]
    assert desk.guard._runtime.live.snapshot.policies.tenants["acme"].settings == {"longest": 100}


def test_a_rule_states_declared_reasons_alone() -> None:
    """Any other is dropped, with what it says; the field stays."""

    def tool(text: str) -> str:
        """Return it."""
        return text

    def rule(arguments: dict[str, Any], settings: Any) -> dict[str, Any]:
        raise Invalid("secret", field="/text", expected="secret")

    desk, _ = open_one(tool, rules=[rule], reasons=["told"])
    result = desk.call("some.thing", {"text": "x"})
    assert (result.to_json()["field"], result.to_json()["reason"]) == ("/text", "not_accepted")
    assert b"secret" not in result.to_bytes()


@pytest.mark.promise("P8")
@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_fault_of_ours_after_the_body_says_no_more_than_it_knows(kind: str) -> None:
    """Of a write nobody knows; of a read nothing was given."""

    def tool() -> int:
        """Return one."""
        return 1

    def broken(call: Any) -> None:
        raise RuntimeError("secret")

    desk, _ = open_one(tool, kind=kind)
    runtime = desk.guard._runtime
    *steps, release = runtime.chain.steps
    runtime.chain = Chain([*steps, replace(release, run=broken)])
    result = desk.call("some.thing")
    assert result.status == ("unknown" if kind == "write" else "forbidden")
    assert desk.event("call_answered")["cause"].startswith("RuntimeError at test_execute.py:")
    assert desk.event("call_answered")["step"] == "release"


@pytest.mark.promise("P8")
def test_a_body_that_ends_with_its_deadline_counts(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waited comes too late to give it up: its outcome is there."""

    def tool() -> str:
        """Wait."""
        held.wait()
        return "in time"

    def too_late(gate: Gate) -> bool:
        held.event.set()
        return False

    monkeypatch.setattr(Gate, "expire", too_late)
    desk, _ = open_one(tool, kind="write", timeout=0.05)
    assert desk.call("some.thing").to_json()["data"] == "in time"
    assert desk.acall("some.thing").to_json()["data"] == "in time"


@pytest.mark.promise("P8")
@pytest.mark.parametrize("flavour", ["sync", "async"])
def test_a_write_that_is_cancelled_before_its_start_never_starts(
    held: Held, flavour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that writes the start finds that nobody waits: the transaction is undone, the body not entered."""

    def blocking() -> None:
        """Do it."""
        desk.entered("some.thing")

    async def waiting() -> None:
        """Do it."""
        desk.entered("some.thing")

    desk, _ = open_one(waiting if flavour == "async" else blocking, kind="write")
    ledger = desk.guard._runtime.ledger
    start = ledger.start
    ended = threading.Event()

    def slow_start(*arguments: Any) -> Any:
        held.wait()
        try:
            return start(*arguments)
        finally:
            ended.set()

    monkeypatch.setattr(ledger, "start", slow_start)

    async def cancel() -> None:
        task = asyncio.create_task(desk.guard.acall("some.thing", "{}", token=desk.token()))
        await asyncio.to_thread(held.entered.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        held.event.set()
        await asyncio.to_thread(ended.wait, 10)

    asyncio.run(cancel())
    assert desk.ran == []
    assert [ledger.operations(state) for state in ("started", "unknown", "failed", "succeeded")] == [()] * 4
    assert b'"code":"cancelled"' in desk.journal.lines[-1]


@pytest.mark.promise("P8")
def test_a_write_that_times_out_while_it_starts_is_unknown_or_never_starts(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given up in the transaction, before it is certain: nothing is written and nothing runs."""

    def tool() -> None:
        """Do it."""
        desk.entered("some.thing")

    desk, _ = open_one(tool, kind="write", timeout=0.05)
    ledger = desk.guard._runtime.ledger
    start = ledger.start

    def slow_start(*arguments: Any) -> Any:
        held.wait()
        return start(*arguments)

    monkeypatch.setattr(ledger, "start", slow_start)
    assert desk.call("some.thing").to_json()["code"] == "timeout"
    held.event.set()
    assert held.left.wait(10)
    assert ledger.operations("started") == ()
    assert desk.ran == []


@pytest.mark.promise("P11")
def test_a_stop_iteration_of_anybody_hangs_nothing() -> None:
    """No future can hold one: of a body it is a failure, of a loader and a check a refusal."""

    def stop(*_: Any) -> Any:
        raise StopIteration

    def tool(order: str) -> None:
        """Stop."""
        stop()

    rows = "p, agent, *, order:*, read, allow\n"
    for stated in ({"resources": {"order": Resource("order", "/order", stop)}}, {"checks": [stop]}):
        desk, _ = open_one(tool, rows=rows, **stated)
        assert desk.call("some.thing", {"order": "a-1"}) == FORBIDDEN
        assert desk.acall("some.thing", {"order": "a-1"}) == FORBIDDEN
    desk, _ = open_one(tool)
    assert desk.call("some.thing", {"order": "a-1"}).to_json()["code"] == "internal"
    assert desk.acall("some.thing", {"order": "a-1"}).to_json()["code"] == "internal"


def test_the_duty_to_notify_is_told_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Once the body is entered, by whom it names; a refused call tells nobody."""

    def tool(text: str) -> str:
        """Return it."""
        return text

    desk, _ = open_one(tool, entry="{ id: a, roles: [agent], duties: { notify: [risk] } }")
    with caplog.at_level("INFO", "gatewright.notify"):
        desk.call("some.thing", {"text": 7})
        assert desk.call("some.thing", {"text": "secret"}).status == "ok"
    told = [record.getMessage() for record in caplog.records if record.name == "gatewright.notify"]
    assert told == [f"notify risk: some.thing, call {desk.guard.last_call_id}"]


def test_an_async_tool_that_cancels_itself_has_failed() -> None:
    """Nobody asked the task to stop, so it goes on with an answer."""

    async def tool() -> None:
        """Cancel."""
        raise asyncio.CancelledError

    async def load(id: str, tenant: str) -> None:
        raise asyncio.CancelledError

    async def with_record(order: str) -> None:
        """Do nothing."""

    for kind, status in (("read", "failed"), ("write", "unknown")):
        desk, _ = open_one(tool, kind=kind)
        assert desk.acall("some.thing").status == status
        assert desk.call("some.thing").status == status
    resources = {"order": Resource("order", "/order", load)}
    desk, _ = open_one(with_record, resources=resources, rows="p, agent, *, order:*, read, allow\n")
    assert desk.acall("some.thing", {"order": "a-1"}) == FORBIDDEN
    assert desk.call("some.thing", {"order": "a-1"}) == FORBIDDEN


@pytest.mark.parametrize("is_async", [False, True])
def test_a_body_is_not_entered_after_its_deadline(held: Held, is_async: bool) -> None:
    """The recheck took too long: the answer is given, so nothing may happen any more."""

    def tool() -> None:
        """Do it."""
        desk.entered("some.thing")

    desk, _ = open_one(tool, timeout=0.05)
    runtime = desk.guard._runtime
    done = threading.Event()

    def slow(call: Any) -> None:
        held.wait()

    def ended(call: Any) -> Any:
        try:
            return execute.run(call)
        finally:
            done.set()

    steps = {step.name: step for step in runtime.chain.steps}
    execute = steps["execute"]
    steps["recheck"], steps["execute"] = replace(steps["recheck"], run=slow), replace(execute, run=ended)
    runtime.chain = Chain([*steps.values()])
    assert (desk.acall if is_async else desk.call)("some.thing").to_json()["code"] == "timeout"
    held.event.set()
    assert done.wait(10)
    assert desk.ran == []
