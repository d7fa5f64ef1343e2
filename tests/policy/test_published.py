"""The schema that is published after cuts accepts what they leave, and names nothing that they take away."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.policy.cuts import cut_result, cut_schema
from gatewright.policy.dialect import compile_schema
from gatewright.policy.model import Conditions, Json, Pointer, Schema
from gatewright.policy.pointers import read
from gatewright.policy.toolfile import ResultCuts
from small_cuts import KEY, cut, satisfies, written

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
