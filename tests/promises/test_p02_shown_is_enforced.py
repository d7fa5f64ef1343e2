"""P2: what is shown is what is enforced: `jsonschema` over the shown schema and the gate say the same of each call."""

from __future__ import annotations

import json
import random
from itertools import product
from typing import Any

import pytest

from promises.second_opinion import Strict, any_arguments, good_arguments
from promises.shop import GOOD, ROLES, TOOL_NAMES, Shop

pytestmark = pytest.mark.promise("P2")
ROUNDS = 60


def is_accepted(shop: Shop, tool: str, arguments: dict[str, Any], role: str, *, is_async: bool = False) -> bool:
    """Whether the call got past validate; the event log says so."""
    shop.reset()
    shop.call(tool, arguments, role, is_async=is_async)
    return any(
        event.kind == "schema_validated" and event.fields["outcome"] == "accepted"
        for event in shop.guard.events(shop.last)
    )


@pytest.mark.parametrize(("tool", "role"), list(product(TOOL_NAMES, ROLES)))
def test_a_call_gets_past_validate_exactly_where_the_shown_schema_accepts_it(shop: Shop, tool: str, role: str) -> None:
    """For every tool and caller: what is shown decides, and a tool that is not shown accepts nothing."""
    shown = shop.shown(shop.token(role)).get(tool)
    opinion = Strict(False if shown is None else shown)
    rng = random.Random(f"{tool} {role}")
    seen = {True: 0, False: 0}
    for number in range(ROUNDS):
        arguments = any_arguments(rng, tool, shown)
        expected = opinion.is_valid(arguments)
        assert is_accepted(shop, tool, arguments, role, is_async=number % 5 == 0) == expected, arguments
        seen[expected] += 1
    assert seen[False] > 5
    assert shown is None or seen[True] > 5


@pytest.mark.parametrize("role", ["clerk", "manager", "intern"])
def test_every_bound_that_is_shown_is_the_bound(shop: Shop, role: str) -> None:
    """The largest number that is shown passes, the next one does not; the smallest alike."""
    for tool, schema in shop.shown(shop.token(role)).items():
        base = good_arguments(tool, schema)
        for name, field in schema["properties"].items():
            for keyword, beyond in (("maximum", 1), ("minimum", -1)):
                if keyword in field:
                    assert is_accepted(shop, tool, {**base, name: field[keyword]}, role), (tool, name)
                    assert not is_accepted(shop, tool, {**base, name: field[keyword] + beyond}, role), (tool, name)


def test_what_is_not_shown_is_one_unknown_name(shop: Shop) -> None:
    """Hidden and made-up arguments: the same bytes but for the name that the caller sent."""
    answers = set()
    for name in ("note", "nota", "cost"):
        result = shop.call("basket.find", {**GOOD["basket.find"], name: "x"})
        answers.add(result.to_bytes().replace(name.encode(), b"NAME"))
        assert shop.told("schema_validated")["errors"][0]["reason"] == "unknown_argument"
        assert "execution_started" not in shop.kinds()
    assert len(answers) == 1


def test_one_who_is_shown_nothing_has_nothing_accepted(shop: Shop) -> None:
    """A guest's list is empty, and each call is refused before its arguments are looked at."""
    assert shop.shown(shop.token("guest")) == {}
    for tool in TOOL_NAMES:
        shop.call(tool, role="guest")
        assert shop.kinds() == ["request_received", "identity_resolved", "tool_selected", "call_answered"]


def test_the_digest_in_the_events_is_of_the_schema_that_is_shown(shop: Shop) -> None:
    """Equal for equal schemas, and another one for each other schema."""
    digests: dict[str, str] = {}
    for role in ("clerk", "manager", "intern"):
        for tool, schema in shop.shown(shop.token(role)).items():
            shop.call(tool, role=role)
            digests[json.dumps(schema, sort_keys=True)] = shop.told("schema_validated")["schema_digest"]
    assert len(set(digests.values())) == len(digests) > 6
