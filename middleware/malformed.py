"""
What makes a JSON value malformed? The caps of strict decoding, and the error that says which rule a value broke.

Shared by `decode` (text) and `plain` (values made by Python code). The error holds no part of the payload.
"""

from __future__ import annotations

from typing import Final

from gatewright.policy.errors import GatewrightError

__all__ = [
    "MAX_DEPTH",
    "MAX_DIGITS",
    "MAX_INTEGER",
    "MAX_NODES",
    "MAX_SIZE",
    "Malformed",
    "check_string",
]

MAX_SIZE: Final = 1 << 20
"""Bytes of UTF-8; of a mapping, the bytes of all its strings and names together."""

MAX_DEPTH: Final = 32
"""Objects and arrays inside each other; the root is the first."""

MAX_NODES: Final = 10_000
"""Values of any type, the root and every member and element."""

MAX_INTEGER: Final = 2**53 - 1
"""The largest integer that every JSON reader reads alike (RFC 8259 section 6)."""

MAX_DIGITS: Final = 640
"""Of big integers: what the interpreter converts under its lowest setting, so that its setting changes nothing."""


class Malformed(GatewrightError):
    """
    The input is not one strict JSON value.

    *reason* is one of `complaints.SYNTAX_REASONS`; *offset* counts bytes from 0, None where there is no single place.
    Nothing of the payload is held, and no cause.
    """

    code = "invalid_arguments"

    def __init__(self, reason: str, offset: int | None = None) -> None:
        self.reason = reason
        self.offset = offset
        super().__init__(reason, offset)

    def __str__(self) -> str:
        return self.reason if self.offset is None else f"{self.reason} at byte {self.offset}"


def check_string(text: str) -> None:
    """Refuse a string that holds a NUL character or half of a surrogate pair."""
    if "\x00" in text:
        raise Malformed("nul_character")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise Malformed("lone_surrogate")
