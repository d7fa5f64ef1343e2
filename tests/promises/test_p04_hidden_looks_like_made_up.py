"""
P4: hidden and made-up tools look the same, foreign and absent records look the same: equal bytes, equal code path.

The path is every line executed in policy/ and middleware/. It is a comparison of pairs, not a measurement of time.
"""

from __future__ import annotations

import asyncio
import json
from itertools import combinations
from typing import Any

import pytest

from code_paths import first_difference, lines_of
from promises.shop import FORBIDDEN, Shop

pytestmark = pytest.mark.promise("P4")
HIDDEN = ("shop.close", "made.up")
RECORDS = ("b-2", "g-1", "no-such")
"""Foreign by its branch, foreign by its tenant, made up."""
ASKED = (("basket.find", '"limit":2'), ("basket.pay", '"amount":5'))
ARGUMENTS: tuple[str | bytes, ...] = ("{}", '{"everything":true}', "{", "", b"\xff", '{"a":1,"a":2}', "[]", "null")


def ways(shop: Shop, calls: list[tuple[str, str | bytes]], role: str = "clerk") -> list[list[tuple[str, int]]]:
    """The lines of each call, after each was made twice; every one of them is the constant."""
    token = shop.token(role)

    def ask(tool: str, raw: str | bytes) -> None:
        assert shop.guard.call(tool, raw, token=token).to_bytes() == FORBIDDEN

    for tool, raw in calls * 2:
        ask(tool, raw)
    return [lines_of(lambda tool=tool, raw=raw: ask(tool, raw)) for tool, raw in calls]  # type: ignore[misc]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("raw", ARGUMENTS)
def test_hidden_and_made_up_tools_answer_in_equal_bytes(shop: Shop, raw: str | bytes, is_async: bool) -> None:
    """Whatever the arguments; only the event log knows which it was, and both have the same kinds of events."""
    answers = set()
    for tool, reason in zip(HIDDEN, ("hidden", "unknown"), strict=True):
        result = shop.call(tool, raw, is_async=is_async)
        shop.check_refused(result, "tool_selected", reason)
        answers.add((result.to_bytes(), json.dumps(result.to_message("openai", "c")), tuple(shop.kinds())))
    assert len(answers) == 1


@pytest.mark.parametrize("tool", ["basket.find", "basket.pay"])
@pytest.mark.parametrize("is_async", [False, True])
def test_foreign_and_absent_records_answer_in_equal_bytes(shop: Shop, tool: str, is_async: bool) -> None:
    """A record of another branch, one of another tenant, one that nobody has: refused alike, for reads and writes."""
    more: dict[str, Any] = {"limit": 2} if tool == "basket.find" else {"amount": 5}
    answers = set()
    for record in RECORDS:
        result = shop.call(tool, {"basket": record, **more}, is_async=is_async)
        shop.check_refused(result, "permission_decided", "basket: condition or absent")
        answers.add((result.to_bytes(), json.dumps(result.to_message("anthropic", "c")), tuple(shop.kinds())))
    assert len(answers) == 1
    assert shop.loaded == list(RECORDS), "each is asked for, found or not"


def test_hidden_and_made_up_tools_take_the_same_path(shop: Shop) -> None:
    """Line by line, for good, broken and empty arguments, after a warm-up; no pair differs."""
    calls: list[tuple[str, str | bytes]] = [(tool, raw) for raw in ARGUMENTS for tool in HIDDEN]
    found = ways(shop, calls)
    assert all(len(way) > 50 for way in found)
    for one, other in combinations(found, 2):
        assert first_difference(one, other) is None


@pytest.mark.parametrize(("tool", "more"), ASKED)
def test_another_tenants_record_and_an_absent_one_take_the_same_path(shop: Shop, tool: str, more: str) -> None:
    """Line by line, from the token to the answer."""
    one, other = ways(shop, [(tool, f'{{"basket":"{record}",{more}}}') for record in RECORDS[1:]])
    assert len(one) > 50
    assert first_difference(one, other) is None


@pytest.mark.parametrize(("tool", "more"), ASKED)
def test_a_record_outside_a_condition_and_an_absent_one_take_the_same_path(shop: Shop, tool: str, more: str) -> None:
    """The same of a record of the caller's tenant that the entry's condition refuses."""
    one, other = ways(shop, [(tool, f'{{"basket":"{record}",{more}}}') for record in (RECORDS[0], RECORDS[2])])
    assert len(one) > 50
    assert first_difference(one, other) is None


def test_hidden_and_made_up_tools_take_the_same_path_in_a_task(shop: Shop) -> None:
    """The same of `acall`."""
    token = shop.token()
    found = []
    for tool in HIDDEN * 3:
        found.append(lines_of(lambda tool=tool: asyncio.run(shop.guard.acall(tool, "{}", token=token))))  # type: ignore[misc]
    assert all(len(way) > 50 for way in found)
    for one, other in combinations(found[2:], 2):
        assert first_difference(one, other) is None


def test_lists_and_messages_tell_nothing_of_hidden_tools(shop: Shop) -> None:
    """Neither a name, nor a schema, nor a number of tools."""
    for format in ("plain", "openai", "anthropic", "mcp", "gemini"):
        text = json.dumps(shop.guard.tools(shop.token(), format=format))
        assert "close" not in text
        assert "everything" not in text
