"""The cuts of a result, in POLICY.md's order, on values of the right and of every wrong shape."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest

from gatewright.policy.cuts import CutResult, cut_result, cut_schema, has_cuts
from gatewright.policy.model import Conditions, Json, JsonObject, Schema
from gatewright.policy.pointers import parse_pointer, read
from gatewright.policy.toolfile import ResultCuts
from small_cuts import KEY, cut, written

PATIENTS: Json = {
    "cohort": 12,
    "items": [
        {
            "id": "p1",
            "name": "Amy",
            "born": "1987-05-01",
            "card": "4111111111111111",
            "ward": "a",
            "visits": [{"note": "x"}],
        },
        {"id": "p2", "name": "Bo", "born": "1990-01-01", "card": "42", "ward": "b", "visits": []},
        {"id": "p3", "name": "Cy", "born": "2001-01-01", "card": "4222222222222222", "ward": "a"},
    ],
}


@pytest.mark.promise("P5")
@pytest.mark.parametrize("value", [PATIENTS, {"items": []}, {"cohort": "12"}, {"cohort": None}, [], None, "text", 12])
def test_only_if_that_does_not_hold_forbids(value: Json) -> None:
    """A cohort that is too small, absent, of another type, or no object at all: forbidden, never an empty value."""
    found = cut(value, only_if={"cohort": {"type": "integer", "minimum": 20}}, hidden=["/items"])
    assert found == CutResult(None, outcome="forbidden")


def test_only_if_that_holds_changes_nothing() -> None:
    """The value goes on as it was."""
    assert cut(PATIENTS, only_if={"cohort": {"minimum": 10}}) == CutResult(PATIENTS)


def test_only_true_satisfies() -> None:
    """A truthy answer that is not True is a refusal (P1)."""
    cuts = written(only_if={"cohort": {}})
    odd: Callable[[Conditions, JsonObject], bool] = lambda *_: "yes"  # type: ignore[assignment, return-value]  # noqa: E731
    assert cut_result(PATIENTS, cuts, KEY, odd).outcome == "forbidden"


def test_keep_leaves_the_elements_that_satisfy() -> None:
    """And the mark `filtered` is a constant, whether or not anything was left out."""
    found = cut(PATIENTS, keep={"/items": {"ward": {"const": "a"}}})
    assert [place[1] for place in read(found.value, ("items", "*", "id"))] == ["p1", "p3"]
    assert found.filtered
    assert cut(PATIENTS, keep={"/items": {"id": {"type": "string"}}}).filtered
    assert cut({"items": []}, keep={"/items": {"ward": {"const": "a"}}}) == CutResult({"items": []}, filtered=True)


@pytest.mark.parametrize("element", ["text", 1, None, [], [{"ward": "a"}], {}, {"ward": None}, {"Ward": "a"}])
def test_an_element_of_another_shape_is_not_kept(element: Json) -> None:
    """What is absent never satisfies, and what is no object has nothing."""
    assert cut({"items": [element]}, keep={"/items": {"ward": {"const": "a"}}}).value == {"items": []}


@pytest.mark.promise("P5")
@pytest.mark.parametrize("items", [{"p1": {"ward": "b"}}, "text", 1, True])
def test_keep_on_what_is_no_array_lets_nothing_through(items: Json) -> None:
    """It is neither shown nor turned into an empty list."""
    assert cut({"items": items}, keep={"/items": {"ward": {"const": "a"}}}) == CutResult(None, outcome="unfit")
    assert cut(items, keep={"": {"ward": {"const": "a"}}}).outcome == "unfit"


def test_keep_leaves_null_as_it_is() -> None:
    """Where the schema allows null there is nothing in it to filter."""
    assert cut({"items": None}, keep={"/items": {"ward": {}}}) == CutResult({"items": None}, filtered=True)


def test_keep_reaches_every_array_that_its_pointer_names() -> None:
    """`*` stands for every element; the root may be the array itself."""
    value = {"groups": [{"rows": [{"n": 1}, {"n": 5}]}, {"rows": [{"n": 7}]}, {}]}
    found = cut(value, keep={"/groups/*/rows": {"n": {"maximum": 3}}})
    assert found.value == {"groups": [{"rows": [{"n": 1}]}, {"rows": []}, {}]}
    assert cut([{"n": 1}, {"n": 5}], keep={"": {"n": {"maximum": 3}}}).value == [{"n": 1}]


@pytest.mark.parametrize(
    ("pointers", "left"),
    [
        (["/cohort"], {"cohort": 12}),
        (["/items/*/id"], {"items": [{"id": "p1"}, {"id": "p2"}, {"id": "p3"}]}),
        (["/items/*/visits/*/note"], {"items": [{"visits": [{"note": "x"}]}, {"visits": []}, {}]}),
        (["/*"], PATIENTS),
        (["/nothing"], {}),
        (["/items/*/id/deeper", "/cohort"], {"items": [{}, {}, {}], "cohort": 12}),
        (["/items/1/id", "/items/id", "/cohort"], {"items": [], "cohort": 12}),
        (["/items", "/items/*/id", "/cohort"], PATIENTS),
    ],
)
def test_show_drops_whatever_it_does_not_name(pointers: list[str], left: Json) -> None:
    """A scalar where something deeper is named is dropped too; a parent shows all below it."""
    assert cut(PATIENTS, show=pointers).value == left


@pytest.mark.parametrize("value", ["text", 1, None, True])
def test_show_of_a_scalar_lets_nothing_through(value: Json) -> None:
    """It is not shown, and it does not become an empty value."""
    assert cut(value, show=["/a"]) == CutResult(None, outcome="unfit")


def test_show_of_nothing_lets_nothing_through() -> None:
    """An empty list is not the same as no list."""
    assert cut(PATIENTS, show=[]).outcome == "unfit"


@pytest.mark.parametrize(
    "items", [["secret-1"], [["secret-1"]], [{"id": ["secret-1"]}, "secret-2"], "secret-1", {"x": "secret-1"}]
)
def test_show_never_lets_a_wrong_shape_through(items: Json) -> None:
    """Only what a pointer leads to is there."""
    assert "secret" not in json.dumps(cut({"items": items}, show=["/items/*/id/a"]).value)


@pytest.mark.parametrize(
    ("pointer", "gone"),
    [("/items/*/card", 3), ("/items/*/visits/*/note", 1), ("/items/*/visits", 2), ("/cohort", 1)],
)
def test_hidden_takes_out_what_it_names(pointer: str, gone: int) -> None:
    """Everywhere it leads, and nothing else."""
    tokens = parse_pointer(pointer)
    assert sum(1 for _ in read(PATIENTS, tokens[:-2])) >= 1
    found = cut(PATIENTS, hidden=[pointer]).value
    assert list(read(found, tokens)) == []
    assert count(PATIENTS) - count(found) >= gone


def count(value: Json) -> int:
    """How many members and elements there are at any depth."""
    children = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return len(children) + sum(count(child) for child in children)


@pytest.mark.parametrize("value", ["text", None, 1, [], {}, {"items": 3}, {"items": [1, None, "x", []]}])
def test_hidden_leaves_what_it_does_not_lead_into(value: Json) -> None:
    """A pointer into a scalar names nothing."""
    assert cut(value, hidden=["/items/*/card"]) == CutResult(value)


def test_hidden_at_an_element_removes_it() -> None:
    """Of a map as of an array, which only `*` enters; the whole value can't be hidden."""
    assert cut({"a": {"x": 1, "y": 2}}, hidden=["/a/*"]).value == {"a": {}}
    assert cut([1, 2, 3], hidden=["/*"]).value == []
    assert cut([1, 2, 3], hidden=["/1"]).value == [1, 2, 3]
    assert cut("text", hidden=["/*"]).value == "text"
    assert cut([1, 2, 3], hidden=[""]).outcome == "unfit"


