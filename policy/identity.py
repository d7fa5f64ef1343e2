"""
Which claims may policies refer to, and is identity.yaml of the shape it should be?

In comes the document; out come its plain data, for `issuers` to give it meaning, and the schemas of declared claims.
Believes no issuer and reads no token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from gatewright.policy.algorithms import ALGORITHMS
from gatewright.policy.clauses import check_clause, no_reference
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.knowledge import ANY
from gatewright.policy.model import JsonObject, Names, Schema
from gatewright.policy.patterns import fault_of

__all__ = ["Identity", "read_identity"]

_SHARED: Final = ("tenant_claim", "roles", "actor", "claims", "lifetime", "leeway")
_KEYS: Final = ("format", "production", "issuers", *_SHARED)
_NEEDED: Final = ("alias", "issuer", "audience", "keys", "algorithms", "tenants")
_ISSUER: Final = ("alias", "issuer", "audience", "keys", "algorithms", "typ", "tenants", "events", *_SHARED)


@dataclass(frozen=True, slots=True)
class Identity:
    """identity.yaml: *profiles* is its plain data, *claims* the declared claims, *key_files* the files it names."""

    profiles: JsonObject = field(default_factory=dict)
    claims: Mapping[str, Schema] = field(default_factory=dict)
    key_files: frozenset[str] = frozenset()
    is_production: bool = False


def read_identity(node: Node | None, names: Names, reader: Reader) -> Identity:
    """Return what *node* says; None says nothing. Its tenants are those of *names*."""
    parts = reader.mapping(node, _KEYS, "map of identity.yaml", ("issuers",))
    listed = reader.items(parts.get("issuers"), "list of issuers")
    issuers = [reader.mapping(each, _ISSUER, "issuer", _NEEDED) for each in listed]
    for each in issuers:
        _check_issuer(each, names, reader)
    for each in (parts, *issuers):
        _check_shared(each, reader)
    plain = reader.plain(node)
    profiles = plain if isinstance(plain, Mapping) else {}
    return Identity(
        profiles={name: value for name, value in profiles.items() if name != "format"},
        claims=_claims([each["claims"] for each in (parts, *issuers) if "claims" in each], reader),
        key_files=frozenset(_key_files(issuers)),
        is_production=reader.flag(parts.get("production"), "production"),
    )


def _check_issuer(parts: Mapping[str, Node], names: Names, reader: Reader) -> None:
    for name in ("issuer", "audience", "typ", "events"):
        if name in parts:
            reader.text(parts[name], name)
    reader.name(parts.get("alias"), "alias")
    reader.names(parts.get("algorithms"), ALGORITHMS, "unknown_algorithm", "algorithm")
    tenants, keys = parts.get("tenants"), parts.get("keys")
    if tenants is not None and isinstance(tenants.value, dict):
        pattern = reader.mapping(tenants, ("pattern",), "rule of tenants", ("pattern",)).get("pattern")
        fault = fault_of(reader.text(pattern, "pattern")) if pattern is not None else ""
        if fault:
            reader.findings.add(tenants.place, "bad_pattern", f"this pattern is refused: {fault}")
    else:
        reader.names(tenants, names.tenants, "unknown_tenant", "tenant")
    if keys is not None and isinstance(keys.value, dict):
        reader.mapping(keys, ("file", "url", "keys"), "place of keys")


def _check_shared(parts: Mapping[str, Node], reader: Reader) -> None:
    for name in ("tenant_claim", "roles"):
        if name in parts:
            reader.text(parts[name], name)
    reader.seconds(parts.get("lifetime"), "lifetime")
    reader.seconds(parts.get("leeway"), "leeway", least=0)
    actor = parts.get("actor")
    if actor is not None and isinstance(actor.value, dict):
        for each in reader.mapping(actor, ("claim", "roles"), "actor", ("claim",)).values():
            reader.text(each, "claim")
    elif actor is not None:
        reader.text(actor, "actor")


def _claims(nodes: list[Node], reader: Reader) -> dict[str, Schema]:
    found: dict[str, Schema] = {}
    for node in nodes:
        parts = reader.mapping(node, None, "schema of claims")
        check_clause(node, ANY, no_reference, reader)
        for name, value in reader.mapping(parts.get("properties"), None, "map of claims").items():
            schema = cast("Schema", value.plain()) if isinstance(value.value, dict) else {}
            both = found.get(name)
            found[name] = schema if both in (None, schema) else cast("Schema", {"anyOf": [both, schema]})
    return found


def _key_files(issuers: list[dict[str, Node]]) -> Iterator[str]:
    for issuer in issuers:
        keys = issuer.get("keys")
        file = keys.value.get("file") if keys is not None and isinstance(keys.value, dict) else None
        if file is not None and isinstance(file.value, str):
            yield file.value
