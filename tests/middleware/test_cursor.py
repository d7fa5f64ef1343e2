"""Cursors: a tool's own, sealed to caller, tool, arguments and view; whatever is no such cursor is one complaint."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from gatewright import Guard, KeyRing, Misuse, Page
from gatewright.middleware.cursor import CURSOR_SECONDS
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

START = 1_800_000_000.0
TOOLS = """
tool: rows.list
allow:
  - { id: reader, roles: [reader], arguments: { cursor: {}, limit: {} } }
  - { id: intern, roles: [intern], arguments: { cursor: {}, limit: {} }, result: { rows: 2 } }
  - { id: glance, roles: [visitor] }
---
tool: rows.other
allow: [ { id: reader, roles: [reader], arguments: { cursor: {}, limit: {} } } ]
---
tool: rows.after
allow: [ { id: reader, roles: [reader], arguments: { after: {} } } ]
"""
POLICIES = {
    "names.yaml": (
        "roles: { reader: {}, intern: {}, visitor: {} }\nactors: [bot]\ntenants: { acme: {}, globex: {} }\ntypes: {}\n"
    ),
    "policy.csv": "".join(
        f"p, {role}, *, {tool}, call, allow\n"
        for role in ("reader", "intern", "visitor", "bot")
        for tool in ("rows.list", "rows.other", "rows.after")
    ),
    "tools/rows.yaml": TOOLS,
}
WORDS: dict[str, Any] = {"kind": "read", "use_when": "Rows are asked for.", "not_for": "Anything else."}


class Shelf:
    """A guard whose tools page through ten rows; `seen` are the cursors that their bodies were given."""

    def __init__(self, keys: KeyRing | None = None, **changed: str) -> None:
        self.clock = FakeClock(START)
        self.issuer = FakeIssuer(algorithm="EdDSA", clock=self.clock)
        self.journal = ListJournal()
        self.seen: list[str | None] = []
        self.own = lambda end: str(end)
        profile = self.issuer.profile(["acme", "globex"], actor={"claim": "act", "roles": "roles"}, lifetime="9h")
        identity = {"identity.yaml": json.dumps({"issuers": [profile]})}
        self.guard = Guard(
            {**POLICIES, **identity, **changed},
            journal=self.journal,
            ledger=":memory:",
            keys=keys or KeyRing.from_secret("k" * 32),
            clock=self.clock,
            watch=False,
        )
        self.rows = self.guard.tool("rows.list", **WORDS)(self._list())
        self.guard.tool("rows.other", **WORDS)(self._list())
        self.guard.tool("rows.after", cursor="/after", **WORDS)(self._after())

    def _page(self, cursor: str | None, limit: int) -> Page[int]:
        self.seen.append(cursor)
        begin = int(cursor or 0)
        end = begin + limit
        return Page(items=list(range(begin, min(end, 10))), next_cursor=self.own(end) if end < 10 else None)

    def _list(self) -> Callable[..., Any]:
        def rows(query: str = "", limit: int = 4, cursor: str | None = None) -> Page[int]:
            """List rows."""
            return self._page(cursor, limit)

        return rows

    def _after(self) -> Callable[..., Any]:
        def rows(after: str | None = None) -> Page[int]:
            """List rows."""
            return self._page(after, 4)

        return rows

    def token(self, role: str = "reader", tenant: str = "acme", sub: str = "amy", **more: Any) -> str:
        """A token that lasts the day."""
        return self.issuer.token(sub, tenant, [role], lifetime=8 * 3600, **more)

    def ask(self, arguments: Mapping[str, Any], tool: str = "rows.list", **who: Any) -> dict[str, Any]:
        """What the caller hears."""
        return dict(self.guard.call(tool, json.dumps(arguments), token=self.token(**who)).to_json())


@pytest.fixture
def shelf() -> Iterator[Shelf]:
    """A shelf, closed afterwards."""
    made = Shelf()
    yield made
    made.guard.close()


def refused(answer: Mapping[str, Any]) -> bool:
    """Whether it is the one complaint about cursors."""
    return answer["status"] == "invalid_arguments" and answer["reason"] == "cursor_invalid"


def test_a_tool_pages_with_its_own_cursor_and_the_caller_with_a_sealed_one(shelf: Shelf) -> None:
    """Page by page to the end; nothing of the tool's own cursor can be read in what leaves."""
    asked: dict[str, Any] = {"limit": 4}
    found = []
    while True:
        page = shelf.ask(asked)
        found += page["items"]
        if page["next_cursor"] is None:
            break
        assert page["truncated"] is False
        asked = {"limit": 4, "cursor": page["next_cursor"]}
    assert found == list(range(10))
    assert shelf.seen == [None, "4", "8"]


