"""
A support desk for tests of the gate: policies in memory, an issuer, a clock that stands still, and tools that note it
when their body is entered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from gatewright import Caller, Guard, Invalid, Page, Resource
from gatewright.middleware.record import check_line
from gatewright.middleware.results import Result
from gatewright.testing import FakeClock, FakeIssuer, ListJournal

NAMES = """\
roles: { agent: {}, supervisor: {} }
actors: [bot]
tenants: { acme: {}, globex: {} }
types: { order: [read, refund] }
delegate: {}
calendars: { night: { days: [mon, tue, wed, thu, fri, sat, sun], from: "22:00", to: "23:00", tz: UTC } }
settings: { type: object, properties: { longest: { type: integer, default: 100 } } }
"""
ROWS = """\
p, agent, *, tools/desk, call, allow
p, supervisor, *, tools/desk, call, allow
p, supervisor, *, desk.wipe, call, allow
p, agent, acme, order:a-*, read, allow
p, agent, acme, order:a-*, refund, allow
p, agent, globex, order:g-*, read, allow
p, supervisor, *, order:*, read, allow
p, supervisor, *, order:*, refund, allow
g2, order.find, tools/desk
g2, order.list, tools/desk
g2, order.refund, tools/desk
g2, order.cancel, tools/desk
g2, note.echo, tools/desk
g2, note.stream, tools/desk
"""
TOOLS = """\
tool: order.find
allow:
  - { id: agent, roles: [agent], result: { hidden: [/email] } }
  - { id: supervisor, roles: [supervisor] }
---
tool: order.list
stages: [work]
allow: [ { id: agent, roles: [agent], arguments: { limit: { maximum: 5 } } } ]
---
tool: order.refund
refusal: No such order for this customer.
allow:
  - { id: small, roles: [agent], arguments: { amount: { maximum: 100 }, note: {} } }
  - id: large
    roles: [supervisor]
    arguments: { amount: { maximum: 1000 } }
    duties: { approval: { by: [supervisor], within: 15m } }
---
tool: order.cancel
allow: [ { id: agent, roles: [agent, supervisor], duties: { budget: { calls: 2, per: subject, window: 1d } } } ]
---
tool: note.echo
allow: [ { id: agent, roles: [agent], arguments: { tags: {} } } ]
---
tool: note.stream
allow: [ { id: agent, roles: [agent] } ]
---
tool: desk.wipe
allow: [ { id: supervisor, roles: [supervisor] } ]
"""
WORDS = {"use_when": "a customer asks for it", "not_for": "anything else"}
ORDERS = {
    ("acme", "a-1"): {"id": "a-1", "total": 50, "email": "ann@example.org"},
    ("acme", "a-2"): {"id": "a-2", "total": 500, "email": "bob@example.org"},
    ("globex", "g-1"): {"id": "g-1", "total": 10, "email": "gil@example.org"},
}


class Order(BaseModel):
    """An order as tools give it."""

    id: str
    total: int
    email: str | None = None


class CheckedJournal(ListJournal):
    """A journal in a list that takes no line which breaks docs/events.md."""

    def append(self, line: bytes, /) -> None:
        """Check and keep *line*."""
        check_line(line)
        super().append(line)


@dataclass
class Desk:
    """One guard with its tools and doubles. `ran` holds what the bodies were entered with, in order."""

    guard: Guard
    issuer: FakeIssuer
    clock: FakeClock
    journal: ListJournal
    ran: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    on_run: Callable[[], Any] = lambda: None
    tools: dict[str, Any] = field(default_factory=dict)

    def token(self, role: str = "agent", sub: str = "amy", tenant: str = "acme", **more: Any) -> str:
        """A good token of one role."""
        return self.issuer.token(sub, tenant, [role], **more)

    def call(self, tool: str, arguments: Any = None, role: str = "agent", **options: Any) -> Result:
        """One call as a model makes it: *arguments* as JSON text, unless they are text already."""
        raw = arguments if isinstance(arguments, str | bytes) else json.dumps(arguments or {})
        options.setdefault("token", self.token(role))
        return self.guard.call(tool, raw, **options)

    def acall(self, tool: str, arguments: Any = None, role: str = "agent", **options: Any) -> Result:
        """The same from a task."""
        raw = arguments if isinstance(arguments, str | bytes) else json.dumps(arguments or {})
        options.setdefault("token", self.token(role))
        return asyncio.run(self.guard.acall(tool, raw, **options))

    def entered(self, name: str, **arguments: Any) -> None:
        """Note that a body is entered."""
        self.ran.append((name, arguments))
        self.on_run()

    def events(self) -> list[dict[str, Any]]:
        """The events of the last call, its kind as `event` beside the fields, from journal and ledger."""
        call = self.guard.last_call_id
        assert call is not None
        return [{"event": event.kind, **event.fields} for event in self.guard.events(call)]

    def event(self, kind: str) -> dict[str, Any]:
        """The last event of one kind of the last call."""
        return [event for event in self.events() if event["event"] == kind][-1]


def policies(issuer: FakeIssuer, **changed: str) -> dict[str, str]:
    """The desk's policies; *changed* replaces a file by the first part of its name: names, rows or tools."""
    texts = {"names": NAMES, "rows": ROWS, "tools": TOOLS, **changed}
    identity = {"issuers": [issuer.profile(["acme", "globex"])]}
    return {
        "names.yaml": texts["names"],
        "policy.csv": texts["rows"],
        "tools/desk.yaml": texts["tools"],
        "identity.yaml": json.dumps(identity),
    }


