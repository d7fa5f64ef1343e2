"""
How is a complaint said? Constant sentences in English and Chinese, filled from the caller's own schema and from shapes.

In come a reason and what a place of a schema asks for; out comes one sentence. No value that came is ever in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from gatewright.policy.model import Json

__all__ = ["LEADS", "Locale", "describe", "phrase"]

Locale: TypeAlias = Literal["en", "zh"]

Wanted: TypeAlias = "Mapping[str, Json]"

_MOST_OPTIONS: Final = 20
_LONGEST_EXAMPLE: Final = 100

LEADS: Final[Mapping[str, tuple[str, str]]] = {
    "missing": ("This argument is required", "缺少必填参数"),
    "unknown_argument": ("There is no such argument", "没有这个参数"),
    "wrong_type": ("The value has the wrong type", "值的类型不对"),
    "not_in_enum": ("The value is not one of the options", "值不在可选范围内"),
    "too_small": ("The number is too small", "数值太小"),
    "too_large": ("The number is too large", "数值太大"),
    "too_short": ("The string is too short", "字符串太短"),
    "too_long": ("The string is too long", "字符串太长"),
    "pattern_mismatch": ("The string does not match the pattern", "字符串不符合规定的模式"),
    "bad_format": ("The string does not have the right format", "字符串格式不对"),
    "too_few_items": ("The array has too few items", "数组元素太少"),
    "too_many_items": ("The array has too many items", "数组元素太多"),
    "duplicate_items": ("The array holds an item twice", "数组中有重复元素"),
    "not_a_multiple": ("The number is not a multiple", "数值不是规定的倍数"),
    "lacks_item": ("The array lacks an item that it must hold", "数组缺少必须包含的元素"),
    "too_many_such_items": ("The array holds too many items of one kind", "数组中某类元素太多"),
    "too_few_properties": ("The object has too few properties", "对象的属性太少"),
    "too_many_properties": ("The object has too many properties", "对象的属性太多"),
    "bad_property_name": ("A property has a name that is not allowed", "对象中有不允许的属性名"),
    "no_alternative": ("The value fits none of the alternatives", "值不符合任何一种可选形式"),
    "several_alternatives": (
        "The value fits several alternatives, it must fit one",
        "值同时符合多种形式，只能符合一种",
    ),
    "not_allowed": ("The value is excluded", "值被排除"),
    "not_accepted": ("The arguments are not accepted", "参数不被接受"),
    "malformed": ("The arguments are not valid JSON", "参数不是有效的 JSON"),
    "duplicate_key": ("An object holds the same key twice", "对象中有重复的键"),
    "not_an_object": ("The arguments must be one JSON object", "参数必须是一个 JSON 对象"),
    "not_utf8": ("The arguments are not UTF-8", "参数不是 UTF-8 编码"),
    "byte_order_mark": ("The arguments begin with a byte order mark", "参数以字节顺序标记开头"),
    "lone_surrogate": ("A string holds half of a surrogate pair", "字符串中有不成对的代理字符"),
    "nul_character": ("A string holds a NUL character", "字符串中有 NUL 字符"),
    "number_out_of_range": ("A number is out of range", "数值超出可表示的范围"),
    "too_large_input": ("The arguments are too large", "参数内容过大"),
    "too_deep": ("The arguments are nested too deeply", "参数嵌套过深"),
    "too_many_nodes": ("The arguments hold too many values", "参数包含的值过多"),
    "empty": ("There are no arguments; send one JSON object", "没有参数；请发送一个 JSON 对象"),
}
_OTHER: Final = ("A rule of this tool refuses the arguments", "参数不符合此工具的规则")

_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "string": ("a string", "字符串"),
    "integer": ("an integer without a decimal point", "不带小数点的整数"),
    "number": ("a number", "数字"),
    "boolean": ("true or false", "true 或 false"),
    "array": ("an array", "数组"),
    "object": ("an object", "对象"),
    "null": ("null", "null"),
    "json": ("a JSON value", "JSON 值"),
}
_GOT: Final[Mapping[str, tuple[str, str]]] = {
    **_KINDS,
    "integer": ("an integer", "整数"),
    "boolean": ("a boolean", "布尔值"),
    "other": ("something that is not JSON", "非 JSON 的内容"),
}
_UNITS: Final[Mapping[str, tuple[str, str, str]]] = {
    "string": ("character", "characters", "个字符"),
    "array": ("item", "items", "个元素"),
    "object": ("property", "properties", "个属性"),
}
_FORMATS: Final[Mapping[str, tuple[str, str]]] = {
    "date": ("a date such as 2026-01-31", "日期，例如 2026-01-31"),
    "date-time": ("a time with its zone such as 2026-01-31T09:00:00Z", "带时区的时间，例如 2026-01-31T09:00:00Z"),
    "time": ("a time of day with its zone such as 09:00:00Z", "带时区的时刻，例如 09:00:00Z"),
    "duration": ("a duration such as PT1H30M", "时长，例如 PT1H30M"),
    "email": ("an e-mail address such as name@example.com", "电子邮件地址，例如 name@example.com"),
    "hostname": ("a host name such as www.example.com", "主机名，例如 www.example.com"),
    "ipv4": ("an IPv4 address such as 192.0.2.1", "IPv4 地址，例如 192.0.2.1"),
    "ipv6": ("an IPv6 address such as 2001:db8::1", "IPv6 地址，例如 2001:db8::1"),
    "json-pointer": ("a JSON pointer such as /a/0", "JSON 指针，例如 /a/0"),
    "uri": ("a URI such as https://example.com/a", "URI，例如 https://example.com/a"),
    "uri-reference": ("a URI or relative reference such as /a", "URI 或相对引用，例如 /a"),
    "uuid": (
        "a UUID such as 123e4567-e89b-12d3-a456-426614174000",
        "UUID，例如 123e4567-e89b-12d3-a456-426614174000",
    ),
}
_RANGES: Final[Mapping[str, tuple[str, str]]] = {
    "minimum": ("at least {}", "不小于 {}"),
    "exclusiveMinimum": ("greater than {}", "大于 {}"),
    "maximum": ("at most {}", "不大于 {}"),
    "exclusiveMaximum": ("less than {}", "小于 {}"),
    "multipleOf": ("a multiple of {}", "{} 的倍数"),
    "minLength": ("at least {} long", "长度至少 {}"),
    "maxLength": ("at most {} long", "长度至多 {}"),
    "pattern": ("matching the pattern {}", "匹配模式 {}"),
    "minItems": ("with at least {} items", "至少 {} 个元素"),
    "maxItems": ("with at most {} items", "至多 {} 个元素"),
    "minProperties": ("with at least {} properties", "至少 {} 个属性"),
    "maxProperties": ("with at most {} properties", "至多 {} 个属性"),
    "example": ("for example {}", "例如 {}"),
}


def phrase(layer: str, reason: str, expected: Json, params: Wanted, locale: Locale) -> str:
    """Return the sentence for *reason*; an unknown reason is a developer's own and gets a constant sentence."""
    zh = locale == "zh"
    lead = LEADS.get(reason, _OTHER)[zh]
    parts = [lead]
    if layer == "business" and isinstance(expected, str):
        parts.append(_join("expected ", "要求：", expected, zh))
    wanted = _describe(cast("Wanted", dict(cast("tuple[tuple[str, Json], ...]", params.get("wanted", ())))), zh)
    if wanted:
        parts.append(_join("expected ", "应为", wanted, zh))
    if "known" in params:
        parts.append(_join("the arguments here are ", "此处的参数为 ", _list(params["known"]), zh))
    if "quoted" in params:
        parts.append(_join("got ", "收到的是 ", str(params["quoted"]), zh))
    elif "got" in params and reason != "missing":
        parts.append(_join("got ", "收到的是", _shape(params, zh), zh))
    if "offset" in params:
        parts.append(_join("at byte ", "位于字节 ", str(params["offset"]), zh))
    return ("；" if zh else "; ").join(parts) + ("。" if zh else ".")


