"""CASES 59 to 63 through whole calls: what a model may write as JSON, and what then reaches the tool."""

from __future__ import annotations

import time
from typing import Any

import pytest

from desk import Desk
from one_argument import closed, got, refused, tool

ANYTHING: dict[str, Any] = {"type": "object", "properties": {"x": {}}}


@pytest.fixture(scope="module")
def anything() -> Desk:
    """A guard whose tool takes anything, or nothing."""
    return tool(ANYTHING, "{ id: a, roles: [agent], arguments: { x: {} } }")


@pytest.mark.case(59)
@pytest.mark.parametrize(
    "raw",
    [
        '{"x":1,"x":9999}',
        '{"x":{"amount":1,"amount":9999}}',
        '{"x":[[{"amount":1,"amount":9999}]]}',
        '{"x":1,"\\u0078":2}',
        '{"x":1,"x":1}',
        '{"x":{"":1,"":2}}',
        '{"x":{"\\/":1,"/":2}}',
        '{"x":{"\\ud83d\\ude00":1,"😀":2}}',
        '{"x":{"a":1,"b":2,"a":3}}',
        b'{"x":{"\xc3\xa9":1,"\\u00e9":2}}',
    ],
)
def test_a_name_that_stands_twice_is_malformed(anything: Desk, raw: Any) -> None:
    """Compared after escapes are decoded, at any depth, also where both values are the same."""
    assert refused(anything, raw, "syntax") == "duplicate_key"


@pytest.mark.case(59)
def test_names_that_only_look_alike_are_two() -> None:
    """Composed and decomposed, upper and lower case: compared as code points."""
    value = {"é": 1, "e\u0301": 2, "a": 3, "A": 4, "а": 5, "a\u200b": 6}
    assert got(tool(closed(x={})), {"x": value}) == value


@pytest.mark.case(60)
def test_arguments_that_were_cut_off_are_malformed_wherever_they_were_cut() -> None:
    """Every beginning of good arguments, and everything appended to them: never repaired, never taken for `{}`."""
    desk = tool(closed(x={}), kind="write")
    good = '{"x":{"dry_run":true,"to":["a\\"b","é"],"y":-1.5e3}}'
    desk_runs = len(desk.ran)
    for end in range(len(good)):
        assert refused(desk, good[:end], "syntax") in ("malformed", "empty")
    for tail in ("}", "]", ",", "x", "{}", " null", "\x00", "//", '"'):
        refused(desk, good + tail, "syntax")
    assert len(desk.ran) == desk_runs


@pytest.mark.case(60)
@pytest.mark.parametrize(
    "raw",
    [
        "",
        " ",
        "null",
        "[]",
        "0",
        '"{}"',
        "{} trailing",
        "{}{}",
        "{'x':1}",
        "{x:1}",
        '{"x":1,}',
        "```json\n{}\n```",
        '{"x":undefined}',
        '{"x":+1}',
        '{"x":.5}',
        '{"x":01}',
        '{"x":"\t"}',
        "\ufeff{}",
        '{"x":1}\n{"x":2}',
        "{",
    ],
)
def test_what_is_not_one_object_runs_nothing(anything: Desk, raw: str) -> None:
    """Even where the tool needs no argument at all."""
    refused(anything, raw, "syntax")
    assert got(anything, "{}") is None


TEXTS = (
    "12345",
    "null",
    '{"a":1}',
    "true",
    "[1]",
    "1.0",
    "",
    '"quoted"',
    "NaN",
    "{",
    "\\u0041",
    "%7B%7D",
    "<a>",
    "$(x)",
)


@pytest.mark.case(61)
@pytest.mark.parametrize(
    "argument",
    [
        {"type": "string"},
        {},
        {"anyOf": [{"type": "integer"}, {"type": "object"}, {"type": "string"}]},
        {"type": ["integer", "null", "string"]},
    ],
    ids=["string", "anything", "alternatives", "types"],
)
def test_json_inside_a_string_stays_a_string(argument: Any) -> None:
    """Where a string is asked for, where anything may be, and inside lists and objects; nowhere is it decoded again."""
    desk = tool(closed(x=argument))
    for text in TEXTS:
        assert got(desk, {"x": text}) == text
        assert argument or got(desk, {"x": [{"a": [text]}]}) == [{"a": [text]}]


@pytest.mark.case(61)
@pytest.mark.parametrize("kind", ["integer", "number", "boolean", "null", "array", "object"])
def test_a_string_is_never_taken_for_what_it_spells(kind: str) -> None:
    """`"12345"` is no integer, `"[]"` no list."""
    desk = tool(closed(x={"type": kind}))
    for text in ("1", "true", "null", "[]", "{}", "1.5", ""):
        assert refused(desk, {"x": text}, "schema") == "wrong_type"


@pytest.mark.case(62)
@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":', "[ ", "[[],"])
@pytest.mark.parametrize("count", [33, 10_000, 200_000])
def test_deep_nesting_is_malformed_at_once(anything: Desk, opening: str, count: int) -> None:
    """Closed or not, below an argument or at the top."""
    desk = anything
    closing = "".join({"[": "]", "{": "}"}.get(letter, "") for letter in reversed(opening.replace("[]", "")))
    for raw in (opening * count, '{"x":' + opening * count, '{"x":' + opening * count + "1" + closing * count + "}"):
        times = []
        for _ in range(3):
            began = time.perf_counter()
            reason = refused(desk, raw, "syntax")
            times.append(time.perf_counter() - began)
        assert reason == ("too_large_input" if len(raw) > 2**20 else "too_deep")
        assert min(times) < 0.05


NUMBERS = {
    "number_out_of_range": (
        "9" * 4301,
        "-" + "9" * 4301,
        "1e999",
        "1E400",
        "-1e400",
        "1e-400",
        str(2**53),
        "9" * 400 + ".5",
    ),
    "malformed": ("NaN", "Infinity", "-Infinity", "0x10", "1_000", "1e", "--1", "+1", "1.", ".1", "00"),
}


@pytest.mark.case(63)
@pytest.mark.parametrize("reason", NUMBERS)
def test_a_number_that_nothing_holds_is_malformed(reason: str) -> None:
    """Wherever it stands; no infinity, no ValueError, and no other number than was written."""
    desk = tool(closed(x={}))
    for number in NUMBERS[reason]:
        for form in ('{"x":%s}', '{"x":[[%s]]}', '{"x":{"a":%s}}'):
            assert refused(desk, form % number, "syntax") == reason


@pytest.mark.case(63)
def test_big_integers_are_for_tools_that_declare_them() -> None:
    """Exactly, to the last digit."""
    desk = tool(closed(x={"type": "integer"}), big_integers=True)
    for number in (2**53, -(2**64) + 1, 10**600 + 7):
        assert got(desk, f'{{"x":{number}}}') == number
    assert refused(desk, '{"x":%s}' % ("9" * 4301), "syntax") == "number_out_of_range"
