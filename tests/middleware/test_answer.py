"""What the caller hears when a tool raises: declared codes and reasons for reads, `unknown` for writes."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl

import pytest

from gatewright.middleware.answer import answer_exception, answer_failure
from gatewright.middleware.failures import Conflict, Failed, NoEffect, NotFound
from gatewright.middleware.results import FORBIDDEN, NOT_FOUND, ConflictResult, FailedResult, Result, Unknown

CANARY = "s3cret-canary"


def httpx_class(name: str, *bases: type[Exception], module: str = "httpx") -> type[Exception]:
    """A class that looks as one of httpx does."""
    return type(name, bases or (Exception,), {"__module__": module})


TRANSPORT = httpx_class("TransportError", module="httpx._exceptions")
TIMEOUT = httpx_class("TimeoutException", TRANSPORT, module="httpx._exceptions")


class Response:
    """As much of a response as an HTTPStatusError has."""

    def __init__(self, status_code: object) -> None:
        self.status_code = status_code


def http_error(status: object) -> Exception:
    """An HTTPStatusError with *status*."""
    error = httpx_class("HTTPStatusError")(CANARY)
    error.response = Response(status)  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        (TimeoutError(CANARY), "timeout", True),
        (TimeoutError(110, CANARY), "timeout", True),
        (ConnectionError(CANARY), "unavailable", True),
        (ConnectionResetError(104, CANARY), "unavailable", True),
        (socket.gaierror(-2, CANARY), "unavailable", True),
        (ssl.SSLError(1, CANARY), "unavailable", True),
        (httpx_class("ReadTimeout", TIMEOUT)(CANARY), "timeout", True),
        (httpx_class("ConnectError", TRANSPORT)(CANARY), "unavailable", True),
        (httpx_class("ConnectError", httpx_class("TransportError", module="httpx2"))(CANARY), "unavailable", True),
        (httpx_class("UnsupportedProtocol", TRANSPORT)(CANARY), "internal", False),
        (httpx_class("TransportError", module="httpxish")(CANARY), "internal", False),
        (http_error(401), "upstream_credentials", False),
        (http_error(403), "upstream_credentials", False),
        (http_error(429), "rate_limited", True),
        (http_error(503), "unavailable", True),
        (http_error(504), "timeout", True),
        (http_error(500), "internal", False),
        (http_error(404), "internal", False),
        (http_error("503"), "internal", False),
        (http_error([503]), "internal", False),
        (asyncio.CancelledError(CANARY), "cancelled", False),
        (PermissionError(13, CANARY), "internal", False),
        (FileNotFoundError(2, CANARY), "internal", False),
        (KeyError(CANARY), "internal", False),
        (ValueError(CANARY), "internal", False),
        (RecursionError(CANARY), "internal", False),
        (ExceptionGroup("g", [TimeoutError(CANARY)]), "internal", False),
        (KeyboardInterrupt(CANARY), "internal", False),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, BaseException) else str(each),
)
def test_a_read_that_raises_has_a_code(error: BaseException, code: str, retryable: bool) -> None:
    """The default map for reads; whatever is not in it is internal, and nothing of its text goes out."""
    answer = answer_exception(error, kind="read")
    assert isinstance(answer, FailedResult)
    assert (answer.code, answer.effect, answer.retryable) == (code, "none", retryable)
    assert CANARY not in json.dumps([answer.to_json(), answer.to_error(), answer.to_message("openai", "c")])


def test_a_permission_error_without_errno_is_a_refusal() -> None:
    """Raised by the application, not by the operating system."""
    assert answer_exception(PermissionError(CANARY), kind="read") is FORBIDDEN


@pytest.mark.promise("P8")
@pytest.mark.case(87)
@pytest.mark.parametrize(
    "error",
    [
        TimeoutError(),
        ConnectionError(),
        PermissionError(),
        asyncio.CancelledError(),
        Failed("business_rule"),
        Failed("unavailable"),
        Conflict("already_refunded"),
        NotFound(),
        KeyError("x"),
        SystemExit(),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_started_write_that_raises_is_unknown(error: BaseException) -> None:
    """Whatever the exception, a timeout is not a failure."""
    answer = answer_exception(error, kind="write", operation_id="op_1", reasons={"already_refunded"})
    assert answer == Unknown("op_1")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NoEffect(), FailedResult("internal")),
        (NoEffect(Failed("unavailable")), FailedResult("unavailable")),
        (NoEffect(Conflict("already_refunded")), ConflictResult("resource_state", "already_refunded")),
        (NoEffect(NotFound()), FORBIDDEN),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["read", "write"])
def test_no_effect_is_the_one_way_out(error: NoEffect, expected: Result, kind: str) -> None:
    """A write that certainly changed nothing answers what the developer said."""
    assert answer_exception(error, kind=kind, reasons={"already_refunded"}) == expected  # type: ignore[arg-type]


def test_a_typed_failure_of_a_read_is_answered_as_said() -> None:
    """Code, declared reason, field and the time to wait."""
    failed = Failed("rate_limited", reason="quota", field="/n", retryable=False, retry_after=3)
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert answer_failure(failed, reasons={"quota"}, schema=schema) == FailedResult(
        "rate_limited", retry_after=3, reason="quota", field="/n", repeatable=False
    )


@pytest.mark.parametrize("field", ["/hidden", "/made_up", "/lines/0/hidden", "/n/deeper"])
def test_a_field_outside_the_callers_schema_is_dropped(field: str) -> None:
    """A developer's field names nothing that the caller's own schema does not have."""
    line = {"type": "object", "properties": {"sku": {}}, "additionalProperties": False}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}, "lines": {"type": "array", "items": line}}}
    failed = Failed("business_rule", field=field)
    for told in (answer_failure(failed, schema=schema), answer_exception(failed, kind="read", schema=schema)):
        assert "field" not in told.to_json()
    assert answer_failure(Failed("internal", field="/lines/0/sku"), schema=schema).to_json()["field"] == "/lines/0/sku"
    assert "field" not in answer_failure(Failed("internal", field="/n")).to_json(), "no schema, no field"


@pytest.mark.parametrize("failure", [Failed("business_rule", reason=CANARY), Conflict(CANARY)], ids=str)
def test_a_reason_that_was_not_declared_is_dropped(failure: Failed | Conflict) -> None:
    """A reason is a code that the catalog lists; a free text is not."""
    assert CANARY not in str(answer_failure(failure, reasons={"quota"}).to_json())
    assert CANARY not in str(answer_exception(failure, kind="read").to_json())


@pytest.mark.promise("P4")
def test_absence_is_told_only_by_the_rule() -> None:
    """A tool that raises NotFound for a foreign record must not become an oracle."""
    assert answer_exception(NotFound(), kind="read", may_tell_absence=True) is NOT_FOUND
    assert answer_exception(NotFound(), kind="read") is FORBIDDEN
