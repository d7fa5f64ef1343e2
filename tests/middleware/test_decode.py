"""Arguments are exactly one strict JSON object, or malformed; nothing is repaired and nothing of them is quoted."""

from __future__ import annotations

import enum
import itertools
import json
import time
import traceback
from collections.abc import ItemsView, Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gatewright.middleware.decode import Decoded, Malformed, decode, decode_json
from gatewright.middleware.malformed import MAX_DEPTH, MAX_INTEGER, MAX_NODES, MAX_SIZE
from gatewright.policy.complaints import SYNTAX_REASONS
from shared_data import shared, shared_folder

VERDICTS: dict[str, str] = yaml.safe_load(Path(__file__).with_name("json_free_choices.yaml").read_text())
SUITE = shared_folder() / "data/json-test-suite/test_parsing"
SUITE_FILES = [path.name for path in sorted(SUITE.glob("*.json"))] if SUITE.exists() else ["test suite"]
STRICTER = {
    "y_object_duplicated_key.json": "duplicate_key",
    "y_object_duplicated_key_and_value.json": "duplicate_key",
    "y_object_escaped_null_in_key.json": "nul_character",
    "y_string_null_escape.json": "nul_character",
}


def reason(raw: object, *, big_integers: bool = False) -> str:
    """The reason for which *raw* is refused."""
    with pytest.raises(Malformed) as caught:
        decode(raw, big_integers=big_integers)  # type: ignore[arg-type]
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert caught.value.reason in SYNTAX_REASONS
    return caught.value.reason


@pytest.mark.parametrize("name", SUITE_FILES)
def test_the_json_test_suite_is_answered_as_written(name: str) -> None:
    """Must-accept files are accepted, must-reject files refused, free choices have one verdict each."""
    raw = shared(f"data/json-test-suite/test_parsing/{name}").read_bytes()
    if name in STRICTER or name.startswith("i_"):
        with pytest.raises(Malformed) as caught:
            decode_json(raw)
        assert caught.value.reason == STRICTER.get(name, VERDICTS.get(name))
    elif name.startswith("y_"):
        assert decode_json(raw) == json.loads(raw)
    else:
        with pytest.raises(Malformed):
            decode_json(raw)


def test_every_free_choice_has_a_verdict() -> None:
    """The list beside this test names exactly the free-choice files."""
    shared("data/json-test-suite/test_parsing")
    assert set(VERDICTS) == {name for name in SUITE_FILES if name.startswith("i_")}


@pytest.mark.case(59)
@pytest.mark.parametrize(
    "raw",
    [
        '{"amount":1,"amount":9999}',
        '{"order":{"amount":1,"amount":9999}}',
        '{"orders":[{"amount":1,"amount":9999}]}',
        '{"a":1,"\\u0061":2}',
        '{"":1,"":2}',
        '{"a":1,"a":1.0}',
    ],
)
def test_a_duplicate_name_is_malformed(raw: str) -> None:
    """Two readers could take two values, also where only the escape is another."""
    assert reason(raw) == "duplicate_key"


@pytest.mark.case(60)
@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"target":"x","dry_r', "malformed"),
        ('{"target":"x","dry_run":tru', "malformed"),
        ('{"target":"x"', "malformed"),
        ("{", "malformed"),
        ("", "empty"),
        (b"", "empty"),
        (" \n\t", "empty"),
        ("null", "not_an_object"),
        ("[]", "not_an_object"),
        ('"{}"', "not_an_object"),
        ("0", "not_an_object"),
        ("{} trailing", "malformed"),
        ("{}{}", "malformed"),
        ("{}\x00", "malformed"),
        ("{'a':1}", "malformed"),
        ('{"a":1,}', "malformed"),
        ("{a:1}", "malformed"),
        ('{"a":1}//', "malformed"),
        ("```json\n{}\n```", "malformed"),
        (None, "not_an_object"),
        (7, "not_an_object"),
        ([], "not_an_object"),
    ],
)
def test_what_is_not_one_object_is_never_repaired(raw: object, expected: str) -> None:
    """Cut off, empty, null, another root, text behind it: malformed, and never taken for `{}`."""
    assert reason(raw) == expected


