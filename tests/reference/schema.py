"""
Does a value satisfy a schema? A plain JSON Schema validator in three styles, errors with place and flags out.

`base`: as JSON Schema has it, objects closed. `narrow` (an entry's keywords): a keyword implies its type and what is
narrowed must be there. `condition`: as narrow, and every name must be there. No value is ever coerced.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Path = tuple[Any, ...]

KINDS: dict[str, str] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), "number"),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
    **dict.fromkeys(("items", "prefixItems", "contains", "minItems", "maxItems", "uniqueItems"), "array"),
    **dict.fromkeys(("minContains", "maxContains"), "array"),
    **dict.fromkeys(("properties", "required", "additionalProperties", "patternProperties"), "object"),
    **dict.fromkeys(("minProperties", "maxProperties", "propertyNames", "dependentRequired"), "object"),
}
AUTHORITY = ("const", "enum", "pattern")
TEXTS = ("description", "title", "examples", "default")


@dataclass(frozen=True)
class Error:
    """One keyword that a value fails; *authority*: from identity, tenant or a grant; *forbids*: on_violation."""

    path: Path
    keyword: str
    authority: bool = False
    forbids: bool = False


def kind(value: Any) -> str:
    """The JSON type of *value*, integers being numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


def is_same(wanted: Any, value: Any) -> bool:
    """JSON equality, except that a float never stands for a wanted integer."""
    if kind(wanted) != kind(value):
        return False
    if isinstance(wanted, list):
        return len(wanted) == len(value) and all(map(is_same, wanted, value))
    if isinstance(wanted, dict):
        return wanted.keys() == value.keys() and all(is_same(item, value[name]) for name, item in wanted.items())
    return wanted == value and not (isinstance(wanted, int) and isinstance(value, float))


def is_type(name: str, value: Any) -> bool:
    """Whether *value* has the JSON Schema type *name*; 1.0 is no integer here."""
    return isinstance(value, int) and not isinstance(value, bool) if name == "integer" else kind(value) == name


def whole(value: Any) -> Any:
    """*value* with 20.0 spelt 20: a ban holds for both spellings."""
    if isinstance(value, dict):
        return {name: whole(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def search(pattern: str, value: str) -> bool:
    """An ECMA search: `$` only at the very end, classes ASCII, `.` no line end."""
    return re.search(_python_pattern(pattern), value, re.ASCII) is not None


def _python_pattern(pattern: str) -> str:
    out, in_class, position = [], False, 0
    while position < len(pattern):
        char = pattern[position]
        if char == "\\":
            out.append(pattern[position : position + 2])
            position += 2
            continue
        in_class = (in_class or char == "[") and char != "]"
        out.append(char if in_class else {"$": r"\Z", ".": "[^\n\r\u2028\u2029]"}.get(char, char))
        position += 1
    return "".join(out)


def _is_format(name: str, value: str) -> bool:
    if name == "date":
        return bool(re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value)) and _is_date(value)
    if name == "date-time":
        found = re.fullmatch(
            r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:([0-5][0-9]|60)(\.[0-9]+)?"
            r"([Zz]|[-+]([01][0-9]|2[0-3]):[0-5][0-9])",
            value,
        )
        return found is not None and _is_date(found[1])
    raise ValueError(f"format {name}")


def _is_date(text: str) -> bool:
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_multiple(step: Any, value: Any) -> bool:
    return Decimal(str(value)) % Decimal(str(step)) == 0


def _is_unique(values: list[Any]) -> bool:
    return not any(
        is_same(one, other) or is_same(other, one) for place, one in enumerate(values) for other in values[:place]
    )


TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "const": is_same,
    "enum": lambda wanted, value: any(is_same(item, value) for item in wanted),
    "type": lambda wanted, value: any(
        is_type(name, value) for name in ([wanted] if isinstance(wanted, str) else wanted)
    ),
    "minimum": lambda bound, value: value >= bound,
    "maximum": lambda bound, value: value <= bound,
    "exclusiveMinimum": lambda bound, value: value > bound,
    "exclusiveMaximum": lambda bound, value: value < bound,
    "multipleOf": _is_multiple,
    "minLength": lambda bound, value: len(value) >= bound,
    "maxLength": lambda bound, value: len(value) <= bound,
    "pattern": search,
    "format": _is_format,
    "minItems": lambda bound, value: len(value) >= bound,
    "maxItems": lambda bound, value: len(value) <= bound,
    "uniqueItems": lambda wanted, value: not wanted or _is_unique(value),
    "minProperties": lambda bound, value: len(value) >= bound,
    "maxProperties": lambda bound, value: len(value) <= bound,
    "dependentRequired": lambda pairs, value: all(
        need in value for name, needs in pairs.items() if name in value for need in needs
    ),
}


