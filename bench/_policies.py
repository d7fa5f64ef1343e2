"""
The rules that decide.py and load.py are run on: the same few shapes at every size, as one policies folder's texts.

In comes how many rows; out come the texts of a folder without tools. Five rows are about each record, for five roles of
one tenant; one in fifty each denies, uses a wildcard, is about one subject until a day, or is reached by a chain.
"""

from __future__ import annotations

import json

__all__ = ["DEPTH", "folder_texts", "links", "rows", "tenant_names", "tool_texts"]

DEPTH = 9
"""Steps of the deepest chain of roles; stock pycasbin stops counting at ten."""
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
    """*count* p rows, five about each record."""
    tenants = tenant_names(count)
    return [row(number, tenants) for number in range(count)]


def row(number: int, tenants: list[str]) -> str:
    """One row; its kind follows from its number."""
    record = number // 5
    tenant, role, kind = tenants[record % len(tenants)], f"role{number * 7 % ROLES}", number % 50
    if kind == 47:
        return f"p, {role}, {tenant}, file:box{record}/*, read, allow"
    if kind == 48:
        return f"p, {role}, {tenant}, record:{record}, read, deny"
    if kind == 49:
        return f"p, step{DEPTH}, *, record:deep{record}, read, allow"
    if kind == 46:
        return f"p, subject:u{record}, {tenant}, record:{record}, write, allow, 2030-01-01, TICKET-1"
    return f"p, {role}, {tenant}, record:{record}, read, allow"


def links() -> list[str]:
    """step0 inherits step1, and so on: a holder of step0 has what the last step may."""
    return [f"g, step{number}, step{number + 1}, *" for number in range(DEPTH)]


def tool_texts(tools: int) -> dict[str, str]:
    """The texts of a folder with *tools* tools of four arguments, their catalog files and two entries each."""
    texts = folder_texts(10)
    names = [f"tool.n{number}" for number in range(tools)]
    rows = [f"p, role{number % ROLES}, *, {name}, call, allow" for number, name in enumerate(names)]
    texts["policy.csv"] += "\n".join(rows) + "\n"
    for number, name in enumerate(names):
        texts[f"catalog/{name}.json"] = json.dumps(_spec(name), indent=2)
        texts[f"tools/{name}.yaml"] = _tool(name, f"role{number % ROLES}")
    return texts


def _spec(name: str) -> dict[str, object]:
    text = {"type": "string", "maxLength": 64}
    properties = {
        "service": text,
        "start": {"type": "string", "format": "date-time"},
        "end": {"type": "string", "format": "date-time"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 20},
    }
    item = {"type": "object", "properties": {"at": text, "line": text}, "required": ["at", "line"]}
    return {
        "name": name,
        "kind": "read",
        "action": "read",
        "description": "Return lines.",
        "use_when": "lines are needed",
        "not_for": "anything else",
        "schema": {
            "type": "object",
            "properties": properties,
            "required": ["service", "start", "end"],
            "additionalProperties": False,
        },
        "result": {"type": "array", "items": {**item, "additionalProperties": False}},
    }


def _tool(name: str, role: str) -> str:
    return (
        f"tool: {name}\n"
        "limits:\n  - { id: few, arguments: { limit: { maximum: 100 } } }\n"
        "allow:\n"
        f"  - {{ id: short, roles: [{role}], arguments: {{ limit: {{ maximum: 20 }} }}, result: {{ rows: 20 }} }}\n"
        f"  - {{ id: long, roles: [{role}], arguments: {{ service: {{ pattern: '^log-' }} }} }}\n"
    )
