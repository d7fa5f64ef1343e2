"""What a caller's model is shown, in each format, and what comes back from one that has to send every argument."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from desk import Desk, open_desk, open_one
from gatewright import Misuse
from gatewright.middleware.interaction import Shown
from gatewright.policy.rendering import FORMATS, Format


@pytest.fixture(scope="module")
def desk() -> Desk:
    """One desk for tests that change nothing."""
    return open_desk()


def names(tools: list[dict[str, Any]]) -> list[str]:
    """The names in a listing."""
    return [tool.get("function", tool)["name"] for tool in tools]


@pytest.mark.parametrize("format", FORMATS)
def test_each_format_lists_the_same_tools_in_the_same_order(desk: Desk, format: Format) -> None:
    """As they were registered; nothing that is not open is there."""
    listed = [name.replace("__", ".") for name in names(desk.guard.tools(desk.token(), format=format))]
    assert listed == ["order.find", "order.refund", "order.cancel", "note.echo", "note.stream"]
    assert "desk.wipe" not in json.dumps(desk.guard.tools(desk.token(), format=format))


def test_an_unknown_format_is_misuse(desk: Desk) -> None:
    """It is a mistake of the application, and is not taken for another format."""
    with pytest.raises(Misuse, match="no such format"):
        desk.guard.tools(desk.token(), format=cast("Format", "openapi"))
    with pytest.raises(Misuse, match="no such format"):
        desk.call("note.echo", {"text": "x"}, format="openapi")


def test_a_listing_is_its_callers_to_change(desk: Desk) -> None:
    """What an application does to it is in no other listing."""
    first = desk.guard.tools(desk.token())
    before = json.dumps(first)
    first[0]["parameters"]["properties"].clear()
    first.clear()
    assert json.dumps(desk.guard.tools(desk.token())) == before


def test_what_changes_a_decision_changes_the_listing(desk: Desk) -> None:
    """Stage, role and tenant each have listings of their own, whatever was listed before."""
    at_work = names(desk.guard.tools(desk.token(), context={"stage": "work"}))
    assert "order.list" in at_work
    assert "order.list" not in names(desk.guard.tools(desk.token(), context={"stage": "else"}))
    assert "order.list" not in names(desk.guard.tools(desk.token(), context={"stage": ["work"]}))
    assert "desk.wipe" in names(desk.guard.tools(desk.token("supervisor")))
    assert names(desk.guard.tools(desk.token())) == names(desk.guard.tools(desk.token(tenant="globex")))


@pytest.mark.promise("P12")
def test_no_listing_is_shared_across_tenants() -> None:
    """Equal as they may be, what one tenant's callers are shown was made for that tenant."""
    desk = open_desk()
    kept = desk.guard._current().live.snapshot._listings
    sizes = []
    for tenant in ("acme", "globex", "acme"):
        desk.guard.tools(desk.token(tenant=tenant))
        sizes.append(len(kept))
    assert sizes == [1, 2, 2]
    assert len({caller for caller, _ in kept}) == 2, "the caller's key, which names the tenant, is in each"


def test_a_tool_that_is_registered_later_is_listed() -> None:
    """A listing that was made before does not hide it."""
    desk, _ = open_one(lambda: None, name="note.stream", description="Say nothing.")
    assert names(desk.guard.tools(desk.token())) == ["note.stream"]
    assert desk.guard.tools(desk.token("supervisor")) == []


def strict_desk() -> Desk:
    """A tool with optional arguments of several kinds, and an interaction that was shown it strictly."""

    def tool(text: str, tags: list[str] | None = None, limit: int = 20) -> dict[str, Any]:
        """Return what came."""
        return {"text": text, "tags": tags, "limit": limit}

    desk, _ = open_one(tool, entry="{ id: a, roles: [agent], arguments: { tags: {}, limit: { maximum: 50 } } }")
    return desk


SENT = {"text": "x", "tags": None, "limit": None}


def test_a_strict_listing_asks_for_everything_and_takes_null_for_what_is_optional() -> None:
    """Null is added where the role schema does not take it, and the default is told in words."""
    desk = strict_desk()
    function = desk.guard.tools(desk.token(), format="openai-strict")[0]["function"]
    assert function["strict"] is True
    assert function["parameters"]["required"] == ["text", "tags", "limit"]
    assert function["parameters"]["properties"]["limit"] == {
        "type": ["integer", "null"],
        "maximum": 50,
        "description": "(default 20)",
    }


@pytest.mark.parametrize("how", ["said", "listed"])
def test_nulls_that_a_strict_listing_allowed_are_dropped_on_the_way_in(how: str) -> None:
    """The call says the format, or its interaction was shown it; a null that the role schema takes stays."""
    desk = strict_desk()
    if how == "listed":
        desk.guard.tools(desk.token(), format="openai-strict", interaction="chat")
    options: Any = {"interaction": "chat"} if how == "listed" else {"format": "openai-strict"}
    assert desk.call("some.thing", SENT, **options).to_json()["data"] == {"text": "x", "tags": None, "limit": 20}


@pytest.mark.promise("P2")
@pytest.mark.parametrize("options", [{}, {"format": "openai"}, {"interaction": "chat", "format": "plain"}])
def test_no_null_is_dropped_where_no_strict_listing_was_shown(options: Any) -> None:
    """Null is not an integer; only what a strict listing itself allowed is taken for left out."""
    desk = strict_desk()
    desk.guard.tools(desk.token(), format="openai-strict", interaction="chat")
    desk.guard.tools(desk.token(), format="openai", interaction="other")
    for more in (options, {"interaction": "other"}):
        told = desk.call("some.thing", SENT, **more).to_json()
        assert (told["status"], told["field"]) == ("invalid_arguments", "/limit")


@pytest.mark.parametrize("field", ["text", "made_up"])
def test_a_null_for_what_is_required_or_unknown_is_never_dropped(field: str) -> None:
    """Under a strict listing, too, these are told as what they are."""
    desk = strict_desk()
    told = desk.call("some.thing", {**SENT, field: None}, format="openai-strict").to_json()
    assert (told["status"], told["field"]) == ("invalid_arguments", f"/{field}")


def test_what_was_listed_is_known_by_tool(desk: Desk) -> None:
    """The digest of the role schema that was shown, and the format."""
    chat = desk.guard.interaction("chat")
    desk.guard.tools(desk.token(), format="gemini", interaction=chat)
    caller = desk.guard._runtime.live.current.tokens.resolve(desk.token(), desk.clock.time())
    progress = desk.guard._runtime.interactions.progress(chat, caller)
    shown = progress.shown("note.echo")
    assert isinstance(shown, Shown)
    assert shown.format == "gemini"
    assert progress.shown("desk.wipe") is None