def test_masks_are_put_wherever_their_pointer_leads() -> None:
    """Of any type, also a whole object, and the value itself."""
    found = cut(PATIENTS, mask={"/items/*/card": "last4", "/items/*/visits": "redact", "/items/*/born": "year"}).value
    assert [value for _, value in read(found, ("items", "*", "card"))] == ["************1111", "**", "************2222"]
    assert [value for _, value in read(found, ("items", "*", "visits"))] == ["***", "***"]
    assert [value for _, value in read(found, ("items", "*", "born"))] == ["1987", "1990", "2001"]
    assert cut("secret", mask={"": "last4"}).value == "**cret"


@pytest.mark.parametrize(
    ("value", "left", "truncated"),
    [
        ([1, 2, 3], [1, 2], True),
        ([1, 2], [1, 2], False),
        ({"items": [1, 2, 3], "tags": [1, 2, 3]}, {"items": [1, 2], "tags": [1, 2, 3]}, True),
        ({"series": [1, 2, 3], "more": [4, 5, 6], "n": 3}, {"series": [1, 2], "more": [4, 5], "n": 3}, True),
        ({"items": "none", "series": [1, 2, 3]}, {"items": "none", "series": [1, 2]}, True),
        ({"n": 3}, {"n": 3}, False),
        ("text", "text", False),
        (None, None, False),
    ],
)
def test_rows_are_at_most_so_many_and_say_so(value: Json, left: Json, truncated: bool) -> None:
    """Of the array itself, of `items`, or of every array right below the root."""
    assert cut(value, rows=2) == CutResult(left, truncated=truncated)


def test_the_cuts_come_in_their_order() -> None:
    """only_if and keep see what show, hidden and mask take away; rows counts what was kept."""
    found = cut(
        PATIENTS,
        only_if={"cohort": {"const": 12}},
        keep={"/items": {"ward": {"const": "a"}}},
        hidden=["/cohort", "/items/*/ward"],
        show=["/cohort", "/items/*/ward", "/items/*/card", "/items/*/name"],
        mask={"/items/*/card": "last4"},
        rows=1,
    )
    assert found == CutResult({"items": [{"card": "************1111", "name": "Amy"}]}, filtered=True, truncated=True)


def test_a_cut_never_changes_its_input() -> None:
    """The tool's own object may live on in a cache."""
    before = copy.deepcopy(PATIENTS)
    kept: dict[str, Conditions] = {"/items": {"ward": {"const": "a"}}}
    cut(PATIENTS, keep=kept, hidden=["/items/*/id"], mask={"/items/*/card": "hash"}, rows=1)
    assert before == PATIENTS


def test_no_cuts_are_no_work() -> None:
    """The value and the schema come back as the same objects."""
    assert not has_cuts(ResultCuts())
    schema: Schema = {"type": "object", "properties": {"a": {}}}
    assert cut_schema(schema, ResultCuts()) is schema
    every = (
        written(only_if={"a": {}}),
        written(keep={"": {}}),
        written(show=[]),
        written(hidden=["/a"]),
        written(mask={"/a": "hash"}),
        written(rows=0),
    )
    assert all(has_cuts(each) for each in every)
