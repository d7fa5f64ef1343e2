"""docs/acceptance.md is true: the tests and the event kinds that its rows name exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gatewright.middleware.kinds import FIELDS

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (?!item|---)(.+?) \| (.+?) \| (.+?) \|$", (ROOT / "docs/acceptance.md").read_text("utf-8"), re.M
)


def test_every_item_of_the_checklist_has_a_row() -> None:
    """Fifteen items, each once."""
    items = [item for item, _, _ in ROWS]
    assert len(items) == len(set(items)) == 15


@pytest.mark.parametrize(("item", "events", "test"), ROWS, ids=[item for item, _, _ in ROWS])
def test_a_row_names_what_exists(item: str, events: str, test: str) -> None:
    """Event kinds and fields are ours, test files are there, and an open row says what will fill it."""
    for kind, field in re.findall(r"`([a-z]+_[a-z_]+)(?:\.([a-z_]+))?`", events):
        assert kind in FIELDS, kind
        assert not field or field in FIELDS[kind], f"{kind}.{field}"
    files = re.findall(r"`(tests/[^`]+)`", test)
    assert files or test.startswith("open: "), item
    assert all((ROOT / file).exists() for file in files), item