@pytest.mark.case(61)
@pytest.mark.parametrize("text", ["12345", "null", '{"a":1}', "true", "[1]", "1.0", ""])
def test_json_inside_a_string_stays_a_string(text: str) -> None:
    """A string is decoded once."""
    assert decode(json.dumps({"note": text})).value == {"note": text}
    assert decode({"note": text}).value == {"note": text}


@pytest.mark.case(62)
@pytest.mark.parametrize(
    "raw", ["[" * 10_000, '{"a":' * 10_000, '{"a":' + "[" * 10_000 + "]" * 10_000 + "}", "[" * MAX_SIZE]
)
def test_ten_thousand_brackets_are_refused_within_fifty_milliseconds(raw: str) -> None:
    """Depth is counted before anything recurses."""
    started = time.perf_counter()
    assert reason(raw) == "too_deep"
    assert time.perf_counter() - started < 0.05


@pytest.mark.case(63)
@pytest.mark.parametrize("number", ["1" * 4301, "-" + "1" * 4301, "1e999", "1E400", "-1e999", str(MAX_INTEGER + 1)])
def test_a_huge_number_is_malformed(number: str) -> None:
    """Not a ValueError of the interpreter, and not an infinity."""
    assert reason(f'{{"amount":{number}}}') == "number_out_of_range"


@pytest.mark.case(76)
@pytest.mark.parametrize(
    "raw",
    [
        '{"password":"s3cret-canary","password":"s3cret-canary"}',
        '{"password":"s3cret-canary"',
        b'{"password":"s3cret-canary\xff"}',
        '{"password":"s3cret-canary\ud800"}',
        '{"password":"s3cret-canary\\ud800"}',
        '{"password":"s3cret-canary","n":NaN}',
        '{"password":"s3cret-canary","n":1e999}',
        {"password": "s3cret-canary\ud800"},
        {"password": {"s3cret-canary"}},
    ],
)
def test_a_malformed_payload_leaves_no_trace(raw: object) -> None:
    """Nothing of it is in the error, its attributes, its causes or its printed traceback."""
    with pytest.raises(Malformed) as caught:
        decode(raw)  # type: ignore[arg-type]
    printed = "".join(traceback.format_exception(caught.value))
    assert "s3cret" not in printed + repr(caught.value) + repr(vars(caught.value)) + repr(caught.value.args)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"n":NaN}', "malformed"),
        ('{"n":Infinity}', "malformed"),
        ('{"n":-Infinity}', "malformed"),
        ('{"s":"\ud800"}', "lone_surrogate"),
        ('{"s":"\\ud800"}', "lone_surrogate"),
        ('{"s":"\\uDC00\\uD800"}', "lone_surrogate"),
        ('{"\\ud800":1}', "lone_surrogate"),
        ('{"a":[{"b":["\\ude00"]}]}', "lone_surrogate"),
        ('{"s":"\\u0000"}', "nul_character"),
        ('{"\\u0000":1}', "nul_character"),
        ('{"s":"\x00"}', "malformed"),
        ('{"s":"\n"}', "malformed"),
        ("\ufeff{}", "byte_order_mark"),
        (b"\xef\xbb\xbf{}", "byte_order_mark"),
        (b"\xff\xfe{\x00}\x00", "not_utf8"),
        (b'{"s":"\xed\xa0\x80"}', "not_utf8"),
        (b'{"s":"\xc0\xaf"}', "not_utf8"),
        ("{}" + " " * MAX_SIZE, "too_large_input"),
        ('{"s":"' + "é" * (MAX_SIZE // 2) + '"}', "too_large_input"),
        ('{"n":1e-999}', "number_out_of_range"),
        ('{"n":-0.0e-1,"m":1e-400}', "number_out_of_range"),
    ],
)
def test_every_rule_of_strict_decoding_has_its_reason(raw: str | bytes, expected: str) -> None:
    """Encodings, surrogates, NUL, sizes and ranges, written plainly or as escapes."""
    assert reason(raw) == expected


