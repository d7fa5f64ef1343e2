"""
P12: tenants never see each other's rows, schemas or keys.

Cursors are the tool's own as yet: nothing seals one, so nothing here shows that half.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gatewright import PolicyInvalid
from promises.shop import FORBIDDEN, GOOD, ROWS, TENANTS, Line, Shop, open_shop

pytestmark = pytest.mark.promise("P12")
OWN = {"acme": ("a-1", "north"), "globex": ("g-1", "west")}
each_way = pytest.mark.parametrize("is_async", [False, True])
each_tenant = pytest.mark.parametrize(("tenant", "other"), [TENANTS, TENANTS[::-1]])


@each_way
@each_tenant
def test_rows_are_of_the_callers_tenant_alone(shop: Shop, tenant: str, other: str, is_async: bool) -> None:
    """One's own record is found, the other tenant's is refused, by a read and by a write, and no body is entered."""
    token = shop.token(tenant=tenant)
    for tool, more in (("basket.find", {"limit": 2}), ("basket.pay", {"amount": 5})):
        asked = {"basket": OWN[tenant][0], **more}
        assert shop.call(tool, asked, token=token, is_async=is_async).status == "ok"
        shop.ran.clear()
        asked = {"basket": OWN[other][0], **more}
        result = shop.call(tool, asked, token=token, is_async=is_async)
        shop.check_refused(result, "permission_decided", "basket: condition or absent")
    result = shop.call("stock.rows", {"region": OWN[tenant][1], "limit": 2}, token=token, is_async=is_async)
    assert {item["tenant"] for item in result.to_json()["items"]} == {tenant}  # type: ignore[index, union-attr, call-overload]


@each_way
@each_tenant
def test_a_grant_of_one_tenant_is_none_of_the_other(shop: Shop, tenant: str, other: str, is_async: bool) -> None:
    """The rows of one's own domain count, and those of no other."""
    token = shop.token(tenant=tenant)
    asked = {"region": OWN[other][1], "limit": 2}
    result = shop.call("stock.rows", asked, token=token, is_async=is_async)
    assert result.to_json()["status"] in ("forbidden", "invalid_arguments")
    assert shop.told("call_answered")["step"] == "validate"
    assert shop.ran == []
    assert OWN[other][1] not in repr(shop.guard.events(shop.last)) + result.to_bytes().decode()


def test_schemas_are_of_the_callers_tenant_alone(shop: Shop) -> None:
    """The same subject in the same role, asked in turns: each tenant is shown its own regions, from whatever cache."""
    for _ in range(3):
        for tenant, regions in (("acme", ["north", "south"]), ("globex", ["west"])):
            shown = shop.shown(shop.token(tenant=tenant))["stock.rows"]["properties"]["region"]
            assert shown["enum"] == regions


def test_tasks_of_two_tenants_in_one_loop_do_not_mix(shop: Shop) -> None:
    """Calls at the same moment, in turns: each is answered with its own tenant's rows."""

    async def ask() -> list[set[str]]:
        asked = [(tenant, {"region": OWN[tenant][1], "limit": 3}) for tenant in TENANTS * 20]
        calls = [shop.guard.acall("stock.rows", args, token=shop.token(tenant=tenant)) for tenant, args in asked]
        answers: list[Any] = [result.to_json() for result in await asyncio.gather(*calls)]
        return [{row["tenant"] for row in answer["items"]} for answer in answers]

    assert asyncio.run(ask()) == [{tenant} for tenant in TENANTS * 20]


@each_way
def test_operations_of_the_same_name_are_two(shop: Shop, is_async: bool) -> None:
    """One tenant's operation is neither answered nor blocked by the other's, and its keys and digests are its own."""
    told = []
    for tenant in TENANTS:
        options: dict[str, Any] = {"token": shop.token("manager", tenant), "operation": f"one {is_async}"}
        assert (
            shop.call("basket.pay", {"basket": "x-1", "amount": 5}, is_async=is_async, **options).status == "not_found"
        )
        asked = {"basket": OWN[tenant][0], "amount": 5}
        assert shop.call("basket.pay", asked, is_async=is_async, **options).status == "ok"
        told.append(shop.told("execution_started"))
    assert len(shop.ran) == 2
    assert told[0]["operation"] != told[1]["operation"]
    assert told[0]["key"] != told[1]["key"]


def test_digests_and_pseudonyms_are_keyed_by_tenant(shop: Shop) -> None:
    """The same arguments and the same name give other digests elsewhere, so that nothing can be joined."""
    pen = [Line(name="pen", buyer="Ann", cost=1)]
    shop.lines = pen
    buyers, digests = set(), set()
    for tenant in TENANTS:
        token = shop.token(tenant=tenant)
        answer = shop.call("basket.find", {"basket": OWN[tenant][0], "limit": 1}, token=token).to_json()
        buyers.add(answer["items"][0]["buyer"])  # type: ignore[index, call-overload]
        shop.call("basket.pay", {"basket": OWN[tenant][0], "amount": 7}, token=token)
        shop.call("shop.close", token=shop.token("manager", tenant))
        digests.add(shop.told("execution_started")["arguments_digest"])
    assert len(buyers) == len(digests) == 2
    assert "Ann" not in json.dumps(sorted(buyers))


def test_attempts_of_one_tenant_are_none_of_the_other(shop: Shop) -> None:
    """An interaction of the same id and the same subject: each counts its own."""
    left = []
    for tenant in ("acme", "acme", "acme", "globex"):
        result = shop.call("basket.find", {}, token=shop.token(tenant=tenant), interaction="chat")
        left.append(result.to_json()["attempts_left"])
    assert left == [2, 1, 0, 2]


@pytest.mark.parametrize(
    "row",
    [
        "p, clerk, acme, basket:*, read, allow\n",
        "p, manager, globex, shop.close, call, allow\n",
        "g, guest, manager, globex\n",
    ],
)
def test_a_tenants_own_folder_gives_nothing_that_was_not_delegated(tmp_path: Path, row: str) -> None:
    """Rows of another domain, allows on tools and roles: the folder does not load, and what was in force stays."""
    shop = open_shop(tmp_path / "policies")
    revision = shop.guard.revision
    own = tmp_path / "policies" / "tenants" / "globex" / "policy.csv"
    own.parent.mkdir(parents=True)
    own.write_text(row)
    assert not shop.guard.reload()
    assert shop.guard.revision == revision
    assert shop.call("basket.find", {"basket": "g-1", "limit": 1}).to_bytes() == FORBIDDEN
    with pytest.raises(PolicyInvalid, match=r"tenants/globex/policy\.csv:1"):
        open_shop(tmp_path / "policies", rows=ROWS)


def test_a_token_is_of_one_tenant(shop: Shop) -> None:
    """A tenant that the issuer may not speak for, none, or a list of them: nobody."""
    for tenant in ("initech", "", ["acme", "globex"], None, "*", "acme,globex"):
        token = shop.token(tenant=tenant)  # type: ignore[arg-type]
        assert shop.call("basket.find", token=token).status == "unauthenticated"
        assert shop.told("identity_resolved")["reason"]
    assert shop.ran == []
    assert shop.call("basket.find", GOOD["basket.find"]).status == "ok"
