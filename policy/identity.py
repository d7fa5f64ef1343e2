"""
Which claims may policies refer to, and is identity.yaml of the shape it should be?

In comes the document; out come its plain data, for `issuers` to give it meaning, and the schemas of declared claims.
Believes no issuer and reads no token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from gatewright.policy.clauses import check_clause, no_reference
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.knowledge import ANY
from gatewright.policy.model import JsonObject, Schema

__all__ = ["Identity", "read_identity"]

_SHARED: Final = ("tenant_claim", "roles", "actor", "claims", "lifetime", "leeway")
_KEYS: Final = ("format", "production", "issuers", *_SHARED)
_ISSUER: Final = ("alias", "issuer", "audience", "keys", "algorithms", "typ", "tenants", *_SHARED)


@dataclass(frozen=True, slots=True)
class Identity:
    """identity.yaml: *profiles* is its plain data, *claims* the declared claims, *key_files* the files it names."""

    profiles: JsonObject = field(default_factory=dict)
    claims: Mapping[str, Schema] = field(default_factory=dict)
    key_files: frozenset[str] = frozenset()
    is_production: bool = False


def read_identity(node: Node | None, reader: Reader) -> Identity:
    """Return what *node* says; None says nothing."""
    parts = reader.mapping(node, _KEYS, "map of identity.yaml", ("issuers",))
    issuers = [
        reader.mapping(each, _ISSUER, "issuer", ("alias", "issuer", "audience", "keys", "algorithms", "tenants"))
        for each in reader.items(parts.get("issuers"), "list of issuers")
    ]
    plain = reader.plain(node)
    profiles = plain if isinstance(plain, Mapping) else {}
    return Identity(
        profiles={name: value for name, value in profiles.items() if name != "format"},
        claims=_claims([each["claims"] for each in (parts, *issuers) if "claims" in each], reader),
        key_files=frozenset(_key_files(issuers)),
        is_production=reader.flag(parts.get("production"), "production"),
    )


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
