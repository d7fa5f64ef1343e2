"""
What does a YAML file of a policies folder say, and where? YAML 1.2 core, as nodes that know their places.

In come bytes; out come documents of `Node`s and findings. `no` is a string and dates stay strings. Anchors, aliases,
merges, tags, directives, duplicate keys and keys that are not strings are findings, not features.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import yaml

from gatewright.policy.errors import Finding, Place
from gatewright.policy.model import Json
from gatewright.policy.pacing import breathe

__all__ = ["Findings", "Node", "read_documents", "read_text"]

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_ORDINARY: Final = bytes((0x09, 0x0A, *range(0x20, 0x7F)))
_PIECE: Final = 65_536
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\r(?!\n)")
_NULLS: Final = frozenset({"null", "Null", "NULL", "~", ""})
_BOOLS: Final = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_NUMBER_STARTS: Final = frozenset("+-.0123456789")
_LONGEST_NUMBER: Final = 64
_DEEPEST: Final = 64
_MOST_FINDINGS: Final = 1000

Value: TypeAlias = "bool | int | float | str | list[Node] | dict[str, Node] | None"


@dataclass(slots=True)
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


class Findings:
    """Findings while they are being collected; each is held once, and at most a thousand of them."""

    def __init__(self) -> None:
        self._held: dict[Finding, None] = {}
        self._errors = 0

    @property
    def is_full(self) -> bool:
        """Whether nothing more is taken: there is no use in reading on."""
        return self._errors >= _MOST_FINDINGS

    @property
    def all(self) -> list[Finding]:
        """Every finding so far, in the order in which they were found."""
        return list(self._held)

    def __len__(self) -> int:
        return len(self._held)

    def add(self, place: Place, code: str, message: str, hint: str = "") -> None:
        """Add an error."""
        self._hold(Finding(place, code, message, hint))

    def warn(self, place: Place, code: str, message: str, hint: str = "") -> None:
        """Add a warning, which does not keep a folder from loading."""
        self._hold(Finding(place, code, message, hint, "warning"))

    def take(self, findings: Iterable[Finding]) -> None:
        """Add findings that somebody else made."""
        for finding in findings:
            self._hold(finding)

    def errors(self) -> list[Finding]:
        """What keeps the folder from loading."""
        return [finding for finding in self._held if finding.severity == "error"]

    def _hold(self, finding: Finding) -> None:
        is_error = finding.severity == "error"
        if self.is_full or finding in self._held or (not is_error and len(self._held) >= _MOST_FINDINGS):
            return
        self._errors += is_error
        if self.is_full:
            finding = Finding(finding.place, "too_many", "there are more findings than are told", "mend these first")
        self._held[finding] = None


class _Refused(Exception):
    """YAML that cannot be read any further. *code*, *place* and *message* are those of its finding."""

    def __init__(self, code: str, place: Place, message: str, hint: str = "") -> None:
        self.code = code
        self.place = place
        self.message = message
        self.hint = hint
        super().__init__(code)


def read_text(path: str, content: bytes, findings: Findings) -> str | None:
    """Return *content* as text, or None with a finding: UTF-8, no byte order mark, no control characters."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        findings.add(_place_at(path, before, len(before)), "not_utf8", "the file is not UTF-8", "save it as UTF-8")
        return None
    if text.startswith("\ufeff"):
        findings.add(Place(path), "byte_order_mark", "the file starts with a byte order mark", "save it without one")
        return None
    odd = None if _is_ordinary(content) else _odd_character(text)
    if odd is not None:
        hint = f"U+{ord(odd[0]):04X} has no place in a policy file"
        findings.add(_place_at(path, text, odd.start()), "control_character", "a control character stands here", hint)
        return None
    return text


def _is_ordinary(content: bytes) -> bool:
    """Whether nothing but printable ASCII, blanks and line ends stands in *content*; found out in one quick pass."""
    for start in range(0, len(content), _PIECE):
        if content[start : start + _PIECE].translate(None, _ORDINARY):
            return False
        breathe()
    return True


def _odd_character(text: str) -> re.Match[str] | None:
    """The first control character; long texts are searched piece by piece, each with the character behind it."""
    for start in range(0, len(text), _PIECE):
        odd = _CONTROL.search(text, start, start + _PIECE + 1)
        if odd is not None and (odd.start() < start + _PIECE or start + _PIECE + 1 >= len(text)):
            return odd
        breathe()
    return None


