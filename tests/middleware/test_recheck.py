"""Between decision and body: whatever was withdrawn before the body starts keeps it from starting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from desk import ISSUER, ORDERS, Desk, add_tools, open_desk, open_one, policies
from gatewright import Resource
from gatewright.middleware.call import Inspection
from gatewright.middleware.results import FORBIDDEN, NOT_FOUND, Result

READ = ("order.find", {"order": "a-1"})
WRITE = ("order.refund", {"order": "a-1", "amount": 5})
LISTED = ("order.list", {"limit": 2})
CALLS = [READ, WRITE, LISTED]


class Barrier:
    """A desk over a policies folder, with something that happens after the decision and before the body."""

    def __init__(self, folder: Path) -> None:
        self.happens: Callable[[], object] = lambda: None
        self.folder = folder
        self.desk = open_desk(tools=False, policies=_write(folder), after_authorize=[self._step])
        add_tools(self.desk)
        self.desk.guard.accept_catalog()

    def _step(self, call: Inspection) -> None:
        self.happens()

    def change(self, file: str, old: str, new: str) -> Callable[[], object]:
        """A change of one policy file that is live at once."""

        def apply() -> None:
            path = self.folder / file
            text = path.read_text()
            assert old in text
            path.write_text(text.replace(old, new))
            assert self.desk.guard.reload()

        return apply

    def call(self, asked: tuple[str, dict[str, Any]], *, is_async: bool = False, **options: Any) -> Result:
        """One call with the barrier in its way."""
        options.setdefault("context", {"stage": "work"})
        call = self.desk.acall if is_async else self.desk.call
        return call(asked[0], asked[1], **options)


def _write(folder: Path) -> Path:
    for path, text in policies(ISSUER).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


@pytest.fixture
def barrier(tmp_path: Path) -> Barrier:
    """A barrier of its own for each test."""
    return Barrier(tmp_path / "policies")


def last(desk: Desk, kind: str) -> dict[str, Any]:
    """The last event of a kind, of whichever call."""
    return dict([event for event in desk.journal.events() if event.kind == kind][-1].fields)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("asked", CALLS)
def test_nothing_changed_passes(barrier: Barrier, asked: Any, is_async: bool) -> None:
    """The same revision, a token that holds, the same tool."""
    assert barrier.call(asked, is_async=is_async).status == "ok"
    assert len(barrier.desk.ran) == 1


@pytest.mark.case(79)
@pytest.mark.promise("P6")
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("asked", CALLS)
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("policy.csv", "p, agent, *, tools/desk, call, allow\n", ""),
        ("policy.csv", "p, agent, *, tools/desk, call, allow\n", "p, agent, *, tools/desk, call, deny\n"),
        ("policy.csv", "p, agent, *, tools/desk, call, allow\n", "p, subject:bob, *, tools/desk, call, allow\n"),
        ("names.yaml", "agent: {}, supervisor: {}", "agent: {}, supervisor: { excludes: [agent] }, boss: {}"),
    ],
)
def test_a_withdrawn_grant_is_forbidden(
    barrier: Barrier, asked: Any, is_async: bool, file: str, old: str, new: str
) -> None:
    """Withdrawn in the file while the call waits: the body is not entered."""
    token = barrier.desk.token()
    if file == "names.yaml":
        token = barrier.desk.issuer.token("amy", "acme", ["agent", "supervisor"])
    barrier.happens = barrier.change(file, old, new)
    assert barrier.call(asked, is_async=is_async, token=token) == FORBIDDEN
    assert barrier.desk.ran == []
    told = last(barrier.desk, "permission_rechecked")
    assert (told["outcome"], told["changed"]) == ("forbidden", True)
    assert told["revision"] == barrier.desk.guard.revision


@pytest.mark.case(79)
@pytest.mark.promise("P6")
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("asked", CALLS)
def test_a_token_that_expires_meanwhile_is_unauthenticated(barrier: Barrier, asked: Any, is_async: bool) -> None:
    """The clock moves on between decision and body."""
    barrier.happens = lambda: barrier.desk.clock.advance(120)
    result = barrier.call(asked, is_async=is_async, token=barrier.desk.token(lifetime=60))
    assert result.to_json() == {
        "status": "unauthenticated",
        "reason": "token_expired",
        "retryable": False,
        "next": "refresh_credential",
    }
    assert barrier.desk.ran == []
    assert last(barrier.desk, "permission_rechecked")["reason"] == "token: expired"


@pytest.mark.promise("P6")
@pytest.mark.parametrize("asked", [READ, WRITE])
@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("policy.csv", "p, agent, acme, order:a-*, read, allow\np, agent, acme, order:a-*, refund, allow\n", ""),
        ("tools/desk.yaml", "maximum: 100 }", "maximum: 4 }"),
        ("identity.yaml", "https://login.example", "https://other.example"),
    ],
)
def test_what_would_be_refused_now_is_refused(barrier: Barrier, asked: Any, file: str, old: str, new: str) -> None:
    """A right on the record, a bound, the issuer: each is asked again under the newest policies."""
    barrier.happens = barrier.change(file, old, new)
    result = barrier.call(asked)
    if file == "tools/desk.yaml" and asked is READ:
        assert result.status == "ok"
        return
    assert result.status == ("unauthenticated" if file == "identity.yaml" else "forbidden")
    assert barrier.desk.ran == []
    assert last(barrier.desk, "call_answered")["step"] == "recheck"


def test_a_harmless_reload_lets_the_call_go_on_under_the_new_revision(barrier: Barrier) -> None:
    """Judged again, alike: the body runs once, and the log names the revision that let it."""
    barrier.happens = barrier.change("policy.csv", "p, supervisor, *, desk.wipe, call, allow\n", "")
    before = barrier.desk.guard.revision
    assert barrier.call(READ).status == "ok"
    told = last(barrier.desk, "permission_rechecked")
    assert (told["changed"], told["outcome"]) == (True, "passed")
    assert told["revision"] == barrier.desk.guard.revision != before


@pytest.mark.promise("P6")
@pytest.mark.parametrize("new", ["id: other,", "id: agent, duties: { approval: { by: [supervisor] } },"])
def test_another_entry_or_another_duty_is_another_decision(barrier: Barrier, new: str) -> None:
    """What was decided is what runs: entry and duties must be the same."""
    barrier.happens = barrier.change(
        "tools/desk.yaml", "id: agent, roles: [agent], result", f"{new} roles: [agent], result"
    )
    assert barrier.call(READ) == FORBIDDEN
    assert barrier.desk.ran == []
    assert "verdict" in str(last(barrier.desk, "permission_rechecked")["reason"])


def test_new_cuts_count_for_a_call_that_was_under_way(barrier: Barrier) -> None:
    """The newest cuts are those that the result gets."""
    barrier.happens = barrier.change("tools/desk.yaml", "hidden: [/email]", "hidden: [/email, /total]")
    assert barrier.call(READ).to_json()["data"] == {"id": "a-1"}


def test_a_reload_that_does_not_load_changes_nothing(barrier: Barrier) -> None:
    """The last good policies stay in force; the rejection is an event."""

    def break_it() -> None:
        with (barrier.folder / "policy.csv").open("a") as rows:
            rows.write("p, agent, *, tools/desk, call, maybe\n")
        assert not barrier.desk.guard.reload()

    before = barrier.desk.guard.revision
    barrier.happens = break_it
    assert barrier.call(READ).status == "ok"
    assert barrier.desk.guard.revision == before
    assert barrier.desk.guard.health.degraded
    assert last(barrier.desk, "policy_rejected")["kept"] == before


@pytest.mark.promise("P6")
@pytest.mark.parametrize("is_async", [False, True])
def test_the_record_of_a_write_is_loaded_again(is_async: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that went away between decision and start keeps the write from starting."""
    desk = open_desk(after_authorize=[lambda call: monkeypatch.delitem(ORDERS, ("acme", "a-1"), raising=False)])
    call = desk.acall if is_async else desk.call
    assert call("order.refund", {"order": "a-1", "amount": 5}) == NOT_FOUND
    assert desk.ran == []


