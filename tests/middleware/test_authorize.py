"""Authorization with records: declared facts, loaders, several resources, and absence told by one rule only."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from code_paths import lines_of
from gatewright import Failed, Guard, NotFound, Page, Resource
from gatewright.middleware.results import Result
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

CLOCK = FakeClock()
ISSUER = FakeIssuer(algorithm="EdDSA", clock=CLOCK)
FORBIDDEN = b'{"status":"forbidden","retryable":false}'
NOT_FOUND = b'{"status":"not_found","retryable":false,"next":"stop"}'
CLAIMS = {"type": "object", "properties": {"branch": {"type": "string"}}}
SENTENCE = "No such account for this customer."
POLICIES = {
    "names.yaml": (
        "roles: { teller: {}, head: {}, chief: {}, aide: {}, guest: {} }\ntenants: { acme: {}, globex: {} }\n"
        "types: { account: [move], desk: [move] }\n"
    ),
    "policy.csv": "".join(
        f"p, {role}, *, money.move, call, allow\np, {role}, *, money.sent, call, allow\n"
        f"p, {role}, *, account:*, move, allow\np, {role}, *, desk:*, move, allow\n"
        for role in ("teller", "head", "chief", "aide")
    )
    + "p, chief, globex, account:secret, move, deny\n",
    "identity.yaml": json.dumps({"issuers": [ISSUER.profile(["acme", "globex"], claims=CLAIMS)]}),
    "tools/money.yaml": f"""
tool: money.move
refusal: {SENTENCE}
allow:
  - id: teller
    roles: [teller]
    arguments: {{ note: {{}} }}
    resource: {{ source: {{ branch: {{ const: {{ $identity: branch }} }} }}, target: {{ branch: {{ minLength: 1 }} }} }}
  - id: aide
    roles: [aide]
    resource: {{ target: {{ branch: {{ const: {{ $resource: source.branch }} }} }} }}
  - {{ id: head, roles: [head], arguments: {{ note: {{}} }} }}
  - id: chief
    roles: [chief]
    arguments: {{ note: {{}} }}
    result: {{ keep: {{ /items: {{ mine: {{ const: true }} }} }} }}
---
tool: money.sent
allow:
  - {{ id: all, roles: [teller, head, chief] }}
