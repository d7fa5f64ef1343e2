"""Inclusion over random schemas: a yes is never wrong, a no always has its witness, and flat schemas are decided."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_schemas import NAMES, corpus, role_schemas, schemas

from gatewright.policy.dialect import compile_schema
from gatewright.policy.inclusion import CannotTell, No, Yes, is_narrower
from gatewright.policy.narrowing import narrow

VALUES = corpus(400, seed=6)
OBJECTS = [value for value in corpus(3000, seed=7) if isinstance(value, dict)]
_checked = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
_often = settings(_checked, max_examples=160)
_seldom = settings(_checked, max_examples=60)


def holds(first: Any, second: Any, values: list[Any]) -> Yes | No | CannotTell:
    """What is answered, once it is held against *values*."""
    answer = is_narrower(first, second)
    inner, outer = compile_schema(first), compile_schema(second)
    if isinstance(answer, No):
        assert inner.accepts(answer.witness), "a witness is accepted by the first"
        assert not outer.accepts(answer.witness), "and refused by the second"
        assert answer.errors
    if isinstance(answer, Yes):
        for value in values:
            assert outer.accepts(value) or not inner.accepts(value), value
    return answer


@pytest.mark.promise("P3")
@_often
@given(schemas(), schemas())
def test_an_answer_about_any_two_schemas_is_never_wrong(first: Any, second: Any) -> None:
    """A yes holds for every value there is at hand; a no shows its value."""
    holds(first, second, VALUES)


@pytest.mark.promise("P3")
@_seldom
@given(role_schemas(), schemas())
def test_what_was_narrowed_is_never_wider_than_its_base(base: Any, cut: Any) -> None:
    """A narrowed role schema is narrower, or that is not known; it is never shown to be wider."""
    narrowed = narrow(base, {"properties": {"a": cut}, "$defs": cut["$defs"]})
    assert not isinstance(holds(narrowed, base, OBJECTS), No)


_numbers = st.sampled_from((-1, 0, 1, 2, 3, 7, 1.5, 2.0))
_counts = st.integers(0, 3)


def _kept(**keywords: Any) -> Any:
    optional = {name: st.one_of(st.just(None), each) for name, each in keywords.items()}
    return st.fixed_dictionaries(optional).map(
        lambda d: {name: value for name, value in d.items() if value is not None}
    )


def _leaf() -> Any:
    numbers = _kept(minimum=_numbers, maximum=_numbers, exclusiveMinimum=_numbers, exclusiveMaximum=_numbers)
    options = st.lists(st.sampled_from((0, 1, 2, "a", "b", True, None)), min_size=1, max_size=3, unique_by=repr)
    return st.one_of(
        numbers.map(lambda d: {"type": "integer", **d}),
        numbers.map(lambda d: {"type": "number", **d}),
        _kept(minLength=_counts, maxLength=_counts).map(lambda d: {"type": "string", **d}),
        st.just({"type": "boolean"}),
        options.map(lambda members: {"enum": members}),
        options.map(lambda members: {"const": members[0]}),
    )


def _grown(inner: Any) -> Any:
    arrays = _kept(minItems=_counts, maxItems=_counts, items=inner).map(lambda d: {"type": "array", **d})
    return st.one_of(arrays, _closed(inner))


def _closed(inner: Any) -> Any:
    def whole(pair: Any) -> Any:
        properties, required = pair
        names = [name for name in required if name in properties]
        return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}

    names = st.sampled_from(NAMES)
    return st.tuples(st.dictionaries(names, inner, max_size=3), st.lists(names, unique=True, max_size=3)).map(whole)


flat: Any = _closed(st.recursive(_leaf(), _grown, max_leaves=5))


@pytest.mark.promise("P3")
@_often
@given(flat, flat)
def test_flat_schemas_are_always_decided(first: Any, second: Any) -> None:
    """Types, options, bounds, lengths, items, properties, required, closed: yes or no, never cannot tell."""
    assert not isinstance(holds(first, second, OBJECTS), CannotTell)


@_seldom
@given(flat, flat)
def test_flat_schemas_are_narrower_once_narrowed(first: Any, second: Any) -> None:
    """What two flat schemas accept together is proved to be inside each of them."""
    both = narrow(first, second)
    assert isinstance(is_narrower(both, first), Yes)
    assert isinstance(is_narrower(both, second), Yes)
