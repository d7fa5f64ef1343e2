"""
Which token does an HTTP request bring, and how is one without a good token answered? RFC 6750, without any framework.

In come raw headers and a query; out comes a token, None, or `BearerRefused` with a constant answer. Reads the
Authorization header alone, and echoes nothing of a request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from gatewright.middleware.results import Unauthenticated
from gatewright.policy.errors import GatewrightError, Misuse

__all__ = ["BearerAnswer", "BearerRefused", "Challenge", "read_bearer"]

_SCHEME: Final = re.compile(r"bearer(?: +(.*))?", re.IGNORECASE | re.DOTALL)
_B64TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_PARAMETER: Final = re.compile(rb"(?:^|[&;])access_token(?:=|&|;|$)")
_QUOTED: Final = re.compile(r"[\x20\x21\x23-\x5B\x5D-\x7E]*")
_MISSING: Final = Unauthenticated("token_missing")


class BearerRefused(GatewrightError):
    """
    A request that brings a token in a way that is none (RFC 6750 section 3.1, `invalid_request`).

    Holds nothing of the request.
    """

    code = "invalid_request"

    def __init__(self) -> None:
        super().__init__("the request brings no token, or more than one, in the one place where it may stand")


def read_bearer(headers: Iterable[tuple[bytes, bytes]], query: bytes = b"") -> str | None:
    """
    Return the token of a request, from its raw *headers* (names in lower case) and *query*; None where it brings none.

    Another scheme than Bearer brings none.

    Raises:
        BearerRefused: two Authorization headers, a Bearer header that holds no token, or a token in the query, where it
            would end in logs (RFC 6750 section 5.3) and is never read.
    """
    stated = [value for name, value in headers if name == b"authorization"]
    if len(stated) > 1 or _PARAMETER.search(query):
        raise BearerRefused
    found = _SCHEME.fullmatch(stated[0].decode("latin-1").strip(" \t")) if stated else None
    if found is None:
        return None
    if _B64TOKEN.fullmatch(found[1] or "") is None:
        raise BearerRefused
    return found[1]


@dataclass(frozen=True, slots=True)
class BearerAnswer:
    """What is sent instead of what was asked for: a status, raw headers, and the `unauthenticated` result as body."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    result: Unauthenticated
    body: bytes


class Challenge:
    """
    How one server answers requests without a good token: one constant answer for each reason.

    *realm* names it; *resource_metadata* is the URL of its RFC 9728 document, where it has one.

    Raises:
        Misuse: one of the two cannot stand in a header.
    """

    __slots__ = ("_parameters",)

    def __init__(self, realm: str = "gatewright", resource_metadata: str | None = None) -> None:
        stated = {"realm": realm, "resource_metadata": resource_metadata}
        self._parameters: dict[str, str] = {name: value for name, value in stated.items() if value is not None}
        for name, value in self._parameters.items():
            if not _QUOTED.fullmatch(value):
                raise Misuse(f"this {name} cannot stand in a header", "printable ASCII without quotes and backslashes")

    def answer(self, refused: Unauthenticated | BearerRefused) -> BearerAnswer:
        """Return 400 for a request that brings its token wrongly, 401 for one whose token identifies nobody."""
        if isinstance(refused, BearerRefused):
            return self._answer(400, Unauthenticated("token_malformed"), {"error": "invalid_request"})
        error = {"error": "invalid_token", "error_description": refused.reason} if refused != _MISSING else {}
        return self._answer(401, refused, error)

    def _answer(self, status: int, result: Unauthenticated, error: Mapping[str, str]) -> BearerAnswer:
        body = result.to_bytes()
        challenge = ", ".join(f'{name}="{value}"' for name, value in {**self._parameters, **error}.items())
        headers = {
            b"www-authenticate": f"Bearer {challenge}".encode("ascii"),
            b"content-type": b"application/json",
            b"content-length": str(len(body)).encode("ascii"),
            b"cache-control": b"no-store",
        }
        return BearerAnswer(status, tuple(headers.items()), result, body)