class Judge:
    """One reading of schemas: a style and the document that `$ref` points into."""

    def __init__(self, style: str, root: Mapping[str, Any] | None = None) -> None:
        self.style = style
        self.root = root or {}

    def accepts(self, schema: Any, value: Any) -> bool:
        """Whether *value* satisfies *schema*."""
        return next(self.errors(schema, value), None) is None

    def errors(self, schema: Any, value: Any, path: Path = (), forbids: bool = False) -> Iterator[Error]:
        """Every keyword of *schema* that *value* fails."""
        if isinstance(schema, bool):
            if not schema:
                yield Error(path, "false", forbids=forbids)
            return
        forbids = forbids or schema.get("on_violation") == "forbidden"
        for keyword, operand in schema.items():
            for error in self._keyword(schema, keyword, operand, value, path, forbids):
                yield error if error.keyword else Error(path, keyword, _is_marked(schema, keyword), forbids)
        if self.style == "base" and kind(value) == "object" and is_closed(schema):
            known = names_of(schema, self.root)
            yield from (Error((*path, name), "unknown", forbids=forbids) for name in value if name not in known)

    def _keyword(
        self, schema: Mapping[str, Any], keyword: str, operand: Any, value: Any, path: Path, forbids: bool
    ) -> Iterator[Error]:
        failed = Error(path, "")
        if self.style != "base" and KINDS.get(keyword, kind(value)) != kind(value):
            yield failed
        elif KINDS.get(keyword, kind(value)) != kind(value):
            return
        elif keyword in TESTS:
            if not TESTS[keyword](operand, value):
                yield failed
        elif keyword == "$ref":
            yield from self.errors(resolve(operand, self.root), value, path, forbids)
        elif keyword == "allOf":
            for part in operand:
                yield from self.errors(part, value, path, forbids)
        elif keyword in ("anyOf", "oneOf", "not", "if", "contains", "propertyNames"):
            if not self._combines(schema, keyword, operand, value):
                yield failed
        else:
            yield from self._inside(schema, keyword, operand, value, path, forbids)

    def _combines(self, schema: Mapping[str, Any], keyword: str, operand: Any, value: Any) -> bool:
        if keyword == "not":
            taken = self.accepts(operand, value) or self.accepts(operand, whole(value))
            return (self.style == "base" or self.resolves(operand, value)) and not taken
        if keyword == "if":
            return self.accepts(schema.get("then" if self.accepts(operand, value) else "else", True), value)
        if keyword == "propertyNames":
            return all(self.accepts(operand, name) for name in value)
        if keyword == "contains":
            count = sum(self.accepts(operand, item) for item in value)
            return bool(schema.get("minContains", 1) <= count <= schema.get("maxContains", len(value)))
        count = sum(self.accepts(part, value) for part in operand)
        return count >= 1 if keyword == "anyOf" else count == 1

    def _inside(
        self, schema: Mapping[str, Any], keyword: str, operand: Any, value: Any, path: Path, forbids: bool
    ) -> Iterator[Error]:
        if keyword == "items":
            for place in range(len(schema.get("prefixItems", [])), len(value)):
                yield from self.errors(operand, value[place], (*path, place), forbids)
        elif keyword == "prefixItems":
            for place, (part, item) in enumerate(zip(operand, value, strict=False)):
                yield from self.errors(part, item, (*path, place), forbids)
        elif keyword == "required":
            yield from (Error((*path, name), "required", forbids=forbids) for name in operand if name not in value)
        elif keyword == "properties":
            for name, part in operand.items():
                if name in value:
                    yield from self.errors(part, value[name], (*path, name), forbids)
                elif self._needs(part):
                    yield Error((*path, name), "required")
        elif keyword == "patternProperties":
            for name, part in ((name, part) for name in value for like, part in operand.items() if search(like, name)):
                yield from self.errors(part, value[name], (*path, name), forbids)
        elif keyword == "additionalProperties":
            for name in (name for name in value if name not in _described(schema, value)):
                yield from self.errors(operand, value[name], (*path, name), forbids)

    def _needs(self, part: Any) -> bool:
        """Whether naming a property with *part* demands that it is there."""
        return self.style == "condition" or (self.style == "narrow" and bool(set(part) - set(TEXTS)))

    def resolves(self, schema: Any, value: Any) -> bool:
        """Whether *value* has the types that *schema* implies and all that it names, at every depth."""
        if isinstance(schema, bool):
            return True
        for keyword, operand in schema.items():
            if KINDS.get(keyword, kind(value)) != kind(value):
                return False
            if not all(self.resolves(part, inner) for part, inner in _parts(keyword, operand, value)):
                return False
        return _implied(schema, value) and all(
            name in value for name, part in schema.get("properties", {}).items() if self._needs(part)
        )


