"""
What does a world hold? A folder with world.yaml and policies comes in; tools as catalog JSON, policy texts, persons,
things, cases and approvals go out as plain data, for the reference and for the product alike.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reference.texts import read_yaml
from worlds.facts import FACTS, FIELDS

HERE = Path(__file__).parent
NAMES = ("string", "integer", "number", "boolean", "object", "array")


@dataclass(frozen=True)
class Case:
    """One call with what is expected of it; *extra* as worlds/README.md describes it."""

    name: str
    person: str
    tool: str
    arguments: dict[str, Any]
    status: str
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ApprovalCase:
    """One approval that somebody tries to give, and whether he may."""

    name: str
    person: str
    tool: str
    arguments: dict[str, Any]
    approver: str
    status: str


@dataclass(frozen=True)
class World:
    """An organisation: *catalog* by tool, *texts* by path, *callers* by name, *things* by `type:id`."""

    name: str
    catalog: dict[str, dict[str, Any]]
    texts: dict[str, str]
    callers: dict[str, dict[str, Any]]
    things: dict[str, dict[str, Any]]
    now: dt.datetime
    cases: tuple[Case, ...]
    approvals: tuple[ApprovalCase, ...]
    facts: dict[str, Callable[[Mapping[str, Any]], Any]] = field(default_factory=lambda: FACTS)

    def time_of(self, case: Case) -> dt.datetime:
        """When *case* happens."""
        return read_time(case.extra.get("now")) if "now" in case.extra else self.now

    def things_of(self, case: Case) -> dict[str, dict[str, Any]]:
        """What exists in *case*."""
        return self.things | case.extra.get("things", {})


def read_time(text: Any) -> dt.datetime:
    """An RFC 3339 time."""
    return dt.datetime.fromisoformat(str(text))


def read_world(folder: Path, airline_tools: Path | None = None) -> World:
    """Read the world in *folder*; *airline_tools* is tau-bench's file, for the world that says `airline: true`."""
    (world,) = read_yaml((folder / "world.yaml").read_text("utf-8"), anchors=True)
    schemas = _airline(airline_tools) if world.get("airline") and airline_tools else {}
    things = world["things"]
    return World(
        name=folder.name,
        catalog={name: _spec(name, tool, schemas.get(name), things) for name, tool in world["tools"].items()},
        texts=_texts(folder / "policies"),
        callers={name: _caller(name, person) for name, person in world["people"].items()},
        things=things,
        now=read_time(world["now"]),
        cases=tuple(_case(world, *case) for case in world["cases"]),
        approvals=tuple(_approval(world, *case) for case in world.get("approvals", [])),
    )


def _texts(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files}


def _airline(path: Path) -> dict[str, Any]:
    functions = [tool["function"] for tool in json.loads(path.read_text("utf-8"))]
    return {
        function["name"]: {"description": function["description"], **function["parameters"]} for function in functions
    }


def _caller(name: str, person: Mapping[str, Any]) -> dict[str, Any]:
    return {"subject": name, "claims": {}, "actor": None, **person}


def _case(
    world: Mapping[str, Any], name: str, person: str, tool: str, arguments: Any, status: str, *extra: Any
) -> Case:
    return Case(name, person, tool, _merged(world, arguments), status, *extra)


def _approval(
    world: Mapping[str, Any], name: str, person: str, tool: str, arguments: Any, approver: str, status: str
) -> ApprovalCase:
    return ApprovalCase(name, person, tool, _merged(world, arguments), approver, status)


def _merged(world: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: item for name, item in arguments.items() if name != "$with"}
    return {**world[arguments["$with"]], **given} if "$with" in arguments else given


def _spec(name: str, tool: Mapping[str, Any], schema: Any, things: Mapping[str, Any]) -> dict[str, Any]:
    description = f"The tool {name}."
    if schema is not None:
        description = schema["description"]
    return {
        "name": name,
        "kind": tool["kind"],
        "action": tool["action"],
        "description": description,
        "use_when": "Use it when the task needs it.",
        "not_for": "Not for anything else.",
        "schema": closed(
            _arguments(tool) if schema is None else {key: schema[key] for key in schema if key != "description"}
        ),
        "result": closed(object_schema(tool["result"])) if "result" in tool else None,
        "facts": {
            fact: {"field": tool.get("fields", {}).get(fact, FIELDS.get(fact, ""))} for fact in tool.get("facts", [])
        },
        "resources": {key: _resource(item, things) for key, item in tool.get("resources", {}).items()},
        "flags": {},
        "rules": [],
        "checks": [],
        "reasons": [],
        "context": tool.get("context", {}),
    }


def _resource(declared: Mapping[str, Any], things: Mapping[str, Any]) -> dict[str, Any]:
    records = [record for key, record in things.items() if key.startswith(f"{declared['type']}:")]
    return {"scope": "any", **declared, "attributes": _attributes(records)}


def _attributes(records: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The schema that all records of a type have in common."""
    if not records:
        return None
    seen = {name: sorted({_type(record[name]) for record in records if name in record}) for name in records[0]}
    properties = {name: {"type": kinds[0] if len(kinds) == 1 else kinds} for name, kinds in seen.items()}
    return {"type": "object", "properties": properties, "required": sorted(properties), "additionalProperties": False}


def _type(value: Any) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "null")


def _arguments(tool: Mapping[str, Any]) -> dict[str, Any]:
    optional = {
        name for name, short in tool["args"].items() if isinstance(short, str) and ("~" in short or "=" in short)
    }
    optional |= set(tool.get("optional", []))
    return {
        "type": "object",
        "properties": {name: schema_of(short) for name, short in tool["args"].items()},
        "required": sorted(set(tool["args"]) - optional),
    }


def schema_of(short: Any) -> dict[str, Any]:
    """The schema of an argument as a world writes it."""
    if not isinstance(short, str):
        return dict(short)
    text, _, default = short.rstrip("~").partition("=")
    if text.startswith("["):
        return {"type": "array", "items": schema_of(text[1:-1])}
    schema: dict[str, Any] = {"type": text} if text in NAMES else {"type": "string", "format": "date-time"}
    return schema | ({"default": read_yaml(default)[0]} if default else {})


def object_schema(shape: Any) -> dict[str, Any]:
    """The schema of a result as a world writes it: mappings, one-element lists and type names."""
    if isinstance(shape, list):
        return {"type": "array", "items": object_schema(shape[0])}
    if isinstance(shape, str):
        return schema_of(shape)
    return {
        "type": "object",
        "properties": {name: object_schema(item) for name, item in shape.items()},
        "required": sorted(shape),
    }


def closed(schema: Any) -> Any:
    """*schema* with every object closed that says nothing of further names."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    out = {
        name: item if name in ("enum", "const", "default", "required") else closed(item)
        for name, item in schema.items()
    }
    is_object = schema.get("type") == "object" and isinstance(schema.get("properties", {}), dict)
    return out | ({"additionalProperties": False} if is_object and "additionalProperties" not in schema else {})
