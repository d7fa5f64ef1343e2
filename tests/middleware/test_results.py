"""The closed union of results: constant bytes, fixed advice, errors and messages that say nothing they should not."""

from __future__ import annotations

import copy
import json
import pickle
from typing import get_args

import pytest

from gatewright.middleware.messages import PROVIDERS
from gatewright.middleware.outcome import FAILED_CODES, ConflictCode, FailedCode, Status
from gatewright.middleware.repairs import InvalidArguments, invalid_arguments
from gatewright.middleware.restore import NotAResult, restore_result
from gatewright.middleware.results import (
    FORBIDDEN,
    NOT_FOUND,
    ApprovalRequired,
    ConflictResult,
    FailedResult,
    Forbidden,
    Ok,
    OkPage,
    Result,
    Unauthenticated,
    Unknown,
)
from gatewright.middleware.sentences import POLICY_NOTE, STOP_REPAIRING
from gatewright.policy.complaints import business_complaint, syntax_complaint
from gatewright.policy.errors import Misuse

INVALID = invalid_arguments([business_complaint("/end", "must_follow_start", "a time after start")])
RESULTS: list[tuple[Result, str]] = [
    (Ok({"a": [1, None]}), '{"status":"ok","data":{"a":[1,null]}}'),
    (Ok(None), '{"status":"ok","data":null}'),
    (
        Ok("é", filtered=True, truncated=True, as_of="2026-01-01", version="3", ref="r", schema_changed=True),
        '{"status":"ok","data":"é","truncated":true,"filtered":true,"as_of":"2026-01-01","version":"3","ref":"r",'
        '"schema_changed":true}',
    ),
    (OkPage([]), '{"status":"ok","items":[],"next_cursor":null,"truncated":false}'),
    (
        OkPage([1], "c", True, True, "2026-01-01"),
        '{"status":"ok","items":[1],"next_cursor":"c","truncated":true,"filtered":true,"as_of":"2026-01-01"}',
    ),
    (
        INVALID,
        '{"status":"invalid_arguments","field":"/end","reason":"must_follow_start","errors":[{"layer":"business",'
        '"field":"/end","reason":"must_follow_start","message":"A rule of this tool refuses the arguments; expected a '
        'time after start.","expected":"a time after start"}],"attempt":1,"attempts_left":2,"retryable":false,'
        '"next":"fix_arguments"}',
    ),
    (FORBIDDEN, '{"status":"forbidden","retryable":false}'),
    (
        Unauthenticated("token_expired"),
        '{"status":"unauthenticated","reason":"token_expired","retryable":false,"next":"refresh_credential"}',
    ),
    (
        ApprovalRequired("ap_1", "2026-10-28T09:15:00Z"),
        '{"status":"approval_required","approval_id":"ap_1","expires_at":"2026-10-28T09:15:00Z","retryable":false,'
        '"next":"wait_for_approval"}',
    ),
    (NOT_FOUND, '{"status":"not_found","retryable":false,"next":"stop"}'),
    (
        ConflictResult("resource_state", "already_refunded"),
        '{"status":"conflict","code":"resource_state","reason":"already_refunded","retryable":false,'
        '"next":"reread_state"}',
    ),
    (
        ConflictResult("key_reused"),
        '{"status":"conflict","code":"key_reused","reason":null,"retryable":false,"next":"reread_state"}',
    ),
    (Unknown("op_1"), '{"status":"unknown","operation_id":"op_1","retryable":false,"next":"ask_human"}'),
    (
        FailedResult("rate_limited", retry_after=30, reason="quota", field="/n"),
        '{"status":"failed","code":"rate_limited","effect":"none","reason":"quota","field":"/n","retryable":true,'
        '"retry_after":30,"next":"retry"}',
    ),
    (
        FailedResult("invalid_result", "done"),
        '{"status":"failed","code":"invalid_result","effect":"done","retryable":false,"retry_after":null,'
        '"next":"ask_human"}',
    ),
]
RESULT_IDS = [f"{result.status}-{index}" for index, (result, _) in enumerate(RESULTS)]
REFUSALS = [result for result, _ in RESULTS if result.status != "ok"]


@pytest.mark.parametrize(("result", "text"), RESULTS, ids=RESULT_IDS)
def test_a_result_has_exactly_these_bytes(result: Result, text: str) -> None:
    """The JSON of DESIGN section 4, in that order."""
    assert result.to_bytes() == text.encode()
    assert json.loads(text) == result.to_json()
    assert copy.deepcopy(result).to_bytes() == pickle.loads(pickle.dumps(result)).to_bytes() == text.encode()


