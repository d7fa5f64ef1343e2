"""
Which tools exist? The catalog: one committed JSON file a tool, written by `gatewright catalog` and read here.

In come catalog files or specs; out come `ToolSpec`s, their digests and the text of their files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final, Literal, cast

from gatewright.policy.dialect import SchemaInvalid, check_schema
from gatewright.policy.digests import digest_of
from gatewright.policy.errors import GatewrightError, Place
from gatewright.policy.fields import NAME
from gatewright.policy.formats import Findings, Node, read_documents, read_text
from gatewright.policy.model import FactSpec, Json, JsonObject, ResourceSpec, Schema, ToolSpec
from gatewright.policy.names import check_alike
from gatewright.policy.nearest import nearest
from gatewright.policy.source import Source
from gatewright.policy.validator import compile_schema

__all__ = [
    "SpecInvalid",
    "locate",
    "read_specs",
    "render_spec",
    "spec_digest",
    "spec_from_json",
    "spec_path",
    "spec_to_json",
]

_TEXTS: Final = ("name", "action", "description", "use_when", "not_for")
_MAPS: Final = ("facts", "resources", "flags", "context")
_LISTS: Final = ("rules", "checks", "reasons")
_KEYS: Final = (*_TEXTS, "kind", "schema", "schema_source", "result", *_MAPS, *_LISTS)
_RESOURCE_KEYS: Final = ("type", "at", "scope", "attributes")
_FLAGS: Final = ("echo", "secret", "loggable", "cursor")
_KINDS: Final[Mapping[str, Literal["read", "write"]]] = {"read": "read", "write": "write"}
_SCOPES: Final[Mapping[str, Literal["tenant", "any"]]] = {"tenant": "tenant", "any": "any"}
_SHA256: Final = re.compile("[0-9a-f]{64}")
_REWRITE: Final = "write it again: gatewright catalog APP:GUARD --write"


class SpecInvalid(GatewrightError):
    """
    A catalog entry is not one.

    Attributes:
        path: keys and indices that lead to the fault. message: what is wrong. hint: how to mend it.
    """

    code = "bad_catalog"

    def __init__(self, path: tuple[str, ...], message: str, hint: str = "") -> None:
        self.path = path
        self.message = message
        self.hint = hint
        super().__init__(path, message, hint)

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"/{'/'.join(self.path)}: {self.message}{hint}"


def read_specs(source: Source, findings: Findings) -> dict[str, ToolSpec]:
    """Return the tools of catalog/*.json by name; a file that cannot be read is a finding."""
    found: dict[str, ToolSpec] = {}
    for path in source.under("catalog", ".json"):
        spec = _read_file(path, source.files[path], findings)
        if spec is not None and path != spec_path(spec.name):
            message = f"the tool {spec.name!r} belongs in {spec_path(spec.name)}"
            findings.add(locate(path, source.files[path], ("name",)), "bad_catalog", message, "name the file so")
        elif spec is not None:
            found[spec.name] = spec
    check_alike(((name, Place(spec_path(name))) for name in found), "tool", findings)
    return found


def spec_path(name: str) -> str:
    """Where the tool *name* stands in a policies folder."""
    return f"catalog/{name}.json"


def spec_to_json(spec: ToolSpec) -> dict[str, Json]:
    """Return *spec* as its catalog file holds it; what is empty is left out."""
    whole: dict[str, Json] = {
        "name": spec.name,
        "kind": spec.kind,
        "action": spec.action,
        "description": spec.description,
        "use_when": spec.use_when,
        "not_for": spec.not_for,
        "schema": spec.schema,
        "result": spec.result,
        "facts": {name: {"field": fact.field} if fact.field else {} for name, fact in spec.facts.items()},
        "resources": {name: _resource_to_json(each) for name, each in spec.resources.items()},
        "flags": {pointer: cast("Json", sorted(flags)) for pointer, flags in spec.flags.items()},
        "rules": list(spec.rules),
        "checks": list(spec.checks),
        "reasons": cast("Json", sorted(spec.reasons)),
        "context": cast("Json", dict(spec.context)),
        "schema_source": dict(spec.schema_source),
    }
    return {name: value for name, value in whole.items() if value not in (None, {}, [], ())}


def spec_from_json(data: JsonObject, *, is_known: bool = False) -> ToolSpec:
    """
    Return the spec that *data* states; *is_known* as `check_schema` has it.

    Raises:
        SpecInvalid: an unknown key, a missing or mistyped part.
        SchemaInvalid: an argument schema outside the dialect.
    """
    for name in data:
        _check_choice(name, _KEYS, (name,), "key")
    for name in (*_TEXTS, "kind", "schema"):
        if name not in data:
            raise SpecInvalid((), f"{name!r} is missing")
    texts = {name: _text(data[name], (name,)) for name in _TEXTS}
    if not NAME.fullmatch(texts["name"]):
        raise SpecInvalid(("name",), "a tool's name is made of 1 to 128 letters, digits, _ . and -")
    maps = {name: _mapping(data.get(name, {}), (name,)) for name in _MAPS}
    lists = {name: _names(data.get(name, ()), (name,)) for name in _LISTS}
    schema = check_schema(_mapping(data["schema"], ("schema",)), where=texts["name"], is_known=is_known)
    spec = ToolSpec(
        name=texts["name"],
        action=texts["action"],
        description=texts["description"],
        use_when=texts["use_when"],
        not_for=texts["not_for"],
        kind=_KINDS[_check_choice(data["kind"], _KINDS, ("kind",), "kind")],
        schema=schema,
        result=_schema(data.get("result"), ("result",)),
        facts={name: _fact(name, each) for name, each in maps["facts"].items()},
        resources={name: _resource(name, each) for name, each in maps["resources"].items()},
        flags={pointer: _flags(pointer, each) for pointer, each in maps["flags"].items()},
        rules=lists["rules"],
        checks=lists["checks"],
        reasons=frozenset(lists["reasons"]),
        context={name: _schema(each, ("context", name)) or {} for name, each in maps["context"].items()},
        schema_source=_source(data.get("schema_source", {})),
    )
    return replace(spec, digest=spec_digest(spec))


def spec_digest(spec: ToolSpec) -> str:
    """SHA-256 over the catalog form of *spec* (RFC 8785), in hex; integers that a double cannot hold stand as text."""
    return digest_of(spec_to_json(spec))


def render_spec(spec: ToolSpec) -> str:
    """Return the text of the catalog file of *spec*: stable, sorted, a newline at its end."""
    return json.dumps(spec_to_json(spec), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


class _Unused(ValueError):
    """JSON that readers take in different ways: a key that stands twice, a number that is none."""


def _read_file(path: str, content: bytes, findings: Findings) -> ToolSpec | None:
    text = read_text(path, content, findings)
    if text is None:
        return None
    try:
        return spec_from_json(
            _mapping(json.loads(text, object_pairs_hook=_once, parse_constant=_refuse), ()), is_known=True
        )
    except json.JSONDecodeError as error:
        findings.add(Place(path, error.lineno, error.colno), "json", f"this is no JSON: {error.msg}", _REWRITE)
    except (_Unused, RecursionError) as error:
        strange = Findings()
        read_documents(path, content, strange)
        place = next((each.place for each in strange.all), Place(path))
        findings.add(place, "json", f"this is no JSON that is used here: {error}", _REWRITE)
    except SpecInvalid as error:
        hint = error.hint or _REWRITE
        findings.add(locate(path, content, error.path), error.code, error.message, hint)
    except SchemaInvalid as error:
        place = locate(path, content, ("schema", *error.pointer.split("/")[1:]))
        findings.add(place, "bad_catalog", f"the schema is outside the dialect: {error.reason}", error.hint or _REWRITE)
    return None


def locate(path: str, content: bytes, steps: tuple[str, ...]) -> Place:
    """Return the place that *steps* lead to, as near as the text tells: JSON is read as YAML for its positions."""
    documents = read_documents(path, content, Findings())
    node = documents[0] if documents else Node(None, Place(path), {})
    place = node.place
    for step in steps:
        if isinstance(node.value, dict) and step in node.value:
            place, node = node.keys[step], node.value[step]
        elif isinstance(node.value, list) and step.isdigit() and int(step) < len(node.value):
            node = node.value[int(step)]
            place = node.place
        else:
            break
    return place


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _Unused(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice")
    return found


def _refuse(name: str) -> Json:
    raise _Unused(f"{name} is no JSON number")


def _mapping(value: object, path: tuple[str, ...]) -> JsonObject:
    if not isinstance(value, Mapping):
        raise SpecInvalid(path, "this must be an object")
    return value


def _text(value: object, path: tuple[str, ...]) -> str:
    if not isinstance(value, str) or not value.strip():
        raise SpecInvalid(path, "this must be a text")
    return value


def _names(value: object, path: tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise SpecInvalid(path, "this must be a list of names")
    return tuple(_text(item, (*path, str(index))) for index, item in enumerate(value))


def _check_choice(value: object, known: Collection[str], path: tuple[str, ...], what: str) -> str:
    name = value if isinstance(value, str) else ""
    if name not in known:
        raise SpecInvalid(path, f"no such {what}: {name!r}", nearest(name, known))
    return name


def _schema(value: object, path: tuple[str, ...]) -> Schema | None:
    """A schema of results, attributes or context, which may be of any root type."""
    if value is None:
        return None
    schema = _mapping(value, path)
    try:
        compile_schema(schema)
    except SchemaInvalid as error:
        raise SpecInvalid((*path, *error.pointer.split("/")[1:]), f"this is no schema: {error.reason}") from error
    return schema


def _source(data: object) -> dict[str, str]:
    """The file that a schema was read from, pinned by the digest of its bytes; empty where there was none."""
    path = ("schema_source",)
    parts = _mapping(data, path)
    for key in parts:
        _check_choice(key, ("file", "sha256"), (*path, key), "key of a schema's source")
    found = {key: _text(parts.get(key), (*path, key)) for key in ("file", "sha256")} if parts else {}
    if found and not _SHA256.fullmatch(found["sha256"]):
        raise SpecInvalid((*path, "sha256"), "this must be a SHA-256 digest in lower-case hex")
    return found


def _fact(name: str, data: object) -> FactSpec:
    parts = _mapping(data, ("facts", name))
    for key in parts:
        _check_choice(key, ("field",), ("facts", name, key), "key of a fact")
    field = parts.get("field", "")
    if not isinstance(field, str):
        raise SpecInvalid(("facts", name, "field"), "this must be a JSON pointer")
    return FactSpec(name, field)


def _flags(pointer: str, value: object) -> frozenset[str]:
    path = ("flags", pointer)
    return frozenset(_check_choice(flag, _FLAGS, path, "flag") for flag in _names(value, path))


def _resource(name: str, data: object) -> ResourceSpec:
    path = ("resources", name)
    parts = _mapping(data, path)
    for key in parts:
        _check_choice(key, _RESOURCE_KEYS, (*path, key), "key of a resource")
    return ResourceSpec(
        name=name,
        type=_text(parts.get("type"), (*path, "type")),
        at=_text(parts.get("at"), (*path, "at")),
        scope=_SCOPES[_check_choice(parts.get("scope", "any"), _SCOPES, (*path, "scope"), "scope")],
        attributes=_schema(parts.get("attributes"), (*path, "attributes")),
    )


def _resource_to_json(spec: ResourceSpec) -> dict[str, Json]:
    whole: dict[str, Json] = {"type": spec.type, "at": spec.at, "scope": spec.scope}
    return whole if spec.attributes is None else {**whole, "attributes": spec.attributes}
