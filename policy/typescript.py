"""
What is a role schema as a TypeScript type? For the code that builds a call, in an editor that knows the arguments.

In come a name and a schema; out comes the text of a module. A type says shapes, not bounds: those stand in comments,
and what is enforced is the schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from gatewright.policy.definitions import pointed_at, split_definitions
from gatewright.policy.keywords import IMPLIED, TYPES
from gatewright.policy.model import Json, Schema
from gatewright.policy.phrases import describe
from gatewright.policy.scalars import kinds_of, options_of

__all__ = ["identifier", "render_typescript"]

_NAME: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_SCALARS: Final[Mapping[str, str]] = {
    "null": "null",
    "boolean": "boolean",
    "integer": "number",
    "number": "number",
    "string": "string",
}
_BOUNDS: Final = frozenset(IMPLIED) - {"properties", "items", "required", "additionalProperties", "prefixItems"}


def render_typescript(name: str, schema: Schema) -> str:
    """Return a TypeScript module that exports the type of *schema*, named after the tool *name*."""
    body, definitions = split_definitions(schema)
    whole = identifier(name, capital=True) + "Arguments"
    text = [f"/** {_comment(f'Arguments of {name}.', body)} */\nexport type {whole} = {_type(body, 0)};\n"]
    text += [f"export type {_defined(each)} = {_type(definition, 0)};\n" for each, definition in definitions.items()]
    return "\n".join(text)


def identifier(name: str, *, capital: bool = False) -> str:
    """
    Return *name* as an identifier of JavaScript.

    >>> identifier("logs.query"), identifier("logs.query", capital=True), identifier("1-a")
    ('logsQuery', 'LogsQuery', '_1A')
    """
    words = [word for word in re.split(r"[^A-Za-z0-9]+", name) if word]
    joined = "".join(word if index == 0 else word[0].upper() + word[1:] for index, word in enumerate(words)) or "_"
    joined = joined[0].upper() + joined[1:] if capital else joined
    return joined if _NAME.fullmatch(joined) else "_" + joined


def _defined(name: str) -> str:
    """The type of a definition; two names never give one."""
    plain = identifier(name, capital=True)
    return plain if plain == name else plain + "_" + name.encode().hex()


def _type(node: Json, depth: int) -> str:
    if not isinstance(node, Mapping):
        return "unknown" if node is True else "never"
    parts = []
    if "$ref" in node:
        parts.append(_defined(pointed_at(node["$ref"])))
    for keyword in ("anyOf", "oneOf"):
        if keyword in node:
            parts.append(_union([_type(branch, depth) for branch in _listed(node, keyword)]))
    parts += [_type(branch, depth) for branch in _listed(node, "allOf")]
    own = _own(node, depth)
    parts = [part for part in [own, *parts] if part != "unknown"] or ["unknown"]
    return parts[0] if len(parts) == 1 else " & ".join(f"({part})" if " | " in part else part for part in parts)


def _own(node: Schema, depth: int) -> str:
    options = options_of(node)
    if options is not None:
        return _union([json.dumps(option, ensure_ascii=False, default=dict) for option in options])
    kinds = kinds_of(node)
    if kinds is None:
        asserting = [IMPLIED[word] for word in node if word in IMPLIED]
        return _union([_kind(node, kind, depth) for kind in TYPES if kind != "integer"]) if asserting else "unknown"
    return _union([_kind(node, kind, depth) for kind in kinds])


def _kind(node: Schema, kind: str, depth: int) -> str:
    if kind == "object":
        return _object(node, depth)
    return _array(node, depth) if kind == "array" else _SCALARS[kind]


def _object(node: Schema, depth: int) -> str:
    properties = cast("Mapping[str, Json]", node.get("properties", {}))
    required = _listed(node, "required")
    rest = node.get("additionalProperties", node.get("unevaluatedProperties", True))
    named = not (rest is False and not node.get("patternProperties"))
    if not properties:
        plain = isinstance(rest, Mapping) and not node.get("patternProperties")
        return f"Record<string, {_type(rest, depth) if plain else 'unknown' if named else 'never'}>"
    inset = "  " * (depth + 1)
    lines = ["{"]
    for name, child in properties.items():
        told = _comment("", child)
        lines += [f"{inset}/** {told} */"] if told else []
        key = name if _NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False)
        lines.append(f"{inset}{key}{'' if name in required else '?'}: {_type(child, depth + 1)};")
    if named:
        lines.append(f"{inset}[name: string]: unknown;")
    return "\n".join([*lines, "  " * depth + "}"])


def _array(node: Schema, depth: int) -> str:
    prefix, rest = _listed(node, "prefixItems"), node.get("items", True)
    inner = f"Array<{_type(rest, depth)}>"
    if not prefix:
        return inner
    least = cast("int", node.get("minItems", 0))
    places = [f"({_type(each, depth)}){'' if index < least else '?'}" for index, each in enumerate(prefix)]
    return f"[{', '.join([*places, *([] if rest is False else [f'...{inner}'])])}]"


def _union(types: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(types))
    return "unknown" if "unknown" in distinct else " | ".join(distinct) or "never"


def _comment(lead: str, node: Json) -> str:
    """What a type cannot say: the description, the bounds and the default."""
    if not isinstance(node, Mapping):
        return lead
    bounds = describe({word: value for word, value in node.items() if word in _BOUNDS})
    default = f"default {json.dumps(node['default'], ensure_ascii=False, default=dict)}" if "default" in node else ""
    told = [lead, str(node.get("description", "")), "; ".join(filter(None, (bounds, default)))]
    return " ".join(" ".join(part.split()) for part in told if part).replace("*/", "*\\/")


def _listed(node: Schema, keyword: str) -> list[Json]:
    return list(cast("Sequence[Json]", node.get(keyword, ())))