@pytest.mark.parametrize(
    ("raw", "offset"),
    [("{} x", 3), ('{"é":x}', 6), (b'{"a":"\xff"}', 6), ('{"é":"\ud800"}', 7), ("[" * 40, MAX_DEPTH), ('{"a":1', 6)],
)
def test_an_offset_counts_bytes(raw: str | bytes, offset: int) -> None:
    """Text and its UTF-8 give the same offset."""
    with pytest.raises(Malformed) as caught:
        decode(raw)
    assert caught.value.offset == offset
    assert str(caught.value) == f"{caught.value.reason} at byte {offset}"


def test_depth_and_nodes_are_exact() -> None:
    """The caps hold to the last level and the last value, for text and for a mapping."""
    for depth, innermost in itertools.product((MAX_DEPTH, MAX_DEPTH + 1), ("[]", '["]"]', "{ }", '{"[":[]}')):
        levels = depth - innermost.count(":") - 1
        raw = '{"a":' * levels + innermost + "}" * levels
        for form in (raw, json.loads(raw)):
            assert depth == MAX_DEPTH or reason(form) == "too_deep"
            assert depth != MAX_DEPTH or isinstance(decode(form), Decoded)
    for element in (0, [], "[,"):
        for count in (MAX_NODES - 2, MAX_NODES - 1):
            value = {"a": [element] * count}
            for whole in (value, json.dumps(value), json.dumps(value, indent=1)):
                assert count != MAX_NODES - 1 or reason(whole) == "too_many_nodes"
                assert count != MAX_NODES - 2 or isinstance(decode(whole), Decoded)


@pytest.mark.parametrize("character", ["x", "é", "名"])
def test_the_size_is_exact(character: str) -> None:
    """One MiB of UTF-8, however many characters that is; of a mapping its names and strings."""
    room = MAX_SIZE - len('{"a":""}')
    text = character * (room // len(character.encode()))
    text += "y" * (room - len(text.encode()))
    for raw in (f'{{"a":"{text}"}}', f'{{"a":"{text}"}}'.encode()):
        assert decode(raw).value == {"a": text}
    assert reason(f'{{"a":"{text}y"}}') == reason(f'{{"a":"{text}y"}}'.encode()) == "too_large_input"
    assert decode({"a": text + "y" * 7}).value["a"] == text + "y" * 7
    assert reason({"a": text + "y" * 8}) == "too_large_input"


def test_brackets_inside_strings_are_text() -> None:
    """The count of levels and values reads strings as strings, escapes and all."""
    value = {"a": '[[[[{{{{\\"' * 5_000, "b": "," * MAX_NODES, 'c"[': "\\"}
    assert decode(json.dumps(value)).value == value


def test_minus_zero_and_the_outermost_integers_are_numbers() -> None:
    """`-0` is a number, and so are the largest exact integers."""
    decoded = decode(f'{{"a":-0,"b":{MAX_INTEGER},"c":{-MAX_INTEGER}}}')
    assert decoded.value == {"a": 0, "b": MAX_INTEGER, "c": -MAX_INTEGER}
    assert reason(f'{{"a":{-MAX_INTEGER - 1}}}') == "number_out_of_range"
    assert reason({"a": MAX_INTEGER + 1}) == "number_out_of_range"


@pytest.mark.parametrize("value", [2**53, -(2**64), 10**639])
def test_big_integers_are_taken_where_the_tool_declares_them(value: int) -> None:
    """Up to 640 digits, as text and in a mapping."""
    assert decode(f'{{"a":{value}}}', big_integers=True).value == {"a": value}
    assert decode({"a": value}, big_integers=True).value == {"a": value}
    assert reason(f'{{"a":{"9" * 641}}}', big_integers=True) == "number_out_of_range"
    assert reason({"a": 10**641}, big_integers=True) == "number_out_of_range"


@pytest.mark.case(49)
@pytest.mark.parametrize("text", ["1.0", "1e2", "-0.0", "2.50e1", "0.0", "123e45"])
def test_an_integral_float_is_noticed(text: str) -> None:
    """The validator must know of it, at any depth, and 1.5 is none."""
    assert decode(f'{{"a":[{{"b":1.5}},{text}]}}').integral_floats
    assert decode({"a": [{"b": 1.5}, float(text)]}).integral_floats
    assert not decode('{"a":[1.5, 1, 0.1e-1], "b":"1.0"}').integral_floats
    assert not decode({"a": [1.5, 1], "b": "1.0"}).integral_floats


class Colour(enum.StrEnum):
    """A string that is more than a string."""

    RED = "red"


class Odd(Mapping[str, object]):
    """A mapping whose methods fail."""

    def __getitem__(self, key: str) -> object:
        raise LookupError("s3cret-canary")

    def __iter__(self) -> Iterator[str]:
        return iter(["a"])

    def __len__(self) -> int:
        return 1


class Twice(Odd):
    """A mapping that names one member twice."""

    def items(self) -> ItemsView[str, object]:
        return [("a", 1), ("a", 2)]  # type: ignore[return-value]


def test_a_mapping_is_copied_and_marked() -> None:
    """What the caller does to its own objects afterwards changes nothing (CASES 80)."""
    inner: list[object] = [1, (2, 3)]
    given_value = {"a": inner, "colour": Colour.RED, "count": enum.IntEnum("Count", {"ONE": 1})(1)}
    decoded = decode(given_value)
    inner.append("late")
    assert decoded.value == {"a": [1, [2, 3]], "colour": "red", "count": 1}
    assert not decoded.raw
    assert type(decoded.value["colour"]) is str
    assert type(decoded.value["count"]) is int
    flags = decode({"yes": True, "no": False, "one": 1}).value
    assert [type(flags[name]) for name in ("yes", "no", "one")] == [bool, bool, int]
    assert decode("{}").raw


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({1: "a"}, "malformed"),
        ({"a": {1: 2}}, "malformed"),
        ({"a": {1, 2}}, "malformed"),
        ({"a": b"bytes"}, "malformed"),
        ({"a": object()}, "malformed"),
        ({"a": float("nan")}, "number_out_of_range"),
        ({"a": float("inf")}, "number_out_of_range"),
        ({"a": "\ud800"}, "lone_surrogate"),
        ({"\ud800": 1}, "lone_surrogate"),
        ({"a": "\x00"}, "nul_character"),
        ({"a": "x" * (MAX_SIZE + 1)}, "too_large_input"),
        (Odd(), "malformed"),
        (Twice(), "duplicate_key"),
    ],
)
def test_a_mapping_gets_the_checks_that_are_still_possible(value: Mapping[str, object], expected: str) -> None:
    """Names, types, numbers, surrogates, NUL and sizes."""
    assert reason(value) == expected


