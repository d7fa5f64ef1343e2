"""One conversation: attempts, what was called, what was listed, and how it is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from desk import Desk, open_desk, open_one
from gatewright import Fact, Failed
from gatewright.middleware.bounds import GUESSES
from gatewright.middleware.interaction import Interaction, Interactions, Progress, Shown
from gatewright.policy.caller import Caller

WRONG = {"text": 7}
RIGHT = {"text": "x"}


@pytest.fixture
def desk() -> Desk:
    """A desk of its own for each test."""
    return open_desk()


def attempts(result: Any) -> tuple[int, int, str]:
    """What a result says of attempts."""
    told = result.to_json()
    return told["attempt"], told["attempts_left"], told["next"]


@pytest.mark.parametrize("as_object", [False, True])
def test_two_repairs_and_then_stop(desk: Desk, as_object: bool) -> None:
    """Counted per interaction and tool; at the end a sentence for the user."""
    chat: Any = desk.guard.interaction("chat") if as_object else "chat"
    told = [desk.call("note.echo", WRONG, interaction=chat) for _ in range(4)]
    assert [attempts(result) for result in told] == [
        (1, 2, "fix_arguments"),
        (2, 1, "fix_arguments"),
        (3, 0, "stop"),
        (4, 0, "stop"),
    ]
    assert "user_message" in told[2].to_json()
    assert "user_message" not in told[1].to_json()
    assert desk.event("schema_validated")["attempts_left"] == 0
    assert desk.ran == []


def test_a_valid_call_starts_the_count_again(desk: Desk) -> None:
    """And so does another tool, another subject, another tenant or another interaction have its own."""
    desk.call("note.echo", WRONG, interaction="chat")
    assert attempts(desk.call("note.echo", WRONG, interaction="chat"))[0] == 2
    assert attempts(desk.call("note.echo", WRONG, interaction="other"))[0] == 1
    assert attempts(desk.call("note.stream", {}, interaction="chat"))[0] == 1
    assert attempts(desk.call("note.echo", WRONG, interaction="chat", token=desk.token(sub="bob")))[0] == 1
    assert attempts(desk.call("note.echo", WRONG, interaction="chat", token=desk.token(tenant="globex")))[0] == 1
    assert desk.call("note.echo", RIGHT, interaction="chat").status == "ok"
    assert attempts(desk.call("note.echo", WRONG, interaction="chat"))[0] == 1


def test_calls_of_no_interaction_count_for_themselves(desk: Desk) -> None:
    """There is nothing that joins them."""
    assert [attempts(desk.call("note.echo", WRONG))[0] for _ in range(3)] == [1, 1, 1]


def test_refusals_never_count(desk: Desk) -> None:
    """A forbidden call is no attempt at arguments."""
    for _ in range(3):
        desk.call("order.find", {"order": "g-1"}, interaction="chat")
        desk.call("desk.wipe", WRONG, interaction="chat")
    assert attempts(desk.call("order.find", {}, interaction="chat"))[0] == 1


def test_the_application_says_how_many_repairs_there_are() -> None:
    """Two unless it says otherwise."""
    desk = open_desk(repairs=0)
    assert attempts(desk.call("note.echo", WRONG, interaction="chat")) == (1, 0, "stop")


def test_malformed_and_business_errors_count_alike(desk: Desk) -> None:
    """Every layer is an attempt at the same arguments."""
    wrong: list[Any] = ["{", WRONG, {"text": "x" * 200}]
    assert [attempts(desk.call("note.echo", each, interaction="chat"))[0] for each in wrong] == [1, 2, 3]


def test_retryable_failures_are_capped() -> None:
    """After two in a row it no longer says that the identical call may be repeated."""

    def tool(fine: bool) -> None:
        """Fail."""
        if not fine:
            raise Failed("unavailable")

    desk, _ = open_one(tool)
    told = [
        desk.call("some.thing", {"fine": fine}, interaction="chat").to_json() for fine in (*[False] * 3, True, False)
    ]
    assert [result.get("retryable") for result in told] == [True, True, False, None, True]
    assert told[2]["next"] == "stop"


def changed_desk(**options: Any) -> tuple[Desk, Any]:
    """A desk, and a conversation whose model was shown another schema of one tool than the one in force."""
    desk = open_desk(**options)
    chat = desk.guard.interaction("chat")
    desk.guard.tools(desk.token(), interaction=chat)
    assert "schema_changed" not in desk.call("note.echo", RIGHT, interaction=chat).to_json()
    _progress(desk, chat).show({"note.echo": Shown("another", "plain")})
    return desk, chat


def test_a_call_against_another_schema_than_the_listed_one_says_so() -> None:
    """The model was shown something else; the attempt is told so, and so is a success, until it is listed again."""
    desk, chat = changed_desk()
    assert desk.call("note.echo", WRONG, interaction=chat).to_json()["schema_changed"] is True
    assert desk.call("note.echo", RIGHT, interaction=chat).to_json()["schema_changed"] is True
    desk.guard.tools(desk.token(), interaction=chat)
    assert "schema_changed" not in desk.call("note.echo", RIGHT, interaction=chat).to_json()


def test_an_attempt_against_a_schema_that_has_changed_does_not_count() -> None:
    """Once a change: a model that goes on with the old schema uses up its repairs like any other."""
    desk, chat = changed_desk()
    told = [attempts(desk.call("note.echo", WRONG, interaction=chat)) for _ in range(4)]
    assert told == [(0, 2, "fix_arguments"), (1, 2, "fix_arguments"), (2, 1, "fix_arguments"), (3, 0, "stop")]
    _progress(desk, chat).show({"note.echo": Shown("a third", "plain")})
    assert attempts(desk.call("note.echo", WRONG, interaction=chat))[0] == 4, "it was told of this schema already"


def test_arguments_that_only_a_fact_refuses_count_too() -> None:
    """A schema that passes is not yet a valid call: the repairs of a fact's limit end as well."""

    def tool(n: int) -> int:
        """Return n."""
        return n

    facts = {"double": Fact(lambda arguments: arguments["n"] * 2, field="/n")}
    entry = "{ id: a, roles: [agent], facts: { double: { maximum: 10 } } }"
    desk, _ = open_one(tool, facts=facts, entry=entry)
    told = [attempts(desk.call("some.thing", {"n": n}, interaction="chat")) for n in (6, 7, 8)]
    assert told == [(1, 2, "fix_arguments"), (2, 1, "fix_arguments"), (3, 0, "stop")]
    assert desk.call("some.thing", {"n": 5}, interaction="chat").status == "ok"
    assert attempts(desk.call("some.thing", {"n": 6}, interaction="chat"))[0] == 1