def test_a_cursor_is_for_the_same_call_however_it_is_written(shelf: Shelf) -> None:
    """Defaults said or left out, another order of names, a null cursor: the filled arguments count."""
    sealed = shelf.ask({"cursor": None})["next_cursor"]
    for arguments in ({"cursor": sealed}, {"cursor": sealed, "limit": 4}, {"limit": 4, "cursor": sealed}):
        assert shelf.ask(arguments)["items"] == [4, 5, 6, 7]


@pytest.mark.promise("P12")
@pytest.mark.parametrize(
    "who",
    [
        {"sub": "bob"},
        {"tenant": "globex"},
        {"role": "intern"},
        {"act": {"sub": "helper", "roles": ["bot"]}},
        {"tool": "rows.other"},
    ],
)
def test_a_cursor_of_another_caller_tenant_actor_role_or_tool_is_invalid(shelf: Shelf, who: dict[str, Any]) -> None:
    """The same text, the same arguments, another call."""
    sealed = shelf.ask({"limit": 3})["next_cursor"]
    assert refused(shelf.ask({"limit": 3, "cursor": sealed}, **who))
    assert shelf.seen == [None], "no body was entered"


def test_a_cursor_for_other_arguments_is_invalid(shelf: Shelf) -> None:
    """Another size of pages is another call too."""
    sealed = shelf.ask({"limit": 3})["next_cursor"]
    assert refused(shelf.ask({"limit": 4, "cursor": sealed}))
    assert shelf.ask({"limit": 3, "cursor": sealed})["items"] == [3, 4, 5]


