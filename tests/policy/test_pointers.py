"""Pointers name places in JSON values, with `*` for every element."""

from __future__ import annotations

import pytest

from gatewright.policy.model import Json
from gatewright.policy.pointers import format_pointer, parse_pointer, put, read, resource_ids

ORDER: Json = {"lines": [{"tax": 1, "a/b": 2}, {"net": 3}], "map": {"x": {"y": 1}, "z": {"y": 2}}}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("/lines/*/tax", {("lines", "0", "tax"): 1}),
        ("/lines/*/a~1b", {("lines", "0", "a/b"): 2}),
        ("/map/*/y", {("map", "x", "y"): 1, ("map", "z", "y"): 2}),
        ("/nothing", {}),
        ("/lines/tax", {}),
    ],
)
def test_a_pointer_reads_every_place_it_names(pointer: str, found: dict[tuple[str, ...], Json]) -> None:
    """`*` stands for every element of an array and every property of an object."""
    assert dict(read(ORDER, parse_pointer(pointer))) == found


def test_a_pointer_survives_the_round_trip() -> None:
    """Escapes of RFC 6901 are undone and redone."""
    assert format_pointer(parse_pointer("/a~1b/c~0d/*")) == "/a~1b/c~0d/*"


def test_putting_changes_a_copy_only() -> None:
    """The input stays as it was, and so does what the pointer does not name."""
    changed = put(ORDER, ("lines", "*", "tax"), 9, replace=True)
    assert dict(read(changed, ("lines", "*", "tax"))) == {("lines", "0", "tax"): 9, ("lines", "1", "tax"): 9}
    assert dict(read(ORDER, ("lines", "*", "tax"))) == {("lines", "0", "tax"): 1}


def test_a_present_value_stays_unless_replaced() -> None:
    """Defaults fill gaps; pins win."""
    assert put({"a": 1}, ("a",), 2, replace=False) == {"a": 1}
    assert put({"a": 1}, ("a",), 2, replace=True) == {"a": 2}


def test_parents_are_never_made() -> None:
    """A pin inside an absent object does not bring the object."""
    assert put({}, ("a", "b"), 1, replace=True) == {}


@pytest.mark.parametrize(
    ("at", "arguments", "ids"),
    [
        ("/repo@/ref", {"repo": "web/shop", "ref": "main"}, ("web/shop@main",)),
        ("/pay/*/id", {"pay": [{"id": "a"}, {"id": "b"}, {"id": "a"}]}, ("a", "b")),
        ("/id", {"id": 42}, ("42",)),
        ("/id", {"id": None}, ()),
        ("/id", {}, ()),
        ("/id", {"id": True}, ("",)),
        ("/id", {"id": 4.5}, ("",)),
        ("/a@/b", {"a": "x"}, ("",)),
        ("/a@/b", {}, ()),
    ],
)
def test_a_resource_pointer_names_ids(at: str, arguments: dict[str, Json], ids: tuple[str, ...]) -> None:
    """Null and absence name nothing; what cannot be an id is the empty id, which no row matches."""
    assert resource_ids(at, arguments) == ids
