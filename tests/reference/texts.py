"""
What does a text say? YAML 1.2 core, Casbin rows and strict JSON, each to plain Python values.

Wrong policy texts raise ValueError; the reference expects valid folders and does not explain them.
"""

from __future__ import annotations

import copy
import csv
import functools
import io
import json
import re
from typing import Any

import yaml

_CORE = (
    ("null", re.compile(r"null|Null|NULL|~|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    ("float", re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")),
)
_LARGEST = 2**53 - 1


def read_yaml(text: str, *, anchors: bool = False) -> list[Any]:
    """Every document of *text*; aliases only where *anchors* is set."""
    return copy.deepcopy(_documents(text, anchors))


@functools.lru_cache(maxsize=512)
def _documents(text: str, anchors: bool) -> list[Any]:
    nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    if not anchors and any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
        raise ValueError("aliases are not part of the format")
    return [_value(node) for node in nodes if node is not None]


def _value(node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return node.value if node.style in ("'", '"', "|", ">") else _plain(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    pairs = [(_value(key), _value(item)) for key, item in node.value]
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _plain(text: str) -> Any:
    name = next((name for name, shape in _CORE if shape.fullmatch(text)), "str")
    if name == "null":
        return None
    if name == "bool":
        return text.lower() == "true"
    if name == "int":
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    return float(text) if name == "float" else text


def read_rows(text: str) -> list[list[str]]:
    """The rows of a Casbin file, without comments and blank lines."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return [[cell.strip() for cell in row] for row in csv.reader(io.StringIO("\n".join(lines)), skipinitialspace=True)]


def read_json(text: str | bytes) -> dict[str, Any]:
    """A call's arguments as the model wrote them; ValueError when they are not strict JSON of one object."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if len(text.encode("utf-8")) > 2**20:  # also refuses lone surrogates
        raise ValueError("too large")
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("too deep") from None
    _bounded(value, 1, [0])
    if not isinstance(value, dict):
        raise ValueError("not an object")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name stands twice")
    return dict(pairs)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _bounded(value: Any, depth: int, nodes: list[int]) -> None:
    nodes[0] += 1
    if depth > 32 or nodes[0] > 10_000:
        raise ValueError("too deep or too many values")
    if isinstance(value, str):
        value.encode("utf-8")
        if "\0" in value:
            raise ValueError("NUL")
    elif isinstance(value, int) and not -_LARGEST <= value <= _LARGEST:
        raise ValueError("integer out of range")
    elif isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise ValueError("number out of range")
    elif isinstance(value, dict):
        for name, item in value.items():
            _bounded(name, depth, nodes)
            _bounded(item, depth + 1, nodes)
    elif isinstance(value, list):
        for item in value:
            _bounded(item, depth + 1, nodes)
