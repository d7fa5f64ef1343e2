"""
What does one item of a tool file say? Entries of `allow` and limits of `limits`, with all that stands in them.

In come nodes and what is declared; out come `Entry`s and `Limit`s, with findings at every depth.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final, cast

from gatewright.policy.arguments import read_arguments
from gatewright.policy.declared import BEFORE_RECORDS, Declared, read_conditions
from gatewright.policy.duties import read_duties
from gatewright.policy.excerpt import read_excerpt
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.model import Conditions, JsonObject
from gatewright.policy.toolfile import Entry, Limit

__all__ = ["read_about", "read_entry", "read_limit"]

_ABOUT: Final = ("owner", "why", "ticket", "review")
_SHARED: Final = ("id", "about", "arguments", "facts", "context", "resource", "state", "duties")
_LIMIT: Final = (*_SHARED, "for", "entries", "unless")
_ENTRY: Final = (*_SHARED, "roles", "result", "refusal")


def read_entry(node: Node, declared: Declared, reader: Reader) -> Entry:
    """Return one item of an `allow` list."""
    parts = reader.mapping(node, _ENTRY, "entry", ("id", "roles"))
    roles = reader.names(parts.get("roles"), declared.names.roles, "unknown_role", "role")
    reader.not_empty(parts.get("roles"), "an entry without roles opens nothing")
    shared = _shared(node, parts, declared, reader, "allow")
    return Entry(
        roles=roles,
        result=read_excerpt(parts.get("result"), declared, reader),
        refusal=reader.text(parts["refusal"], "refusal") if "refusal" in parts else None,
        **shared,
    )


def read_limit(
    node: Node, declared: Declared, reader: Reader, entries: Collection[str] | None, tenant: str | None
) -> Limit:
    """Return one item of a `limits` list; *entries* are the ids that `entries` may name, None where unknown."""
    parts = reader.mapping(node, _LIMIT, "limit", ("id",))
    aims = reader.mapping(parts.get("for"), ("roles", "actors"), "for")
    if "for" in parts and not aims:
        reader.findings.add(
            parts["for"].place, "empty_for", "for names roles, actors or both", "leave it away: everyone"
        )
    names = declared.names
    return Limit(
        roles=_names(aims.get("roles"), names.roles, "unknown_role", "role", reader),
        actors=_names(aims.get("actors"), names.actors, "unknown_actor", "actor role", reader),
        entries=_names(parts.get("entries"), entries, "unknown_entry", "entry", reader),
        unless=_unless(parts.get("unless"), declared, reader),
        tenant=tenant,
        **_shared(node, parts, declared, reader, f"tenants/{tenant}" if tenant else "limits"),
    )


def read_about(node: Node | None, reader: Reader) -> None:
    """Check an `about` block: owner, why, ticket and a review day."""
    parts = reader.mapping(node, _ABOUT, "about")
    for name in ("owner", "why", "ticket"):
        if name in parts:
            reader.text(parts[name], name)
    reader.day(parts.get("review"), "review")


def _names(
    node: Node | None, known: Collection[str] | None, code: str, what: str, reader: Reader
) -> frozenset[str] | None:
    if node is None:
        return None
    reader.not_empty(node, f"no {what} is named, so this is for nobody")
    return frozenset(reader.names(node, known, code, what))


def _shared(node: Node, parts: Mapping[str, Node], declared: Declared, reader: Reader, where: str) -> dict[str, Any]:
    read_about(parts.get("about"), reader)
    name = reader.name(parts.get("id"), "id")
    tool = declared.tool.name if declared.tool is not None else ""
    return {
        "id": name,
        "place": node.place,
        "arguments": read_arguments(parts.get("arguments"), declared, reader, shows=where == "allow"),
        "facts": read_conditions(parts.get("facts"), declared.known("fact"), declared, reader, BEFORE_RECORDS),
        "context": read_conditions(parts.get("context"), declared.known("context"), declared, reader, BEFORE_RECORDS),
        "resource": _records(parts.get("resource"), declared, reader),
        "state": _records(parts.get("state"), declared, reader),
        "duties": read_duties(parts.get("duties"), declared, reader, f"{tool}:{where}/{name}"),
    }


def _records(node: Node | None, declared: Declared, reader: Reader) -> dict[str, Conditions]:
    found: dict[str, Conditions] = {}
    if node is None:
        return found
    for name, value in reader.mapping(node, None, "map of resources").items():
        if not declared.is_resource(name):
            reader.unknown(node.keys[name], "unknown_resource", name, declared.resources(), "resource")
        else:
            found[name] = read_conditions(value, declared.known("attribute", name), declared, reader)
    return found


def _unless(node: Node | None, declared: Declared, reader: Reader) -> dict[str, JsonObject] | None:
    if node is None:
        return None
    parts = reader.mapping(node, ("facts", "context"), "unless")
    kinds = {"facts": declared.known("fact"), "context": declared.known("context")}
    found = {
        name: read_conditions(value, kinds[name], declared, reader, BEFORE_RECORDS) for name, value in parts.items()
    }
    if isinstance(node.value, dict) and all(value.value == {} for value in node.value.values()):
        reader.findings.add(node.place, "empty_unless", "unless names facts or context")
    return cast("dict[str, JsonObject]", found)
