"""Equal values have equal bytes, and integers that a double cannot hold keep all their digits."""

from __future__ import annotations

import pytest

from gatewright.policy.digests import canonical_bytes, digest_of


def test_the_form_is_that_of_rfc_8785() -> None:
    """Names sorted, no spaces, numbers as ECMAScript writes them."""
    assert canonical_bytes({"b": [1.0, 1e21, "é"], "a": None}) == '{"a":null,"b":[1,1e+21,"é"]}'.encode()
    assert digest_of({"a": 1}) == digest_of({"a": 1})


@pytest.mark.parametrize("number", [2**53, -(2**53), 10**40])
def test_a_large_integer_is_never_rounded(number: int) -> None:
    """Its neighbours have other digests, and so has its text."""
    assert len({digest_of({"a": each}) for each in (number, number + 1, number - 1, str(number))}) == 4
    assert str(number).encode() in canonical_bytes({"a": [number]})
