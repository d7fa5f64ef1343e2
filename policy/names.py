"""
Which names exist? names.yaml: roles, actors, tenants, resource types, delegation, calendars and settings.

In comes one document; out comes the frozen `Names`, with findings for what is misspelt, doubled or contradictory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final, cast

from gatewright.policy.clauses import check_clause, no_reference
from gatewright.policy.errors import Place
from gatewright.policy.fields import NAME, Reader
from gatewright.policy.formats import Findings, Node
from gatewright.policy.hours import read_calendar
from gatewright.policy.knowledge import ANY, Known
from gatewright.policy.model import Delegation, Names, Schema

__all__ = ["NO_NAMES", "check_alike", "check_delegated", "read_names"]

_KEYS: Final = ("format", "roles", "actors", "tenants", "types", "delegate", "calendars", "settings")
_SCHEMA: Final = ("type", "properties", "required", "description", "title", "additionalProperties", "$comment")
NO_NAMES: Final = Names({}, frozenset(), frozenset(), {}, Delegation(), {}, {})
"""What is declared where names.yaml cannot be read."""


def read_names(node: Node, reader: Reader) -> Names:
    """Return the names of *node*; what has a finding is left out."""
    parts = reader.mapping(node, _KEYS, "map of names.yaml", ("roles", "tenants"))
    roles = _roles(parts.get("roles"), reader)
    actors = dict(_listed(parts.get("actors"), reader, "actor role"))
    for name in roles.keys() & actors.keys():
        reader.findings.add(
            actors[name], "role_and_actor", f"{name!r} is a role already; roles and actors are disjoint"
        )
    tenants = _named(parts.get("tenants"), reader, "tenant")
    for label in (label for _, value in tenants for label in reader.mapping(value, None, "map of labels").values()):
        if isinstance(label.value, list | dict):
            reader.findings.add(label.place, "wrong_kind", "a label of a tenant is a plain value")
    return Names(
        roles=roles,
        actors=frozenset(actors) - roles.keys(),
        tenants=frozenset(name for name, _ in tenants),
        types=_types(parts.get("types"), reader),
        delegate=_delegation(parts.get("delegate"), reader, (*roles, *actors)),
        calendars={
            name: read_calendar(each, reader) for name, each in _named(parts.get("calendars"), reader, "calendar")
        },
        settings=_settings(parts.get("settings"), reader),
    )


def check_alike(names: Iterable[tuple[str, Place]], what: str, findings: Findings) -> None:
    """Find names that differ in capitals only, or in letters that look alike: one of the two will be mistaken."""
    seen: dict[str, str] = {}
    for name, place in names:
        other = seen.setdefault(_skeleton(name), name)
        if other != name:
            findings.add(place, "look_alike", f"the {what} {name!r} looks like {other!r}", "give it another name")


def _skeleton(name: str) -> str:
    """*name* as it looks at a glance (the ASCII part of Unicode's confusables), capitals made small."""
    return name.replace("I", "l").casefold().translate({ord("0"): "o", ord("1"): "l"}).replace("rn", "m")


def check_delegated(node: Node | None, groups: Collection[str], tools: Collection[str] | None, reader: Reader) -> None:
    """Find delegated tools that are none; *groups* are those that g2 rows make, *tools* None where not known."""
    parts = node.value if node is not None and isinstance(node.value, dict) else {}
    delegate = parts.get("delegate")
    listed = delegate.value.get("tools") if delegate is not None and isinstance(delegate.value, dict) else None
    for item in listed.value if listed is not None and isinstance(listed.value, list) else ():
        name = item.value
        if not isinstance(name, str):
            continue
        if name.startswith("tools/") and name not in groups:
            reader.unknown(item.place, "unknown_group", name, groups, "group")
        elif not name.startswith("tools/") and tools is not None and name not in tools:
            reader.unknown(item.place, "unknown_tool", name, tools, "tool")


def _roles(node: Node | None, reader: Reader) -> dict[str, frozenset[str]]:
    found = dict(_named(node, reader, "role"))
    excluded: dict[str, set[str]] = {name: set() for name in found}
    for name, value in found.items():
        parts = reader.mapping(value, ("excludes", "about"), "role")
        if "about" in parts:
            reader.text(parts["about"], "about")
        for other, place in reader.placed_names(parts.get("excludes"), found, "unknown_role", "role"):
            if other == name:
                reader.findings.add(place, "excludes_itself", f"nobody could hold {name!r}")
            excluded[name].add(other)
            excluded[other].add(name)
    return {name: frozenset(others) for name, others in excluded.items()}


def _named(node: Node | None, reader: Reader, what: str) -> list[tuple[str, Node]]:
    found = reader.mapping(node, None, f"map of {what}s")
    keys = node.keys if node is not None else {}
    check_alike(((name, keys[name]) for name in found), what, reader.findings)
    return [(name, value) for name, value in found.items() if _is_name(name, keys[name], reader)]


def _listed(node: Node | None, reader: Reader, what: str) -> Iterator[tuple[str, Place]]:
    found = [pair for pair in reader.placed_names(node, None, "", what) if _is_name(*pair, reader)]
    check_alike(found, what, reader.findings)
    yield from found


def _is_name(name: str, place: Place, reader: Reader) -> bool:
    if NAME.fullmatch(name):
        return True
    reader.findings.add(place, "bad_name", f"a name is made of letters, digits, _ . and -, not {name!r}")
    return False


def _types(node: Node | None, reader: Reader) -> dict[str, frozenset[str]]:
    found = {}
    for name, value in _named(node, reader, "type"):
        found[name] = frozenset(action for action, _ in _listed(value, reader, "action"))
        reader.not_empty(value, f"nothing can be done with {name!r}")
    return found


def _delegation(node: Node | None, reader: Reader, roles: tuple[str, ...]) -> Delegation:
    parts = reader.mapping(node, ("tools", "roles"), "map of delegate")
    return Delegation(
        frozenset(reader.names(parts.get("tools"), None, "", "tool or group")),
        frozenset(reader.names(parts.get("roles"), roles, "unknown_role", "role")),
    )


def _settings(node: Node | None, reader: Reader) -> Schema:
    """The schema of settings, closed; every default must pass its own schema."""
    if node is None:
        return {}
    before = len(reader.findings)
    parts = reader.mapping(node, _SCHEMA, "schema of settings", ("type", "properties"))
    check_clause(node, ANY, no_reference, reader)
    if "type" in parts:
        reader.choice(parts["type"], ("object",), "type of settings")
    if len(reader.findings) > before:
        return {}
    for value in reader.mapping(parts["properties"], None, "map of settings").values():
        schema = cast("Schema", value.plain()) if isinstance(value.value, dict) else {}
        if "default" in schema and not Known.of(schema).takes(schema["default"]):
            place = reader.mapping(value)["default"].place
            reader.findings.add(place, "refused_value", "the default does not pass its own schema")
    if len(reader.findings) > before:
        return {}
    return {**cast("Schema", node.plain()), "additionalProperties": False}
