"""
What is a role schema as zod code? For a client in JavaScript that wants to check arguments before it sends them.

In come a name and a schema; out comes the text of a module that accepts and refuses the same JSON, as far as JavaScript
can tell: to it 1.0 is 1. What is enforced is the schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from gatewright.policy.definitions import Definitions, pointed_at, split_definitions
from gatewright.policy.keywords import IMPLIED, TYPES
from gatewright.policy.model import Json, Schema
from gatewright.policy.scalars import kinds_of, options_of
from gatewright.policy.typescript import identifier

__all__ = ["render_zod"]

_HELPERS: Final[Mapping[str, str]] = {
    "fits": "const fits = (schema, value) => schema.safeParse(value).success;",
    "size": "const size = (text) => [...text].length;",
    "same": """const same = (a, b) => {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const [p, q] = [Object.keys(a), Object.keys(b)];
  if (Array.isArray(a) !== Array.isArray(b) || p.length !== q.length) return false;
  return p.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
};""",
    "isDate": """const isDate = (text) => {
  const [, y, m, d] = (/^(\\d{4})-(\\d\\d)-(\\d\\d)$/.exec(text) ?? []).map(Number);
  if (!(m >= 1 && m <= 12 && d >= 1)) return false;
  const leap = (y % 4 === 0 && y % 100 !== 0) || y % 400 === 0;
  return d <= [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][m - 1];
};""",
    "isTime": """const isTime = (text) =>
  /^([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d+)?([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)$/.test(text);""",
    "isUri": """const isUri = (text) => /^[A-Za-z][A-Za-z0-9+.-]*:[^\\s<>"{}|\\\\^`]*$/.test(text);""",
}
_FORMATS: Final[Mapping[str, str]] = {
    "date": "z.string().refine(isDate)",
    "time": "z.string().refine(isTime)",
    "date-time": "z.string().refine((text) => isDate(text.slice(0, 10)) && /^[Tt]$/.test(text.slice(10, 11))"
    " && isTime(text.slice(11)))",
    "duration": "z.string().regex(/^P(?!$)(\\d+W|(\\d+Y(\\d+M(\\d+D)?)?|\\d+M(\\d+D)?|\\d+D)?"
    "(T(?=\\d)(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S))?)$/)",
    "email": "z.email()",
    "hostname": "z.string().regex(/^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    "(\\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/)",
    "ipv4": "z.ipv4()",
    "ipv6": "z.ipv6()",
    "json-pointer": "z.string().regex(/^(\\/([^~/]|~[01])*)*$/)",
    "uri": "z.string().refine(isUri)",
    "uri-reference": 'z.string().regex(/^[^\\s<>"{}|\\\\^`]*$/)',
    "uuid": "z.guid()",
}
_SCALARS: Final[Mapping[str, str]] = {
    "null": "z.null()",
    "boolean": "z.boolean()",
    "integer": "z.int()",
    "number": "z.number()",
}
_BOUNDS: Final[Mapping[str, str]] = {
    "minimum": "gte",
    "maximum": "lte",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "multipleOf": "multipleOf",
}
_UNCHECKED: Final = ("unevaluatedProperties", "unevaluatedItems")


def render_zod(name: str, schema: Schema) -> str:
    """Return a module (zod 4) that exports the schema of the tool *name*'s arguments."""
    body, definitions = split_definitions(schema)
    writer = _Writer(definitions)
    whole = f"export const {identifier(name)}Arguments = {writer.node(body)};"
    defined = [
        f"const {_defined(each)} = z.lazy(() => {writer.node(definition)});" for each, definition in definitions.items()
    ]
    text = "\n".join([*defined, whole])
    helpers = [code for word, code in _HELPERS.items() if f"{word}(" in text or f"({word})" in text]
    notes = [f"// Not checked here: {word}." for word in sorted(writer.unchecked)]
    return "\n".join(
        [
            "// @ts-nocheck: this is plain JavaScript",
            'import { z } from "zod";',
            "",
            *notes,
            *helpers,
            *defined,
            whole,
            "",
        ]
    )


def _defined(name: str) -> str:
    plain = identifier(name, capital=True)
    return plain if plain == name else plain + "_" + name.encode().hex()


@dataclass(slots=True)
class _Writer:
    definitions: Definitions
    unchecked: set[str] = field(default_factory=set)

    def node(self, node: Json) -> str:
        """Return the zod expression of a schema."""
        if not isinstance(node, Mapping):
            return "z.unknown()" if node is True else "z.never()"
        parts = [part for part in (self._own(node), *self._composed(node)) if part]
        whole = parts[0] if parts else "z.unknown()"
        for part in parts[1:]:
            whole += f".refine((value) => fits({part}, value))"
        if "description" in node:
            whole += f".describe({_js(node['description'])})"
        return whole

    def _composed(self, node: Schema) -> list[str]:
        found = [_defined(pointed_at(node["$ref"]))] if "$ref" in node else []
        found += [self.node(branch) for branch in _listed(node, "allOf")]
        if "anyOf" in node:
            found.append(f"z.union([{self._all(node, 'anyOf')}])")
        if "oneOf" in node:
            test = f"[{self._all(node, 'oneOf')}].filter((schema) => fits(schema, value)).length === 1"
            found.append(f"z.unknown().refine((value) => {test})")
        if "not" in node:
            found.append(f"z.unknown().refine((value) => !fits({self.node(node['not'])}, value))")
        if "if" in node and ("then" in node or "else" in node):
            tried, then, other = (self.node(node.get(word, True)) for word in ("if", "then", "else"))
            found.append(f"z.unknown().refine((value) => fits(fits({tried}, value) ? {then} : {other}, value))")
        return found

    def _all(self, node: Schema, keyword: str) -> str:
        return ", ".join(self.node(branch) for branch in _listed(node, keyword))

    def _own(self, node: Schema) -> str | None:
        options = options_of(node)
        kinds = kinds_of(node)
        parts = [] if options is None else [_options(options)]
        if kinds is not None or any(word in IMPLIED for word in node):
            each = [self._kind(node, kind) for kind in kinds or [kind for kind in TYPES if kind != "integer"]]
            parts.append(each[0] if len(each) == 1 else f"z.union([{', '.join(each)}])")
        tests = "".join(f".refine((value) => fits({part}, value))" for part in parts[1:])
        return parts[0] + tests if parts else None

    def _kind(self, node: Schema, kind: str) -> str:
        family = "number" if kind == "integer" else kind
        words = {word: value for word, value in node.items() if IMPLIED.get(word) == family}
        if kind == "object":
            return self._object(words)
        if kind == "array":
            return self._array(words)
        if kind == "string":
            return _string(words)
        return _SCALARS[kind] + "".join(f".{_BOUNDS[word]}({_js(value)})" for word, value in words.items())

    def _object(self, words: Schema) -> str:
        properties = cast("Mapping[str, Json]", words.get("properties", {}))
        required = _listed(words, "required")
        fields = [f"[{_js(name)}]: {self._field(child, name in required)}" for name, child in properties.items()]
        inner = f"{{ {', '.join(fields)} }}" if fields else "{}"
        rest, patterns = words.get("additionalProperties", True), words.get("patternProperties")
        if rest is False and not patterns:
            whole = f"z.strictObject({inner})"
        elif isinstance(rest, Mapping) and not patterns:
            whole = f"z.object({inner}).catchall({self.node(rest)})"
        else:
            whole = f"z.looseObject({inner})"
        return whole + "".join(f".refine((value) => {test})" for test in self._tests(words, properties, required))

    def _field(self, child: Json, is_required: bool) -> str:
        return self.node(child) + ("" if is_required else ".optional()")

    def _tests(self, words: Schema, properties: Mapping[str, Json], required: Sequence[Json]) -> list[str]:
        """What an object's shape does not say."""
        self.unchecked.update(word for word in _UNCHECKED if word in words)
        tests = [f"Object.hasOwn(value, {_js(name)})" for name in required if name not in properties]
        for word, sign in (("minProperties", ">="), ("maxProperties", "<=")):
            if word in words:
                tests.append(f"Object.keys(value).length {sign} {_js(words[word])}")
        if "propertyNames" in words:
            tests.append(f"Object.keys(value).every((name) => fits({self.node(words['propertyNames'])}, name))")
        patterns = cast("Mapping[str, Json]", words.get("patternProperties", {}))
        for pattern, child in patterns.items():
            one = f"!{_regex(pattern)}.test(name) || fits({self.node(child)}, item)"
            tests.append(f"Object.entries(value).every(([name, item]) => {one})")
        if patterns and words.get("additionalProperties", True) is not True:
            among = [f"{_js(list(properties))}.includes(name)"]
            known = " || ".join([*among, *(f"{_regex(each)}.test(name)" for each in patterns)])
            rest = f"{known} || fits({self.node(words['additionalProperties'])}, item)"
            tests.append(f"Object.entries(value).every(([name, item]) => {rest})")
        for name, asked in cast("Mapping[str, Sequence[Json]]", words.get("dependentRequired", {})).items():
            all_there = f"{_js(list(asked))}.every((each) => Object.hasOwn(value, each))"
            tests.append(f"!Object.hasOwn(value, {_js(name)}) || {all_there}")
        for name, child in cast("Mapping[str, Json]", words.get("dependentSchemas", {})).items():
            tests.append(f"!Object.hasOwn(value, {_js(name)}) || fits({self.node(child)}, value)")
        return tests

    def _array(self, words: Schema) -> str:
        self.unchecked.update(word for word in _UNCHECKED if word in words)
        prefix, rest = _listed(words, "prefixItems"), words.get("items", True)
        whole = f"z.array({'z.unknown()' if prefix else self.node(rest)})"
        for word, method in (("minItems", "min"), ("maxItems", "max")):
            whole += f".{method}({_js(words[word])})" if word in words else ""
        if prefix:
            places = ", ".join(map(self.node, prefix))
            test = f"value.every((item, index) => fits([{places}][index] ?? {self.node(rest)}, item))"
            whole += f".refine((value) => {test})"
        if words.get("uniqueItems"):
            whole += ".refine((value) => value.every((item, at) => !value.slice(0, at).some((one) => same(one, item))))"
        if "contains" in words:
            least, most = words.get("minContains", 1), words.get("maxContains")
            count = f"value.filter((item) => fits({self.node(words['contains'])}, item)).length"
            whole += f".refine((value) => {count} >= {_js(least)})"
            whole += "" if most is None else f".refine((value) => {count} <= {_js(most)})"
        return whole


def _string(words: Schema) -> str:
    whole = _FORMATS[str(words["format"])] if "format" in words else "z.string()"
    for word, sign in (("minLength", ">="), ("maxLength", "<=")):
        whole += f".refine((text) => size(text) {sign} {_js(words[word])})" if word in words else ""
    return whole + (f".refine((text) => {_regex(str(words['pattern']))}.test(text))" if "pattern" in words else "")


def _options(options: Sequence[Json]) -> str:
    if all(isinstance(option, str | bool | int | float | None) for option in options):
        return f"z.literal({_js(list(options))})"
    return f"z.unknown().refine((value) => {_js(list(options))}.some((one) => same(one, value)))"


def _regex(pattern: str) -> str:
    return f'new RegExp({_js(pattern)}, "u")'


def _js(value: Json) -> str:
    return json.dumps(value, ensure_ascii=True, default=dict)


def _listed(node: Schema, keyword: str) -> list[Json]:
    return list(cast("Sequence[Json]", node.get(keyword, ())))