@pytest.mark.promise("P6")
def test_what_was_called_meanwhile_in_the_same_interaction_counts() -> None:
    """A call that was decided before another tool ran is judged with that tool among the called ones."""
    tools = (
        "tool: note.echo\n"
        "limits: [ { id: after, unless: { context: { called: { not: { contains: { const: order.find } } } } }, "
        "arguments: { text: { maxLength: 1 } } } ]\n"
        "allow: [ { id: a, roles: [agent] } ]\n"
        "---\ntool: order.find\nallow: [ { id: a, roles: [agent] } ]\n"
    )

    def meanwhile(call: Inspection) -> None:
        if call.tool == "note.echo" and not desk.ran:
            assert desk.call("order.find", {"order": "a-1"}, interaction="chat").status == "ok"

    desk = open_desk({"tools": tools}, after_authorize=[meanwhile])
    assert desk.call("note.echo", {"text": "long"}, interaction="chat") == FORBIDDEN
    assert [name for name, _ in desk.ran] == ["order.find"]
    assert desk.call("note.echo", {"text": "long"}, interaction="chat").status == "invalid_arguments"
    assert desk.call("note.echo", {"text": "long"}, interaction="other").status == "ok"


def test_a_loader_that_breaks_at_the_recheck_is_a_refusal() -> None:
    """What cannot be decided again is not done."""
    answers = iter([{"id": "a-1"}, RuntimeError("secret")])

    def load(id: str, tenant: str) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    desk = open_desk({"tools": "tool: some.thing\nallow: [ { id: a, roles: [agent] } ]\n", "rows": ROWS}, tools=False)

    @desk.guard.tool(
        "some.thing",
        kind="write",
        action="refund",
        use_when="x",
        not_for="y",
        resources={"o": Resource("order", "/o", load)},
    )
    def do(o: str) -> None:
        """Do it."""
        desk.entered("some.thing")

    assert desk.call("some.thing", {"o": "a-1"}) == FORBIDDEN
    assert desk.ran == []
    assert "secret" not in repr(desk.events())


