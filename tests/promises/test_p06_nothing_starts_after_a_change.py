"""P6: no tool body is entered after a revocation, expiry, reload or argument change committed before its start."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from promises.shop import FORBIDDEN, GOOD, ROWS, TOOLS, Shop, open_shop

pytestmark = pytest.mark.promise("P6")
CALLED = ["basket.find", "stock.rows", "basket.pay"]
"""A read with a record, a read that is a coroutine, and a write."""
EXPIRED = b'{"status":"unauthenticated","reason":"token_expired","retryable":false,"next":"refresh_credential"}'
REVOKED = b'{"status":"unauthenticated","reason":"token_revoked","retryable":false,"next":"refresh_credential"}'
ALLOW = "p, clerk, *, tools/counter, call, allow\n"

each_tool = pytest.mark.parametrize("tool", CALLED)
each_way = pytest.mark.parametrize("is_async", [False, True])


@pytest.fixture(scope="module")
def folder_shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """One shop over a folder of policies."""
    return open_shop(tmp_path_factory.mktemp("shop") / "policies")


@pytest.fixture
def shop(folder_shop: Shop) -> Iterator[Shop]:
    """The shop as it was opened; what a test changed is put back."""
    folder = folder_shop.guard.folder
    assert folder is not None
    before = {path: path.read_text() for path in folder.rglob("*") if path.is_file()}
    folder_shop.reset()
    yield folder_shop
    changed = [path for path, text in before.items() if path.read_text() != text]
    for path in changed:
        path.write_text(before[path])
    assert not changed or folder_shop.guard.reload()


def rewrite(shop: Shop, file: str, change: Callable[[str], str]) -> Callable[[], object]:
    """A change of one file of the policies that is live at once."""

    def apply() -> None:
        path = (shop.guard.folder or Path()) / file
        text = path.read_text()
        if change(text) != text:
            path.write_text(change(text))
            assert shop.guard.reload()

    return apply


@each_tool
@each_way
def test_what_nothing_happens_to_runs_once(shop: Shop, tool: str, is_async: bool) -> None:
    """The control: the same calls, the same wait, and the body is entered."""
    assert shop.call(tool, is_async=is_async).status == "ok"
    assert [name for name, _ in shop.ran] == [tool]
    assert shop.told("permission_rechecked")["outcome"] == "passed"


@each_tool
@each_way
def test_a_token_that_expires_between_decision_and_body_stops_it(shop: Shop, tool: str, is_async: bool) -> None:
    """At the very second that its leeway ends, and long after; a second earlier it holds."""
    for waits in (61, 3600):
        shop.meanwhile = lambda waits=waits: shop.clock.advance(waits)  # type: ignore[misc]
        result = shop.call(tool, token=shop.token(lifetime=60), is_async=is_async)
        shop.check_refused(result, "permission_rechecked", "token: expired", EXPIRED)
    shop.meanwhile = lambda: shop.clock.advance(60)
    assert shop.call(tool, token=shop.token(lifetime=60), is_async=is_async).status == "ok"


@each_tool
@each_way
@pytest.mark.parametrize("what", ["token", "session", "subject", "actor"])
def test_a_revocation_between_decision_and_body_stops_it(shop: Shop, tool: str, is_async: bool, what: str) -> None:
    """Of the token, its session, its subject or the agent that acts; one that is about somebody else stops nothing."""
    revoke = getattr(shop.guard.revocations, f"revoke_{what}")
    if (what, tool) == ("actor", "stock.rows"):
        tool = "basket.find"  # the agent may not do the other
    name = f"{what}-{tool}-{is_async}"
    ids = {"token": name, "session": f"at-{name}", "subject": "amy", "actor": "helper"}
    acting = {"act": {"sub": "helper", "roles": ["helper"]}} if what == "actor" else {}
    token = shop.token(jti=name, sid=f"at-{name}", **acting)
    shop.meanwhile = lambda: revoke(f"{ids[what]}-of-another")
    assert shop.call(tool, token=token, is_async=is_async).status == "ok"
    shop.meanwhile = lambda: revoke(ids[what])
    shop.ran.clear()
    result = shop.call(tool, token=token, is_async=is_async)
    shop.check_refused(result, "permission_rechecked", "token: token_revoked", REVOKED)
    shop.clock.advance(1)


@each_tool
@each_way
@pytest.mark.parametrize("row", ["", ALLOW.replace("allow", "deny"), f"{ALLOW}p, subject:amy, acme, *, call, deny\n"])
def test_a_reload_that_withdraws_the_grant_stops_it(shop: Shop, tool: str, is_async: bool, row: str) -> None:
    """The allow is gone, or a deny has come: whoever was decided before it is judged again and refused."""
    before = shop.guard.revision
    shop.meanwhile = rewrite(shop, "policy.csv", lambda text: text.replace(ALLOW, row))
    shop.check_refused(shop.call(tool, is_async=is_async), "permission_rechecked", "admission: closed")
    assert shop.told("permission_rechecked")["revision"] == shop.guard.revision != before


@each_way
@pytest.mark.parametrize("tool", ["basket.find", "basket.pay"])
def test_a_reload_that_withdraws_the_record_stops_it(shop: Shop, tool: str, is_async: bool) -> None:
    """The tool is still open; the row for the record is gone."""
    action = "read" if tool == "basket.find" else "pay"
    shop.meanwhile = rewrite(
        shop, "policy.csv", lambda text: text.replace(f"p, clerk, *, basket:*, {action}, allow\n", "")
    )
    result = shop.call(tool, is_async=is_async)
    shop.check_refused(result, "permission_rechecked", "resource: basket: casbin")


@each_way
def test_a_narrower_bound_stops_a_call_above_it(shop: Shop, is_async: bool) -> None:
    """The arguments were accepted; under the newest policies they would not be."""
    shop.meanwhile = rewrite(shop, "tools/shop.yaml", lambda text: text.replace("maximum: 100 }", "maximum: 4 }"))
    result = shop.call("basket.pay", is_async=is_async)
    assert result.to_bytes() == FORBIDDEN
    assert shop.told("permission_rechecked")["outcome"] == "forbidden"
    assert shop.ran == []


@each_tool
@each_way
def test_arguments_that_their_owner_changes_meanwhile_are_not_what_runs(shop: Shop, tool: str, is_async: bool) -> None:
    """A mapping is changed between decision and body, in place and in depth: the judged one runs, or nothing."""
    given: dict[str, Any] = dict(GOOD[tool])

    def change() -> None:
        given.update({name: 99 if isinstance(value, int) else "b-2" for name, value in given.items()})

    shop.meanwhile = change
    token = shop.token()
    before = json.dumps(given)
    if is_async:
        assert asyncio.run(shop.guard.acall(tool, given, token=token)).status == "ok"
    else:
        assert shop.guard.call(tool, given, token=token).status == "ok"
    assert json.dumps(given) != before
    (_, arguments), *_ = shop.ran
    assert {name: arguments[name] for name in GOOD[tool]} == GOOD[tool]


@each_way
def test_a_step_of_the_application_cannot_change_what_runs(shop: Shop, is_async: bool) -> None:
    """What a step is shown are copies: writing into them changes nothing of the call."""
    seen: list[Any] = []
    other = open_shop(more={"after_validate": [lambda call: seen.append(call.arguments)]})  # keeps what it was shown
    other.meanwhile = lambda: [each.update(basket="b-2", limit=50, amount=99) for each in seen]
    for tool in ("basket.find", "basket.pay"):
        assert other.call(tool, is_async=is_async).status == "ok"
    assert [arguments["basket"] for _, arguments in other.ran] == ["a-1", "a-1"]


def test_the_policies_that_are_changed_here_are_the_shops() -> None:
    """What the tests above replace is there to be replaced."""
    assert ALLOW in ROWS
    assert "maximum: 100 }" in TOOLS
