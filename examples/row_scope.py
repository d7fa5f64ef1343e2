"""
Rows that a caller may have, filtered by the database: one tool over SQLite, two clerks, pages with sealed cursors.

Run it with `.venv/bin/python examples/row_scope.py`. The policy keeps a clerk to the orders of the clerk's own region;
the tool puts that into its query, so that pages are full, totals are right, and cursors come after the filter.
"""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Column, Integer, MetaData, String, Table, create_engine, func, select
from sqlalchemy.pool import StaticPool

from gatewright import Caller, Guard, KeyRing, Page, RowScope
from gatewright.testing import FakeIssuer

ISSUER = FakeIssuer(algorithm="EdDSA")
CLAIMS = {"type": "object", "properties": {"region": {"type": "string"}}}
POLICIES = {
    "names.yaml": "roles: { clerk: {} }\ntenants: { acme: {} }\ntypes: {}\n",
    "policy.csv": "p, clerk, *, orders.list, call, allow\n",
    "identity.yaml": json.dumps({"issuers": [ISSUER.profile(["acme"], claims=CLAIMS)]}),
    "tools/orders.yaml": """
tool: orders.list
allow:
  - id: own-region
    roles: [clerk]
    arguments: { cursor: {} }
    result: { keep: { /items: { region: { const: { $identity: region } } } } }
""",
}
ORDERS = Table(
    "orders",
    MetaData(),
    Column("id", Integer, primary_key=True),
    Column("tenant", String),
    Column("region", String),
)
ENGINE = create_engine("sqlite://", poolclass=StaticPool)
guard = Guard(POLICIES, journal=":memory:", ledger=":memory:", keys=KeyRing.from_secret("k" * 32), watch=False)


class Order(BaseModel):
    """An order as callers see it."""

    id: int
    region: str


@guard.tool("orders.list", kind="read", use_when="orders are asked for", not_for="invoices")
def list_orders(caller: Caller, scope: RowScope, cursor: str | None = None) -> Page[Order]:
    """List orders, three a page."""
    mine = (ORDERS.c.tenant == caller.tenant) & scope.where(ORDERS)
    rest = select(ORDERS).where(mine, ORDERS.c.id > int(cursor or 0)).order_by(ORDERS.c.id)
    with ENGINE.connect() as connection:
        rows = connection.execute(rest.limit(4)).all()
        total = connection.scalar(select(func.count()).select_from(ORDERS).where(mine))
    items = [Order(id=row.id, region=row.region) for row in rows[:3]]
    return Page(items=items, next_cursor=str(rows[2].id) if len(rows) > 3 else None, ref=f"{total} in all")


def ask(token: str, cursor: str | None = None) -> dict[str, Any]:
    """Call the tool as a model would."""
    raw = json.dumps({} if cursor is None else {"cursor": cursor})
    return dict(guard.call("orders.list", raw, token=token).to_json())


def main() -> None:
    """Page through the orders as two clerks; then one tries the other's cursor."""
    ORDERS.metadata.create_all(ENGINE)
    with ENGINE.begin() as connection:
        for number in range(1, 13):
            region = "north" if number % 3 else "south"
            connection.execute(ORDERS.insert().values(id=number, tenant="acme", region=region))
    tokens = {name: ISSUER.token(name, "acme", ["clerk"], region=name) for name in ("north", "south")}
    first = {name: ask(token) for name, token in tokens.items()}
    for name, page in first.items():
        print(f"{name}: {[row['id'] for row in page['items']]}, {page['ref']}, filtered: {page['filtered']}")
    second = ask(tokens["north"], first["north"]["next_cursor"])
    print(f"north, next page: {[row['id'] for row in second['items']]}")
    print(f"the cursor is opaque: {first['north']['next_cursor'][:24]}…")
    other = ask(tokens["south"], first["north"]["next_cursor"])
    print(f"south with north's cursor: {other['status']}, {other['reason']}")
    guard.close()


if __name__ == "__main__":
    main()
