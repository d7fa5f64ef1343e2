"""A mask shows what its name says and nothing of what it does not fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.policy.dialect import compile_schema
from gatewright.policy.masks import MASKS, mask_schema, mask_value
from gatewright.policy.model import Json

KEY = b"tenant key"


@pytest.mark.parametrize(
    ("mask", "value", "left"),
    [
        ("redact", "4111111111111111", "***"),
        ("last4", "4111111111111111", "************1111"),
        ("last4", "12345", "*2345"),
        ("last4", "1234", "****"),
        ("last4", "12", "**"),
        ("last4", "", ""),
        ("prefix2", "zurich", "zu****"),
        ("prefix2", "zh", "**"),
        ("prefix2", "é", "*"),
        ("year", "1987-05-01", "1987"),
        ("year", "1987", "1987"),
        ("year", "87-05", "***"),
        ("year", "198", "***"),
        ("year", "secret", "***"),
        ("year", "١٩٨٧-05", "***"),
        ("made-up", "secret", "***"),
    ],
)
def test_a_mask_leaves_what_its_name_says(mask: str, value: str, left: str) -> None:
    """Lengths are kept by last4 and prefix2; a string that would be shown whole shows nothing."""
    assert mask_value(value, mask, KEY) == left


@pytest.mark.parametrize("mask", sorted(MASKS))
@pytest.mark.parametrize("value", [None, True, 41111, 1.5, ["4111"], {"a": "4111"}])
def test_what_is_no_string_is_redacted(mask: str, value: Json) -> None:
    """A mask that does not fit hides everything, also that there was nothing."""
    assert mask_value(value, mask, KEY) == "***"


def test_a_hash_is_of_the_tenant() -> None:
    """Equal values of one tenant are equal, of two tenants they are not, and without a key there is none."""
    assert mask_value("a", "hash", KEY) == mask_value("a", "hash", KEY) != mask_value("b", "hash", KEY)
    assert mask_value("a", "hash", KEY) != mask_value("a", "hash", b"other")
    assert mask_value("a", "hash", b"") == "***"
    assert len(mask_value("\ud800", "hash", KEY)) == 64


@given(st.text(max_size=12) | st.none() | st.integers(), st.sampled_from(sorted(MASKS)))
def test_a_masked_value_fits_the_published_schema(value: Json, mask: str) -> None:
    """Whatever came, the schema of the mask accepts what is left."""
    if isinstance(value, str) and any("\ud800" <= each <= "\udfff" for each in value):
        value = "replaced"
    assert compile_schema(mask_schema(mask)).accepts(mask_value(value, mask, KEY))


def test_the_published_schema_of_a_redacted_value_is_one_constant() -> None:
    """Nothing else can stand there, whether or not the mask is a known one."""
    for mask in ("redact", "made-up"):
        accepts = compile_schema(mask_schema(mask)).accepts
        assert accepts("***")
        assert not accepts("secret")
