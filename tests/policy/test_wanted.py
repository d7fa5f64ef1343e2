"""Right values made from patterns stand in complaints: each one fits, and what cannot be read is left out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.policy.complaints import schema_complaints
from gatewright.policy.dialect import compile_schema
from gatewright.policy.validator import is_linear
from gatewright.policy.wanted import asked_at

MADE = [
    ("^[A-Z]{3}-[0-9]{4}$", "AAA-0000"),
    ("^[0-9]{4}-[0-9]{2}$", "0000-00"),
    ("^(?:red|blue)$", "red"),
    ("^t-[a-z0-9]+$", "t-a"),
    ("public", "public"),
]


def made_of(pattern: str, **more: Any) -> Any:
    """The example that a complaint would give, as JSON text."""
    return asked_at({"type": "string", "pattern": pattern, **more}, ()).get("example")


@pytest.mark.parametrize(("pattern", "text"), MADE)
def test_a_string_is_made_from_a_plain_pattern(pattern: str, text: str) -> None:
    """It is short, and the validator takes it."""
    assert made_of(pattern) == f'"{text}"'


@pytest.mark.filterwarnings(
    "ignore:Possible (nested set|set difference|set union|set intersection|set symmetric):FutureWarning"
)
@given(st.text(alphabet="ab01^$.*+?()[]{}|\\d-,", max_size=14))
def test_whatever_is_made_fits(pattern: str) -> None:
    """For any pattern that the dialect takes; one that is not easily read gives nothing, and no exception."""
    if is_linear(pattern):
        made = made_of(pattern)
        assert made is None or compile_schema({"pattern": pattern}).accepts(made[1:-1].replace("\\\\", "\\"))


def example_of(schema: dict[str, Any], value: Any = "!") -> str:
    """The message about one argument."""
    whole = {"type": "object", "properties": {"x": schema}}
    return str(schema_complaints(compile_schema(whole).errors({"x": value}), whole)[0].to_json()["message"])


def test_a_complaint_about_a_pattern_has_a_right_example() -> None:
    """The schema's own example, else one that fits all that is asked of the string."""
    assert 'for example "AAAA"' in example_of({"type": "string", "pattern": "^[A-Z]+$", "minLength": 3})
    assert 'for example "ZRH"' in example_of({"type": "string", "pattern": "^[A-Z]+$", "examples": ["ZRH"]})
    assert "for example" not in example_of({"type": "string", "pattern": "^[A-Z]+$", "maxLength": 0}, "!!")