ISSUER = FakeIssuer()
"""One key for all of them: making one takes longer than everything else in a test."""


def open_desk(changed: dict[str, str] | None = None, *, tools: bool = True, **options: Any) -> Desk:
    """Return a desk, with every tool on it unless it is to have none; *options* go to the guard."""
    clock, journal = FakeClock(), options.pop("journal", None) or CheckedJournal()
    ISSUER.clock = clock
    texts = policies(ISSUER, **(changed or {}))
    guard = Guard(options.pop("policies", texts), clock=clock, journal=journal, keys="k" * 32, watch=False, **options)
    desk = Desk(guard, ISSUER, clock, journal)
    if tools:
        add_tools(desk)
    return desk


def write_folder(folder: Path, **changed: str) -> Path:
    """Write the desk's policies into *folder*, without a catalog."""
    for path, text in policies(ISSUER, **changed).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def open_folder(folder: Path, *, tools: bool = True, **options: Any) -> Desk:
    """Return a desk over *folder*, with a ledger in memory."""
    desk = open_desk(tools=False, policies=folder, ledger=":memory:", **options)
    if tools:
        add_tools(desk)
    return desk


def load_order(id: str, tenant: str) -> dict[str, Any] | None:
    """The desk's loader: it looks only inside the tenant."""
    return ORDERS.get((tenant, id))


def no_spam(arguments: dict[str, Any], settings: Any) -> dict[str, Any]:
    """A rule: notes are not longer than the tenant's settings say."""
    if len(arguments["text"]) > settings["longest"]:
        raise Invalid("too_long_for_us", field="/text", expected=f"at most {settings['longest']} characters")
    return {**arguments, "text": arguments["text"].strip()}


def add_tools(desk: Desk) -> None:
    """Put the desk's tools on its guard."""
    guard = desk.guard
    order = {"order": Resource("order", at="/order", load=load_order, scope="tenant")}

    @guard.tool("order.find", kind="read", resources=order, **WORDS)
    def find(order: Order, caller: Caller) -> Order:
        """Return one order."""
        desk.entered("order.find", order=order, caller=caller)
        return order

    @guard.tool("order.list", kind="read", **WORDS)
    async def list_orders(limit: Annotated[int, Field(ge=1, le=50)], after: str = "") -> Page[Order]:
        """Return orders."""
        desk.entered("order.list", limit=limit, after=after)
        return Page(items=[Order(**each) for (tenant, _), each in sorted(ORDERS.items()) if tenant == "acme"][:limit])

    @guard.tool("order.refund", kind="write", action="refund", resources=order, **WORDS)
    def refund(order: Annotated[str, Field(min_length=1)], amount: int, note: str = "") -> dict[str, int]:
        """Pay back a part of an order."""
        desk.entered("order.refund", order=order, amount=amount)
        return {"refunded": amount}

    @guard.tool("order.cancel", kind="write", action="refund", **WORDS)
    def cancel(order: str) -> dict[str, str]:
        """Cancel an order."""
        desk.entered("order.cancel", order=order)
        return {"cancelled": order}

    @guard.tool("note.echo", kind="read", rules=[no_spam], reasons=["too_long_for_us"], **WORDS)
    def echo(text: str, tags: list[str] | None = None) -> dict[str, Any]:
        """Return a note as it is."""
        desk.entered("note.echo", text=text, tags=tags)
        return {"text": text, "tags": tags or []}

    @guard.tool("note.stream", kind="read", **WORDS)
    async def stream(count: int) -> Any:
        """Return numbers, one by one."""
        desk.entered("note.stream", count=count)
        for number in range(count):
            yield number

    @guard.tool("desk.wipe", kind="write", **WORDS)
    def wipe(everything: bool) -> None:
        """Delete everything."""
        desk.entered("desk.wipe", everything=everything)

    desk.tools = {
        "order.find": find,
        "order.list": list_orders,
        "order.refund": refund,
        "note.echo": echo,
        "note.stream": stream,
        "desk.wipe": wipe,
    }


def open_one(
    function: Callable[..., Any],
    *,
    name: str = "some.thing",
    kind: str = "read",
    entry: str = "{ id: a, roles: [agent] }",
    rows: str = "",
    options: dict[str, Any] | None = None,
    **stated: Any,
) -> tuple[Desk, Any]:
    """Return a desk whose only tool is *function*, open to agents, and the guarded function."""
    changed = {"rows": f"p, agent, *, {name}, call, allow\n{rows}", "tools": f"tool: {name}\nallow: [ {entry} ]\n"}
    desk = open_desk(changed, tools=False, **(options or {}))
    return desk, desk.guard.tool(name, kind=kind, **{**WORDS, **stated})(function)
