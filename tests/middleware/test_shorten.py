"""Results that are too long: cut where the cut can be said, withheld where it cannot; stamps beside a value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gatewright import Guard, Misuse, Page, Stamped
from gatewright.middleware.bounds import Bounds
from gatewright.middleware.results import Ok, OkPage
from gatewright.middleware.shorten import shorten
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

CLOCK = FakeClock()
ISSUER = FakeIssuer(algorithm="EdDSA", clock=CLOCK)
TOOLS = ("page", "rows", "text", "sums", "least", "write", "stamped")
POLICIES = {
    "names.yaml": "roles: { clerk: {}, hasher: {} }\ntenants: { acme: {} }\ntypes: {}\n",
    "policy.csv": "".join(f"p, {role}, *, big.{tool}, call, allow\n" for role in ("clerk", "hasher") for tool in TOOLS),
    "identity.yaml": json.dumps({"issuers": [ISSUER.profile(["acme"])]}),
    "tools/big.yaml": "\n---\n".join(f"tool: big.{tool}\nallow: [ {{ id: all, roles: [clerk] }} ]" for tool in TOOLS)
    .replace(
        "tool: big.rows\nallow: [",
        "tool: big.rows\nallow: [ { id: hashed, roles: [hasher], result: { mask: { /*: hash } } },",
    )
    .replace("tool: big.page\nallow: [ { id: all", "tool: big.page\nallow: [ { id: all, arguments: { cursor: {} }"),
}
MOST = 400
WITHHELD = {"status": "failed", "code": "invalid_result", "retryable": False, "retry_after": None, "next": "ask_human"}


class Store:
    """A guard whose tools return what the test wants, of at most 400 bytes."""

    def __init__(self, most: int = MOST) -> None:
        self.most = most
        self.journal = ListJournal()
        self.value: Any = None
        self.guard = Guard(
            POLICIES,
            journal=self.journal,
            ledger=":memory:",
            keys="k" * 32,
            clock=CLOCK,
            watch=False,
            result_bytes=most,
        )
        words: dict[str, Any] = {"use_when": "Asked for.", "not_for": "Anything else."}

        @self.guard.tool("big.page", kind="read", **words)
        def page(cursor: str | None = None) -> Page[str]:
            """A page."""
            return self.value  # type: ignore[no-any-return]

        @self.guard.tool("big.rows", kind="read", **words)
        def rows() -> list[str]:
            """A list."""
            return self.value  # type: ignore[no-any-return]

        @self.guard.tool("big.text", kind="read", **words)
        def text() -> str:
            """A text."""
            return self.value  # type: ignore[no-any-return]

        @self.guard.tool("big.sums", kind="read", **words)
        def sums() -> dict[str, list[str]]:
            """Lists."""
            return self.value  # type: ignore[no-any-return]

        least = {"type": "array", "items": {"type": "string"}, "minItems": 5}

        @self.guard.tool("big.least", kind="read", result=least, **words)
        def at_least() -> list[str]:
            """A list of five or more."""
            return self.value  # type: ignore[no-any-return]

        @self.guard.tool("big.write", kind="write", **words)
        def write() -> str:
            """A write."""
            return self.value  # type: ignore[no-any-return]

        @self.guard.tool("big.stamped", kind="read", **words)
        def stamped() -> Stamped[list[str]]:
            """A list with a time."""
            return self.value  # type: ignore[no-any-return]

        self.stamped, self.rows = stamped, rows

    def ask(self, tool: str, value: Any, role: str = "clerk") -> dict[str, Any]:
        """What the caller hears where the tool returns *value*."""
        self.value = value
        result = self.guard.call(f"big.{tool}", "{}", token=ISSUER.token("amy", "acme", [role]))
        assert len(result.to_bytes()) <= self.most
        return dict(result.to_json())

    def reason(self) -> Any:
        """Why the last result was withheld."""
        return [event.fields.get("reason") for event in self.journal.events() if event.kind == "result_validated"][-1]


@pytest.fixture
def store() -> Iterator[Store]:
    """A store, closed afterwards."""
    made = Store()
    yield made
    made.guard.close()


def test_a_page_that_is_too_long_loses_its_last_items_and_says_so(store: Store) -> None:
    """As many as fit; one more would not."""
    whole = [f"row {number}" for number in range(100)]
    answer = store.ask("page", Page(items=whole))
    kept = len(answer["items"])
    assert answer == {"status": "ok", "items": whole[:kept], "next_cursor": None, "truncated": True}
    longer = OkPage(whole[: kept + 1], None, True)
    assert len(longer.to_bytes()) > MOST


def test_a_page_with_a_cursor_fits_too(store: Store) -> None:
    """The sealed cursor is weighed with the rest, and goes on behind the page that the tool made."""
    answer = store.ask("page", Page(items=["x" * 20] * 15, next_cursor="15"))
    assert answer["truncated"] is True
    assert 0 < len(answer["items"]) < 15
    assert answer["next_cursor"]


def test_a_list_that_is_too_long_is_cut_and_says_so(store: Store) -> None:
    """Whatever the bytes of its rows in UTF-8."""
    answer = store.ask("rows", ["h\u00e9\u4f60"] * 100)
    assert answer["truncated"] is True
    assert 20 < len(answer["data"]) < 100


@pytest.mark.promise("P5")
@pytest.mark.parametrize(
    ("tool", "value"),
    [
        ("text", "x" * MOST),
        ("sums", {"rows": ["x"] * MOST}),
        ("rows", ["x" * MOST, "y"]),
        ("page", Page(items=["x" * MOST])),
        ("least", ["x" * 100] * 5),
    ],
)
def test_what_cannot_be_cut_honestly_is_withheld(store: Store, tool: str, value: Any) -> None:
    """Half a text is another text, and an empty page for one long row would say that there is none."""
    answer = store.ask(tool, value)
    assert answer == {**WITHHELD, "effect": "none"}
    assert store.reason() == "too_large"


def test_a_write_whose_result_is_too_long_has_happened(store: Store) -> None:
    """The effect rule holds for every reason to withhold a value."""
    assert store.ask("write", "x" * MOST) == {**WITHHELD, "effect": "done"}


def test_what_masks_add_is_weighed(store: Store) -> None:
    """A short row becomes a hash of sixty-four characters."""
    short = [f"r{number}" for number in range(20)]
    assert store.ask("rows", short)["data"] == short
    answer = store.ask("rows", short, role="hasher")
    assert (len(answer["data"]), answer["truncated"]) == (5, True)
    large = Store(most=20_000)
    assert large.ask("rows", short * 20)["data"] == short * 20
    assert large.ask("rows", short * 20, role="hasher")["truncated"] is True
    large.guard.close()


def test_what_just_fits_is_whole() -> None:
    """To the byte, and one less is cut."""
    for result in (Ok(["a", "bc", "d"]), OkPage(["a", "bc", "d"], "c"), Ok([1]), Ok("x")):
        size = len(result.to_bytes())
        assert shorten(result, size) is result
        cut = shorten(result, size - 1)
        assert cut is None or (len(cut.to_bytes()) <= size + 17 and cut.truncated)


def test_every_length_is_kept_to() -> None:
    """Whatever the bound, what is left fits and one row more does not."""
    rows = ["", "abc", {"n": 1, "t": "\u00e9"}, [1, 2], None, 12.5, "\u4f60" * 9]
    for most in range(20, 200):
        for result in (Ok(rows), OkPage(rows)):
            cut = shorten(result, most)
            if cut is None or cut is result:
                continue
            kept = len(cut.items if isinstance(cut, OkPage) else cut.data)  # type: ignore[arg-type]
            assert kept < len(rows), "what is marked has lost a row"
            more: Ok | OkPage = result
            if kept + 1 < len(rows):
                one_more = rows[: kept + 1]
                more = OkPage(one_more, None, True) if isinstance(cut, OkPage) else Ok(one_more, False, True)
            assert len(cut.to_bytes()) <= most < len(more.to_bytes())


def test_stamps_stand_beside_the_data(store: Store) -> None:
    """The result schema is that of the data alone, and a direct call has the stamps too."""
    value = Stamped(["a"], as_of="2026-11-30T10:00:00Z", version="7", ref="ledger/9")
    answer = store.ask("stamped", value)
    assert answer == {"status": "ok", "data": ["a"], "as_of": "2026-11-30T10:00:00Z", "version": "7", "ref": "ledger/9"}
    assert store.ask("stamped", Stamped(["a"])) == {"status": "ok", "data": ["a"]}
    spec = json.loads(store.guard.catalog()["catalog/big.stamped.json"])
    assert spec["result"] == {"items": {"type": "string"}, "type": "array"}
    with store.guard.session(ISSUER.token("amy", "acme", ["clerk"])):
        assert store.stamped() == Stamped(["a"])
        store.value = Stamped(["a" * 40] * 20, as_of="now")
        cut = store.stamped()
    assert (cut.as_of, len(cut.data) < 20) == ("now", True)


@pytest.mark.parametrize("stamp", [3, b"x", ["x"]])
def test_a_stamp_is_a_text(store: Store, stamp: Any) -> None:
    """Anything else is withheld like any value of the wrong shape."""
    assert store.ask("stamped", Stamped(["a"], as_of=stamp))["code"] == "invalid_result"


@pytest.mark.parametrize(
    "wrong", [{"guesses": 0}, {"refusal_grid": -1.0}, {"refusal_grid": float("nan")}, {"result_bytes": 0}]
)
def test_bounds_that_can_never_work_are_refused_at_once(wrong: dict[str, Any]) -> None:
    """When the guard is made, not when it is called."""
    with pytest.raises(Misuse):
        Bounds(**wrong)
