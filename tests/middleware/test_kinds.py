"""The table of event kinds is closed, and docs/events.md says the same."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from gatewright.middleware.kinds import FIELDS, Kind, check_fields, reached
from gatewright.policy.errors import Misuse

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "events.md"


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
    assert reached("validated", "execution_finished", {"outcome": "replayed"}) == "validated"


def test_every_event_that_is_added_anywhere_is_in_the_table() -> None:
    """Each `trail.add("kind", field=…)` and `event_line` of the package, reached by a test or not."""
    wrong = [found for path in sorted((ROOT / "middleware").rglob("*.py")) for found in misnamed(path)]
    assert wrong == []


def misnamed(path: Path) -> list[str]:
    """Where *path* adds a kind or field that is not listed."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and node.args]
    added = [call for call in calls if ast.unparse(call.func).endswith(("trail.add", "event_line"))]
    found = []
    for call in added:
        kind = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
        if isinstance(kind, str):
            fields = FIELDS.get(kind, frozenset())  # type: ignore[call-overload]
            unknown = sorted({each.arg for each in call.keywords if each.arg} - fields)
            found += [f"{path.name}:{call.lineno} {kind} {unknown}"] if unknown or kind not in FIELDS else []
    return found
