"""
Which tools exist? The catalog: one committed JSON file a tool, written by `gatewright catalog` and read here.

In come catalog files or specs; out come `ToolSpec`s, their digests and the text of their files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

import rfc8785

from gatewright.policy.dialect import SchemaInvalid, check_schema
from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings, read_text
from gatewright.policy.model import FactSpec, Json, JsonObject, ResourceSpec, ToolSpec
from gatewright.policy.source import Source

__all__ = ["read_specs", "render_spec", "spec_digest", "spec_from_json", "spec_path", "spec_to_json"]

_KEYS: Final = frozenset(
    {
        "name",
        "kind",
        "action",
        "description",
        "use_when",
        "not_for",
        "schema",
        "result",
        "facts",
        "resources",
        "flags",
        "rules",
        "checks",
        "reasons",
        "context",
    }
)
_FLAGS: Final = frozenset({"echo", "secret", "loggable"})


def read_specs(source: Source, findings: Findings) -> dict[str, ToolSpec]:
    """Return the tools of catalog/*.json by name; a file that cannot be read is a finding."""
    found: dict[str, ToolSpec] = {}
    for path in source.under("catalog", ".json"):
        text = read_text(path, source.files[path], findings)
        if text is None:
            continue
        try:
            spec = spec_from_json(cast("JsonObject", json.loads(text)))
        except json.JSONDecodeError as error:
            findings.add(Place(path, error.lineno, error.colno), "json", "this is no JSON")
        except (SchemaInvalid, KeyError, TypeError, ValueError, AttributeError) as error:
            hint = "write it again: gatewright catalog APP:GUARD --write"
            findings.add(Place(path), "bad_catalog", f"this is no catalog entry: {error}", hint)
        else:
            if path != spec_path(spec.name):
                findings.add(Place(path), "bad_catalog", f"the tool {spec.name!r} belongs in {spec_path(spec.name)}")
            found[spec.name] = spec
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
    }
    return {name: value for name, value in whole.items() if value not in (None, {}, [], ())}


def spec_from_json(data: JsonObject) -> ToolSpec:
    """
    Return the spec that *data* states.

    Raises:
        ValueError: an unknown key, kind or flag. KeyError, TypeError: a missing or mistyped part.
        SchemaInvalid: a schema outside the dialect.
    """
    whole = cast("dict[str, Any]", data)
    if set(whole) - _KEYS:
        raise ValueError(f"unknown key {min(set(whole) - _KEYS)!r}")
    if whole["kind"] not in ("read", "write"):
        raise ValueError("a tool's kind is read or write")
    flags = {pointer: frozenset(names) for pointer, names in whole.get("flags", {}).items()}
    if any(names - _FLAGS for names in flags.values()):
        raise ValueError("a flag is echo, secret or loggable")
    spec = ToolSpec(
        name=whole["name"],
        kind=whole["kind"],
        action=whole["action"],
        description=whole["description"],
        use_when=whole["use_when"],
        not_for=whole["not_for"],
        schema=check_schema(whole["schema"], where=whole["name"]),
        result=whole.get("result"),
        facts={name: FactSpec(name, each.get("field", "")) for name, each in whole.get("facts", {}).items()},
        resources={name: _resource_from_json(name, each) for name, each in whole.get("resources", {}).items()},
        flags=flags,
        rules=tuple(whole.get("rules", ())),
        checks=tuple(whole.get("checks", ())),
        reasons=frozenset(whole.get("reasons", ())),
        context=whole.get("context", {}),
    )
    return replace(spec, digest=spec_digest(spec))


def spec_digest(spec: ToolSpec) -> str:
    """SHA-256 over the catalog form of *spec* (RFC 8785), in hex."""
    return hashlib.sha256(rfc8785.dumps(cast("dict[str, Any]", spec_to_json(spec)))).hexdigest()


def render_spec(spec: ToolSpec) -> str:
    """Return the text of the catalog file of *spec*: stable, sorted, a newline at its end."""
    return json.dumps(spec_to_json(spec), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _resource_to_json(spec: ResourceSpec) -> dict[str, Json]:
    whole: dict[str, Json] = {"type": spec.type, "at": spec.at, "scope": spec.scope}
    return whole if spec.attributes is None else {**whole, "attributes": spec.attributes}


def _resource_from_json(name: str, data: Mapping[str, Any]) -> ResourceSpec:
    if set(data) - {"type", "at", "scope", "attributes"} or data.get("scope", "any") not in ("tenant", "any"):
        raise ValueError(f"the resource {name!r} has a key or a scope that is none")
    return ResourceSpec(name, data["type"], data["at"], data.get("scope", "any"), data.get("attributes"))