@pytest.mark.parametrize(("result", "text"), RESULTS, ids=RESULT_IDS)
def test_a_stored_result_comes_back(result: Result, text: str) -> None:
    """What `to_json` wrote is read back as an equal result with the same bytes."""
    restored = restore_result(json.loads(text))
    assert restored == result
    assert restored.to_bytes() == result.to_bytes()


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"status": "fine"},
        {"status": "ok"},
        {"status": "forbidden"},
        {"status": "forbidden", "retryable": False, "why": "secret"},
        {"status": "ok", "items": []},
        {"status": "ok", "items": [], "next_cursor": 3, "truncated": False},
        {"status": "failed", "code": "odd", "effect": "none", "retryable": False, "retry_after": None, "next": "stop"},
        {
            "status": "failed",
            "code": "internal",
            "effect": "none",
            "retryable": True,
            "retry_after": None,
            "next": "retry",
        },
        {"status": ["ok"], "data": 1},
        {"status": "invalid_arguments", "errors": 3, "attempt": 1, "attempts_left": 1},
    ],
    ids=str,
)
def test_what_is_no_result_is_not_restored(stored: dict[str, object]) -> None:
    """A row that was tampered with, or written by another version, is refused without being quoted."""
    with pytest.raises(NotAResult) as caught:
        restore_result(stored)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_every_status_and_code_is_covered_here() -> None:
    """The union is closed: these tests see every member of it."""
    assert {result.status for result, _ in RESULTS} == set(get_args(Status))
    assert {type(result) for result, _ in RESULTS} == set(get_args(Result))
    assert set(FAILED_CODES) == set(get_args(FailedCode))


@pytest.mark.promise("P4")
def test_forbidden_is_one_constant() -> None:
    """A tool's own sentence changes neither bytes nor equality."""
    admitted = Forbidden("No such transaction for this customer.")
    assert admitted == FORBIDDEN
    assert hash(admitted) == hash(FORBIDDEN)
    assert repr(admitted) == repr(FORBIDDEN)
    assert admitted.to_bytes() == FORBIDDEN.to_bytes() == b'{"status":"forbidden","retryable":false}'
    assert admitted.to_error() == FORBIDDEN.to_error()


@pytest.mark.case(78)
@pytest.mark.parametrize("result", REFUSALS, ids=lambda result: result.status)
def test_only_three_failures_may_be_repeated(result: Result) -> None:
    """`retryable` stands in every refusal and is true for timeout, unavailable and rate_limited alone."""
    assert result.to_json()["retryable"] is (isinstance(result, FailedResult) and result.code == "rate_limited")
    assert [code for code, (retryable, _) in FAILED_CODES.items() if retryable] == [
        "timeout",
        "unavailable",
        "rate_limited",
    ]


@pytest.mark.parametrize("code", get_args(FailedCode))
def test_retryable_can_be_taken_away_and_never_given(code: FailedCode) -> None:
    """By the developer, by a cap, by an effect; what is no longer retryable says so in `next`."""
    fixed, advice = FAILED_CODES[code]
    assert (FailedResult(code).retryable, FailedResult(code).next) == (fixed, advice)
    for tamed in (FailedResult(code, repeatable=False), FailedResult(code, "done")):
        assert not tamed.retryable
        assert tamed.next == ("stop" if fixed else advice)


@pytest.mark.parametrize("locale", ["en", "zh", "zh-CN", "fr"])
@pytest.mark.parametrize("result", REFUSALS, ids=lambda result: result.status)
def test_an_error_has_a_constant_message(result: Result, locale: str) -> None:
    """Kind, code, retryable and a sentence that depends on nothing but the code and the language."""
    error = result.to_error(locale)
    assert error["ok"] is False
    inner = error["error"]
    assert isinstance(inner, dict)
    assert list(inner) == ["kind", "code", "retryable", "message"]
    assert inner["kind"] == result.status
    assert inner["retryable"] is result.to_json()["retryable"]
    text = str(inner["message"])
    assert text.isascii() is (not locale.startswith("zh"))
    assert not any(word in text for word in ("op_1", "ap_1", "/end", "already_refunded", "quota"))


def test_every_code_has_its_sentences() -> None:
    """No status and no code is without a text in either language."""
    every: list[Result] = [FailedResult(code) for code in get_args(FailedCode)]
    every += [ConflictResult(code) for code in get_args(ConflictCode)]
    messages = [str(dict(each.to_error(locale))["error"]) for each in every for locale in ("en", "zh")]
    assert len(set(messages)) == len(messages)


def test_a_success_is_no_error() -> None:
    """`to_error` of a success is ok and its content."""
    assert Ok(3).to_error() == {"ok": True, "data": 3}
    assert OkPage([]).to_error() == {"ok": True, "items": [], "next_cursor": None, "truncated": False}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(("result", "text"), RESULTS, ids=RESULT_IDS)
