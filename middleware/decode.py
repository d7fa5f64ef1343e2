"""
Are these arguments JSON, and exactly one JSON? Strict decoding (RFC 8259) of what a model or a client wrote.

In come bytes, text or a mapping; out comes a fresh plain value, or `Malformed`. Never repairs, guesses or coerces, and
its error holds no part of the payload.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from json import JSONDecodeError, JSONDecoder
from typing import Final, NoReturn, TypeAlias

from gatewright.middleware.malformed import (
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_INTEGER,
    MAX_NODES,
    MAX_SIZE,
    Malformed,
    check_string,
)
from gatewright.middleware.plain import copy_json
from gatewright.policy.model import Json

__all__ = ["Decoded", "JsonText", "Malformed", "decode", "decode_json"]

JsonText: TypeAlias = "bytes | bytearray | memoryview | str"

_INTEGER_WIDTH: Final = len(str(-MAX_INTEGER))
_STARTS_OVER: Final = -1
_BLANKS: Final = " \t\n\r"
_BLANK_RUN: Final = re.compile(r"[ \t\n\r]*+")
_ODD_ESCAPE: Final = re.compile(r"\\u(?:[dD][89a-fA-F]|0000)")
_TOKEN: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"?|\[[ \t\n\r]*+\]|\{[ \t\n\r]*+\}|[\[\]{},]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Decoded:
    """
    Decoded arguments.

    *raw* says that the text itself was judged, False that a mapping was given. *integral_floats* says that a float
    with an integral value (`1.0`, `1e2`) stands somewhere, which the schema validator has to know.
    """

    value: dict[str, Json]
    raw: bool
    integral_floats: bool


def decode(raw: JsonText | Mapping[str, object], *, big_integers: bool = False) -> Decoded:
    """
    Decode the arguments of a call; the root must be an object.

    *big_integers* lifts the bound on integers (to 640 digits). A mapping is copied and gets the checks that are still
    possible: types, names, depth, nodes, sizes, integers, NaN, surrogates, NUL.

    Raises:
        Malformed: the input is anything else than exactly one such object.
    """
    if isinstance(raw, (str, bytes, bytearray, memoryview)):
        text, (value, integral) = True, _parse(_text(raw), big_integers)
    elif isinstance(raw, Mapping):
        text, (value, integral) = False, copy_json(raw, big_integers=big_integers)
    else:
        raise Malformed("not_an_object")
    if not isinstance(value, dict):
        raise Malformed("not_an_object")
    return Decoded(value, text, integral)


def decode_json(raw: JsonText, *, big_integers: bool = False) -> Json:
    """
    Decode one JSON value with any root, as strictly as `decode`.

    Raises:
        Malformed: the text is anything else than exactly one JSON value.
    """
    return _parse(_text(raw), big_integers)[0]


def _text(raw: JsonText) -> str:
    """Return *raw* as text that is UTF-8 without a byte order mark, and not over the size cap."""
    if not isinstance(raw, (str, bytes)):
        raw = bytes(raw)
    if len(raw) > MAX_SIZE:
        raise Malformed("too_large_input")
    if isinstance(raw, bytes):
        raw = _utf8(raw)
    elif not raw.isascii():
        _check_encodable(raw)
    if raw.startswith("\ufeff"):
        raise Malformed("byte_order_mark", 0)
    return raw


def _utf8(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        offset = error.start
    raise Malformed("not_utf8", offset)


def _check_encodable(text: str) -> None:
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        offset = len(text[: error.start].encode())
    else:
        if size > MAX_SIZE:
            raise Malformed("too_large_input")
        return
    raise Malformed("lone_surrogate", offset)


def _parse(text: str, big_integers: bool) -> tuple[Json, bool]:
    """Return the one value in *text*, and whether an integral float stands in it."""
    opened = text.count("[") + text.count("{")
    if opened > MAX_DEPTH or opened + text.count(",") >= MAX_NODES:
        _measure(text)
    start = _skip(text, 0) if text[:1] in _BLANKS else 0
    if start == len(text):
        raise Malformed("empty")
    value, end = _scan(_PLAIN[big_integers], text, start)
    integral = end == _STARTS_OVER
    if integral:
        value, end = _scan(_PATIENT[big_integers], text, start)
    if end != len(text):
        rest = _skip(text, end)
        if rest != len(text):
            raise _at("malformed", text, rest)
    if _ODD_ESCAPE.search(text) is not None:
        _check_strings(value)
    return value, integral


def _scan(decoder: JSONDecoder, text: str, start: int) -> tuple[Json, int]:
    """Return the value and where it ends; `_STARTS_OVER` where *decoder* is not the one for it."""
    try:
        scanned: tuple[Json, int] = decoder.raw_decode(text, start)
        return scanned
    except _IntegralFloat:
        return None, _STARTS_OVER
    except JSONDecodeError as error:
        malformed = _at("malformed", text, error.pos)
    except RecursionError:
        malformed = Malformed("too_deep")
    raise malformed


def _at(reason: str, text: str, position: int) -> Malformed:
    return Malformed(reason, position if text.isascii() else len(text[:position].encode()))


def _skip(text: str, position: int) -> int:
    match = _BLANK_RUN.match(text, position)
    return position if match is None else match.end()


def _measure(text: str) -> None:
    """Refuse too many values or levels before anything recurses into them; reads strings as the scanner does."""
    depth, nodes = 0, 1
    for match in _TOKEN.finditer(text):
        piece = match.group()
        if piece == ",":
            nodes += 1
        elif piece in ("]", "}"):
            depth -= 1
        elif piece in ("[", "{"):
            depth += 1
            nodes += 1
        if depth + (piece[-1] in "]}" and len(piece) > 1) > MAX_DEPTH:
            raise _at("too_deep", text, match.start())
        if nodes > MAX_NODES:
            raise _at("too_many_nodes", text, match.start())


def _check_strings(value: Json) -> None:
    """Refuse lone surrogates and NUL characters that were written as escapes."""
    waiting: list[object] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            check_string(item)
        elif isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)


class _IntegralFloat(Exception):
    """Decoding has met a float with an integral value and starts over with the decoder that takes it."""


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise Malformed("duplicate_key")
    return members


def _integer(digits: str) -> int:
    if len(digits) <= _INTEGER_WIDTH:
        value = int(digits)
        if -MAX_INTEGER <= value <= MAX_INTEGER:
            return value
    raise Malformed("number_out_of_range")


def _big_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise Malformed("number_out_of_range")
    return int(digits)


def _float(digits: str, *, patient: bool) -> float:
    """Read a float; one that is too large for a double, or too small to differ from zero, is out of range."""
    value = float(digits)
    if not value.is_integer():
        if value - value != 0:
            raise Malformed("number_out_of_range")
        return value
    if not patient:
        raise _IntegralFloat
    if value == 0 and digits.lower().partition("e")[0].strip("-0."):
        raise Malformed("number_out_of_range")
    return value


def _constant(_name: str) -> NoReturn:
    raise Malformed("malformed")


def _decoders(*, patient: bool) -> dict[bool, JSONDecoder]:
    read_float = partial(_float, patient=patient)

    def decoder(read_integer: Callable[[str], int]) -> JSONDecoder:
        return JSONDecoder(
            object_pairs_hook=_object, parse_float=read_float, parse_int=read_integer, parse_constant=_constant
        )

    return {False: decoder(_integer), True: decoder(_big_integer)}


_PLAIN: Final = _decoders(patient=False)
_PATIENT: Final = _decoders(patient=True)