def test_a_mapping_that_holds_itself_is_too_deep() -> None:
    """A loop ends at the cap."""
    loop: dict[str, object] = {}
    loop["loop"] = loop
    assert reason(loop) == "too_deep"


def test_bytes_and_text_are_decoded_alike() -> None:
    """All four forms of text give one value."""
    raw = '{"名":"é \\u00e9 \\ud83d\\ude00","n":[0.5,1,true,null]}'
    values = [decode(form).value for form in (raw, raw.encode(), bytearray(raw.encode()), memoryview(raw.encode()))]
    assert values == [{"名": "é é 😀", "n": [0.5, 1, True, None]}] * 4
    assert reason(memoryview(bytes(MAX_SIZE + 4)).cast("I")) == "too_large_input"


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=8)
NUMBERS = st.integers(-MAX_INTEGER, MAX_INTEGER) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.promise("P11")
@given(st.dictionaries(st.sampled_from(["a", "b", "é"]), JSON, max_size=3), st.booleans())
def test_what_json_writes_is_read_back(value: dict[str, object], ascii_only: bool) -> None:
    """Text, bytes and mapping of one value decode to that value."""
    raw = json.dumps(value, ensure_ascii=ascii_only)
    assert decode(raw).value == decode(raw.encode()).value == decode(value).value == value
    assert decode(raw).integral_floats == decode(value).integral_floats


@pytest.mark.promise("P11")
@given(st.binary(max_size=64) | st.text(alphabet='{}[]",:\\u0d8e1.-tnN \ud800\x00é', max_size=40))
def test_any_input_is_decoded_or_malformed(raw: bytes | str) -> None:
    """Nothing else ever comes out, and whatever is accepted is what the standard library reads too."""
    try:
        value = decode_json(raw)
    except Malformed as malformed:
        found = malformed.reason
    else:
        found = ""
    assert found in SYNTAX_REASONS if found else value == json.loads(raw)
