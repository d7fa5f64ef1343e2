"""A page always has its three fields, in its JSON and in its schema."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from gatewright.middleware.page import PAGE_FIELDS, Page, is_page_schema
from gatewright.policy.dialect import check_schema, compile_schema


class Line(BaseModel):
    """An item."""

    ts: str
    message: str | None = None


@pytest.mark.promise("P5")
def test_an_empty_page_says_that_it_is_one() -> None:
    """No items, no cursor, nothing left out: all three are there."""
    assert Page[Line](items=[]).model_dump(mode="json") == {"items": [], "next_cursor": None, "truncated": False}


def test_what_a_page_is_of_is_left_out_where_nothing_was_said() -> None:
    """as_of, version and ref are strings or not there."""
    page = Page[Line](items=[Line(ts="a")], as_of="2026-01-01T00:00:00Z", version="7", ref="run-1")
    assert page.model_dump(mode="json") == {
        "items": [{"ts": "a", "message": None}],
        "next_cursor": None,
        "truncated": False,
        "as_of": "2026-01-01T00:00:00Z",
        "version": "7",
        "ref": "run-1",
    }


@pytest.mark.parametrize("mode", ["validation", "serialization"])
def test_the_schema_of_a_page_is_a_result_schema(mode: str) -> None:
    """Closed, within the dialect, requiring the three fields, and true of every page."""
    schema = check_schema(TypeAdapter(Page[Line]).json_schema(mode=mode), where="test")  # type: ignore[arg-type]
    assert schema["required"] == list(PAGE_FIELDS)
    assert schema["additionalProperties"] is False
    assert is_page_schema(schema)
    accepts = compile_schema(schema).accepts
    for page in (Page[Line](items=[]), Page[Line](items=[Line(ts="a")], next_cursor="c", truncated=True, ref="r")):
        assert accepts(page.model_dump(mode="json"))
    assert not accepts({"items": []})
    assert not accepts({"items": [], "next_cursor": None, "truncated": False, "total": 3})
    assert not accepts({"items": [], "next_cursor": None, "truncated": False, "as_of": None})


@pytest.mark.case(66)
def test_a_page_refuses_what_it_does_not_know_without_quoting_it() -> None:
    """A misspelt field is an error, and the error holds no value."""
    with pytest.raises(ValidationError) as caught:
        Page[Line](items=[Line(ts="a")], next="s3cret-canary")  # type: ignore[call-arg]
    assert "s3cret" not in str(caught.value)


def test_a_page_cannot_be_changed() -> None:
    """What was released is what was checked."""
    with pytest.raises(ValidationError):
        Page[Line](items=[]).truncated = True  # type: ignore[misc]