def read_documents(path: str, content: bytes, findings: Findings) -> list[Node]:
    """Return the documents of a YAML file; an empty list, with findings, where it cannot be read."""
    text = read_text(path, content, findings)
    if text is None:
        return []
    loader = _Loader(text)
    try:
        return _Building(path, loader, findings).documents()
    except _Refused as refused:
        findings.add(refused.place, refused.code, refused.message, refused.hint)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path)
        findings.add(place, "yaml", str(error.problem or "this is no YAML"))
    except (yaml.YAMLError, ValueError):
        findings.add(Place(path), "yaml", "this is no YAML")
    finally:
        loader.dispose()
    return []


class _Building:
    """One file's nodes, built from the parser's events."""

    def __init__(self, path: str, loader: Any, findings: Findings) -> None:
        self.path = path
        self.next = loader.get_event
        self.findings = findings

    def documents(self) -> list[Node]:
        found = []
        self.next()
        while isinstance(event := self.next(), yaml.DocumentStartEvent):
            if event.tags or event.version not in (None, (1, 2)):
                self.findings.add(self._place(event), "directive", "directives are not used here", "leave it away")
            found.append(self.node(self.next(), 1))
            self.next()
        return found

    def node(self, event: yaml.Event, depth: int) -> Node:
        place = self._place(event)
        if depth > _DEEPEST:
            raise _Refused("too_deep", place, f"more than {_DEEPEST} levels")
        if isinstance(event, yaml.AliasEvent):
            self.findings.add(place, "anchor", "anchors and aliases are not used here", "write it out, or use $use")
            return Node(None, place, {})
        self._refuse_decoration(event, place)
        if isinstance(event, yaml.ScalarEvent):
            return Node(self._scalar(event, place), place, {})
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place, depth)
        items = []
        while not isinstance(item := self.next(), yaml.SequenceEndEvent):
            items.append(self.node(item, depth + 1))
        return Node(items, place, {})

    def _mapping(self, place: Place, depth: int) -> Node:
        values: dict[str, Node] = {}
        keys: dict[str, Place] = {}
        while not isinstance(event := self.next(), yaml.MappingEndEvent):
            key = self.node(event, depth + 1)
            value = self.node(self.next(), depth + 1)
            name = key.value
            if not isinstance(name, str) or (name == "<<" and _is_plain(event)):
                self.findings.add(key.place, "bad_key", "a key must be a plain name", "quote it if it is one")
            elif name in values:
                self.findings.add(key.place, "duplicate_key", f"the key {name!r} stands here twice")
            else:
                keys[name] = key.place
                values[name] = value
        return Node(values, place, keys)

    def _scalar(self, event: yaml.ScalarEvent, place: Place) -> bool | int | float | str | None:
        text: str = event.value
        if not _is_plain(event):
            if not text.isprintable() and _CONTROL.search(text):
                self.findings.add(place, "control_character", "this text holds a control character")
            return text
        if text in _NULLS:
            return None
        if text in _BOOLS:
            return _BOOLS[text]
        if text[0] not in _NUMBER_STARTS:
            return text
        number = _number(text)
        if number is None:
            self.findings.add(place, "bad_number", "JSON has no such number", "quote it if it is a text")
            return 0
        return number

    def _refuse_decoration(self, event: Any, place: Place) -> None:
        if event.anchor is not None:
            self.findings.add(place, "anchor", "anchors and aliases are not used here", "write it out, or use $use")
        if event.tag is not None:
            self.findings.add(place, "tag", f"the tag {event.tag} is not used here", "leave the tag away")

    def _place(self, event: Any) -> Place:
        mark = event.start_mark
        return Place(self.path, mark.line + 1, mark.column + 1)


def _is_plain(event: Any) -> bool:
    return not event.style


def _number(text: str) -> int | float | str | None:
    """Return the number that *text* is, *text* itself where it is none, None where JSON has no such number."""
    if _INTEGER.fullmatch(text):
        if len(text) > _LONGEST_NUMBER:
            return None
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if not _FLOAT.fullmatch(text):
        return text
    number = math.inf if text[-1].isalpha() else float(text)
    return number if math.isfinite(number) else None


def _place_at(path: str, text: str, offset: int) -> Place:
    before = text[:offset]
    return Place(path, before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)
