"""A guard whose only tool notes what its one argument is, and what calls of it come to."""

from __future__ import annotations

from typing import Any

from desk import Desk, open_one


def closed(*required: str, **properties: Any) -> dict[str, Any]:
    """A base schema; every argument is required unless some are named."""
    return {"type": "object", "properties": properties, "required": [*(required or properties)]}


def tool(schema: Any, entry: str = "{ id: a, roles: [agent] }", **stated: Any) -> Desk:
    """A guard whose only tool notes what its x is."""

    def take(x: Any = None) -> None:
        """Take a value."""
        desk.ran.append(("take", {"x": x}))

    desk, _ = open_one(take, entry=entry, schema=schema, **stated)
    return desk


def refused(desk: Desk, raw: Any, layer: str | None = None) -> str:
    """The reason for which a call with *raw* is refused; the tool was not entered, and the event says so too."""
    entered = len(desk.ran)
    answer: Any = desk.call("some.thing", raw).to_json()
    assert answer["status"] == "invalid_arguments"
    assert layer is None or answer["errors"][0]["layer"] == layer
    assert len(desk.ran) == entered
    assert desk.event("call_answered")["status"] == "invalid_arguments"
    assert "execution_started" not in {event["event"] for event in desk.events()}
    return str(answer["reason"])


def got(desk: Desk, raw: Any) -> Any:
    """What the tool gets of a call with *raw*."""
    result = desk.call("some.thing", raw)
    assert result.status == "ok", result.to_json()
    return desk.ran[-1][1]["x"]