ROWS = "p, agent, *, some.thing, call, allow\np, agent, *, order:*, refund, allow\n"


def test_policies_that_never_stop_changing_refuse(barrier: Barrier) -> None:
    """A call is not judged again without end."""
    runtime = barrier.desk.guard._runtime

    class Restless:
        """Policies of which every look shows a new snapshot."""

        is_stale = False

        def __init__(self) -> None:
            self.looks = 0

        @property
        def snapshot(self) -> Any:
            self.looks += 1
            return object()

        @property
        def current(self) -> Any:
            return live.current

    live = runtime.live
    restless = Restless()
    barrier.happens = lambda: setattr(runtime, "live", restless)
    assert barrier.call(READ) == FORBIDDEN
    assert 1 < restless.looks < 10
    assert barrier.desk.ran == []


@pytest.mark.promise("P6")
def test_a_change_while_the_ledger_commits_still_counts(barrier: Barrier, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task waits for the commit; what is withdrawn meanwhile keeps the body out, and it ends."""
    ledger = barrier.desk.guard._runtime.ledger
    start = ledger.start
    withdraw = barrier.change("policy.csv", "p, agent, *, tools/desk, call, allow\n", "")

    def slow_start(*arguments: Any) -> Any:
        started = start(*arguments)
        withdraw()
        return started

    monkeypatch.setattr(ledger, "start", slow_start)
    assert barrier.call(WRITE, is_async=True) == FORBIDDEN
    assert barrier.desk.ran == []
    assert [operation.state for operation in ledger.operations("failed")] == ["failed"]
    assert ledger.operations("started") == ()


def test_many_tasks_and_one_reload() -> None:
    """Calls that are under way in many tasks each see one revision, and none runs that the last one forbids."""
    desk = open_desk()
    before = len(desk.ran)

    async def run() -> list[Result]:
        token = desk.token()
        calls = [desk.guard.acall("note.echo", f'{{"text":"{number}"}}', token=token) for number in range(50)]
        return list(await asyncio.gather(*calls))

    results = asyncio.run(run())
    assert {result.status for result in results} == {"ok"}
    assert len(desk.ran) - before == 50


ONE = "tool: note.echo\nallow: [ { id: a, roles: [agent] } ]\n"


@pytest.mark.promise("P6")
@pytest.mark.parametrize(
    ("rows", "tools", "start", "step"),
    [
        ("p, agent, *, note.echo, call, allow, 2026-01-01\n", ONE, 23.9 * 3600, 600),
        (
            "p, agent, *, note.echo, call, allow\n",
            ONE.replace("roles: [agent]", "roles: [agent], context: { calendar: { contains: { const: night } } }"),
            22.9 * 3600,
            600,
        ),
    ],
)
def test_time_that_runs_out_while_a_call_waits_counts(rows: str, tools: str, start: float, step: float) -> None:
    """Midnight for a row with `until`, closing time for a calendar: the token holds, the right does not."""
    waits = [0.0]
    desk = open_desk({"rows": rows, "tools": tools}, after_authorize=[lambda call: desk.clock.advance(waits[0])])
    desk.clock.advance(start)
    assert desk.call("note.echo", {"text": "x"}, token=desk.token(lifetime=3600)).status == "ok"
    waits[0] = step
    assert desk.call("note.echo", {"text": "x"}, token=desk.token(lifetime=3600)) == FORBIDDEN
    assert len(desk.ran) == 1
    assert desk.event("permission_rechecked")["reason"]


@pytest.mark.promise("P6")
def test_a_tool_that_is_taken_away_does_not_run(barrier: Barrier) -> None:
    """What is registered at the last moment is what counts."""
    tools = barrier.desk.guard._runtime.tools
    barrier.happens = lambda: tools.pop("order.find")
    assert barrier.call(READ) == FORBIDDEN
    assert barrier.desk.ran == []
    assert last(barrier.desk, "permission_rechecked")["reason"] == "admission: closed"


@pytest.mark.promise("P10")
def test_a_tool_that_is_quarantined_meanwhile_does_not_run(barrier: Barrier) -> None:
    """Its catalog file no longer says what the code is."""
    barrier.happens = barrier.change("catalog/order.find.json", "Return one order.", "Return another.")
    assert barrier.call(READ) == FORBIDDEN
    assert barrier.desk.ran == []


@pytest.mark.promise("P6")
def test_other_filled_arguments_are_another_call(barrier: Barrier) -> None:
    """A pin that means something else now: entry and duties are the same, what would run is not."""
    pinned = "allow: [ { id: agent, roles: [agent], arguments: { tags: {}, text: { pin: { $tenant: motto } } } } ]"
    tools, names = barrier.folder / "tools" / "desk.yaml", barrier.folder / "names.yaml"
    plain = "allow: [ { id: agent, roles: [agent], arguments: { tags: {} } } ]"
    assert plain in tools.read_text()
    tools.write_text(tools.read_text().replace(plain, pinned))
    settings = "longest: { type: integer, default: 100 }"
    names.write_text(names.read_text().replace(settings, f'{settings}, motto: {{ type: string, default: "one" }}'))
    assert barrier.desk.guard.reload()
    assert barrier.call(("note.echo", {})).to_json()["data"]["text"] == "one"  # type: ignore[call-overload, index]
    barrier.happens = barrier.change("names.yaml", 'default: "one"', 'default: "two"')
    assert barrier.call(("note.echo", {})) == FORBIDDEN
    assert len(barrier.desk.ran) == 1


@pytest.mark.promise("P7")
def test_a_token_that_means_another_caller_now_is_not_the_one_that_was_judged(barrier: Barrier) -> None:
    """A role that was unknown at the decision and is declared at the body: the caller is another."""
    token = barrier.desk.issuer.token("amy", "acme", ["agent", "boss"])
    barrier.happens = barrier.change("names.yaml", "agent: {}, supervisor: {}", "agent: {}, supervisor: {}, boss: {}")
    assert barrier.call(READ, token=token) == FORBIDDEN
    assert barrier.desk.ran == []
    barrier.happens = lambda: None
    assert barrier.call(READ, token=token).status == "ok"


@pytest.mark.case(80)
def test_a_body_cannot_change_what_it_is_rechecked_by() -> None:
    """A stream that changes its argument, and a reload in the middle: the judged arguments are still what they were."""

    async def tool(tags: list[str]) -> Any:
        """Stream."""
        for number in range(250):
            tags.append("more")
            if number == 50:
                desk.guard.tool("other.tool", kind="read", use_when="x", not_for="y")(nothing)
                desk.call("other.tool")
            yield len(tags)

    def nothing() -> None:
        """Do nothing."""

    desk, _ = open_one(tool, entry="{ id: a, roles: [agent], arguments: { tags: { maxItems: 1 } } }")
    before = desk.guard.revision
    assert desk.call("some.thing", {"tags": ["a"]}).status == "ok"
    assert desk.guard.revision != before
    rechecked = [event for event in desk.journal.events() if event.kind == "permission_rechecked"]
    assert rechecked[-1].fields["outcome"] == "passed"
