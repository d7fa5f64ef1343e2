"""Narrowing over random schemas and values: exactly what both accept, and never more than the base."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from random_schemas import corpus, role_schemas, schemas

from gatewright.policy.dialect import SchemaInvalid, check_schema, compile_schema
from gatewright.policy.narrowing import any_of, imply_types, narrow

VALUES = corpus(400, seed=4)
OBJECTS = [value for value in corpus(2000, seed=5) if isinstance(value, dict)]

_checked = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
_often = settings(_checked, max_examples=260)
_seldom = settings(_checked, max_examples=80)


@pytest.mark.promise("P3")
@_often
@given(schemas(), schemas())
def test_narrowing_accepts_exactly_what_both_accept(base: Any, overlay: Any) -> None:
    """For any two schemas and any value, the narrowed schema answers as the two do together."""
    assert_exact(base, overlay)


@pytest.mark.long
@pytest.mark.promise("P3")
@settings(_checked, max_examples=760)
@given(schemas(), schemas())
def test_narrowing_accepts_exactly_what_both_accept_three_times_as_often(base: Any, overlay: Any) -> None:
    """The same over three hundred thousand samples."""
    assert_exact(base, overlay)


def assert_exact(base: Any, overlay: Any) -> None:
    """Hold the narrowed schema against both over every value: four hundred samples."""
    narrowed, first, second = (compile_schema(schema) for schema in (narrow(base, overlay), base, imply_types(overlay)))
    for value in VALUES:
        assert narrowed.accepts(value) == (first.accepts(value) and second.accepts(value)), value


@pytest.mark.promise("P3")
@_seldom
@given(role_schemas(), st.lists(schemas(), min_size=1, max_size=3))
def test_a_narrowed_role_schema_never_accepts_what_its_base_refuses(base: Any, cuts: list[Any]) -> None:
    """However many overlays are laid over a closed schema, its base accepts everything that is left."""
    narrowed = base
    for cut in cuts:
        narrowed = narrow(narrowed, {"properties": {"a": cut}, "$defs": cut["$defs"]})
    inner, outer = compile_schema(narrowed), compile_schema(base)
    for value in OBJECTS:
        assert outer.accepts(value) or not inner.accepts(value), value


@pytest.mark.promise("P3")
@_often
@given(role_schemas())
def test_normalising_a_schema_never_opens_it(schema: Any) -> None:
    """Whatever the closed form of a schema accepts, the schema as it was given accepts."""
    try:
        normal = check_schema(schema, where="t")
    except SchemaInvalid:
        reject()
    assert check_schema(normal, where="t") == normal, "a normal form is its own"
    given_, closed = compile_schema(schema), compile_schema(normal)
    for value in OBJECTS:
        assert given_.accepts(value) or not closed.accepts(value), value


@_seldom
@given(st.lists(role_schemas(), min_size=1, max_size=4))
def test_a_union_accepts_exactly_what_one_of_its_alternatives_accepts(alternatives: Any) -> None:
    """Hoisting, renaming and pruning definitions changes nothing of what the alternatives accept."""
    union = compile_schema(any_of(alternatives))
    single = [compile_schema(schema) for schema in alternatives]
    for value in OBJECTS:
        assert union.accepts(value) == any(one.accepts(value) for one in single), value


@_seldom
@given(schemas(), schemas())
def test_what_is_left_of_defaults_and_examples_passes(base: Any, overlay: Any) -> None:
    """Where narrowing took something away, no default and no example is shown that the result refuses."""
    narrowed = narrow(base, overlay)
    body, *given_ = [
        {keyword: value for keyword, value in schema.items() if keyword not in ("default", "examples", "$defs")}
        for schema in (narrowed, base, imply_types(overlay))
    ]
    accepts = compile_schema({**narrowed, "default": None}).accepts
    if body not in given_:
        assert all(map(accepts, narrowed.get("examples", ())))
        assert "default" not in narrowed or accepts(narrowed["default"])


@_seldom
@given(schemas(), schemas())
def test_narrowing_is_byte_stable_and_changes_nothing_it_is_given(base: Any, overlay: Any) -> None:
    """The same two schemas give the same bytes, and both are as they were."""
    before = json.dumps([base, overlay])
    assert json.dumps(narrow(base, overlay)) == json.dumps(narrow(base, overlay))
    assert json.dumps([base, overlay]) == before


@_seldom
@given(schemas(), schemas())
def test_narrowing_twice_by_the_same_changes_nothing_more(base: Any, overlay: Any) -> None:
    """What an overlay takes away it takes away once."""
    once = narrow(base, overlay)
    first, second = compile_schema(once), compile_schema(narrow(once, overlay))
    assert [first.accepts(value) for value in VALUES] == [second.accepts(value) for value in VALUES]