""",
}
ACCOUNTS = {
    ("acme", "a"): {"branch": "one"},
    ("acme", "b"): {"branch": "two"},
    ("globex", "g"): {"branch": "one"},
}
ASKED = {"source": "a", "target": "b"}


class Bank:
    """A guard whose loaders, check and body do what the test wants."""

    def __init__(self) -> None:
        self.journal = ListJournal()
        self.loaded: list[tuple[str, str]] = []
        self.ran = 0
        self.load: Callable[[str, str], Any] = lambda identity, tenant: ACCOUNTS.get((tenant, identity))
        self.check: Callable[[], object] = lambda: None
        self.body: Callable[[], object] = lambda: None
        self.guard = Guard(POLICIES, journal=self.journal, ledger=":memory:", keys="k" * 32, clock=CLOCK, watch=False)
        _open_tools(self)

    def fetch(self, identity: str, tenant: str) -> Any:
        """The loader of every resource."""
        self.loaded.append((tenant, identity))
        return self.load(identity, tenant)

    def ask(self, role: str = "teller", tenant: str = "acme", **arguments: Any) -> Result:
        """One call as a model makes it."""
        token = ISSUER.token("amy", tenant, [role], branch="one")
        return self.guard.call("money.move", json.dumps(arguments or ASKED), token=token)

    def reason(self) -> Any:
        """Why the last call was decided as it was."""
        events = self.guard.events(self.guard.last_call_id or "")
        return [event.fields.get("reason") for event in events if event.kind == "permission_decided"][-1]


def _open_tools(bank: Bank) -> None:
    words: dict[str, Any] = {"use_when": "Asked for.", "not_for": "Anything else."}
    told: dict[str, Any] = {"type": "object", "properties": {"branch": {"type": "string"}}}
    resources = {
        "source": Resource("account", at="/source", load=bank.fetch, scope="tenant", attributes=told),
        "target": Resource("account", at="/target", load=bank.fetch, scope="tenant", attributes=told),
        "desk": Resource("desk", at="/note", scope="any"),
    }

    def ask_first(arguments: dict[str, Any], records: dict[str, Any]) -> object:
        assert set(records) <= {"source", "target"}
        return bank.check()

    @bank.guard.tool("money.move", kind="read", action="move", resources=resources, checks=[ask_first], **words)
    def move(source: str, target: str, note: str | None = None) -> Page[dict[str, bool]]:
        """Move."""
        bank.ran += 1
        bank.body()
        return Page(items=[])

    @bank.guard.tool("money.sent", kind="read", **words)
    def sent(id: str) -> str:
        """Say whether it was sent; the body looks the id up itself."""
        raise NotFound


@pytest.fixture
def bank() -> Iterator[Bank]:
    """A bank, closed afterwards."""
    made = Bank()
    yield made
    made.guard.close()


def raising(error: BaseException) -> Callable[..., Any]:
    """A function that raises *error* whatever it is given."""

    def fail(*_: object) -> Any:
        raise error

    return fail


def test_several_records_of_one_call_are_all_loaded_and_must_all_pass(bank: Bank) -> None:
    """Each is asked for in order, and the first that does not pass is only named in the event."""
    assert bank.ask().status == "ok"
    bank.loaded.clear()
    assert bank.ask(source="g", target="none").to_bytes() == FORBIDDEN
    assert bank.loaded == [("acme", "g"), ("acme", "none")]
    assert bank.reason() == "source: condition or absent"
    assert bank.ran == 1


@pytest.mark.case(71)
@pytest.mark.promise("P4")
@pytest.mark.parametrize(
    "load",
    [
        raising(KeyError("s3cret")),
        raising(PermissionError("s3cret")),
        raising(NotFound()),
        lambda *_: 3,
        lambda *_: object(),
        lambda *_: None,
        lambda *_: {"branch": "two"},
        lambda *_: {},
    ],
)
@pytest.mark.parametrize("provider", ["openai", "mcp", "plain"])
def test_a_loader_that_raises_refuses_as_a_foreign_record_does(
    bank: Bank, load: Callable[..., Any], provider: Any
) -> None:
    """The same bytes and the same sentence beside them: how a loader fails tells nothing of what is there."""
    foreign = bank.ask(source="b", target="a")
    bank.load = load
    answer = bank.ask()
    assert answer.to_bytes() == foreign.to_bytes() == FORBIDDEN
    assert answer.to_message(provider, "c") == foreign.to_message(provider, "c")
    assert SENTENCE in json.dumps(answer.to_message(provider, "c"))
    assert b"s3cret" not in b"".join(bank.journal.lines)
    assert bank.ran == 0


def test_a_loader_that_raises_is_an_event_and_never_an_absence(bank: Bank) -> None:
    """A head may hear not_found; a broken loader is no absence, whatever it raised."""
    bank.load = lambda *_: None
    assert bank.ask("head").to_bytes() == NOT_FOUND
    bank.load = lambda identity, _: None if identity == "a" else raising(OSError())()
    assert bank.ask("head").to_bytes() == FORBIDDEN
    assert bank.reason() == "source: condition or absent"
    bank.load = raising(OSError())
    assert bank.ask("head").to_bytes() == FORBIDDEN
    assert bank.reason() == "loader: source: OSError"


@pytest.mark.case(71)
@pytest.mark.parametrize("where", ["load", "check", "body"])
@pytest.mark.parametrize(
    ("role", "tenant", "more", "answer"),
    [
        ("head", "acme", {}, NOT_FOUND),
        ("teller", "acme", {}, FORBIDDEN),  # a condition on a resource
        ("head", "acme", {"note": "desk-1"}, FORBIDDEN),  # a resource whose scope is any
        ("chief", "globex", {}, FORBIDDEN),  # a deny row that names an id of the type
    ],
)
def test_absence_is_told_by_one_rule_wherever_it_is_noticed(
    bank: Bank, where: str, role: str, tenant: str, more: dict[str, str], answer: bytes
) -> None:
    """By the loader, a check or the body: `not_found` only where the caller may see every id that could be there."""
    bank.load = lambda *_: {"branch": "one"}
    setattr(bank, where, raising(NotFound()))
    assert bank.ask(role, tenant, **{**ASKED, **more}).to_bytes() == answer


@pytest.mark.parametrize(("where", "answer"), [("load", NOT_FOUND), ("check", FORBIDDEN), ("body", FORBIDDEN)])
def test_where_rows_are_kept_from_a_caller_a_tool_does_not_tell_absence(bank: Bank, where: str, answer: bytes) -> None:
    """What the tool did not find may be a row that the caller must not know of; a loader knows no rows."""
    bank.load = lambda *_: {"branch": "one"}
    setattr(bank, where, raising(NotFound()))
    assert bank.ask("chief").to_bytes() == answer


def test_a_tool_that_names_no_resource_never_tells_absence(bank: Bank) -> None:
    """Nobody has said which ids the caller may see."""
    token = ISSUER.token("amy", "acme", ["head"])
    assert bank.guard.call("money.sent", '{"id":"7"}', token=token).to_bytes() == FORBIDDEN


@pytest.mark.parametrize("where", ["check", "body"])
def test_the_tool_files_sentence_stands_beside_every_refusal_of_an_admitted_caller(bank: Bank, where: str) -> None:
    """Whoever refuses after admission, the words are the same; before it there are none."""
    setattr(bank, where, raising(PermissionError()))
    assert SENTENCE in json.dumps(bank.ask().to_message("plain", "c"))
    assert SENTENCE not in json.dumps(bank.ask("guest").to_message("plain", "c"))


def test_a_check_may_fail_in_a_way_that_is_told(bank: Bank) -> None:
    """A stated failure is no refusal, and has no sentence beside it."""
    bank.check = raising(Failed("business_rule"))
    answer = bank.ask()
    assert answer.to_json()["code"] == "business_rule"
    assert SENTENCE not in json.dumps(answer.to_message("plain", "c"))


@pytest.mark.promise("P4")
@pytest.mark.parametrize("role", ["teller", "aide"])
@pytest.mark.parametrize("place", ["source", "target"])
def test_one_of_two_records_foreign_or_absent_takes_the_same_path(bank: Bank, role: str, place: str) -> None:
    """Also where a condition on the one asks for an attribute of the other."""
    ways = []
    for identity in ("b", "g", "none") * 2:
        asked = {"source": "a", "target": "a", place: identity}

        def ask(asked: dict[str, str] = asked) -> None:
            assert bank.ask(role, **asked).to_bytes() == FORBIDDEN or (role, place, asked[place]) == (
                "teller",
                "target",
                "b",
            )

        ways.append(lines_of(ask))
    foreign, elsewhere, absent = ways[3:]
    assert elsewhere == absent
    if (role, place) != ("teller", "target"):
        assert foreign == absent