def describe(wanted: Mapping[str, Json], locale: Locale = "en") -> str:
    """
    Say what the keywords *wanted* ask for, "" where none of them can be said.

    >>> describe({"type": "integer", "minimum": 1})
    'an integer without a decimal point, at least 1'
    """
    return _describe(wanted, locale == "zh")


def _describe(wanted: Wanted, zh: bool) -> str:
    if "const" in wanted:
        return _join("exactly ", "固定值 ", _json(wanted["const"]), zh)
    if "enum" in wanted:
        return _join("one of ", "以下之一：", _list(wanted["enum"]), zh)
    kinds = wanted.get("type", ())
    names = (kinds,) if isinstance(kinds, str) else cast("tuple[str, ...]", kinds)
    words = [(" 或 " if zh else " or ").join(_KINDS.get(name, (name, name))[zh] for name in names)] if names else []
    if "format" in wanted:
        words = [_FORMATS.get(str(wanted["format"]), (f"format {wanted['format']}",) * 2)[zh]]
    for keyword, texts in _RANGES.items():
        if keyword in wanted:
            value = wanted[keyword]
            words.append(texts[zh].format(value if isinstance(value, str) else _json(value)))
    return ("，" if zh else ", ").join(words)


def _shape(params: Wanted, zh: bool) -> str:
    kind, size = str(params["got"]), params.get("size")
    words = _GOT.get(kind, _GOT["other"])[zh]
    if params.get("integral"):
        return "带小数点或指数的数字" if zh else "a number with a decimal point or an exponent"
    if not isinstance(size, int):
        return words
    one, many, chinese = _UNITS[kind]
    return f"{size} {chinese}的{words}" if zh else f"{words} of {size} {one if size == 1 else many}"


def _list(options: Json) -> str:
    items = list(cast("tuple[Json, ...]", options))
    more = f", … ({len(items)})" if len(items) > _MOST_OPTIONS else ""
    return ", ".join(_json(item) for item in items[:_MOST_OPTIONS]) + more


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _join(english: str, chinese: str, text: str, zh: bool) -> str:
    return (chinese if zh else english) + text
