"""The table of event kinds is closed, and docs/events.md says the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from gatewright.middleware.kinds import FIELDS, Kind, check_fields, reached
from gatewright.policy.errors import Misuse

PAGE = Path(__file__).parents[2] / "docs" / "events.md"


def test_every_kind_has_its_fields() -> None:
    """The Literal and the table name the same kinds."""
    assert set(get_args(Kind)) == set(FIELDS)


def test_the_page_lists_every_kind_with_exactly_its_fields() -> None:
    """docs/events.md and the table cannot drift apart."""
    sections = re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
    listed = {
        section.split("\n", 1)[0].strip("` "): frozenset(re.findall(r"^\| `(\w+)` \|", section, flags=re.MULTILINE))
        for section in sections
    }
    assert listed == dict(FIELDS)


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("call_ended", {}),
        ("call_answered", {"message": "no"}),
        ("call_answered", {"duration_us": 1.5}),
        ("permission_decided", {"rows": [1]}),
        ("permission_decided", {"failures": [{"stage": {"deep": "x"}}]}),
        ("identity_resolved", {"subject": b"amy"}),
    ],
)
def test_what_is_not_in_the_table_is_refused(kind: str, fields: dict[str, object]) -> None:
    """Unknown kinds, unknown fields, floats, bytes and nested values are no events."""
    with pytest.raises(Misuse):
        check_fields(kind, fields)


def test_a_status_never_goes_back() -> None:
    """An answered call stays returned, whatever is told of it later."""
    assert reached("returned", "execution_finished", {}) == "returned"
    assert reached("executed", "schema_validated", {"outcome": "accepted"}) == "executed"
    assert reached("generated", "schema_validated", {"outcome": "refused"}) == "generated"
