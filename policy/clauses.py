"""
Is this schema one that can be enforced, and does it speak of what exists? Narrowing and conditions in policy files.

In comes a schema as nodes, with references, and what its value is known to be; out come findings at every depth. A
keyword that is none, a name that the value never has, a bound on another type: each would be a rule that never rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Final, TypeAlias, cast

from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.keywords import FORMATS, IMPLIED, KEYWORDS, LISTS, SINGLES, TYPES, SchemaInvalid
from gatewright.policy.knowledge import ANY, Known, widened
from gatewright.policy.model import Json, Schema
from gatewright.policy.patterns import fault_of
from gatewright.policy.references import KINDS
from gatewright.policy.validator import compile_schema

__all__ = ["Target", "check_clause", "check_data", "no_reference"]

_CLAUSE: Final = KEYWORDS - {"$ref", "$defs", "$schema", "$id"}
_NUMBER_WORDS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_BOUNDS: Final = _NUMBER_WORDS - {"multipleOf"}
_COUNT_WORDS: Final = frozenset(word for word in IMPLIED if word.startswith(("min", "max"))) - _NUMBER_WORDS
_FILLED_WITH: Final[Mapping[str, tuple[frozenset[str], Json]]] = {
    **dict.fromkeys(_NUMBER_WORDS, (frozenset({"integer", "number"}), 1)),
    **dict.fromkeys(_COUNT_WORDS, (frozenset({"integer"}), 1)),
    "pattern": (frozenset({"string"}), ""),
    "enum": (frozenset({"array"}), ["x"]),
    "const": (frozenset(TYPES), "x"),
}
"""Keyword → the types that a reference under it may have, and what stands in for it while the schema is compiled."""

Target: TypeAlias = "Callable[[str, str, Node, Reader], Schema | None]"
"""(kind, path, node, reader) → the schema of what a reference names, or None where it is not known; adds findings."""


def check_clause(node: Node, known: Known, target: Target, reader: Reader, beside: Collection[str] = ()) -> None:
    """Find what is wrong with the schema *node* over a value that is *known*; keys in *beside* are not its own."""
    before = len(reader.findings)
    _Clause(target, reader).check(node, known, beside)
    if len(reader.findings) == before:
        _check_compiles(node, reader, beside)


def no_reference(kind: str, _path: str, node: Node, reader: Reader) -> Schema | None:
    """The target of references where none can be filled."""
    reader.findings.add(node.place, "late_reference", f"{kind} is not known here", "write a plain value")
    return None


def check_data(node: Node, known: Known, target: Target, reader: Reader) -> bool:
    """Check the references that stand in data which is *known*; return whether there are any."""
    return _Clause(target, reader).has_references("const", node, known)


class _Clause:
    """One schema being checked."""

    def __init__(self, target: Target, reader: Reader) -> None:
        self.target = target
        self.reader = reader

    def check(self, node: Node, known: Known, beside: Collection[str] = ()) -> None:
        if isinstance(node.value, bool):
            return
        for keyword, value in self.reader.mapping(node, None, "schema").items():
            if keyword in beside:
                continue
            if keyword not in _CLAUSE:
                self.reader.unknown(node.keys[keyword], "unknown_keyword", keyword, _CLAUSE, "keyword")
            elif self._is_apart(keyword, known):
                message = (
                    f"{keyword!r} speaks of {IMPLIED[keyword]} values, and here is {' or '.join(sorted(known.kinds()))}"
                )
                self.reader.findings.add(node.keys[keyword], "wrong_type", message)
            else:
                self._keyword(keyword, value, known)

    def _keyword(self, keyword: str, value: Node, known: Known) -> None:
        if keyword == "properties":
            self._properties(value, known)
        elif keyword in ("items", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties"):
            self.check(value, known.at("*"))
        elif keyword == "propertyNames":
            self.check(value, ANY)
        elif keyword in SINGLES:
            self.check(value, known)
        elif keyword in LISTS:
            for item in self.reader.items(value, f"list of {keyword}"):
                self.check(item, known.at("*") if keyword == "prefixItems" else known)
        elif keyword in ("patternProperties", "dependentSchemas"):
            for item in self.reader.mapping(value, None, keyword).values():
                self.check(item, ANY if keyword == "patternProperties" else known)
        elif keyword == "required":
            for name in self.reader.items(value, "list of names"):
                self._member(name, name.value, known)
        elif not self.has_references(keyword, value, known):
            self._plain(keyword, value, known)

    def _properties(self, node: Node, known: Known) -> None:
        for name, item in self.reader.mapping(node, None, "properties").items():
            if known.has(name):
                self.check(item, known.at(name))
            else:
                self.reader.unknown(node.keys[name], known.code, name, list(known.names()), known.what)

    def _member(self, node: Node, name: object, known: Known) -> None:
        if isinstance(name, str) and not known.has(name):
            self.reader.unknown(node.place, known.code, name, list(known.names()), known.what)

    def _plain(self, keyword: str, node: Node, known: Known) -> None:
        if keyword == "pattern" and isinstance(node.value, str) and (fault := fault_of(node.value)):
            self.reader.findings.add(node.place, "bad_pattern", f"this pattern is refused: {fault}")
        elif keyword == "format":
            self.reader.choice(node, FORMATS, "format")
        elif keyword == "const":
            self._option(node, known)
        elif keyword == "enum":
            self.reader.not_empty(node, "no value is one of these")
            for item in self.reader.items(node, "list of options"):
                self._option(item, known)

    def _option(self, node: Node, known: Known) -> None:
        value = node.plain()
        if not known.takes(value):
            name = value if isinstance(value, str) else ""
            self.reader.unknown(node.place, "unknown_value", name, known.options(), "value here")

    def has_references(self, keyword: str, node: Node, known: Known = ANY) -> bool:
        """Check the references in the value of *keyword*; return whether there are any."""
        if isinstance(node.value, list):
            found = [self.has_references(f"{keyword}[]", item) for item in node.value]
            return any(found)
        if not isinstance(node.value, dict):
            return False
        if not any(name.startswith("$") for name in node.value):
            found = [self.has_references(name, item) for name, item in node.value.items()]
            return any(found)
        self._reference(keyword, node, known)
        return True

    def _reference(self, keyword: str, node: Node, known: Known) -> None:
        pairs = cast("dict[str, Node]", node.value)
        kind, path = next(iter(pairs.items()))
        if len(pairs) != 1 or kind not in KINDS:
            wrong = next((name for name in pairs if name not in KINDS), kind)
            self.reader.unknown(node.keys[wrong], "unknown_reference", wrong, KINDS, "reference, which stands alone")
            return
        text = self.reader.text(path, "reference")
        found = self.target(kind, text, path, self.reader) if text else None
        if found is None or keyword not in _FILLED_WITH:
            return
        kinds, taken = Known.of(found).kinds(), _FILLED_WITH[keyword][0]
        if keyword == "const":
            taken = known.kinds() or taken
        if kinds and not widened(kinds) & widened(taken):
            self.reader.findings.add(
                path.place, "reference_type", f"{keyword!r} cannot take {text!r}, which is {' or '.join(sorted(kinds))}"
            )

    def _is_apart(self, keyword: str, known: Known) -> bool:
        kinds, implied = known.kinds(), IMPLIED.get(keyword)
        return bool(kinds) and implied is not None and implied not in widened(kinds)


def _check_compiles(node: Node, reader: Reader, beside: Collection[str]) -> None:
    """Find values that their keyword does not take, by compiling the schema with its references filled in."""
    plain = node.plain()
    if not isinstance(plain, Mapping) or all(
        _is_plainly_sound(*pair) for pair in plain.items() if pair[0] not in beside
    ):
        return
    try:
        compile_schema(cast("Schema", _filled("", {word: plain[word] for word in plain if word not in beside})))
    except SchemaInvalid as error:
        tokens = [token for token in error.pointer.split("/")[1:] if token]
        word = next((token for token in reversed(tokens) if token in KEYWORDS), "")
        message = f"{word!r} does not take this value" if word else "this is no schema"
        reader.findings.add(_at(node, tokens).place, "bad_schema", message, error.hint)


def _is_plainly_sound(keyword: str, value: Json) -> bool:
    """Whether *keyword* takes *value* without any doubt; most narrowing is that plain."""
    if keyword == "const" or isinstance(value, bool):
        return keyword == "const"
    return isinstance(value, int | float) and (
        keyword in _BOUNDS or (keyword in _COUNT_WORDS and isinstance(value, int) and value >= 0)
    )


def _filled(keyword: str, value: Json) -> Json:
    if isinstance(value, Mapping):
        if len(value) == 1 and next(iter(value)) in KINDS:
            return _FILLED_WITH.get(keyword, (frozenset(), "x"))[1]
        return {name: _filled(name, item) for name, item in value.items()}
    return [_filled(f"{keyword}[]", item) for item in value] if isinstance(value, list) else value


def _at(node: Node, tokens: list[str]) -> Node:
    for token in tokens:
        if isinstance(node.value, dict) and token in node.value:
            node = node.value[token]
        elif isinstance(node.value, list) and token.isdigit() and int(token) < len(node.value):
            node = node.value[int(token)]
    return node