def tampered(sealed: str) -> Iterator[str]:
    """Texts that are not *sealed*, from one bit off to made up."""
    raw = bytearray(base64.urlsafe_b64decode(sealed + "=" * (-len(sealed) % 4)))
    for place in range(0, len(raw), 7):
        changed = bytearray(raw)
        changed[place] ^= 1
        yield base64.urlsafe_b64encode(changed).rstrip(b"=").decode()
    yield from (sealed[:length] for length in (0, 1, 4, 16, len(sealed) // 2, len(sealed) - 1))
    yield from (sealed + "=", sealed + "A", " " + sealed, sealed.swapcase(), "4", "null", "../", "é", "\ud7ff" * 9)


@pytest.mark.promise("P4")
def test_whatever_is_wrong_with_a_cursor_the_bytes_are_equal(shelf: Shelf) -> None:
    """Changed, cut, made up, foreign: one complaint, which says nothing of which it was."""
    sealed = shelf.ask({"limit": 3})["next_cursor"]
    foreign = shelf.ask({"limit": 3}, sub="bob")["next_cursor"]
    shelf.seen.clear()
    answers = {json.dumps(shelf.ask({"limit": 3, "cursor": text})) for text in (*tampered(sealed), foreign)}
    assert len(answers) == 1
    answer = json.loads(answers.pop())
    assert refused(answer)
    assert answer["field"] == "/cursor"
    assert shelf.seen == []


def test_a_cursor_is_usable_for_an_hour(shelf: Shelf) -> None:
    """Then it is as bad as any other; a page in between gives a new one."""
    first = shelf.ask({})["next_cursor"]
    shelf.clock.advance(CURSOR_SECONDS)
    second = shelf.ask({"cursor": first})["next_cursor"]
    shelf.clock.advance(1)
    assert refused(shelf.ask({"cursor": first}))
    assert shelf.ask({"cursor": second})["items"] == [8, 9]


def test_a_cursor_made_far_ahead_of_this_machines_clock_is_invalid(shelf: Shelf) -> None:
    """A minute between machines is nothing."""
    first = shelf.ask({})["next_cursor"]
    shelf.clock.advance(-30)
    assert shelf.ask({"cursor": first})["items"] == [4, 5, 6, 7]
    shelf.clock.advance(-60)
    assert refused(shelf.ask({"cursor": first}))


def test_keys_rotate_and_old_cursors_go_with_the_secret() -> None:
    """While the ring holds the old secret its cursors open; new ones are sealed with the new one."""
    old, new = "o" * 32, "n" * 32
    sealed = Shelf(KeyRing.from_secret(old)).ask({})["next_cursor"]
    assert Shelf(KeyRing.from_secret(new, old)).ask({"cursor": sealed})["items"] == [4, 5, 6, 7]
    assert refused(Shelf(KeyRing.from_secret(new)).ask({"cursor": sealed}))


def test_a_policy_that_changes_the_callers_view_ends_its_cursors() -> None:
    """Another revision alone does not."""
    sealed = Shelf().ask({})["next_cursor"]
    other = TOOLS.replace("cursor: {}, limit: {} } }", "cursor: {}, limit: {} }, result: { rows: 9 } }", 1)
    assert refused(Shelf(**{"tools/rows.yaml": other}).ask({"cursor": sealed}))
    rows = {"policy.csv": POLICIES["policy.csv"] + "p, visitor, acme, rows.other, call, deny\n"}
    assert Shelf(**rows).ask({"cursor": sealed})["items"] == [4, 5, 6, 7]


def test_a_caller_without_the_argument_is_told_that_rows_were_left_out(shelf: Shelf) -> None:
    """A cursor that nothing takes would be no use; no cursor and no mark would be a lie."""
    page = shelf.ask({}, role="visitor")
    assert (page["items"], page["next_cursor"], page["truncated"]) == ([0, 1, 2, 3], None, True)
    assert shelf.ask({"cursor": "4"}, role="visitor")["reason"] == "unknown_argument"


def test_the_length_of_a_cursor_does_not_tell_the_length_of_the_tools_own(shelf: Shelf) -> None:
    """A tool's own may be a count of rows, among them some that the caller may not see."""
    lengths = set()
    for own in ("1", "12345", "x" * 50):
        shelf.own = lambda end, own=own: own  # type: ignore[misc]
        lengths.add(len(shelf.ask({})["next_cursor"]))
    assert len(lengths) == 1


def test_a_cursor_argument_of_another_name_is_declared(shelf: Shelf) -> None:
    """`cursor="/after"`; its complaint names it."""
    sealed = shelf.ask({}, tool="rows.after")["next_cursor"]
    assert shelf.ask({"after": sealed}, tool="rows.after")["items"] == [4, 5, 6, 7]
    answer = shelf.ask({"after": "8"}, tool="rows.after")
    assert refused(answer)
    assert answer["field"] == "/after"


def test_a_direct_call_pages_with_sealed_cursors_too(shelf: Shelf) -> None:
    """What it returns goes on to a framework and to a model."""
    with shelf.guard.session(shelf.token()):
        first = shelf.rows()
        assert first.items == [0, 1, 2, 3]
        assert first.next_cursor not in (None, "4")
        assert shelf.rows(cursor=first.next_cursor).items == [4, 5, 6, 7]


def test_events_hold_no_cursor(shelf: Shelf) -> None:
    """Neither the tool's own nor the sealed one, in whatever a call with it leaves behind."""
    shelf.own = lambda end: f"s3cret{end}"
    sealed = shelf.ask({})["next_cursor"]
    shelf.ask({"cursor": sealed + "x"})
    lines = b"".join(shelf.journal.lines)
    assert b"s3cret" not in lines
    assert sealed.encode() not in lines


def test_the_catalog_says_which_argument_takes_cursors(shelf: Shelf) -> None:
    """So a tool that begins or ceases to take them is another tool, and is accepted anew."""
    files = shelf.guard.catalog()
    assert json.loads(files["catalog/rows.list.json"])["flags"] == {"/cursor": ["cursor"]}
    assert json.loads(files["catalog/rows.after.json"])["flags"] == {"/after": ["cursor"]}


def test_what_can_be_no_cursor_is_refused_when_decorating() -> None:
    """No such argument, one that is narrowed or no text, a result that is no page."""

    def numbered(cursor: int = 0) -> Page[int]:
        """Page by number."""
        return Page(items=[])

    def alone(cursor: str | None = None) -> int:
        """No page."""
        return 1

    guard = Guard(POLICIES | {"identity.yaml": "issuers: []"}, journal=ListJournal(), ledger=":memory:", watch=False)
    for place, function in (("/no", numbered), ("/cursor", numbered), ("/cursor", alone)):
        with pytest.raises(Misuse):
            guard.tool("rows.bad", cursor=place, **WORDS)(function)
    guard.tool("rows.numbered", **WORDS)(numbered)
    guard.tool("rows.alone", **WORDS)(alone)
    assert all("flags" not in text or '"cursor"]' not in text for text in guard.catalog().values())
    guard.close()
