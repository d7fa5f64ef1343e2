"""A request brings one token in one place, and whoever brings none gets a constant answer."""

from __future__ import annotations

import json
from typing import get_args

import pytest

from gatewright import Misuse
from gatewright.middleware.bearer import BearerRefused, Challenge, read_bearer
from gatewright.middleware.results import Unauthenticated
from gatewright.middleware.unverified import Reason


def read(*values: bytes, query: bytes = b"") -> str | None:
    """The token of a request with these Authorization headers."""
    others = [(b"host", b"tools.example"), (b"proxy-authorization", b"Bearer other"), (b"x-token", b"other")]
    return read_bearer([*others, *((b"authorization", value) for value in values)], query)


@pytest.mark.parametrize(
    "value", [b"Bearer a.b.c", b"bearer a.b.c", b"BEARER a.b.c", b"Bearer   a.b.c", b" Bearer a.b.c "]
)
def test_the_scheme_is_read_without_regard_to_case(value: bytes) -> None:
    """RFC 9110 section 11.1; one space or more follows it."""
    assert read(value) == "a.b.c"


@pytest.mark.parametrize("values", [(), (b"",), (b"Basic YTpi",), (b"DPoP a.b.c",), (b"Bearers a.b.c",), (b"a.b.c",)])
def test_another_scheme_brings_no_token(values: tuple[bytes, ...]) -> None:
    """Neither does no header at all."""
    assert read(*values) is None


@pytest.mark.parametrize(
    "values",
    [
        (b"Bearer",),
        (b"Bearer ",),
        (b"Bearer a b",),
        (b"Bearer a.b.c,",),
        (b"Bearer a, Bearer b",),
        (b"Bearer a\tb",),
        (b"Bearer a\nb",),
        (b"Bearer a\x00",),
        (b"Bearer \xe9",),
        (b"Bearer =a",),
        (b'Bearer realm="x"',),
        (b"Bearer a", b"Bearer a"),
        (b"Bearer a", b"Basic YTpi"),
        (b"", b"Bearer a"),
    ],
)
def test_a_token_that_is_brought_wrongly_is_refused(values: tuple[bytes, ...]) -> None:
    """None, several, or what can be no token (RFC 6750 section 2.1); nothing of it is in the error."""
    with pytest.raises(BearerRefused) as caught:
        read(*values)
    assert caught.value.args[0].startswith("the request brings")


@pytest.mark.parametrize(
    "query",
    [b"access_token=a.b.c", b"a=1&access_token=", b"access_token", b"a=1&access_token&b=2", b"a;access_token=x"],
)
def test_a_token_in_the_query_is_refused(query: bytes) -> None:
    """Beside a header it is a second one; alone it would be in logs (RFC 6750 section 5.3)."""
    for values in ((), (b"Bearer a.b.c",)):
        with pytest.raises(BearerRefused):
            read(*values, query=query)
    assert read(b"Bearer a", query=b"my_access_token=1&access_tokens=2&x=access_token") == "a"


def test_each_reason_has_one_constant_answer() -> None:
    """Status, challenge and body; a request without a token is told no error (RFC 6750 section 3.1)."""
    challenge = Challenge("tools", "https://tools.example/.well-known/oauth-protected-resource")
    start = b'Bearer realm="tools", resource_metadata="https://tools.example/.well-known/oauth-protected-resource"'
    for reason in get_args(Reason):
        answer = challenge.answer(Unauthenticated(reason))
        headers = dict(answer.headers)
        error = b"" if reason == "token_missing" else f', error="invalid_token", error_description="{reason}"'.encode()
        assert (answer.status, headers[b"www-authenticate"]) == (401, start + error)
        assert headers[b"cache-control"] == b"no-store"
        assert int(headers[b"content-length"]) == len(answer.body)
        assert json.loads(answer.body) == Unauthenticated(reason).to_json()
    wrong = challenge.answer(BearerRefused())
    assert (wrong.status, dict(wrong.headers)[b"www-authenticate"]) == (400, start + b', error="invalid_request"')
    assert json.loads(wrong.body)["reason"] == "token_malformed"


@pytest.mark.parametrize("realm", ['a"b', "a\\b", "a\nb", "é"])
def test_a_realm_that_would_break_the_header_is_misuse(realm: str) -> None:
    """Said at once, not with the first refusal."""
    with pytest.raises(Misuse):
        Challenge(realm)
    with pytest.raises(Misuse):
        Challenge(resource_metadata=realm)
