"""P11: no input crashes, hangs or makes the gate call out."""

from __future__ import annotations

import asyncio
import json
import random
import socket
from collections.abc import Iterator
from time import perf_counter
from typing import Any, NoReturn

import pytest

from gatewright.testing import encode_part
from promises.second_opinion import VALUES
from promises.shop import GOOD, TOOL_NAMES, Shop

pytestmark = pytest.mark.promise("P11")
INPUTS = 2_500
LONGEST = 5.0
"""Seconds that one input may take at the very most; the slowest here takes a few hundredths."""
PIECES = (
    *("{", "}", "[", "]", '"', ":", ",", "\\", "\\u", "\\ud800", "null", "true", "1e999", "-0", "NaN", "Infinity"),
    *('"basket"', '"limit"', '"amount"', '"a-1"', "2", "\x00", "\u202e", "\ufeff", "\U0001f600", " ", "\n", "/*", "'"),
)
HEAVY: tuple[str | bytes, ...] = (
    "[" * 200_000,
    '{"a":' * 100_000,
    "9" * 100_000,
    '{"limit":' + "9" * 100_000 + "}",
    '{"limit":1e' + "9" * 10_000 + "}",
    '{"basket":"' + "a" * 2_000_000 + '"}',
    '{"basket":"' + "\\u0000" * 10_000 + '"}',
    "{" + ",".join(f'"k{number}":1' for number in range(20_000)) + "}",
    '{"limit":2,' * 5_000,
    " " * 1_000_000,
    b"\xff\xfe" + '{"basket":"a-1"}'.encode("utf-16-le"),
    b"\x00" * 1_000_000,
    '{"$ref":"https://attacker.example/schema.json","basket":"a-1","limit":1}',
    '{"basket":"https://attacker.example/","limit":1}',
    '{"basket":"file:///etc/passwd","limit":1}',
)
ANSWERS = {"ok", "forbidden", "invalid_arguments", "not_found", "unauthenticated"}


