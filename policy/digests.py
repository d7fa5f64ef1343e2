"""
Which bytes stand for this JSON value, so that equal values and no others give equal bytes?

RFC 8785 form, which has no integers beyond ±(2⁵³−1): one of them is written as an object that no JSON text of ours
holds. In come values of schemas and policies; out come bytes or their digest. Never rounds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final, cast

import rfc8785

__all__ = ["canonical_bytes", "digest_of"]

_LARGEST_EXACT: Final = 2**53 - 1


def canonical_bytes(value: object) -> bytes:
    """
    Return *value* in RFC 8785 form.

    >>> canonical_bytes({"b": 1.0, "a": 2**60})
    b'{"a":{"\\\\u0000integer":"1152921504606846976"},"b":1}'
    """
    try:
        return rfc8785.dumps(cast("dict[str, Any]", value))
    except rfc8785.IntegerDomainError:
        return rfc8785.dumps(cast("dict[str, Any]", _exact(value)))


def digest_of(value: object) -> str:
    """Return the SHA-256 of *value* in RFC 8785 form, in hex."""
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def _exact(value: object) -> object:
    if isinstance(value, Mapping):
        return {name: _exact(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(item) for item in value]
    is_large = isinstance(value, int) and not -_LARGEST_EXACT <= value <= _LARGEST_EXACT
    return {"\x00integer": str(value)} if is_large else value
