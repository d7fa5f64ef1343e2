"""P5: a denial never looks like empty or missing data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright import Failed, NotFound, Stopped
from gatewright.middleware.failures import CallForbidden
from gatewright.middleware.sentences import POLICY_NOTE
from promises.shop import FORBIDDEN, TOOLS, Shop, open_shop

pytestmark = pytest.mark.promise("P5")
DENIED: tuple[tuple[str, Any, str], ...] = (
    ("basket.find", {"basket": "b-2", "limit": 2}, "clerk"),
    ("basket.find", {"basket": "g-1", "limit": 2}, "clerk"),
    ("basket.find", {"basket": "no-such", "limit": 2}, "clerk"),
    ("basket.find", {"basket": "b-2", "limit": 2}, "intern"),
    ("basket.pay", {"basket": "b-2", "amount": 2}, "clerk"),
    ("shop.close", None, "clerk"),
    ("stock.rows", None, "guest"),
    ("made.up", {}, "manager"),
)
NOT_FOUND = b'{"status":"not_found","retryable":false,"next":"stop"}'


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("asked", DENIED)
def test_a_denial_has_no_field_that_data_has(shop: Shop, asked: Any, is_async: bool) -> None:
    """Neither data nor items, no null, no empty list, no count: two fields, and a sentence beside them."""
    result = shop.call(*asked, is_async=is_async)
    assert result.to_bytes() == FORBIDDEN
    assert set(result.to_json()) == {"status", "retryable"}
    kind = "permission_decided" if "permission_decided" in shop.kinds() else "tool_selected"
    assert shop.told(kind)["reason"] in ("basket: condition or absent", "basket: casbin", "hidden", "unknown")
    assert shop.ran == []
    for provider in ("plain", "openai", "openai-responses", "anthropic", "mcp"):
        message = json.dumps(result.to_message(provider, "c"))
        assert POLICY_NOTE[0] in message
        assert "items" not in message


def test_a_direct_call_raises_and_never_returns_nothing(shop: Shop) -> None:
    """Code inside a session that is refused gets an exception, so that no None or [] is taken for an answer."""
    with shop.guard.session(shop.token()):
        for tool in ("shop.close", "basket.pay"):
            with pytest.raises(CallForbidden) as refusal:
                shop.tools[tool](**({"everything": True} if tool == "shop.close" else {"basket": "b-2", "amount": 2}))
            assert isinstance(refusal.value, Stopped)
            assert refusal.value.result.to_bytes() == FORBIDDEN
            assert refusal.value.__cause__ is refusal.value.__context__ is None
    assert shop.ran == []


def test_absence_is_told_only_to_one_who_may_see_every_record(shop: Shop) -> None:
    """A manager hears not_found, which is no denial; a clerk hears forbidden, which tells nothing."""
    asked = {"basket": "no-such", "limit": 2}
    shop.check_refused(shop.call("basket.find", asked, "manager"), "permission_decided", "absent", NOT_FOUND)
    shop.check_refused(shop.call("basket.find", asked), "permission_decided", "basket: condition or absent")


@pytest.mark.parametrize(
    "raised",
    [PermissionError("s3cret"), NotFound(), Failed("business_rule"), LookupError("s3cret"), KeyError("s3cret")],
)
def test_what_a_tool_refuses_itself_is_no_empty_answer(shop: Shop, raised: Exception) -> None:
    """A body that raises ends in a refusal or a failure, and never in ok."""

    def fail() -> None:
        raise raised

    shop.inside = fail
    answer = shop.call("basket.find").to_json()
    assert answer["status"] in ("forbidden", "failed")
    assert "items" not in answer
    assert shop.told("execution_finished")["outcome"] == "raised"
    assert "s3cret" not in json.dumps(answer)


def test_an_honestly_empty_page_is_ok_with_all_its_fields(shop: Shop) -> None:
    """What is empty says so as a page, and `filtered` is a constant of the entry, whether or not rows were left out."""
    pen, cup = shop.lines
    answers = []
    for lines in ([], [cup], [pen], [pen, cup]):
        shop.lines = lines
        answers.append(shop.call("basket.find").to_json())
    for answer in answers:
        assert (answer["status"], answer["next_cursor"], answer["truncated"]) == ("ok", None, False)
        assert answer["filtered"] is True
    assert [len(answer["items"]) for answer in answers] == [0, 0, 1, 1]  # type: ignore[arg-type]


def test_a_result_that_may_not_leave_is_not_an_empty_one() -> None:
    """A cohort under its minimum is forbidden, although the body ran and returned something."""
    shop = open_shop(tools=TOOLS.replace("mask: {", "only_if: { as_of: { minLength: 1 } }, mask: {"))
    assert shop.call("basket.find").to_bytes() == FORBIDDEN
    assert shop.told("result_validated")["outcome"] != "accepted"
    assert shop.told("call_answered")["status"] == "forbidden"