@pytest.fixture(autouse=True)
def nothing_breaks_inside(shop: Shop) -> Iterator[None]:
    """A step that raised is answered with a refusal, and is a fault all the same: the events have its cause."""
    yield
    answered = [event.fields for event in shop.journal.events() if event.kind == "call_answered"]
    assert [fields["cause"] for fields in answered if fields.get("cause")] == []


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever calls out fails the test."""

    def call_out(*_: object, **__: object) -> NoReturn:
        pytest.fail("the gate called out")

    monkeypatch.setattr(socket.socket, "connect", call_out)
    monkeypatch.setattr(socket, "getaddrinfo", call_out)


def any_text(rng: random.Random) -> str | bytes:
    """Bytes of any kind, pieces of JSON in any order, or good arguments with something broken in them."""
    kind = rng.randrange(3)
    if kind == 0:
        return rng.randbytes(rng.randrange(40))
    if kind == 1:
        return "".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 20)))
    good = json.dumps(GOOD[rng.choice(TOOL_NAMES)])
    at = rng.randrange(len(good))
    return good[:at] + rng.choice(PIECES) + good[at + rng.randrange(2) :]


def any_value(rng: random.Random, depth: int = 0) -> Any:
    """A JSON value of any shape."""
    if depth < 3 and rng.random() < 0.4:
        names = ("basket", "limit", "amount", "__class__", "$ref", "", "a/b", "~", "\ud800")
        parts = [any_value(rng, depth + 1) for _ in range(rng.randrange(4))]
        return parts if rng.random() < 0.5 else {rng.choice(names): part for part in parts}
    return rng.choice(VALUES)


def any_token(rng: random.Random, good: str) -> Any:
    """Something in the place of a token."""
    header, body, signature = good.split(".")
    at = rng.randrange(len(good))
    other = encode_part(json.dumps({"alg": rng.choice(["EdDSA", "none", "HS256", 1, None]), "kid": "../../x"}).encode())
    linked = encode_part(
        b'{"alg":"EdDSA","typ":"at+jwt","jku":"https://attacker.example/keys","x5u":"https://a.example"}'
    )
    raw = rng.randbytes(rng.randrange(60))
    broken: tuple[Any, ...] = (
        raw.decode("latin-1"),
        raw,
        f"{good[:at]}{rng.choice('.=_-+/ é')}{good[at + 1 :]}",
        good[:at],
        f"{other}.{body}.{signature}",
        f"{linked}.{body}.{signature}",
        f"{header}.{encode_part(raw)}.{signature}",
        f"{header}.{encode_part(json.dumps(any_value(rng)).encode())}.{signature}",
        rng.choice([None, "", ".", "..", "...", 7, [], {}, "\ud800", "a" * 100_000]),
    )
    return rng.choice(broken)


def test_thousands_of_texts_as_arguments_have_an_answer(shop: Shop) -> None:
    """Random bytes, pieces of JSON and good arguments with an error in them; nothing raises."""
    rng, token = random.Random(11), shop.token()
    seen = {shop.guard.call(rng.choice(TOOL_NAMES), any_text(rng), token=token).status for _ in range(INPUTS)}
    assert seen >= {"forbidden", "invalid_arguments"}
    assert seen <= ANSWERS


def test_thousands_of_values_as_arguments_have_an_answer(shop: Shop) -> None:
    """JSON values of any shape, as mappings and as text, from a thread and from a task."""
    rng, token = random.Random(12), shop.token("manager")

    async def ask_all() -> set[str]:
        seen = set[str]()
        for number in range(INPUTS // 2):
            value, tool = any_value(rng), rng.choice(("basket.find", "stock.rows", "basket.pay"))
            seen.add(shop.guard.call(tool, value, token=token).status)
            if number % 5 == 0:
                seen.add((await shop.guard.acall(tool, json.dumps(value), token=token)).status)
        return seen

    assert asyncio.run(ask_all()) <= ANSWERS


def test_thousands_of_names_have_an_answer(shop: Shop) -> None:
    """Whatever stands where a tool's name should: the constant."""
    rng, token = random.Random(13), shop.token()
    for _ in range(INPUTS // 2):
        text = any_text(rng)
        name: Any = rng.choice([text, text.decode("latin-1") if isinstance(text, bytes) else text, any_value(rng)])
        assert shop.guard.call(name, "{}", token=token).status == "forbidden"


def test_thousands_of_tokens_have_an_answer(shop: Shop) -> None:
    """Broken, forged and foreign tokens, and what is no token at all: nobody, and no key is fetched."""
    rng, good = random.Random(14), shop.token()
    assert shop.guard.call("basket.find", "{}", token=good).status == "invalid_arguments"
    for _ in range(INPUTS // 2):
        token = any_token(rng, good)
        if token != good:
            assert shop.guard.call("basket.find", "{}", token=token).status == "unauthenticated", token


@pytest.mark.parametrize("raw", HEAVY, ids=[f"{number}" for number in range(len(HEAVY))])
def test_an_input_that_is_made_to_be_heavy_is_answered_at_once(shop: Shop, raw: str | bytes) -> None:
    """Depth, length, digits and numbers of members: refused in a time that does not grow with what it pretends."""
    began = perf_counter()
    answer = shop.call("basket.find", raw).status
    assert answer in ("invalid_arguments", "forbidden")
    assert perf_counter() - began < LONGEST
    assert "execution_started" not in shop.kinds()


def test_a_pattern_that_would_backtrack_does_not_hang(shop: Shop) -> None:
    """The regular expressions of a schema are linear, whatever they are matched with."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}},
        "required": ["a"],
    }
    began = perf_counter()
    assert shop.guard.check(schema, {"a": "a" * 50_000 + "!"}).status == "invalid_arguments"
    assert perf_counter() - began < LONGEST
