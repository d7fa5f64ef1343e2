"""
What the providers publish about the schemas that they take, written down apart from what renders them.

Each function yields what is against a provider's rules; nothing means that the provider takes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
STRICT_WORDS = {
    *("type", "description", "enum", "const", "anyOf", "$ref", "$defs"),
    *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
    *("minLength", "maxLength", "pattern", "format"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}
STRICT_FORMATS = {"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}
GEMINI_WORDS = {
    *("type", "title", "description", "enum", "anyOf", "$ref", "$defs"),
    *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
    *("minLength", "maxLength", "pattern", "minimum", "maximum"),
}
ROOT_UNIONS = {"anyOf", "oneOf", "allOf"}


def against_openai(tool: dict[str, Any]) -> Iterator[str]:
    """OpenAI, strict or not."""
    function = tool["function"]
    if not NAME.fullmatch(function["name"]):
        yield "name"
    root = function["parameters"]
    yield from against_root(root)
    if function["strict"]:
        yield from _against_strict(root, root, 0)


def against_anthropic(tool: dict[str, Any]) -> Iterator[str]:
    """Anthropic, not strict."""
    if not NAME.fullmatch(tool["name"]):
        yield "name"
    yield from against_root(tool["input_schema"])


def against_gemini(tool: dict[str, Any]) -> Iterator[str]:
    """Gemini's `parameters_json_schema`."""
    if not NAME.fullmatch(tool["name"]):
        yield "name"
    root = tool["parameters_json_schema"]
    yield from against_root(root)
    for node in _nodes(root):
        yield from sorted(node.keys() - GEMINI_WORDS)
        if "$ref" in node and node.keys() - {"$ref", "$defs"}:
            yield "siblings of $ref"
        if not all(
            isinstance(value, str | int | float) and not isinstance(value, bool) for value in node.get("enum", ())
        ):
            yield "enum of other than strings and numbers"
        yield from _against_types(node)


def against_root(root: dict[str, Any]) -> Iterator[str]:
    """What all of them ask of a root."""
    if root.get("type") != "object":
        yield "the root is no object"
    yield from sorted(root.keys() & (ROOT_UNIONS | {"$ref", "enum", "const", "not"}))


def _against_strict(node: Any, root: dict[str, Any], depth: int) -> Iterator[str]:
    if not isinstance(node, dict):
        yield "a boolean schema"
        return
    yield from sorted(node.keys() - STRICT_WORDS)
    if depth > 10:
        yield "too deep"
    if "anyOf" not in node and "$ref" not in node and "type" not in node:
        yield "no type"
    if node.get("format", "date") not in STRICT_FORMATS:
        yield "format"
    yield from _against_types(node)
    if "properties" in node:
        if sorted(node["required"]) != sorted(node["properties"]) or node.get("additionalProperties") is not False:
            yield "an object that is not strict"
        for child in node["properties"].values():
            yield from _against_strict(child, root, depth + 1)
    elif "object" in _types(node):
        yield "an object without properties"
    if "array" in _types(node) and "items" not in node:
        yield "an array without items"
    if "items" in node:
        yield from _against_strict(node["items"], root, depth + 1)
    for branch in node.get("anyOf", ()):
        yield from _against_strict(branch, root, depth)


def _against_types(node: dict[str, Any]) -> Iterator[str]:
    """A list of types is one type and null."""
    kinds = _types(node)
    if len(kinds) > 2 or (len(kinds) == 2 and "null" not in kinds):
        yield "a list of types"


def _types(node: dict[str, Any]) -> list[str]:
    kinds = node.get("type", [])
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _nodes(node: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(node, dict):
        return
    yield node
    for word in ("items", "additionalProperties"):
        yield from _nodes(node.get(word))
    for word in ("properties", "$defs"):
        for child in node.get(word, {}).values():
            yield from _nodes(child)
    for branch in node.get("anyOf", ()):
        yield from _nodes(branch)
