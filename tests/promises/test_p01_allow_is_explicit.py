"""P1: nothing is allowed without an explicit allow; deny overrides; an error, an absence, an unknown name deny."""

from __future__ import annotations

from itertools import product

import pytest

from promises.shop import FORBIDDEN, GOOD, NAMES, ROLES, ROWS, TOOL_NAMES, TOOLS, Shop, open_shop

pytestmark = pytest.mark.promise("P1")
ALLOWS = [row for row in ROWS.splitlines() if row.endswith("call, allow")]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_shop_without_an_allow_row_allows_nothing(is_async: bool) -> None:
    """Entries alone open nothing: without rows every tool is hidden from every role."""
    shop = open_shop(rows="g2, basket.find, tools/counter\n")
    for tool, role in product(TOOL_NAMES, ROLES):
        shop.check_refused(shop.call(tool, role=role, is_async=is_async), "tool_selected", "hidden")


def test_a_row_alone_opens_nothing() -> None:
    """A Casbin allow for a tool without an entry leaves it hidden."""
    shop = open_shop(tools="tool: shop.close\nallow: [ { id: guest, roles: [guest] } ]\n")
    for tool in TOOL_NAMES:
        shop.check_refused(shop.call(tool, role="manager"), "tool_selected", "hidden")


def test_every_allow_row_is_needed() -> None:
    """Whichever allow on a tool is taken away: somebody who had a tool has it no more, and nobody has more."""
    before = open_shop()
    had = {role: set(before.shown(before.token(role))) for role in ROLES}
    for row in ALLOWS:
        shop = open_shop(rows=ROWS.replace(f"{row}\n", ""))
        has = {role: set(shop.shown(shop.token(role))) for role in ROLES}
        assert all(has[role] <= had[role] for role in ROLES), row
        assert has != had or row.startswith("p, helper"), row


def test_a_deny_row_overrides_every_allow() -> None:
    """For a role, for everybody or for one subject, wherever the row stands."""
    for row in ("clerk, *", "*, *", "subject:amy, acme", "*, acme"):
        for rows in (f"p, {row}, stock.rows, call, deny\n{ROWS}", f"{ROWS}p, {row}, stock.rows, call, deny\n"):
            shop = open_shop(rows=rows)
            shop.check_refused(shop.call("stock.rows"), "tool_selected", "hidden")
            shop.check_refused(
                shop.call("stock.rows", token=shop.issuer.token("amy", "acme", ["clerk", "manager"], branch="one")),
                "tool_selected",
                "hidden",
            )


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("tool", ["basket.find", "basket.pay"])
def test_an_absent_claim_record_or_grant_denies(shop: Shop, tool: str, is_async: bool) -> None:
    """The branch is not in the token; the record is not there; no row names the record."""
    nowhere = shop.issuer.token("amy", "acme", ["clerk"])
    shop.check_refused(shop.call(tool, token=nowhere, is_async=is_async), "tool_selected", "hidden")
    told = "basket: condition or absent"
    absent = {**GOOD[tool], "basket": "no-such"}
    shop.check_refused(shop.call(tool, absent, is_async=is_async), "permission_decided", told)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_record_that_no_row_names_is_denied_before_it_is_loaded(shop: Shop, is_async: bool) -> None:
    """A row for the tool is not a row for each record that it touches."""
    asked = {"basket": "b-2", "limit": 2}
    result = shop.call("basket.find", asked, "intern", is_async=is_async)
    shop.check_refused(result, "permission_decided", "basket: casbin")
    assert shop.loaded == []


@pytest.mark.parametrize("name", ["", " basket.find", "basket.find ", "Basket.find", "basket", "basket.*", "*"])
def test_an_unknown_name_denies(shop: Shop, name: str) -> None:
    """No spelling but the tool's own is the tool, for nobody."""
    for role in ROLES:
        shop.check_refused(shop.call(name, {"basket": "a-1", "limit": 1}, role), "tool_selected", "unknown")


@pytest.mark.parametrize("is_async", [False, True])
def test_an_error_while_deciding_denies(is_async: bool) -> None:
    """A step of the application that raises between decision and body: refused, and no text of it is told."""
    shop = open_shop()

    def fail() -> None:
        raise RuntimeError("s3cret")

    shop.meanwhile = fail
    for tool in ("basket.find", "stock.rows", "basket.pay"):
        result = shop.call(tool, is_async=is_async)
        assert result.to_bytes() == FORBIDDEN
        assert shop.told("call_answered")["cause"].startswith("RuntimeError")
        assert "s3cret" not in repr(shop.guard.events(shop.last))
    assert shop.ran == []


def test_an_undeclared_role_grants_nothing(shop: Shop) -> None:
    """A role that the token claims and names.yaml does not know."""
    assert "owner" not in NAMES + TOOLS
    for tool in TOOL_NAMES:
        shop.check_refused(shop.call(tool, role="owner"), "tool_selected", "hidden")
