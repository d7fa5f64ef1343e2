"""
Is this text one JWS in compact form, and only one? The strict reading of a token before any library sees it.

In comes the token's text; out come its header and payload as strict JSON, nothing verified. Never follows a key
that a token brings along, and never accepts a second spelling of the same token.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from typing import Final

from gatewright.middleware.decode import Malformed, decode
from gatewright.middleware.unverified import Detail, Unverified
from gatewright.policy.model import Json

__all__ = ["MAX_TOKEN", "Compact", "read_compact"]

MAX_TOKEN: Final = 16 * 1024
"""Characters of a whole token."""

_REFUSED_HEADERS: Final = frozenset({"crit", "b64", "zip", "enc", "jku", "jwk", "x5u", "x5c"})


@dataclass(frozen=True, slots=True)
class Compact:
    """
    A token taken apart, with nothing verified yet.

    *key_id* is None where the header names no key; *signed* is what *signature* is over.
    """

    algorithm: str
    key_id: str | None
    type: str
    payload: dict[str, Json] = field(repr=False)
    signed: bytes = field(repr=False)
    signature: bytes = field(repr=False)


def read_compact(token: str) -> Compact:
    """
    Take *token* apart (RFC 7515 section 7.1), strictly.

    Three parts in canonical base64url, header and payload JSON objects without duplicate names, and no header that
    changes how the token is read (`crit`, `b64`, `zip`, `enc`) or brings keys (`jku`, `jwk`, `x5u`, `x5c`).

    Raises:
        Unverified: `token_malformed`, or `token_invalid` for a well-formed header that is never accepted.
    """
    if len(token) > MAX_TOKEN:
        raise Unverified("token_malformed", "size")
    parts = token.split(".")
    if len(parts) != 3:
        raise Unverified("token_malformed", "form")
    segments = [_segment(part) for part in parts]
    header = _members(segments[0], "header")
    payload = _members(segments[1], "payload")
    if not _REFUSED_HEADERS.isdisjoint(header):
        raise Unverified("token_invalid", "header")
    key_id = None if "kid" not in header else _name(header["kid"], "key")
    signed = token[: -len(parts[2]) - 1].encode("ascii")
    return Compact(_name(header.get("alg"), "algorithm"), key_id, _type(header), payload, signed, segments[2])


def _segment(text: str) -> bytes:
    """Decode one part; writing it again must give the same text, so padding, odd bits and odd letters are out."""
    data = b""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        text = ""
    if not text or urlsafe_b64encode(data).rstrip(b"=") != text.encode("ascii"):
        raise Unverified("token_malformed", "form")
    return data


def _members(data: bytes, detail: Detail) -> dict[str, Json]:
    try:
        return decode(data).value
    except Malformed:
        pass  # raised below, outside, so that the error holds no cause
    raise Unverified("token_malformed", detail)


def _name(value: Json, detail: Detail) -> str:
    if isinstance(value, str):
        return value
    raise Unverified("token_invalid", detail)


def _type(header: dict[str, Json]) -> str:
    """Return the media type in lower case without `application/` (RFC 7515 section 4.1.9)."""
    name = _name(header.get("typ"), "type").lower()
    return name.removeprefix("application/")
