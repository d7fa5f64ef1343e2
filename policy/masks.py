"""
What is left of a masked value? The five masks of POLICY.md, for values and for the schema that is published.

In come a value and the name of a mask; out comes a string that tells no more than the mask says. What a mask does not
fit (another type, a string too short to hide anything) is redacted.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Final

from gatewright.policy.model import Json, Schema

__all__ = ["MASKS", "REDACTED", "mask_schema", "mask_value"]

REDACTED: Final = "***"

MASKS: Final = frozenset({"redact", "last4", "prefix2", "year", "hash"})

_LAST: Final = 4
_PREFIX: Final = 2
_YEAR: Final = 4


def mask_value(value: Json, mask: str, hash_key: bytes) -> str:
    """
    Return what *mask* leaves of *value*.

    `last4` and `prefix2` keep the length, and show nothing of a string that would be shown whole. `hash` is
    HMAC-SHA256 under *hash_key*, in hex: equal values of one tenant have equal hashes.

    >>> mask_value("4111111111111111", "last4", b""), mask_value("1987-05-01", "year", b"")
    ('************1111', '1987')
    """
    if not isinstance(value, str):
        return REDACTED
    if mask == "last4":
        return "*" * len(value) if len(value) <= _LAST else "*" * (len(value) - _LAST) + value[-_LAST:]
    if mask == "prefix2":
        return "*" * len(value) if len(value) <= _PREFIX else value[:_PREFIX] + "*" * (len(value) - _PREFIX)
    if mask == "year":
        year = value[:_YEAR]
        return year if len(year) == _YEAR and year.isascii() and year.isdigit() else REDACTED
    if mask == "hash" and hash_key:
        return hmac.new(hash_key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
    return REDACTED


def mask_schema(mask: str) -> Schema:
    """Return the schema of what *mask* leaves, whatever the value was."""
    return {"type": "string"} if mask in MASKS - {"redact"} else {"type": "string", "const": REDACTED}
