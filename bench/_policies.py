"""
The rules that decide.py and load.py are run on: the same few shapes at every size, as one policies folder's texts.

In comes how many rows; out come the texts of a folder without tools. Half of the rows grant records, the rest deny
some, use wildcards, end on a day, or are about one subject; roles inherit in chains.
"""

from __future__ import annotations

import json

__all__ = ["DEPTH", "ISSUED", "folder_texts", "tenant_names"]

DEPTH = 12
"""Steps of the deepest chain of roles."""
ROLES = 24
TENANTS = 40
ISSUED = {
    "issuers": [
        {
            "alias": "bench",
            "issuer": "https://bench.example",
            "audience": "bench",
            "keys": {"file": "keys.json"},
            "algorithms": ["EdDSA"],
            "tenants": {"pattern": "t[0-9]+"},
            "tenant_claim": "org",
            "roles": "roles",
        }
    ]
}
KEYS = {"keys": []}


def tenant_names(rules: int) -> list[str]:
    """How many tenants a folder of *rules* rows has: few in a small one, forty from a thousand on."""
    return [f"t{number}" for number in range(max(2, min(TENANTS, rules // 10)))]


def role_names() -> list[str]:
    """The flat roles, then the chain."""
    return [f"role{number}" for number in range(ROLES)] + [f"step{number}" for number in range(DEPTH + 1)]


def folder_texts(rules: int) -> dict[str, str]:
    """The texts of a folder with *rules* p rows."""
    names = {
        "roles": {role: {} for role in role_names()},
        "actors": ["helper"],
        "tenants": {tenant: {} for tenant in tenant_names(rules)},
        "types": {"record": ["read", "write"], "file": ["read"]},
    }
    return {
        "names.yaml": json.dumps(names),
        "identity.yaml": json.dumps(ISSUED),
        "keys.json": json.dumps(KEYS),
        "policy.csv": "\n".join([*rows(rules), *links()]) + "\n",
    }


def rows(count: int) -> list[str]:
    """*count* p rows, the same ones first at every size."""
    tenants = tenant_names(count)
    return [row(number, tenants[number % len(tenants)]) for number in range(count)]


def row(number: int, tenant: str) -> str:
    """One row; its kind follows from its number."""
    role, kind = f"role{number * 7 % ROLES}", number % 10
    if kind == 7:
        return f"p, {role}, {tenant}, file:box{number}/*, read, allow"
    if kind == 8:
        return f"p, {role}, {tenant}, record:{number - 8}, read, deny"
    if kind == 9:
        return f"p, step{DEPTH}, *, record:deep{number}, read, allow"
    if kind == 6:
        return f"p, subject:u{number}, {tenant}, record:{number}, write, allow, 2030-01-01, TICKET-1"
    return f"p, {role}, {tenant}, record:{number}, read, allow"


def links() -> list[str]:
    """step0 inherits step1, and so on: a holder of step0 has what the last step may."""
    return [f"g, step{number}, step{number + 1}, *" for number in range(DEPTH)]
