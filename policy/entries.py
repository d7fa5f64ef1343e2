"""
How is each tool opened and cut? The documents under tools/: entries, limits and what stands in them.

In come documents and what is declared; out come `Entry`s and `Limit`s, with findings at every depth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from gatewright.policy.declared import Declared
from gatewright.policy.duties import read_duties
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.masks import MASKS
from gatewright.policy.model import ArgumentCut, Conditions, Entry, Json, JsonObject, Limit, Pointer, ResultCuts, Schema
from gatewright.policy.pointers import parse_pointer

__all__ = ["ABOUT", "read_about", "read_entry", "read_limit"]

ABOUT = ("owner", "why", "ticket", "review")
_SHARED = ("id", "about", "arguments", "facts", "context", "resource", "state", "duties")
_LIMIT = (*_SHARED, "for", "entries", "unless")
_ENTRY = (*_SHARED, "roles", "result", "refusal")
_TEXTS = ("description", "examples", "default")
_BESIDE = ("$granted", "on_violation", *_TEXTS)


def read_entry(node: Node, declared: Declared, reader: Reader) -> Entry:
    """Return one item of an `allow` list."""
    parts = reader.mapping(node, _ENTRY, "entry")
    roles = reader.names(parts.get("roles"), declared.names.roles, "unknown_role", "role")
    if not roles:
        reader.findings.add(
            node.place, "missing_key", "an entry names its roles", "an entry without roles opens nothing"
        )
    return Entry(
        roles=roles,
        result=_result(parts.get("result"), declared, reader),
        refusal=reader.text(parts["refusal"], "refusal") if "refusal" in parts else None,
        **_shared(node, parts, declared, reader),
    )


def read_limit(
    node: Node, declared: Declared, reader: Reader, entries: frozenset[str] | None, tenant: str | None
) -> Limit:
    """Return one item of a `limits` list; *entries* are the ids that `entries` may name, None where unknown."""
    parts = reader.mapping(node, _LIMIT, "limit")
    aims = reader.mapping(parts.get("for"), ("roles", "actors"), "for")
    names = declared.names
    return Limit(
        roles=frozenset(reader.names(aims["roles"], names.roles, "unknown_role", "role")) if "roles" in aims else None,
        actors=frozenset(reader.names(aims["actors"], names.actors, "unknown_actor", "actor role"))
        if "actors" in aims
        else None,
        entries=frozenset(reader.names(parts["entries"], entries, "unknown_entry", "entry"))
        if "entries" in parts
        else None,
        unless=_unless(parts.get("unless"), declared, reader),
        tenant=tenant,
        **_shared(node, parts, declared, reader),
    )


def read_about(node: Node | None, reader: Reader) -> None:
    """Check an `about` block: owner, why, ticket and a review day."""
    parts = reader.mapping(node, ABOUT, "about")
    reader.day(parts.get("review"), "review")


def _shared(node: Node, parts: Mapping[str, Node], declared: Declared, reader: Reader) -> dict[str, Any]:
    if "id" not in parts:
        reader.findings.add(node.place, "missing_key", "an entry or limit has an id")
    read_about(parts.get("about"), reader)
    return {
        "id": reader.text(parts.get("id"), "id"),
        "place": node.place,
        "arguments": _arguments(parts.get("arguments"), declared, reader),
        "facts": _conditions("fact", parts.get("facts"), declared, reader),
        "context": _conditions("context", parts.get("context"), declared, reader),
        "resource": _records(parts.get("resource"), declared, reader),
        "state": _records(parts.get("state"), declared, reader),
        "duties": read_duties(parts.get("duties"), declared, reader),
    }


def _arguments(node: Node | None, declared: Declared, reader: Reader) -> dict[Pointer, ArgumentCut]:
    found: dict[Pointer, ArgumentCut] = {}
    for name, value in reader.mapping(node, None, "map of arguments").items():
        pointer = parse_pointer(name)
        if node is None or not pointer:
            reader.findings.add(value.place, "bad_pointer", "an argument is a name or a JSON pointer")
            continue
        declared.check_pointer(pointer, node, name, reader)
        if pointer in found:
            reader.findings.add(node.keys[name], "repeated", f"{name!r} is cut here twice")
        found[pointer] = _cut(value, declared, reader)
    return found


def _cut(node: Node, declared: Declared, reader: Reader) -> ArgumentCut:
    if node.value == "hidden":
        return ArgumentCut("hidden", place=node.place)
    parts = reader.mapping(node, None, "cut of an argument")
    if "pin" in parts:
        reader.mapping(node, ("pin", *_TEXTS), "pin")
        declared.check_value(parts["pin"], reader)
        return ArgumentCut("pin", value=parts["pin"].plain(), place=node.place)
    declared.check_schema(node, reader, _BESIDE)
    plain = cast("dict[str, Json]", node.plain() if isinstance(node.value, dict) else {})
    return ArgumentCut(
        "narrow",
        schema={name: value for name, value in plain.items() if name not in _BESIDE},
        granted=_granted(parts.get("$granted"), declared, reader),
        forbidden=_forbids(parts.get("on_violation"), reader),
        texts={name: plain[name] for name in _TEXTS if name in plain},
        place=node.place,
    )


def _granted(node: Node | None, declared: Declared, reader: Reader) -> tuple[str, str] | None:
    if node is None:
        return None
    parts = reader.mapping(node, ("type", "action"), "$granted")
    types = declared.names.types
    kind = reader.choice(parts.get("type"), types, "resource type")
    action = reader.choice(parts.get("action"), types.get(kind, ()), "action")
    if not {"type", "action"} <= set(parts):
        reader.findings.add(node.place, "missing_key", "$granted names a type and an action")
    return (kind, action) if kind and action else None


def _forbids(node: Node | None, reader: Reader) -> bool:
    return node is not None and reader.choice(node, ("forbidden",), "on_violation") == "forbidden"


def _conditions(kind: str, node: Node | None, declared: Declared, reader: Reader, resource: str = "") -> Conditions:
    if node is None:
        return {}
    declared.check_names(kind, node, reader, resource)
    for schema in reader.mapping(node, None, "map of conditions").values():
        if not isinstance(schema.value, dict):
            reader.findings.add(schema.place, "wrong_kind", "a condition is a mapping of keywords")
            continue
        declared.check_schema(schema, reader, ("on_violation",))
        _forbids(schema.value.get("on_violation"), reader)
    return cast("Conditions", node.plain()) if isinstance(node.value, dict) else {}


def _records(node: Node | None, declared: Declared, reader: Reader) -> dict[str, Conditions]:
    if node is None:
        return {}
    declared.check_names("resource", node, reader)
    return {
        name: _conditions("attribute", value, declared, reader, name)
        for name, value in reader.mapping(node, None, "map of resources").items()
    }


def _unless(node: Node | None, declared: Declared, reader: Reader) -> dict[str, Mapping[str, Json]] | None:
    if node is None:
        return None
    parts = reader.mapping(node, ("facts", "context"), "unless")
    if not parts:
        reader.findings.add(node.place, "empty_unless", "unless names facts or context")
    kinds = {"facts": "fact", "context": "context"}
    return {
        name: cast("JsonObject", _conditions(kinds[name], value, declared, reader)) for name, value in parts.items()
    }


def _result(node: Node | None, declared: Declared, reader: Reader) -> ResultCuts:
    parts = reader.mapping(node, ("only_if", "keep", "show", "hidden", "mask", "rows"), "result")
    if {"show", "hidden"} <= set(parts):
        reader.findings.add(parts["show"].place, "show_and_hidden", "a result is cut by show or by hidden, not by both")
    mask = {}
    for name, value in reader.mapping(parts.get("mask")).items():
        mask[parse_pointer(name)] = reader.choice(value, MASKS, "mask")
    return ResultCuts(
        only_if=_fields(parts.get("only_if"), declared, reader),
        keep={
            parse_pointer(name): _fields(value, declared, reader)
            for name, value in reader.mapping(parts.get("keep")).items()
        },
        show=_pointers(parts["show"], declared, reader) if "show" in parts else None,
        hidden=_pointers(parts.get("hidden"), declared, reader),
        mask=mask,
        rows=reader.count(parts.get("rows"), "rows"),
    )


def _fields(node: Node | None, declared: Declared, reader: Reader) -> Conditions:
    for schema in reader.mapping(node).values():
        declared.check_schema(schema, reader)
    plain = reader.plain(node)
    return cast("Conditions", plain) if isinstance(plain, dict) else {}


def _pointers(node: Node | None, declared: Declared, reader: Reader) -> tuple[Pointer, ...]:
    found = []
    for name, place in reader.placed_names(node, None, "", "pointer"):
        pointer = parse_pointer(name)
        result = None if declared.tool is None else declared.tool.result
        if result is not None and not any(_leads(result, pointer)):
            reader.findings.add(place, "unknown_field", f"the result has no such field: {name!r}")
        found.append(pointer)
    return tuple(found)


def _leads(result: Schema, pointer: Pointer) -> Any:
    from gatewright.policy.pruning import children

    return children(result, pointer, result)
