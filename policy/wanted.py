"""
What does a schema ask for at one place of a value? The keywords that a sentence can be made of, as plain pairs.

In come a schema and a place; out come its keywords there, through references and alternatives. Judges nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final, cast

from gatewright.policy.evidence import Place, freeze
from gatewright.policy.model import Json, Pointer, Schema
from gatewright.policy.pruning import resolve
from gatewright.policy.specimens import specimens
from gatewright.policy.validator import compile_schema

__all__ = ["SAYABLE", "asked_at", "declared_names", "is_declared", "own_word", "places"]

SAYABLE: Final = (
    "type",
    "enum",
    "const",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
)
_OF_STRINGS: Final = ("type", "minLength", "maxLength", "pattern", "format")
_BRANCHES: Final = ("anyOf", "oneOf", "allOf")
_CONDITIONAL: Final = ("then", "else")
_OPTIONS: Final = ("enum", "const")
_LONGEST_EXAMPLE: Final = 100
_DEEPEST: Final = 16


def asked_at(schema: Schema, place: Place) -> dict[str, Json]:
    """Return the sayable keywords of *schema* at *place*, in hashable JSON; an example where the schema has one."""
    nodes = list(places(schema, place, schema))
    asked: dict[str, Json] = dict(_options(nodes))
    for node in nodes:
        for keyword in SAYABLE:
            if keyword in node and keyword not in _OPTIONS:
                asked.setdefault(keyword, freeze(node[keyword]))
        examples = node.get("examples")
        if isinstance(examples, list | tuple) and examples:
            text = json.dumps(examples[0], ensure_ascii=False)
            if len(text) <= _LONGEST_EXAMPLE:
                asked.setdefault("example", text)
    if "pattern" in asked and "example" not in asked and not asked.keys() & {"enum", "const"}:
        made = _made(nodes, str(asked["pattern"]))
        if made is not None:
            asked["example"] = json.dumps(made, ensure_ascii=False)
    return asked


def _made(nodes: Sequence[Schema], pattern: str) -> str | None:
    """A string that fits everything that *nodes* ask of a string by themselves."""
    own = [{word: node[word] for word in _OF_STRINGS if word in node} for node in nodes]
    return _specimen(json.dumps({"allOf": own}, ensure_ascii=False, default=list), pattern)


@lru_cache(maxsize=1024)
def _specimen(schema: str, pattern: str) -> str | None:
    """The first string made from *pattern* that *schema* takes; none where the pattern is not easily read."""
    asked = json.loads(schema)
    lengths = [word[name] for word in asked["allOf"] for name in ("minLength", "maxLength") if name in word]
    accepts = compile_schema(asked).accepts
    try:
        made = specimens(pattern, lengths[:4])
    except (IndexError, ValueError, RecursionError):
        return None
    return next((text for text in made if len(text) <= _LONGEST_EXAMPLE and text.isprintable() and accepts(text)), None)


def own_word(schema: Schema, place: Place, keyword: str, expected: Json) -> tuple[str, Json] | None:
    """
    Return the keyword and value by which *schema* itself says, at *place*, what a failing *keyword* *expected*.

    An error of a wider schema, or of one alternative, is so told in what this schema shows and in nothing else; None
    where it shows nothing of the kind.
    """
    nodes = list(places(schema, place, schema))
    if keyword in _OPTIONS:
        return next(iter(_options(nodes)), None)
    values = [freeze(node[keyword]) for node in nodes if keyword in node]
    if keyword == "type":
        return (keyword, expected)
    if not values:
        return None
    return keyword, expected if expected in values else values[0]


def declared_names(schema: Schema, place: Place) -> tuple[str, ...]:
    """Return the property names that *schema* declares at *place*, in its own order."""
    names = [
        name
        for node in places(schema, place, schema)
        for name, child in cast("Mapping[str, Json]", node.get("properties", {})).items()
        if child is not False
    ]
    return tuple(dict.fromkeys(names))


def is_declared(schema: Schema, pointer: Pointer) -> bool:
    """
    Answer whether *schema* has a place for everything that *pointer* names: properties, elements and keys of maps.

    >>> is_declared({"properties": {"a": {"items": {"properties": {"b": {}}}}}}, ("a", "0", "b"))
    True
    """
    level = list(places(schema, (), schema))
    for token in pointer:
        children = [child for node in level for child in _declared(node, token)]
        if not children:
            return False
        level = [node for child in children for node in places({} if child is True else child, (), schema)]
    return True


def places(schema: Json, place: Place, root: Schema, depth: int = 0) -> Iterator[Schema]:
    """Yield every subschema that speaks of the value at *place*, nearest first."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST + len(place):
        return
    node = resolve(schema, root)
    if not place:
        yield node
    else:
        for child in _children(node, place[0]):
            yield from places(child, place[1:], root, depth + 1)
    for branch in _branches(node):
        yield from places(branch, place, root, depth + 1)


def _declared(node: Schema, token: str) -> Iterator[Json]:
    """Yield what *node* says of its property, element or key *token*; nothing where it has none such."""
    properties = cast("Mapping[str, Json]", node.get("properties", {}))
    if token in properties:
        found: list[Json] = [properties[token]]
    else:
        found = [
            *cast("Mapping[str, Json]", node.get("patternProperties", {})).values(),
            node.get("additionalProperties", False),
        ]
    if token.isdecimal():
        found += [*cast("list[Json]", node.get("prefixItems", [])), node.get("items", False)]
    yield from (child for child in found if child is not False)


def _branches(node: Schema) -> Iterator[Json]:
    for keyword in _BRANCHES:
        yield from cast("list[Json]", node.get(keyword, []))
    yield from (node[keyword] for keyword in _CONDITIONAL if keyword in node)
    yield from cast("Mapping[str, Json]", node.get("dependentSchemas", {})).values()


def _options(nodes: Iterable[Schema]) -> list[tuple[str, Json]]:
    """Return the values that any of *nodes* names, as one `enum` or `const`, or nothing."""
    named: list[Json] = []
    for node in nodes:
        own = (node["const"],) if "const" in node else tuple(cast("list[Json]", node.get("enum", ())))
        named.extend(cast("tuple[Json, ...]", freeze(own)))
    options = tuple(dict.fromkeys(named))
    if len(options) > 1:
        return [("enum", options)]
    return [("const", options[0])] if options else []


def _children(node: Schema, token: str | int) -> Iterator[Json]:
    if isinstance(token, int):
        prefix = cast("list[Json]", node.get("prefixItems", []))
        yield prefix[token] if token < len(prefix) else node.get("items", True)
        return
    properties = cast("Mapping[str, Json]", node.get("properties", {}))
    if token in properties:
        yield properties[token]
    else:
        yield from cast("Mapping[str, Json]", node.get("patternProperties", {})).values()
        yield node.get("additionalProperties", True)
