"""The row scope: what an entry keeps, handed to the tool; what slips through is dropped and told in the events."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel
from sqlalchemy import Column, Engine, Integer, MetaData, String, Table, create_engine, func, select
from sqlalchemy.pool import StaticPool

from gatewright import Guard, Misuse, Page, RowScope
from gatewright.middleware.results import Result
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

CLOCK = FakeClock()
ISSUER = FakeIssuer(algorithm="EdDSA", clock=CLOCK)
CLAIMS = {"type": "object", "properties": {"region": {"type": "string"}, "most": {"type": "integer"}}}
POLICIES = {
    "names.yaml": "roles: { clerk: {}, head: {} }\ntenants: { acme: {}, globex: {} }\ntypes: {}\n",
    "policy.csv": "".join(
        f"p, {role}, *, {tool}, call, allow\n" for role in ("clerk", "head") for tool in ("orders.list", "orders.sums")
    ),
    "identity.yaml": json.dumps({"issuers": [ISSUER.profile(["acme", "globex"], claims=CLAIMS)]}),
    "tools/orders.yaml": """
tool: orders.list
allow:
  - id: clerk
    roles: [clerk]
    arguments: { cursor: {}, state: {} }
    result:
      keep: { /items: { region: { const: { $identity: region } }, state: { const: { $argument: state } } } }
      hidden: [/items/*/state]
  - { id: head, roles: [head], arguments: { cursor: {} } }
---
tool: orders.sums
allow:
  - id: clerk
    roles: [clerk]
    result: { keep: { /open: { pieces: { minimum: 2 } }, /shut: { pieces: { minimum: 1 } } } }
""",
}
META = MetaData()
ORDERS = Table(
    "orders",
    META,
    Column("id", Integer, primary_key=True),
    Column("tenant", String),
    Column("region", String),
    Column("state", String),
)


class Order(BaseModel):
    """A row."""

    id: int
    region: str
    state: str


class Shop:
    """A guard over orders in SQLite; *heeds* says whether the tool's query keeps to the scope it is given."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.heeds = True
        self.scopes: list[RowScope] = []
        self.journal = ListJournal()
        self.guard = Guard(POLICIES, journal=self.journal, ledger=":memory:", keys="k" * 32, clock=CLOCK, watch=False)
        words: dict[str, Any] = {"kind": "read", "use_when": "Orders are asked for.", "not_for": "Anything else."}

        @self.guard.tool("orders.list", **words)
        def orders(scope: RowScope, state: str = "open", cursor: str | None = None) -> Page[Order]:
            """List orders, three a page."""
            self.scopes.append(scope)
            query = select(ORDERS).where(ORDERS.c.id > int(cursor or 0)).order_by(ORDERS.c.id).limit(4)
            if self.heeds:
                query = query.where(scope.where(ORDERS))
            with self.engine.connect() as connection:
                found = [Order(id=row.id, region=row.region, state=row.state) for row in connection.execute(query)]
            return Page(items=found[:3], next_cursor=str(found[2].id) if len(found) > 3 else None)

        @self.guard.tool("orders.sums", **words)
        def sums(scope: RowScope) -> dict[str, list[dict[str, int]]]:
            """List sums."""
            self.scopes.append(scope)
            return {"open": [{"pieces": 1}, {"pieces": 2}], "shut": [{"pieces": 1}]}

        self.orders = orders

    def token(self, role: str = "clerk", **claims: Any) -> str:
        """A token; its caller is of the north unless said otherwise."""
        return ISSUER.token("amy", "acme", [role], **{"region": "north", **claims})

    def ask(self, role: str = "clerk", tool: str = "orders.list", **arguments: Any) -> Result:
        """One call as a model makes it."""
        return self.guard.call(tool, json.dumps(arguments), token=self.token(role))

    def told(self) -> dict[str, Any]:
        """The last `result_validated` event."""
        return [dict(event.fields) for event in self.journal.events() if event.kind == "result_validated"][-1]


@pytest.fixture
def shop() -> Iterator[Shop]:
    """Ten orders of two regions and two states, and a guard over them."""
    engine = create_engine("sqlite://", poolclass=StaticPool)
    META.create_all(engine)
    rows = [
        {"id": n, "tenant": "acme", "region": ("north", "south")[n % 2], "state": ("open", "shut")[n % 5 == 4]}
        for n in range(1, 21)
    ]
    with engine.begin() as connection:
        connection.execute(ORDERS.insert(), rows)
    made = Shop(engine)
    yield made
    made.guard.close()
    engine.dispose()


NORTH = [2, 6, 8, 10, 12, 16, 18, 20]


def test_the_database_filters_so_that_pages_and_cursors_come_after_it(shop: Shop) -> None:
    """Every page but the last is full, and nothing is dropped when it is released."""
    found: list[list[int]] = []
    cursor: str | None = None
    while True:
        page = shop.ask(**({} if cursor is None else {"cursor": cursor})).to_json()
        found.append([row["id"] for row in page["items"]])  # type: ignore[union-attr, index, call-overload]
        assert page["filtered"] is True
        assert "dropped" not in shop.told()
        cursor = page["next_cursor"]  # type: ignore[assignment]
        if cursor is None:
            break
    assert found == [NORTH[:3], NORTH[3:6], NORTH[6:]]


def test_a_total_that_the_tool_counts_in_its_scope_is_of_rows_the_caller_may_have(shop: Shop) -> None:
    """The same condition serves to count."""
    shop.ask()
    with shop.engine.connect() as connection:
        total = connection.scalar(select(func.count()).select_from(ORDERS).where(shop.scopes[-1].where(ORDERS)))
    assert total == len(NORTH)


def test_rows_that_slip_through_are_dropped_and_told_in_the_events(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller sees the same mark as ever; the event log counts them and the log warns."""
    shop.heeds = False
    with caplog.at_level(logging.WARNING, logger="gatewright"):
        page = shop.ask().to_json()
    assert [row["id"] for row in page["items"]] == [2]  # type: ignore[union-attr, index, call-overload]
    assert page["filtered"] is True
    assert shop.told()["dropped"] == 2
    assert "orders.list let 2 rows out of their row scope" in caplog.text


def test_the_scope_is_plain_values_too(shop: Shop) -> None:
    """References are filled: claims, arguments with their defaults."""
    shop.ask(state="shut")
    assert shop.scopes[-1].values() == {"region": {"const": "north"}, "state": {"const": "shut"}}
    assert shop.scopes[-1].admits({"region": "north", "state": "shut"})
    assert shop.scopes[-1].admits(Order(id=1, region="north", state="shut"))
    assert not shop.scopes[-1].admits({"region": "north"})
    assert not shop.scopes[-1].admits(["north"])


def test_an_entry_that_keeps_nothing_has_an_open_scope(shop: Shop) -> None:
    """Nothing is filtered, by SQL or otherwise."""
    shop.ask("head")
    scope = shop.scopes[-1]
    assert scope.is_open
    assert scope.values() == {}
    assert scope.admits({})
    assert str(scope.where(ORDERS).compile()) == "1 = 1" or str(scope.where(ORDERS)) == "true"


def test_a_reference_that_cannot_be_filled_leaves_no_row(shop: Shop) -> None:
    """Absent never satisfies: SQL finds nothing, and neither does the release."""
    token = shop.token(region="")
    assert shop.guard.call("orders.list", "{}", token=token).status == "forbidden", "an early one closes the entry"
    assert shop.ask(state="").to_json()["items"] == []
    assert shop.scopes[-1].values()["state"] == {"not": {}}
    assert not shop.scopes[-1].admits({"region": "north", "state": ""})


def test_of_several_arrays_one_is_named(shop: Shop) -> None:
    """Guessing would be another filter than the policy's."""
    shop.ask(tool="orders.sums")
    scope = shop.scopes[-1]
    assert scope.values("/shut") == {"pieces": {"minimum": 1}}
    assert scope.values("/none") == {}
    with pytest.raises(Misuse):
        scope.values()


def test_no_caller_states_its_own_scope(shop: Shop) -> None:
    """The parameter is in no schema; sent, it is a name like any other that is not there."""
    (shown,) = [tool for tool in shop.guard.tools(shop.token()) if tool["name"] == "orders.list"]
    assert set(shown["parameters"]["properties"]) == {"state", "cursor"}
    assert shop.ask(scope={}).to_json()["reason"] == "unknown_argument"
    with shop.guard.session(shop.token()):
        page = shop.orders(RowScope({}))
    assert [row.id if isinstance(row, Order) else row["id"] for row in page["items"]] == NORTH[:3]  # type: ignore[index]
