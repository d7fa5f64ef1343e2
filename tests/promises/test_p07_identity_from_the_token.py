"""P7: identity comes only from the verified token; an agent never exceeds its subject nor itself."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from gatewright.testing import FakeIssuer, encode_part
from promises.shop import GOOD, ROLES, ROWS, TOOL_NAMES, Shop, open_shop

pytestmark = pytest.mark.promise("P7")
HELPER = {"sub": "bot-1", "roles": ["helper"]}
ASKED = [
    *((tool, GOOD[tool]) for tool in TOOL_NAMES),
    ("basket.find", {"basket": "b-2", "limit": 1}),
    ("basket.pay", {"basket": "a-1", "amount": 5}),
    ("basket.pay", {"basket": "b-2", "amount": 5}),
]


def forged(shop: Shop) -> dict[str, Any]:
    """Tokens that claim a manager and were not made by the issuer for us."""
    good, payload = shop.token("manager"), shop.issuer.claims("amy", "acme", ["manager"])
    header, body, _ = good.split(".")
    stranger = FakeIssuer(algorithm="EdDSA", clock=shop.clock)
    clerk = shop.token("clerk").split(".")
    none = encode_part(b'{"alg":"none","typ":"at+jwt"}')
    return {
        "unsigned": f"{none}.{body}.",
        "signature cut off": f"{header}.{body}.",
        "another's key": stranger.token("amy", "acme", ["manager"]),
        "another's key under our key id": stranger.sign(payload, {"kid": shop.issuer.key_id}),
        "body of one and signature of another": f"{clerk[0]}.{body}.{clerk[2]}",
        "another audience": shop.token("manager", aud="others"),
        "another issuer": shop.token("manager", iss="https://other.example"),
        "another type": shop.token("manager", typ="jwt"),
        "an undeclared tenant": shop.token("manager", tenant="initech"),
        "expired": shop.token("manager", iat=int(shop.clock.now) - 600, exp=int(shop.clock.now) - 60),
        "not valid yet": shop.token("manager", nbf=int(shop.clock.now) + 60),
        "none at all": None,
        "text": "manager",
        "with its key inside": stranger.sign(payload, {"jwk": stranger.jwks()["keys"][0]}),
    }


@pytest.mark.parametrize("is_async", [False, True])
def test_no_token_but_the_issuers_own_is_anybody(shop: Shop, is_async: bool) -> None:
    """Forged, foreign or expired: unauthenticated before any tool is looked at, and the reason is in the events."""
    for name, token in forged(shop).items():
        for tool in ("shop.close", "basket.find"):
            result = shop.call(tool, token=token, is_async=is_async)
            assert result.status == "unauthenticated", name
            assert shop.kinds() == ["request_received", "identity_resolved", "call_answered"], name
            assert shop.told("identity_resolved")["reason"], name
    assert shop.ran == []
    assert shop.call("shop.close", token=shop.token("manager"), is_async=is_async).status == "ok"


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    "name", ["tenant", "subject", "sub", "role", "roles", "token", "caller", "user_id", "_meta", "act", "branch"]
)
def test_arguments_that_pretend_to_an_identity_are_unknown(shop: Shop, name: str, is_async: bool) -> None:
    """The name is refused as any made-up one is, and the caller stays the token's."""
    result = shop.call("stock.rows", {**GOOD["stock.rows"], name: "globex"}, is_async=is_async)
    answer = result.to_json()
    assert (answer["status"], answer["reason"]) == ("invalid_arguments", "unknown_argument")
    assert shop.told("identity_resolved")["tenant"] == "acme"
    assert shop.told("schema_validated")["errors"][0]["reason"] == "unknown_argument"
    assert shop.ran == []


def test_names_in_values_are_not_identities(shop: Shop) -> None:
    """A subject whose id is a role's name, or a star, has nothing of it."""
    for sub in ("manager", "subject:manager", "*", "helper", "actor:helper"):
        result = shop.call("shop.close", token=shop.token("guest", sub=sub))
        if result.status != "unauthenticated":
            shop.check_refused(result, "tool_selected", "hidden")
    assert shop.ran == []


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_never_exceeds_its_subject(shop: Shop, is_async: bool) -> None:
    """Whatever is done for a subject by an agent, the subject may do alone; over every role, tool and record."""
    both = alone = 0
    for role, (tool, arguments) in product(ROLES, ASKED):
        acting = shop.call(tool, arguments, token=shop.token(role, act=HELPER), is_async=is_async).status == "ok"
        by_itself = shop.call(tool, arguments, token=shop.token(role), is_async=is_async).status == "ok"
        assert by_itself or not acting, (role, tool)
        both, alone = both + acting, alone + by_itself
    assert 0 < both < alone


@pytest.mark.parametrize("is_async", [False, True])
def test_an_agent_never_exceeds_itself(shop: Shop, is_async: bool) -> None:
    """A manager may pay any basket and close the shop; the agent that acts for one has its own rows only."""
    for tool, reason in (("shop.close", "hidden"), ("stock.rows", "hidden")):
        token = shop.token("manager", act=HELPER)
        shop.check_refused(shop.call(tool, token=token, is_async=is_async), "tool_selected", reason)
    token = shop.token("manager", act=HELPER)
    result = shop.call("basket.pay", {"basket": "b-2", "amount": 5}, token=token, is_async=is_async)
    shop.check_refused(result, "permission_decided", "basket: casbin")
    assert shop.told("identity_resolved")["actor"] == "bot-1"
    allowed = shop.call("basket.pay", {"basket": "a-1", "amount": 5}, token=token, is_async=is_async)
    assert allowed.status == "ok"


def test_an_agent_without_rows_has_nothing(shop: Shop) -> None:
    """An unknown agent, one with a role of subjects, one with none: no tool at all, whoever it acts for."""
    for act in ("bot-2", {"sub": "bot-2", "roles": []}, {"sub": "bot-2", "roles": ["manager"]}, {"sub": "amy"}):
        token = shop.token("manager", act=act)
        assert shop.shown(token) == {}
        for tool in TOOL_NAMES:
            shop.check_refused(shop.call(tool, token=token), "tool_selected", "hidden")


def test_a_deny_for_the_agent_is_a_deny_for_what_it_does(shop: Shop) -> None:
    """The subject keeps the tool; with the agent it is closed."""
    denied = open_shop(rows=f"{ROWS}p, actor:bot-1, acme, basket.find, call, deny\n")
    assert denied.call("basket.find", role="manager").status == "ok"
    denied.ran.clear()
    result = denied.call("basket.find", token=denied.token("manager", act=HELPER))
    denied.check_refused(result, "tool_selected", "hidden")
    assert "deny" not in json.dumps(result.to_json())
