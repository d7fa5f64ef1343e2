"""
What does a YAML file of a policies folder say, and where? YAML 1.2 core, as nodes that know their places.

In comes text; out come documents of `Node`s and findings. `no` is a string and dates stay strings. Anchors, aliases,
merges, tags, duplicate keys and keys that are not strings are findings, not features.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import yaml

from gatewright.policy.errors import Finding, Place
from gatewright.policy.model import Json

__all__ = ["Findings", "Node", "read_documents", "read_text"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
_NULL = re.compile(r"null|Null|NULL|~|")
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_QUOTING = ("'", '"', "|", ">")
_HINTS = {"anchor": "write it out, or use $use", "tag": "leave the tag away"}

Value: TypeAlias = "bool | int | float | str | list[Node] | dict[str, Node] | None"


@dataclass(frozen=True, slots=True)
class Node:
    """A YAML value and where it stands; *keys* holds the places of a mapping's keys."""

    value: Value
    place: Place
    keys: dict[str, Place]

    def plain(self) -> Json:
        """Return the value without places."""
        if isinstance(self.value, dict):
            return {name: node.plain() for name, node in self.value.items()}
        return [node.plain() for node in self.value] if isinstance(self.value, list) else self.value


class _Refused(Exception):
    """YAML that is well formed and not used here;"""

    def __init__(self, code: str, message: str, mark: Any) -> None:
        self.code = code
        self.message = message
        self.place = (mark.line + 1, mark.column + 1)
        super().__init__(code)


class Findings:
    """A list of findings that is being written."""

    def __init__(self) -> None:
        self.all: list[Finding] = []

    def add(self, place: Place, code: str, message: str, hint: str = "") -> None:
        """Add an error."""
        self.all.append(Finding(place, code, message, hint))

    def warn(self, place: Place, code: str, message: str, hint: str = "") -> None:
        """Add a warning."""
        self.all.append(Finding(place, code, message, hint, "warning"))

    def errors(self) -> list[Finding]:
        """What keeps the folder from loading."""
        return [finding for finding in self.all if finding.severity == "error"]


def read_text(path: str, content: bytes, findings: Findings) -> str | None:
    """Return *content* as text, or None with a finding: UTF-8, no byte order mark, no control characters."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        findings.add(Place(path, line), "not_utf8", "the file is not UTF-8")
        return None
    if text.startswith("\ufeff"):
        findings.add(Place(path), "byte_order_mark", "the file starts with a byte order mark", "save it without one")
        return None
    odd = _CONTROL.search(text)
    if odd is not None:
        findings.add(_place_at(path, text, odd.start()), "control_character", "a control character stands here")
        return None
    return text


def read_documents(path: str, content: bytes, findings: Findings) -> list[Node]:
    """Return the documents of a YAML file; an empty list, with findings, where it cannot be read."""
    text = read_text(path, content, findings)
    if text is None:
        return []
    try:
        composed = list(_compose(text))
    except _Refused as refused:
        findings.add(Place(path, *refused.place), refused.code, refused.message, _HINTS[refused.code])
        return []
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path)
        findings.add(place, "yaml", str(error.problem or "this is no YAML"))
        return []
    except (yaml.YAMLError, RecursionError):
        findings.add(Place(path), "yaml", "this is no YAML")
        return []
    return [_node(path, document, findings) for document in composed if document is not None]


def _compose(text: str) -> Iterator[yaml.Node]:
    loader = _Loader(text)
    try:
        for event in yaml.parse(text, Loader=_Loader):
            if getattr(event, "anchor", None) is not None:
                raise _Refused("anchor", "anchors and aliases are not used here", event.start_mark)
            if getattr(event, "tag", None) not in (None, "!"):
                raise _Refused("tag", "tags are not used here", event.start_mark)
        while loader.check_node():
            yield loader.get_node()
    finally:
        loader.dispose()


def _node(path: str, node: yaml.Node, findings: Findings) -> Node:
    place = Place(path, node.start_mark.line + 1, node.start_mark.column + 1)
    if isinstance(node, yaml.MappingNode):
        return _mapping(path, node, place, findings)
    if isinstance(node, yaml.SequenceNode):
        return Node([_node(path, item, findings) for item in node.value], place, {})
    return Node(_scalar(node), place, {})


def _mapping(path: str, node: yaml.MappingNode, place: Place, findings: Findings) -> Node:
    values: dict[str, Node] = {}
    keys: dict[str, Place] = {}
    for key, value in node.value:
        at = Place(path, key.start_mark.line + 1, key.start_mark.column + 1)
        name = key.value if isinstance(key, yaml.ScalarNode) else None
        if name is None or (key.style not in _QUOTING and name == "<<"):
            findings.add(at, "bad_key", "a key must be a plain name")
        elif name in values:
            findings.add(at, "duplicate_key", f"the key {name!r} stands here twice")
        else:
            keys[name] = at
            values[name] = _node(path, value, findings)
    return Node(values, place, keys)


def _scalar(node: yaml.Node) -> bool | int | float | str | None:
    text: str = node.value
    if getattr(node, "style", None) in _QUOTING or node.tag == "!":
        return text
    if _NULL.fullmatch(text):
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return int(text) if len(text) < 64 else text
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _place_at(path: str, text: str, offset: int) -> Place:
    before = text[:offset]
    return Place(path, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)
