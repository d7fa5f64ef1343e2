"""A bank's refunds: policies, catalog and one policy test file that uses every key of the format."""

# ruff: noqa: E501

from __future__ import annotations

OBJECT = {"type": "object", "additionalProperties": False}
ATTRIBUTES = {**OBJECT, "properties": {"branch": {"type": "string"}, "refundable": {"type": "integer"}}}
SPECS = {
    "refund.create": {
        "kind": "write",
        "action": "refund",
        "schema": {
            **OBJECT,
            "properties": {
                "transaction_id": {"type": "string"},
                "amount": {"type": "number"},
                "note": {"type": "string"},
            },
            "required": ["transaction_id", "amount"],
        },
        "facts": {"amount_chf": {"field": "/amount"}},
        "resources": {
            "transaction": {
                "type": "transaction",
                "at": "/transaction_id",
                "scope": "tenant",
                "attributes": {**ATTRIBUTES, "required": ["branch", "refundable"]},
            }
        },
    },
    "customer.lookup": {
        "kind": "read",
        "action": "read",
        "schema": {**OBJECT, "properties": {"customer": {"type": "string"}}, "required": ["customer"]},
        "result": {
            **OBJECT,
            "properties": {"name": {"type": "string"}, "phone": {"type": "string"}, "vip": {"type": "boolean"}},
            "required": ["name", "phone", "vip"],
        },
    },
    "vault.open": {"kind": "write", "action": "open", "schema": {**OBJECT, "properties": {}, "required": []}},
}
TEXTS = {
    "names.yaml": """\
roles: { agent: {}, supervisor: {} }
actors: [copilot]
tenants: { zurich: {}, geneva: {} }
types: { transaction: [refund] }
calendars: { desk: { days: [mon, tue, wed, thu, fri], from: "08:00", to: "18:00", tz: Europe/Zurich } }
""",
    "identity.yaml": """\
issuers:
  - { alias: login, issuer: "https://login.example", audience: tools, keys: { keys: [] }, algorithms: [RS256],
      tenants: [zurich, geneva], tenant_claim: org, roles: roles, actor: act,
      claims: { type: object, properties: { branch: { type: string } } } }
""",
    "policy.csv": """\
p, agent, *, refund.create, call, allow
p, supervisor, *, refund.create, call, allow
p, agent, *, customer.lookup, call, allow
p, supervisor, *, refund.create, approve, allow
p, copilot, *, refund.create, call, allow
p, copilot, *, transaction:*, refund, allow
p, agent, *, transaction:*, refund, allow
p, supervisor, *, transaction:*, refund, allow
p, agent, *, transaction:locked, refund, deny
p, supervisor, *, vault.open, call, allow
""",
    "tools/refund.yaml": """\
tool: refund.create
limits:
  - { id: desk, context: { calendar: { contains: { const: desk } } } }
  - { id: branch, resource: { transaction: { branch: { const: { $identity: branch } } } } }
  - { id: left, state: { transaction: { refundable: { minimum: { $argument: amount } } } } }
  - { id: often, duties: { budget: { calls: 20, per: subject, window: 1d } } }
  - { id: bots, for: { actors: [copilot] }, facts: { amount_chf: { maximum: 50 } } }
allow:
  - { id: small, roles: [agent], arguments: { note: {} }, facts: { amount_chf: { maximum: 200 } } }
  - id: asked
    roles: [agent]
    facts: { amount_chf: { maximum: 1000 } }
    duties: { approval: { by: [supervisor], within: 15m } }
---
tool: customer.lookup
allow: [ { id: all, roles: [agent], result: { hidden: [/vip], mask: { /phone: last4 } } } ]
---
tool: vault.open
allow: [ { id: all, roles: [supervisor] } ]
""",
}
TEST = """\
now: "2026-10-28T09:00:00Z"
identities:
  amy: { tenant: zurich, roles: [agent], claims: { branch: zh1 } }
  bot: { like: amy, actor: { id: desk-bot, roles: [copilot] } }
  sam: { tenant: zurich, roles: [supervisor], claims: { branch: zh1 } }
  sid: { like: sam, tenant: geneva }
things:
  "transaction:t1": { tenant: zurich, branch: zh1, refundable: 30000 }
  "transaction:t2": { tenant: zurich, branch: zh2, refundable: 30000 }
  "transaction:locked": { tenant: zurich, branch: zh1, refundable: 30000 }
calls:
  small: { tool: refund.create, arguments: { transaction_id: t1, amount: 150 }, facts: { amount_chf: 150 } }
  tiny: { like: small, arguments: { amount: 50 }, facts: { amount_chf: 50 } }
  middle: { like: small, arguments: { amount: 500 }, facts: { amount_chf: 500 } }
  evening: { like: small, now: "2026-10-28T20:00:00Z", nobody: true }
  often: { like: small, used: { calls: 20 }, nobody: true }
  little left: { like: small, things: { "transaction:t1": { tenant: zurich, branch: zh1, refundable: 10 } }, nobody: true }
  foreign: { like: small, arguments: { transaction_id: t2 }, nobody: true }
  absent: { like: small, arguments: { transaction_id: t9 }, nobody: true }
  locked: { like: small, arguments: { transaction_id: locked }, nobody: true }
  lookup: { tool: customer.lookup, arguments: { customer: c1 } }
  vault: { tool: vault.open }
  made-up: { tool: vault.melt, nobody: true }
results: { lookup: { name: N, phone: "0791234567", vip: true } }
expect:
  amy:
    small: { status: ok, entry: small, shows: [amount, note], lacks: [branch], row: "policy.csv:1" }
    tiny: ok
    middle: { status: approval_required, by: [supervisor], count: 1 }
    evening: { status: forbidden, stage: context }
    often: { status: rate_limited, stage: budget, code: rate_limited }
    little left: { status: conflict, stage: state, code: resource_state }
    locked: { status: forbidden, row: "policy.csv:9" }
    lookup: { status: ok, result: { name: N, phone: "******4567" } }
  bot:
    small: { status: invalid_arguments, field: /amount, reason: amount_chf }
    tiny: ok
    middle: { status: invalid_arguments }
    evening: { status: invalid_arguments, stage: facts }
    often: invalid_arguments
    little left: invalid_arguments
    foreign: invalid_arguments
    absent: invalid_arguments
    locked: invalid_arguments
  sam: { vault: ok }
  sid: { vault: ok }
approve: { amy middle: { sid: forbidden, sam: ok, amy: forbidden, bot: forbidden } }
same: [ [ amy foreign, amy absent ], [ amy vault, amy made-up ] ]
lists: { amy: [customer.lookup, refund.create], sam: [vault.open] }
schemas: { amy: { refund.create: { shows: [amount, note], lacks: [branch] } } }
"""