def test_a_message_carries_the_full_json_as_text(result: Result, text: str, provider: str) -> None:
    """For every provider, on a line or in a block of its own; Gemini's response is the object itself."""
    message = result.to_message(provider, "call_1", name="logs_query")  # type: ignore[arg-type]
    written = json.dumps(message, ensure_ascii=False)
    assert json.loads(written) == message
    assert "call_1" in written or provider == "mcp"
    if provider == "gemini":
        response = message["functionResponse"]["response"]  # type: ignore[index, call-overload]
        assert response["output" if result.status == "ok" else "error"] == json.loads(text)  # type: ignore[index, call-overload]
    else:
        assert text in lines(message)


def lines(message: object) -> list[str]:
    """Every line of every string in *message*."""
    if isinstance(message, str):
        return message.split("\n")
    children = message.values() if isinstance(message, dict) else message if isinstance(message, list) else []
    return [line for child in children for line in lines(child)]


def test_messages_have_their_provider_s_shape() -> None:
    """Role or type, the call's id under its own name, an error flag where there is one."""
    text = '{"status":"not_found","retryable":false,"next":"stop"}'
    assert NOT_FOUND.to_message("plain", "c") == {"call_id": "c", "content": text, "is_error": True}
    assert NOT_FOUND.to_message("openai", "c") == {"role": "tool", "tool_call_id": "c", "content": text}
    assert NOT_FOUND.to_message("openai-responses", "c") == {
        "type": "function_call_output",
        "call_id": "c",
        "output": text,
    }
    block = {"type": "text", "text": text}
    assert NOT_FOUND.to_message("anthropic", "c") == {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [block],
        "is_error": True,
    }
    assert "is_error" not in Ok(1).to_message("anthropic", "c")
    assert NOT_FOUND.to_message("mcp", "c") == {"content": [block], "isError": True}
    assert Ok(1).to_message("mcp", "c")["isError"] is False
    assert NOT_FOUND.to_message("gemini", "c", name="f") == {
        "functionResponse": {"id": "c", "name": "f", "response": {"error": NOT_FOUND.to_json()}}
    }


@pytest.mark.parametrize("provider", PROVIDERS)
def test_only_forbidden_says_that_this_is_policy(provider: str) -> None:
    """One constant sentence, and a tool's own one before it; nothing is added to any other result."""
    for locale, note in (("en", POLICY_NOTE[0]), ("zh", POLICY_NOTE[1])):
        message = FORBIDDEN.to_message(provider, "c", locale=locale)  # type: ignore[arg-type]
        assert note in lines(message)
    own = "No such transaction for this customer."
    written = json.dumps(Forbidden(own).to_message(provider, "c"))  # type: ignore[arg-type]
    assert 0 < written.index(own) < written.index(POLICY_NOTE[0])
    others = json.dumps([result.to_message(provider, "c") for result in REFUSALS if result != FORBIDDEN])  # type: ignore[arg-type]
    assert POLICY_NOTE[0] not in others


@pytest.mark.case(81)
@pytest.mark.parametrize("call_id", ["call_1", ""])
@pytest.mark.parametrize("provider", PROVIDERS)
def test_two_calls_with_one_id_are_both_answered(provider: str, call_id: str) -> None:
    """An id is carried as it came, and says nothing of which call it was."""
    first, second = (result.to_message(provider, call_id) for result in (Ok("first"), Ok("second")))  # type: ignore[arg-type]
    assert "first" in json.dumps(first)
    assert "second" in json.dumps(second)
    assert json.dumps(first).replace("first", "second") == json.dumps(second)


def test_an_unknown_provider_is_misuse() -> None:
    """With the names there are."""
    with pytest.raises(Misuse, match="one of plain, openai"):
        NOT_FOUND.to_message("cohere", "c")  # type: ignore[arg-type]


@pytest.mark.parametrize(("attempt", "left"), [(1, 2), (2, 1), (3, 0), (9, 0)])
def test_attempts_are_counted_down(attempt: int, left: int) -> None:
    """Two repairs, then stop and a constant sentence for the user."""
    result = invalid_arguments([syntax_complaint("malformed", 3)], attempt=attempt, locale="zh", schema_changed=True)
    whole = result.to_json()
    assert (whole["attempt"], whole["attempts_left"]) == (attempt, left)
    assert whole["next"] == ("fix_arguments" if left else "stop")
    assert whole.get("user_message") == (None if left else STOP_REPAIRING[1])
    assert (result.field, result.reason, whole["schema_changed"]) == ("", "malformed", True)
    assert isinstance(result, InvalidArguments)


def test_results_cannot_be_changed() -> None:
    """A constant that someone could write to would be none."""
    with pytest.raises(AttributeError):
        FORBIDDEN.refusal = "x"  # type: ignore[misc]
    FORBIDDEN.to_json()["why"] = "secret"
    assert FORBIDDEN.to_bytes() == b'{"status":"forbidden","retryable":false}'
