"""
What do tenants decide for themselves? The folders under tenants/: delegated rows, limits and settings.

In come a tenant's files and what names.yaml delegates; out come its rows and its `TenantPolicy`, with findings for
everything that reaches beyond its own domain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, cast

from gatewright.policy.declared import Declared
from gatewright.policy.documents import check_ids
from gatewright.policy.entries import read_limit
from gatewright.policy.errors import Place
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Findings, Node
from gatewright.policy.model import Json, JsonObject, Membership, Names, Rule, Schema, ToolSpec
from gatewright.policy.rows import RowSet
from gatewright.policy.toolfile import Limit, ToolPolicy
from gatewright.policy.validator import compile_schema

__all__ = ["Delegated", "read_settings", "read_tenant_limits"]

_OWN: Final = {"const": {"$identity": "tenant"}}


class Delegated:
    """
    What tenant folders may say in rows.

    Denies are free; so are rows for types that are bound to the tenant: each open tool loads its records inside the
    caller's tenant, or has a limit that is always on and holds their `tenant` to the caller's. Allows on tools and
    g rows are for what names.yaml delegates, a delegated group with its tools.
    """

    def __init__(
        self,
        names: Names,
        catalog: Mapping[str, ToolSpec] | None,
        policies: Mapping[str, ToolPolicy],
        memberships: list[Membership],
    ) -> None:
        self.names = names
        groups = names.delegate.tools
        self.tools: frozenset[str] = groups | {
            each.tool for each in memberships if each.group in groups and each.until is None
        }
        self.open_types: dict[str, str] = _open_types(catalog or {}, policies)

    def check(self, tenant: str, rows: RowSet, findings: Findings) -> None:
        """Find rows of *tenant* that are not for it to write."""
        domains = [(row.dom, row.place) for row in rows.rules] + [(row.dom, row.place) for row in rows.links]
        for dom, place in domains:
            if dom != tenant:
                findings.add(place, "foreign_domain", f"rows here are of {tenant!r} only, not of {dom!r}")
        for rule in rows.rules:
            if rule.eft == "allow":
                self._check_allow(rule, findings)
        for link in rows.links:
            if link.role not in self.names.delegate.roles:
                message = f"the role {link.role!r} is not for tenants to give"
                findings.add(link.place, "not_delegated", message, "names.yaml delegates roles")
        for member in rows.memberships:
            findings.add(member.place, "not_delegated", "groups are not for tenants to change")

    def _check_allow(self, rule: Rule, findings: Findings) -> None:
        kind, colon, _ = rule.obj.partition(":")
        if colon and kind in self.open_types:
            message = f"the type {kind!r} is not bound to a tenant: {self.open_types[kind]}"
            findings.add(rule.place, "type_not_bound", message, "declare scope: tenant, or limit its tenant")
        elif not colon and rule.obj not in self.tools:
            message = f"{rule.obj!r} is not for tenants to allow"
            findings.add(rule.place, "not_delegated", message, "names.yaml delegates tools")


def _open_types(catalog: Mapping[str, ToolSpec], policies: Mapping[str, ToolPolicy]) -> dict[str, str]:
    """Types that are not bound to a tenant → the first tool that shows it."""
    found: dict[str, str] = {}
    for tool in catalog.values():
        policy = policies.get(tool.name)
        if policy is None or not policy.allow:
            continue
        for name, resource in tool.resources.items():
            if resource.scope != "tenant" and not any(_binds(limit, name) for limit in policy.limits):
                found.setdefault(resource.type, tool.name)
    return found


def _binds(limit: Limit, resource: str) -> bool:
    """Whether *limit* holds the records of *resource* to the caller's tenant, for everyone and always."""
    is_always_on = limit.roles is None and limit.actors is None and limit.entries is None and limit.unless is None
    return is_always_on and limit.resource.get(resource, {}).get("tenant") == _OWN


def read_tenant_limits(
    node: Node | None,
    tenant: str,
    tools: frozenset[str] | None,
    declared: Callable[[str], Declared],
    policies: Mapping[str, ToolPolicy],
    reader: Reader,
) -> dict[str, tuple[Limit, ...]]:
    """Return the limits of a limits.yaml by tool; *tools* is None where the catalog is not known."""
    found: dict[str, tuple[Limit, ...]] = {}
    if node is None:
        return found
    for tool, value in reader.mapping(node, None, "map of tools").items():
        if tool == "format":
            continue
        if tools is not None and tool not in tools:
            reader.unknown(node.keys[tool], "unknown_tool", tool, tools, "tool")
            continue
        policy = policies.get(tool, ToolPolicy(tool))
        entries = [entry.id for entry in policy.allow or ()]
        found[tool] = tuple(
            read_limit(each, declared(tool), reader, entries, tenant) for each in reader.items(value, "list of limits")
        )
        check_ids([(limit.id, limit.place) for limit in (*policy.limits, *found[tool])], reader.findings)
    return found


def read_settings(node: Node | None, path: str, names: Names, reader: Reader) -> JsonObject:
    """Return the settings of a settings.yaml, filled with the defaults of names.yaml and held to its schema."""
    schema = names.settings
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    filled: dict[str, Json] = {name: each["default"] for name, each in properties.items() if "default" in each}
    given = {name: each for name, each in reader.mapping(node, None, "settings.yaml").items() if name != "format"}
    for name, value in given.items():
        if name not in properties:
            place = node.keys[name] if node is not None else value.place
            reader.unknown(place, "unknown_setting", name, properties, "setting")
        else:
            filled[name] = value.plain()
    for error in compile_schema(schema).errors(filled) if properties else ():
        at = given.get(str(error.path[0])) if error.path else None
        place = at.place if at is not None else Place(path)
        what = "/".join(map(str, error.path)) or "what names.yaml requires"
        reader.findings.add(place, "bad_setting", f"{what} is not as names.yaml declares it: {error.keyword}")
    return filled
