"""A hundred thousand arguments of any kind through calls: all answered, none broken by, none slow."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from desk import open_one
from gatewright.middleware.decode import decode
from gatewright.middleware.malformed import Malformed
from gatewright.policy.complaints import schema_complaints
from gatewright.policy.dialect import check_schema, compile_schema
from gatewright.testing import ListJournal

pytestmark = pytest.mark.promise("P11")


def closed(**properties: Any) -> dict[str, Any]:
    """A base schema."""
    return {"type": "object", "properties": properties, "required": [*properties]}


FUZZED = 100_000
LONGEST = 0.2
GOOD: dict[str, Any] = {
    "name": "ann",
    "count": 3,
    "day": "2026-01-31",
    "tags": ["a", "b"],
    "where": {"lat": 1.5, "on": True},
}
FUZZ_SCHEMA: dict[str, Any] = closed(
    name={"type": "string", "pattern": "^[a-z]+$", "maxLength": 40},
    count={"type": "integer", "minimum": 0, "maximum": 9},
    day={"type": "string", "format": "date"},
    tags={"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/t"}]}, "uniqueItems": True},
    where={"type": "object", "properties": {"lat": {"type": "number", "multipleOf": 0.01}, "on": {"type": "boolean"}}},
)
FUZZ_SCHEMA["$defs"] = {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}
PIECES = (
    *(
        "{",
        "}",
        "[",
        "]",
        '"',
        ":",
        ",",
        "\\",
        "\\u0000",
        "\\ud800",
        "null",
        "true",
        "1e999",
        "-0",
        "NaN",
        "0.1",
        "1e-7",
    ),
    *(
        '"name"',
        '"count"',
        '"tags"',
        '"where"',
        '"lat"',
        "\x00",
        "\u202e",
        "\ufeff",
        "\U0001f600",
        " ",
        "\n",
        "//",
        "'",
    ),
    *("[" * 40, "{" * 40, "9" * 400, "a" * 5000, '"a",' * 300, "[[]," * 200, "1.0", '"\\u00e9"', "\u0661"),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        1,
        -1,
        9,
        10,
        2**53,
        2**63,
        10**30,
        0.5,
        1.0,
        1e300,
        5e-324,
        "",
        "ann",
        "ANN",
        "ann\n",
        "é" * 60,
    ),
    *(
        "2026-02-30",
        "2026-01-31",
        "a" * 4000,
        [],
        {},
        [[]],
        ["a", "a"],
        {"lat": 0.07},
        {"lat": 1e-9, "on": 1},
        json.loads("[" * 20 + "]" * 20),
        json.loads("[" * 40 + "]" * 40),
    ),
)


def any_arguments(rng: random.Random, good: str) -> Any:
    """Good arguments with something in them replaced, cut or doubled; pieces of JSON; bytes; mappings of anything."""
    kind = rng.random()
    at = rng.randrange(len(good))
    if kind < 0.45:
        return good[:at] + rng.choice(PIECES) + good[at + rng.randrange(12) :]
    if kind < 0.6:
        return json.dumps({**GOOD, rng.choice(list(GOOD)): rng.choice(VALUES)})
    if kind < 0.75:
        return {**GOOD, rng.choice((*GOOD, "extra", "__proto__", "")): rng.choice(VALUES)}
    if kind < 0.9:
        return "".join(rng.choices(PIECES, k=rng.randrange(1, 9)))
    return good[:at].encode() + rng.randbytes(rng.randrange(1, 9)) + good[at:].encode()


class Slowest:
    """Times what is done with each argument; what took long is done once more, since a machine may pause."""

    def __init__(self, work: Callable[[Any], str]) -> None:
        self.work = work
        self.seen: Counter[str] = Counter()

    def ask(self, raw: Any) -> None:
        """Do it with *raw*, in time."""
        began = time.perf_counter()
        outcome = self.work(raw)
        if time.perf_counter() - began > LONGEST:
            began = time.perf_counter()
            self.work(raw)
            assert time.perf_counter() - began < LONGEST, repr(raw)[:200]
        self.seen[outcome] += 1


def test_a_hundred_thousand_arguments_are_decoded_and_validated_at_once() -> None:
    """The decode and validate half of a call: a value that the schema takes, or complaints; never anything else."""
    schema = check_schema(FUZZ_SCHEMA, where="fuzz")
    validator = compile_schema(schema)

    def judge(raw: Any) -> str:
        try:
            value = decode(raw).value
        except Malformed as error:
            return error.reason
        errors = validator.errors(value)
        assert bool(errors) != validator.accepts(value)
        return schema_complaints(errors, schema)[0].reason if errors else "ok"

    rng, good, asked = random.Random(4), json.dumps(GOOD), Slowest(judge)
    for _ in range(FUZZED):
        asked.ask(any_arguments(rng, good))
    assert asked.seen.total() == FUZZED
    assert {"ok", "malformed", "too_deep", "duplicate_key", "nul_character", "wrong_type", "not_utf8"} <= set(
        asked.seen
    )
    assert asked.seen["ok"] > FUZZED / 200


class Nothing(ListJournal):
    """A journal that keeps nothing."""

    def append(self, line: bytes, /) -> None:
        """Let it go."""


@pytest.mark.parametrize("count", [FUZZED // 10, pytest.param(FUZZED, marks=pytest.mark.long)])
def test_calls_with_any_arguments_are_answered_at_once(count: int) -> None:
    """The whole way of a call: every one has its answer, nothing breaks inside, and only what is right is run."""
    ran: list[str] = []

    def take(name: str, count: int, day: str, tags: list[Any], where: dict[str, Any]) -> None:
        """Take them."""
        assert name.islower(), "only what the schema takes comes here"
        assert 0 <= count <= 9
        ran.append(name)

    desk, _ = open_one(take, schema=FUZZ_SCHEMA, options={"journal": Nothing()})
    token, good, rng = desk.token(), json.dumps(GOOD), random.Random(5)
    asked = Slowest(lambda raw: desk.guard.call("some.thing", raw, token=token).status)
    for _ in range(count):
        asked.ask(any_arguments(rng, good))
    desk.guard.close()
    assert set(asked.seen) == {"ok", "invalid_arguments"}, "nothing is answered with what stands for a fault"
    assert len(ran) >= asked.seen["ok"] > count / 200