def _implied(schema: Mapping[str, Any], value: Any) -> bool:
    if "const" in schema and kind(schema["const"]) != kind(value):
        return False
    return "enum" not in schema or kind(value) in {kind(item) for item in schema["enum"]}


def _parts(keyword: str, operand: Any, value: Any) -> list[tuple[Any, Any]]:
    if keyword == "not":
        return [(operand, value)]
    if keyword in ("anyOf", "oneOf", "allOf"):
        return [(part, value) for part in operand]
    if keyword in ("items", "contains"):
        return [(operand, item) for item in value]
    if keyword == "properties":
        return [(part, value[name]) for name, part in operand.items() if name in value]
    return []


def _described(schema: Mapping[str, Any], value: Mapping[str, Any]) -> set[str]:
    likes = schema.get("patternProperties", {})
    return {name for name in value if name in schema.get("properties", {}) or any(search(like, name) for like in likes)}


def is_closed(schema: Mapping[str, Any]) -> bool:
    """Whether an object schema that says nothing of further names is closed."""
    is_object = schema.get("type") == "object" or "properties" in schema
    return is_object and "additionalProperties" not in schema and "patternProperties" not in schema


def names_of(schema: Any, root: Mapping[str, Any]) -> set[str]:
    """The property names that *schema* describes, its `$ref` and combined parts included."""
    if isinstance(schema, bool):
        return set()
    found = set(schema.get("properties", {}))
    parts = [*schema.get("allOf", []), *schema.get("anyOf", []), *schema.get("oneOf", [])]
    if "$ref" in schema:
        parts.append(resolve(schema["$ref"], root))
    return found.union(*(names_of(part, root) for part in parts))


def resolve(pointer: str, root: Any) -> Any:
    """The schema that a local `$ref` points at."""
    for token in pointer.removeprefix("#").split("/")[1:]:
        root = root[token.replace("~1", "/").replace("~0", "~")]
    return root


def _is_marked(schema: Mapping[str, Any], keyword: str) -> bool:
    """Whether the failing keyword is a const, enum or pattern from identity or tenant, or holds one."""
    return keyword in schema.get("$authority", ()) or _holds_mark(schema[keyword])


def _holds_mark(value: Any) -> bool:
    if isinstance(value, list):
        return any(map(_holds_mark, value))
    return isinstance(value, dict) and ("$authority" in value or any(map(_holds_mark, value.values())))
