"""What somebody else says of a schema: `jsonschema`, told what an integer is here; and arguments to be asked about."""

from __future__ import annotations

import random
from typing import Any

import jsonschema

from promises.shop import GOOD

VALUES: tuple[Any, ...] = (
    *(0, 1, 2, 3, 5, 6, 10, 50, 51, 100, 101, 1000, 1001, -1, -0.0, 2.0, 1.5, 10**15),
    *(None, True, False, "", "a-1", "north", "south", "west", "CHF", "EUR", "USD", "red", "blue", "RED", "1", "\n"),
    *([], ["a"], ["a", "b"], ["a", "b", "c"], [1], [[]], {}, {"a": 1}),
)
NAMES = (
    "basket",
    "limit",
    "colour",
    "note",
    "region",
    "tags",
    "amount",
    "currency",
    "memo",
    "urgent",
    "everything",
    "x",
)
INTEGER = jsonschema.Draft202012Validator.TYPE_CHECKER.redefine(
    "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
)
Strict = jsonschema.validators.extend(jsonschema.Draft202012Validator, type_checker=INTEGER)  # type: ignore[no-untyped-call]
"""The second opinion. An integral float is no integer here, as DESIGN section 5 has it."""


def good_arguments(tool: str, schema: Any) -> dict[str, Any]:
    """Arguments that *schema* accepts, or that the tool's developer would accept where there is none."""
    if schema is None:
        return dict(GOOD[tool])
    fitting = {name: value for name, value in GOOD[tool].items() if name in schema["properties"]}
    return fitting | ({"tags": []} if "tags" in schema["required"] else {})


def any_arguments(rng: random.Random, tool: str, schema: Any) -> dict[str, Any]:
    """Good arguments with a few things changed, added or left out."""
    arguments = good_arguments(tool, schema)
    for _ in range(rng.randrange(4)):
        name = rng.choice([*arguments, *NAMES])
        if rng.random() < 0.2:
            arguments.pop(name, None)
        else:
            arguments[name] = rng.choice(VALUES)
    return arguments
