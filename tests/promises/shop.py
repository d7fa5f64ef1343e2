"""
A small shop behind real policies: two tenants, four roles, an agent, two reads and two writes. What happens between a
call's decision and its body is up to the test.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from gatewright import Caller, Guard, Page, Resource
from gatewright.middleware.call import Inspection
from gatewright.middleware.record import check_line
from gatewright.middleware.results import Result
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

FORBIDDEN = b'{"status":"forbidden","retryable":false}'
NAMES = """\
roles: { clerk: {}, manager: {}, intern: {}, guest: {} }
actors: [helper]
tenants: { acme: {}, globex: {} }
types: { basket: [read, pay], region: [read] }
"""
ROWS = """\
p, clerk, *, tools/counter, call, allow
p, manager, *, tools/counter, call, allow
p, manager, *, shop.close, call, allow
p, intern, *, tools/counter, call, allow
p, intern, *, basket.pay, call, deny
p, helper, *, basket.find, call, allow
p, helper, *, basket.pay, call, allow
p, helper, *, basket:a-*, read, allow
p, helper, *, basket:a-1, pay, allow
p, clerk, *, basket:*, read, allow
p, clerk, *, basket:*, pay, allow
p, intern, *, basket:a-*, read, allow
p, intern, *, basket:a-*, pay, allow
p, manager, *, basket:*, read, allow
p, manager, *, basket:*, pay, allow
p, clerk, acme, region:north, read, allow
p, clerk, acme, region:south, read, allow
p, clerk, globex, region:west, read, allow
p, manager, *, region:*, read, allow
g2, basket.find, tools/counter
g2, basket.pay, tools/counter
g2, stock.rows, tools/counter
"""
TOOLS = """\
tool: basket.find
allow:
  - id: clerk
    roles: [clerk]
    arguments: { limit: { maximum: 5 }, colour: {} }
    resource: { basket: { branch: { const: { $identity: branch } } } }
    result: { hidden: [/items/*/cost], keep: { /items: { kept: { const: true } } }, mask: { /items/*/buyer: hash } }
  - { id: intern, roles: [intern], arguments: { limit: { maximum: 2 } }, result: { show: [/items/*/name] } }
  - { id: manager, roles: [manager], arguments: { colour: {}, "note": {} } }
---
tool: stock.rows
limits: [ { id: regions, arguments: { region: { $granted: { type: region, action: read } } } } ]
allow:
  - { id: clerk, roles: [clerk], arguments: { limit: { maximum: 3 } } }
  - { id: manager, roles: [manager], arguments: { tags: { maxItems: 2 } } }
---
tool: basket.pay
allow:
  - id: clerk
    roles: [clerk]
    arguments: { amount: { minimum: 1, maximum: 100 }, currency: { enum: [CHF, EUR] }, memo: {} }
    resource: { basket: { branch: { const: { $identity: branch } } } }
  - { id: intern, roles: [intern], arguments: { amount: { minimum: 1, maximum: 10 } } }
  - { id: manager, roles: [manager], arguments: { amount: { minimum: 1, maximum: 1000 }, memo: {}, urgent: {} } }
---
tool: shop.close
allow: [ { id: manager, roles: [manager] } ]
"""
TENANTS = ("acme", "globex")
ROLES = ("clerk", "manager", "intern", "guest")
TOOL_NAMES = ("basket.find", "stock.rows", "basket.pay", "shop.close")
WORDS: dict[str, Any] = {"use_when": "a customer asks for it", "not_for": "anything else"}
GOOD: dict[str, dict[str, Any]] = {
    "basket.find": {"basket": "a-1", "limit": 2},
    "stock.rows": {"region": "north", "limit": 2},
    "basket.pay": {"basket": "a-1", "amount": 5, "currency": "CHF"},
    "shop.close": {"everything": True},
}
CLAIMS = {"type": "object", "properties": {"branch": {"type": "string"}}}
BASKETS: Mapping[tuple[str, str], dict[str, Any]] = {
    ("acme", "a-1"): {"id": "a-1", "branch": "one"},
    ("acme", "b-2"): {"id": "b-2", "branch": "two"},
    ("globex", "g-1"): {"id": "g-1", "branch": "one"},
}


class Line(BaseModel):
    """A line of a basket."""

    name: str
    buyer: str
    cost: int
    kept: bool = True


class Stock(BaseModel):
    """A row of the stock."""

    tenant: str
    region: str
    pieces: int


class CheckedJournal(ListJournal):
    """A journal in a list that takes no line which breaks docs/events.md."""

    def append(self, line: bytes, /) -> None:
        """Check and keep *line*."""
        check_line(line)
        super().append(line)


class Shop:
    """One guard over the policies, with its doubles. `ran` holds the bodies entered, `loaded` the records asked for."""

    def __init__(self, policies: Path | Mapping[str, str], issuer: FakeIssuer, clock: FakeClock, **more: Any) -> None:
        self.issuer = issuer
        self.clock = clock
        self.journal = CheckedJournal()
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.loaded: list[str] = []
        self.tools: dict[str, Callable[..., Any]] = {}
        self.reset()
        options = {"journal": self.journal, "ledger": ":memory:", "keys": "k" * 32, "watch": False, **more}
        self.guard = Guard(policies, clock=clock, after_authorize=[self._wait], **options)
        _open_counter(self)

    def reset(self) -> None:
        """Forget what was noted, and let nothing happen."""
        self.ran.clear()
        self.loaded.clear()
        self.journal.lines.clear()
        self.last = ""
        self.lines = [Line(name="pen", buyer="Ann", cost=3), Line(name="cup", buyer="Bob", cost=4, kept=False)]
        self.meanwhile: Callable[[], object] = lambda: None
        self.inside: Callable[[], object] = lambda: None

    def _wait(self, call: Inspection) -> None:
        """Let happen what the test wants to happen between decision and body."""
        self.meanwhile()

    def token(self, role: str = "clerk", tenant: str = "acme", sub: str = "amy", **more: Any) -> str:
        """A good token of one role, of branch one."""
        return self.issuer.token(sub, tenant, [role], **{"branch": "one", **more})

    def call(self, tool: str, arguments: Any = None, role: str = "clerk", **options: Any) -> Result:
        """One call as a model makes it, by default a good one, from a thread or with *is_async* from a task."""
        given = GOOD.get(tool, {}) if arguments is None else arguments
        raw = given if isinstance(given, str | bytes) else json.dumps(given)
        options.setdefault("token", self.token(role))
        if options.pop("is_async", False):
            result, self.last = asyncio.run(self._acall(tool, raw, options))
            return result
        result, self.last = self.guard.call(tool, raw, **options), self.guard.last_call_id or ""
        return result

    async def _acall(self, tool: str, raw: str | bytes, options: Any) -> tuple[Result, str]:
        return await self.guard.acall(tool, raw, **options), self.guard.last_call_id or ""

    def entered(self, name: str, **arguments: Any) -> None:
        """Note that a body is entered, and do inside what the test wants."""
        self.ran.append((name, arguments))
        self.inside()

    def kinds(self) -> list[str]:
        """The kinds of the last call's events, in order."""
        return [event.kind for event in self.guard.events(self.last)]

    def told(self, kind: str) -> dict[str, Any]:
        """The last event of a kind of the last call."""
        return dict([event for event in self.guard.events(self.last) if event.kind == kind][-1].fields)

    def check_refused(self, result: Result, kind: str, reason: str, answer: bytes = FORBIDDEN) -> None:
        """A denial: the caller has the constant, the event *kind* the true reason, and no body was entered."""
        assert result.to_bytes() == answer
        assert self.told(kind).get("reason", self.told(kind).get("outcome")) == reason
        assert self.told("call_answered")["status"] == json.loads(answer)["status"]
        assert "execution_started" not in self.kinds()
        assert self.ran == []

    def shown(self, token: str) -> dict[str, Any]:
        """Tool → the schema that the caller of *token* is shown."""
        return {tool["name"]: tool["parameters"] for tool in self.guard.tools(token)}


def policies(issuer: FakeIssuer, **changed: str) -> dict[str, str]:
    """The shop's policies; *changed* replaces a file: names, rows, tools or identity."""
    identity = {"issuers": [issuer.profile(TENANTS, claims=CLAIMS, leeway="1s")]}
    texts = {"names": NAMES, "rows": ROWS, "tools": TOOLS, "identity": json.dumps(identity), **changed}
    files = {"names": "names.yaml", "rows": "policy.csv", "tools": "tools/shop.yaml", "identity": "identity.yaml"}
    return {files[name]: text for name, text in texts.items()}


def open_shop(folder: Path | None = None, *, more: Mapping[str, Any] | None = None, **changed: str) -> Shop:
    """Return a shop; with a *folder*, its policies are there with an accepted catalog, and can be changed."""
    clock = FakeClock()
    issuer = FakeIssuer(algorithm="EdDSA", clock=clock)
    texts = policies(issuer, **changed)
    if folder is None:
        return Shop(texts, issuer, clock, **(more or {}))
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    shop = Shop(folder, issuer, clock, **(more or {}))
    shop.guard.accept_catalog()
    return shop


def _open_counter(shop: Shop) -> None:
    """Put the tools on the guard; bodies note that they were entered."""
    guard = shop.guard

    def load_basket(id: str, tenant: str) -> dict[str, Any] | None:
        shop.loaded.append(id)
        return BASKETS.get((tenant, id))

    attributes: dict[str, Any] = {
        "type": "object",
        "properties": {"id": {"type": "string"}, "branch": {"type": "string"}},
    }
    basket = {"basket": Resource("basket", at="/basket", load=load_basket, scope="tenant", attributes=attributes)}

    @guard.tool("basket.find", kind="read", resources=basket, **WORDS)
    def find(
        basket: Annotated[str, Field(min_length=1)],
        limit: Annotated[int, Field(ge=1, le=50)],
        colour: Literal["red", "blue"] | None = None,
        note: str = "none",
    ) -> Page[Line]:
        """Return the lines of a basket."""
        shop.entered("basket.find", basket=basket, limit=limit, colour=colour, note=note)
        return Page(items=shop.lines[:limit])

    @guard.tool("stock.rows", kind="read", **WORDS)
    async def rows(
        region: str,
        limit: Annotated[int, Field(ge=1, le=50)],
        caller: Caller,
        tags: list[str] | None = None,
    ) -> Page[Stock]:
        """Return rows of the stock."""
        shop.entered("stock.rows", region=region, limit=limit, tags=tags)
        return Page(items=[Stock(tenant=caller.tenant, region=region, pieces=number) for number in range(limit)])

    @guard.tool("basket.pay", kind="write", action="pay", resources=basket, secret=["memo"], **WORDS)
    def pay(basket: str, amount: int, currency: str = "CHF", memo: str = "", urgent: bool = False) -> dict[str, int]:
        """Pay for a basket."""
        shop.entered("basket.pay", basket=basket, amount=amount, currency=currency, memo=memo, urgent=urgent)
        return {"paid": amount}

    @guard.tool("shop.close", kind="write", **WORDS)
    def close(everything: bool) -> None:
        """Close the shop for good."""
        shop.entered("shop.close", everything=everything)

    shop.tools = {"basket.find": find, "stock.rows": rows, "basket.pay": pay, "shop.close": close}
