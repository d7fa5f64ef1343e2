"""The cuts of a result, in POLICY.md's order, on values of the right and of every wrong shape."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.policy.cuts import CutResult, cut_result, cut_schema, has_cuts
from gatewright.policy.dialect import compile_schema
from gatewright.policy.model import Conditions, Json, JsonObject, Pointer, Schema
from gatewright.policy.pointers import parse_pointer, read
from gatewright.policy.toolfile import ResultCuts

KEY = b"tenant key"

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


def satisfies(conditions: Conditions, data: JsonObject) -> bool:
    """Conditions as the tests need them: each name present and accepted by its schema."""
    return all(name in data and compile_schema(schema).accepts(data[name]) for name, schema in conditions.items())


def cut(value: Json, **cuts: object) -> CutResult:
    """*value* after cuts whose pointers are written as text."""
    return cut_result(value, written(**cuts), KEY, satisfies)


def written(
    *,
    only_if: Conditions | None = None,
    keep: dict[str, Conditions] | None = None,
    show: list[str] | None = None,
    hidden: list[str] | None = None,
    mask: dict[str, str] | None = None,
    rows: int | None = None,
) -> ResultCuts:
    """Cuts as a tool file writes them."""
    return ResultCuts(
        only_if or {},
        {parse_pointer(pointer): conditions for pointer, conditions in (keep or {}).items()},
        None if show is None else tuple(parse_pointer(pointer) for pointer in show),
        tuple(parse_pointer(pointer) for pointer in hidden or ()),
        {parse_pointer(pointer): how for pointer, how in (mask or {}).items()},
        rows,
    )


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
    assert cut_schema(RESULT, ResultCuts()) is RESULT
    every = (
        written(only_if={"a": {}}),
        written(keep={"": {}}),
        written(show=[]),
        written(hidden=["/a"]),
        written(mask={"/a": "hash"}),
        written(rows=0),
    )
    assert all(has_cuts(each) for each in every)


RESULT: Schema = {
    "type": "object",
    "additionalProperties": False,
    "required": ["total", "items", "owner", "mode"],
    "properties": {
        "total": {"type": "integer"},
        "mode": {"enum": ["a", "b"]},
        "items": {"type": "array", "minItems": 1, "uniqueItems": True, "items": {"$ref": "#/$defs/Row"}},
        "owner": {"anyOf": [{"$ref": "#/$defs/Person"}, {"type": "null"}]},
        "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"$ref": "#/$defs/Person"}], "items": False},
        "byid": {"type": "object", "additionalProperties": {"$ref": "#/$defs/Person"}, "minProperties": 1},
        "either": {"oneOf": [{"$ref": "#/$defs/X"}, {"$ref": "#/$defs/Y"}]},
    },
    "$defs": {
        "Row": {
            "type": "object",
            "additionalProperties": False,
            "required": ["id", "secret"],
            "properties": {
                "id": {"type": "string"},
                "secret": {"type": "string"},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "examples": [{"id": "1", "secret": "s3cret"}],
        },
        "Person": {
            "type": "object",
            "additionalProperties": False,
            "required": ["name"],
            "properties": {"name": {"type": "string"}, "ssn": {"type": "string", "minLength": 3}},
            "dependentRequired": {"ssn": ["name"]},
        },
        "X": {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "x"}, "n": {"type": "integer"}}},
        "Y": {"type": "object", "required": ["kind"], "properties": {"kind": {"const": "y"}, "n": {"type": "integer"}}},
    },
}
POINTERS = [
    "/total",
    "/mode",
    "/items",
    "/items/*",
    "/items/*/secret",
    "/items/*/id",
    "/items/*/tags",
    "/items/*/tags/*",
    "/items/0",
    "/owner",
    "/owner/name",
    "/owner/ssn",
    "/pair",
    "/pair/1/name",
    "/pair/*",
    "/pair/*/ssn",
    "/byid",
    "/byid/*",
    "/byid/*/name",
    "/byid/k",
    "/byid/k/ssn",
    "/either/kind",
    "/either/n",
    "/either",
    "/*",
    "/*/name",
    "/*/*",
    "/nothing",
]


def canonical(value: Json) -> str:
    """Equal values, equal text."""
    return json.dumps(value, sort_keys=True)


PERSONS = st.fixed_dictionaries({"name": st.sampled_from(["n1", "n2"])}, optional={"ssn": st.just("123-45")})
ROWS = st.fixed_dictionaries(
    {"id": st.text("ab", max_size=2), "secret": st.text("xyz", max_size=2)},
    optional={"tags": st.lists(st.just("t"), max_size=2)},
)
VALUES = st.fixed_dictionaries(
    {
        "total": st.integers(0, 3),
        "mode": st.sampled_from(["a", "b"]),
        "items": st.lists(ROWS, min_size=1, max_size=3, unique_by=canonical),
        "owner": PERSONS | st.none(),
    },
    optional={
        "pair": st.tuples(st.text("ab", max_size=2), PERSONS).map(list) | st.just([]),
        "byid": st.dictionaries(st.sampled_from(["k", "l"]), PERSONS, min_size=1),
        "either": st.fixed_dictionaries({"kind": st.sampled_from(["x", "y"])}, optional={"n": st.integers(0, 3)}),
    },
)
CONDITIONS: list[Conditions] = [{"name": {"const": "n1"}}, {"id": {"minLength": 1}}]
CUTS = st.builds(
    written,
    keep=st.dictionaries(st.sampled_from(["/items", "/pair"]), st.sampled_from(CONDITIONS), max_size=1),
    show=st.none() | st.lists(st.sampled_from(POINTERS), min_size=1, max_size=4),
    hidden=st.lists(st.sampled_from(POINTERS), max_size=3),
    mask=st.dictionaries(st.sampled_from(POINTERS), st.sampled_from(["redact", "last4", "year", "hash"]), max_size=2),
    rows=st.none() | st.integers(0, 3),
)


@pytest.mark.promise("P2")
@given(VALUES, CUTS)
def test_the_published_schema_accepts_whatever_the_cuts_leave(value: Json, cuts: ResultCuts) -> None:
    """For any value of the result schema and any cuts of it."""
    assert compile_schema(RESULT).accepts(value)
    found = cut_result(value, cuts, KEY, satisfies)
    assert found.outcome == "ok"
    published = cut_schema(RESULT, cuts)
    assert compile_schema(published).accepts(found.value), (published, found.value)


@pytest.mark.promise("P2")
@given(VALUES, CUTS)
def test_nothing_hidden_is_left(value: Json, cuts: ResultCuts) -> None:
    """No hidden pointer leads anywhere in what is left, and with `show` every name left was named."""
    left = cut_result(value, replace(cuts, mask={}), KEY, satisfies).value
    assert all(list(read(left, pointer)) == [] for pointer in cuts.hidden)
    if cuts.show is not None:
        assert all(is_shown(path, cuts.show) for path in leaves(left))


def leaves(value: Json, at: Pointer = ()) -> list[Pointer]:
    """The places of all scalars."""
    if isinstance(value, dict):
        return [leaf for name, item in value.items() for leaf in leaves(item, (*at, name))]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, (*at, str(index)))]
    return [at]


def is_shown(path: Pointer, shown: tuple[Pointer, ...]) -> bool:
    """Whether a pointer names *path* or a parent of it."""
    return any(
        len(pointer) <= len(path) and all(a in ("*", b) for a, b in zip(pointer, path, strict=False))
        for pointer in shown
    )


@pytest.mark.parametrize(
    ("cuts", "names"),
    [
        (written(hidden=["/items/*/secret"]), ["secret"]),
        (written(hidden=["/owner"], show=["/total", "/owner"]), ["owner", "ssn", "secret"]),
        (written(show=["/items/*/id"]), ["secret", "ssn", "owner", "total"]),
        (written(hidden=["/owner/ssn", "/pair/*", "/byid"]), ["ssn"]),
        (written(mask={"/items": "redact"}), ["secret"]),
    ],
)
def test_a_name_that_is_never_shown_is_not_published(cuts: ResultCuts, names: list[str]) -> None:
    """Neither as a property nor in a definition, an example or a dependency."""
    published = json.dumps(cut_schema(RESULT, cuts))
    assert [name for name in names if name in published] == []


def test_the_published_schema_says_what_is_left() -> None:
    """It stays closed, it keeps what was required and still is, and rows bound the array."""
    published = cut_schema(RESULT, written(hidden=["/items/*/secret", "/owner"], mask={"/mode": "redact"}, rows=5))
    accepts = compile_schema(published).accepts
    assert accepts({"total": 1, "mode": "***", "items": [{"id": "1"}] * 5})
    for refused in (
        {"total": 1, "mode": "a", "items": []},
        {"total": 1, "mode": "***", "items": [{"id": "1"}] * 6},
        {"total": 1, "mode": "***", "items": [{"id": "1", "secret": "s"}]},
        {"total": 1, "mode": "***", "items": [{}]},
        {"mode": "***", "items": []},
    ):
        assert not accepts(refused)


@pytest.mark.parametrize(
    ("pointers", "left"),
    [
        (["/a/x", "/*/y"], {"a": {"x": 1, "y": 2}, "b": {"y": 5}}),
        (["/a", "/*/y"], {"a": {"x": 1, "y": 2, "z": 3}, "b": {"y": 5}}),
        (["/a/x", "/*"], {"a": {"x": 1, "y": 2, "z": 3}, "b": {"x": 4, "y": 5}}),
        (["/a/x/p", "/*/x/q"], {"a": {}, "b": {}}),
    ],
)
def test_show_by_name_and_by_star_add_up(pointers: list[str], left: Json) -> None:
    """Each pointer gives; none takes from another. The published schema says the same."""
    value: Json = {"a": {"x": 1, "y": 2, "z": 3}, "b": {"x": 4, "y": 5}}
    assert cut(value, show=pointers).value == left
    numbers: Schema = {"type": "integer"}
    inner: Schema = {"type": "object", "properties": dict.fromkeys("xyz", numbers), "additionalProperties": False}
    whole: Schema = {"type": "object", "properties": {"a": inner, "b": inner}, "additionalProperties": False}
    published = compile_schema(cut_schema(whole, written(show=pointers)))
    assert published.accepts(left)
    assert published.accepts(value) is (left == value)


@pytest.mark.parametrize("rest", [False, {"type": "integer"}, None])
def test_a_tuple_that_loses_elements_is_published_as_a_list(rest: Json) -> None:
    """What stood at the second place stands at the first."""
    person: Schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    pair: Schema = {"type": "array", "prefixItems": [{"type": "string"}, person]}
    schema = pair if rest is None else {**pair, "items": rest}
    cuts = written(keep={"": {"name": {"type": "string"}}})
    found = cut_result(["text", {"name": "n"}], cuts, KEY, satisfies)
    accepts = compile_schema(cut_schema(schema, cuts)).accepts
    assert found.value == [{"name": "n"}]
    assert accepts(found.value)
    assert accepts([True]) is (rest is None)
    assert accepts([1]) is (rest is not False)
