"""What is decided of plain numbers and strings without a validator is what the validator says."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gatewright.policy.dialect import compile_schema
from gatewright.policy.scalars import accepts_flat, meet_options

_kinds = st.sampled_from(("integer", "number", "string", "boolean", "null", ["integer", "null"], ["number", "string"]))
_bounds = st.sampled_from((-1, 0, 1, 2, 0.5, 2.0))
_schemas = st.fixed_dictionaries(
    {},
    optional={
        "type": _kinds,
        "minimum": _bounds,
        "maximum": _bounds,
        "exclusiveMinimum": _bounds,
        "exclusiveMaximum": _bounds,
        "minLength": st.integers(0, 2),
        "maxLength": st.integers(0, 2),
    },
)
_values = st.sampled_from((None, True, False, -1, 0, 1, 2, 3, 0.5, 1.0, 2.0, -0.0, "", "a", "ab", "é", "😀", [], {}))


@settings(deadline=None, max_examples=400)
@given(_schemas, _values)
def test_a_flat_answer_is_the_validators(schema: Any, value: Any) -> None:
    """Wherever an answer is given without compiling, the compiled schema gives the same."""
    answer = accepts_flat(schema, value)
    if answer is None:
        assert isinstance(value, list | dict)
    else:
        assert answer == compile_schema(schema).accepts(value)


def test_what_is_not_flat_has_no_answer() -> None:
    """A pattern, an option or a nested value is left to the validator."""
    assert accepts_flat({"pattern": "^a"}, "a") is None
    assert accepts_flat({"enum": ["a"]}, "a") is None
    assert accepts_flat({"type": "array"}, []) is None


def test_options_in_common_tell_numbers_and_booleans_apart() -> None:
    """1 and true are two members at any depth; of 1 and 1.0 the integer stays, for it is what both take."""
    assert meet_options((1, True, "1", None), (True, 1.0)) == (1, True)
    assert meet_options(([1], {"a": 0}), ([True], {"a": False})) == ()
    assert repr(meet_options(([1.0], {"a": [2]}, 3.0), ([1], {"a": [2.0]}, 3))) == "([1], {'a': [2]}, 3)"
    assert meet_options(None, ("a",)) == ("a",)
    assert meet_options(([1, 2],), ([1],)) == ()