def _progress(desk: Desk, chat: Any) -> Progress:
    return desk.guard._runtime.interactions.progress(chat, _caller(desk))


def _caller(desk: Desk) -> Caller:
    return desk.guard._runtime.live.current.tokens.resolve(desk.token(), desk.clock.time())


def test_called_is_what_was_entered_in_the_order_of_the_first_time(desk: Desk) -> None:
    """Refused calls are not among them."""
    chat = desk.guard.interaction("chat", task="T-1")
    for tool, arguments in (
        ("note.echo", RIGHT),
        ("desk.wipe", {}),
        ("order.find", {"order": "a-1"}),
        ("note.echo", RIGHT),
    ):
        desk.call(tool, arguments, interaction=chat)
    assert chat.called == ("note.echo", "order.find")
    assert desk.event("request_received")["task"] == "T-1"


def test_interactions_known_by_id_are_bounded_and_expire() -> None:
    """What is forgotten starts anew; the object is kept by whoever holds it."""
    now = [0.0]
    interactions = Interactions(lambda: now[0], most=2, lifetime=10)
    amy = Caller("amy", "acme", frozenset())
    first = interactions.progress("a", amy)
    assert interactions.progress("a", amy) is first
    assert interactions.progress("a", Caller("amy", "globex", frozenset())) is not first
    interactions.progress("b", amy)
    interactions.progress("c", amy)
    assert interactions.progress("a", amy) is not first
    kept = interactions.progress("c", amy)
    now[0] = 11
    assert interactions.progress("c", amy) is not kept
    chat = Interaction("a")
    assert interactions.progress(chat, amy) is interactions.progress(chat, amy)
    assert interactions.progress(None, amy) is not interactions.progress(None, amy)


def test_two_objects_of_one_id_are_one_interaction(desk: Desk) -> None:
    """A server makes one for each request: attempts, what was called and what was refused go on counting."""

    def chat() -> Interaction:
        return desk.guard.interaction("chat")

    told = [attempts(desk.call("note.echo", WRONG, interaction=each))[0] for each in (chat(), "chat", chat())]
    assert told == [1, 2, 3]
    desk.call("note.echo", RIGHT, interaction=chat())
    assert _progress(desk, chat()).called == _progress(desk, "chat").called == ("note.echo",)
    for _ in range(GUESSES):
        desk.call("desk.wipe", {}, interaction=chat())
    assert desk.call("note.echo", RIGHT, interaction=chat()).status == "forbidden"
    assert desk.call("note.echo", RIGHT, interaction=desk.guard.interaction("another")).status == "ok"


def test_an_object_keeps_what_its_id_has_lost_and_joins_no_other_guard() -> None:
    """Whoever holds it goes on with it, and whoever names its id; two guards never share what was done."""
    interactions, others = (Interactions(lambda: 0.0, most=1) for _ in range(2))
    amy, chat = Caller("amy", "acme", frozenset()), Interaction("a")
    first = interactions.progress(chat, amy)
    interactions.progress("b", amy)
    assert interactions.progress(chat, amy) is first
    assert interactions.progress("a", amy) is first
    assert others.progress(chat, amy) is not first
    assert interactions.progress(chat, amy) is first
