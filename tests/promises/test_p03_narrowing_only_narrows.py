"""P3: a narrowed schema never accepts what its base refuses."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from gatewright.policy.narrowing import any_of, narrow
from promises.second_opinion import Strict, any_arguments
from promises.shop import GOOD, Shop

pytestmark = pytest.mark.promise("P3")
PAIRS = 1_000
KEYWORDS: dict[str, tuple[Any, ...]] = {
    "type": ("integer", "number", "string", "boolean", "array", "object", ["integer", "null"], ["string", "number"]),
    "minimum": (-1, 0, 2, 2.5),
    "maximum": (0, 3, 10),
    "exclusiveMinimum": (0, 1),
    "multipleOf": (2, 0.5),
    "enum": ([1, 2, 3], ["a", "b"], [True, None], [1, "a"]),
    "const": (1, "a", True, None),
    "minLength": (0, 1, 2),
    "maxLength": (1, 3),
    "pattern": ("^a", "^[ab]+$"),
    "minItems": (1,),
    "maxItems": (0, 2),
    "uniqueItems": (True,),
    "items": ({"type": "integer"}, {"type": "string", "maxLength": 1}),
    "required": (["k"],),
    "properties": ({"k": {"type": "integer"}}, {"k": {"maximum": 2}}),
    "not": ({"const": 1}, {"type": "string"}),
    "anyOf": ([{"type": "integer"}, {"maxLength": 2}],),
}
SAMPLES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 2.5, 3, 4, 11, "", "a", "ab", "abc", "b", [], [1], [1, 1], ["a"], ["ab", 1, 2]),
    *({}, {"k": 1}, {"k": 3}, {"k": "a"}),
)


def schema_of(rng: random.Random) -> dict[str, Any]:
    """A small schema of any few keywords, useful or not."""
    return {name: rng.choice(KEYWORDS[name]) for name in rng.sample(sorted(KEYWORDS), rng.randrange(1, 4))}


def test_no_value_passes_a_narrowed_schema_that_its_base_refuses() -> None:
    """Over random pairs of base and overlay, judged by the second validator; and something is really narrowed."""
    rng = random.Random(3)
    narrower = 0
    for _ in range(PAIRS):
        base, overlay = schema_of(rng), schema_of(rng)
        inner, outer = Strict(narrow(base, overlay)), Strict(base)
        for value in SAMPLES:
            accepted, wide = inner.is_valid(value), outer.is_valid(value)
            assert wide or not accepted, (base, overlay, value)
            narrower += wide and not accepted
    assert narrower > PAIRS


def test_several_entries_together_accept_no_more_than_their_base() -> None:
    """The union of what several entries leave is still inside."""
    rng = random.Random(33)
    for _ in range(PAIRS // 5):
        base = schema_of(rng)
        inner, outer = Strict(any_of([narrow(base, schema_of(rng)) for _ in range(3)])), Strict(base)
        for value in SAMPLES:
            assert outer.is_valid(value) or not inner.is_valid(value), (base, value)


@pytest.mark.parametrize("role", ["clerk", "manager", "intern"])
def test_every_role_schema_of_the_shop_is_inside_the_base_schema(shop: Shop, role: str) -> None:
    """What a role is shown, filled with nothing, is arguments of the tool as its developer wrote it."""
    bases = {
        name.removeprefix("catalog/").removesuffix(".json"): json.loads(text)["schema"]
        for name, text in shop.guard.catalog().items()
    }
    rng = random.Random(role)
    for tool, schema in shop.shown(shop.token(role)).items():
        inner, outer = Strict(schema), Strict(bases[tool])
        for _ in range(400):
            arguments = any_arguments(rng, tool, schema)
            assert outer.is_valid(arguments) or not inner.is_valid(arguments), (tool, arguments)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_value_that_only_a_wider_role_may_send_is_refused(shop: Shop, is_async: bool) -> None:
    """Each step of limit by role, one above it: refused with the field, and the body is not entered."""
    shop.ran.clear()
    for role, most in (("intern", 2), ("clerk", 5), ("manager", 50)):
        result = shop.call("basket.find", {**GOOD["basket.find"], "limit": most + 1}, role, is_async=is_async)
        answer = result.to_json()
        assert (answer["status"], answer["field"], answer["reason"]) == ("invalid_arguments", "/limit", "too_large")
        assert shop.told("schema_validated")["errors"] == [
            {"field": "/limit", "layer": "schema", "reason": "too_large"}
        ]
    assert shop.ran == []


def test_the_second_validator_is_strict() -> None:
    """The comparison means something: a boolean and an integral float are no integers, in neither of the two."""
    assert not any(Strict({"type": "integer"}).is_valid(value) for value in (True, 1.0, "1"))
