"""What tools raise, and what a stopped call raises: codes and public results, never a trace of what happened inside."""

from __future__ import annotations

import copy
import pickle
import traceback
from typing import Any, get_args

import pytest

from gatewright.middleware.failures import (
    ApprovalNeeded,
    ArgumentsRefused,
    CallFailed,
    CallForbidden,
    CallUnauthenticated,
    Conflict,
    Failed,
    NoEffect,
    NotFound,
    OutcomeUnknown,
    RecordNotFound,
    StateConflict,
    Stopped,
    stop,
)
from gatewright.middleware.outcome import Status
from gatewright.middleware.repairs import InvalidArguments
from gatewright.middleware.results import (
    FORBIDDEN,
    NOT_FOUND,
    ApprovalRequired,
    ConflictResult,
    FailedResult,
    Result,
    Unauthenticated,
    Unknown,
)
from gatewright.policy.errors import GatewrightError, Misuse

STOPS: list[tuple[Result, type[Stopped]]] = [
    (InvalidArguments(()), ArgumentsRefused),
    (FORBIDDEN, CallForbidden),
    (Unauthenticated("token_expired"), CallUnauthenticated),
    (ApprovalRequired("ap_1", "2026-10-28T09:15:00Z"), ApprovalNeeded),
    (NOT_FOUND, RecordNotFound),
    (ConflictResult("resource_state"), StateConflict),
    (Unknown("op_1"), OutcomeUnknown),
    (FailedResult("internal"), CallFailed),
]


@pytest.mark.parametrize(("result", "expected"), STOPS, ids=lambda each: getattr(each, "status", None))
def test_every_refusal_has_its_exception(result: Result, expected: type[Stopped]) -> None:
    """One class a status, all of one family, holding the result and the call's id."""
    stopped = stop(result, "call_1")
    assert type(stopped) is expected
    assert isinstance(stopped, Stopped | GatewrightError)
    assert (stopped.result, stopped.call_id, stopped.status, stopped.code) == (
        result,
        "call_1",
        result.status,
        result.status,
    )
    assert str(stopped) == f"{result.status} (call call_1)"
    assert str(stop(result)) == result.status


def test_every_status_but_ok_stops() -> None:
    """The family is complete."""
    assert {result.status for result, _ in STOPS} == set(get_args(Status)) - {"ok"}


@pytest.mark.parametrize(("result", "expected"), STOPS, ids=lambda each: getattr(each, "status", None))
def test_a_stopped_call_survives_pickling(result: Result, expected: type[Stopped]) -> None:
    """A worker process may raise it."""
    for copied in (pickle.loads(pickle.dumps(stop(result, "c"))), copy.deepcopy(stop(result, "c"))):
        assert type(copied) is expected
        assert (copied.result, copied.call_id) == (result, "c")


def throw_while_handling(secret: str) -> None:
    """Stop a call in the middle of handling another exception."""
    try:
        raise KeyError(secret)
    except KeyError:
        stop(FORBIDDEN, "c").throw()


@pytest.mark.case(76)
def test_a_stopped_call_shows_nothing_of_what_was_handled() -> None:
    """Thrown while another exception is handled, it has no cause and no context, also when printed."""
    with pytest.raises(Stopped) as caught:
        throw_while_handling("s3cret-canary"[::-1])
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert "s3cret-canary"[::-1] not in "".join(traceback.format_exception(caught.value))


def test_a_failure_holds_what_the_developer_said() -> None:
    """Code, reason, field, retryable, and when to come back."""
    failed = Failed("rate_limited", reason="quota", field="/n", retryable=True, retry_after=3)
    assert (failed.code, failed.reason, failed.field, failed.retryable, failed.retry_after) == (
        "rate_limited",
        "quota",
        "/n",
        True,
        3,
    )
    assert Conflict("already_refunded").reason == "already_refunded"
    assert NotFound().code == "not_found"


def test_a_failure_that_can_never_be_right_is_misuse() -> None:
    """An unknown code, or retryable where the code never is."""
    with pytest.raises(Misuse, match="one of timeout"):
        Failed("oops")  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="never retryable"):
        Failed("business_rule", retryable=True)
    assert Failed("timeout", retryable=False).retryable is False


def test_no_effect_carries_what_to_answer() -> None:
    """`internal` where the developer said nothing."""
    assert NoEffect().failure.code == "internal"
    conflict = Conflict("already_refunded")
    assert NoEffect(conflict).failure is conflict


@pytest.mark.parametrize("seconds", ["soon", -1, float("nan"), float("inf"), True, object()])
def test_a_wait_that_is_no_number_of_seconds_is_dropped(seconds: Any) -> None:
    """It could neither be written nor trusted."""
    assert Failed("rate_limited", retry_after=seconds).retry_after is None


@pytest.mark.parametrize("field", ["a secret", "/a b", object(), "/" + "x" * 200])
def test_a_field_that_is_no_pointer_is_dropped(field: Any) -> None:
    """Text of a developer's exception does not reach the caller this way."""
    assert Failed("business_rule", field=field).field is None
