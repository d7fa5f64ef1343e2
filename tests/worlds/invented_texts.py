"""What invented worlds are made of: names, texts, arguments with values, and keywords that may narrow them."""

# ruff: noqa: E501

from __future__ import annotations

import datetime as dt
from typing import Any

NOW = dt.datetime(2026, 10, 28, 9, tzinfo=dt.UTC)
ROLES = ["r1", "r2", "r3", "r4"]
PEOPLE = ["ann", "bob", "eve", "yan", "many", "annbot"]
IDS = {"doc": ["d1", "d2", "d3", "e1", "none"], "box": ["b1", "b2", "c1", "none"]}
ROWS = {
    "type": "object",
    "properties": {"k": {"enum": ["a", "b", "c"]}, "v": {"type": "integer"}, "t": {"type": "number"}},
    "required": ["k", "v"],
}
OPTS = {
    "type": "object",
    "properties": {
        "mode": {"enum": ["a", "b"]},
        "level": {"type": "integer", "default": 1},
        "deep": {"type": "boolean"},
    },
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "doc": {"type": "string"},
    "box": {"type": "string"},
    "n": {"type": "integer"},
    "amount": {"type": "number"},
    "s": {"type": "string"},
    "owner": {"type": "string"},
    "flag": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}},
    "rows": {"type": "array", "items": ROWS, "maxItems": 5},
    "opts": OPTS,
}
VALUES: dict[str, list[Any]] = {
    "doc": IDS["doc"],
    "box": IDS["box"],
    "n": [0, 1, 2, 5, 10],
    "amount": [0, 0.5, 1, 10, 100],
    "s": ["a", "b", "aa", "public-1", ""],
    "owner": ["ann", "bob", "x"],
    "flag": [True, False],
    "tags": [[], ["a"], ["a", "b"], ["c"]],
    "rows": [[], [{"k": "a", "v": 1}], [{"k": "b", "v": 5}, {"k": "a", "v": 2, "t": 0.5}]],
    "opts": [{}, {"mode": "a"}, {"mode": "b", "level": 3}, {"deep": True}],
}
MODEL = """[request_definition]
r = sub, dom, obj, act
[policy_definition]
p = sub, dom, obj, act, eft, until, ref
[role_definition]
g = _, _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = (p.sub == "*" || g(r.sub, p.sub, r.dom)) && (p.dom == "*" || p.dom == r.dom) && (keyMatch(r.obj, p.obj) || g2(r.obj, p.obj)) && (p.act == "*" || p.act == r.act)
"""
NAMES = """
roles: { r1: {}, r2: {}, r3: {}, r4: { excludes: [r3] } }
actors: [bot]
tenants: { x: {}, y: {} }
types: { doc: [use], box: [use] }
delegate: {}
calendars: { day: { days: [mon, tue, wed, thu, fri], from: "08:00", to: "18:00", tz: UTC }, freeze: { dates: ["2026-12-20", "2027-01-03"], tz: UTC } }
settings: { type: object, properties: { most: { type: integer, default: 5 } } }
"""
IDENTITY = """
issuers: [ { alias: login, issuer: "https://login.example", audience: tools, keys: { file: keys.json }, algorithms: [RS256], typ: at+jwt, tenants: [x, y], tenant_claim: org, lifetime: 1h, leeway: 5s } ]
roles: roles
actor: { claim: act, roles: roles }
claims: { type: object, properties: { most: { type: integer }, team: { type: string }, teams: { type: array, items: { type: string } } } }
"""
NARROWINGS: dict[str, list[dict[str, Any]]] = {
    "n": [
        {"maximum": 5},
        {"minimum": 1, "maximum": 8},
        {"maximum": {"$identity": "most"}},
        {"maximum": {"$tenant": "most"}},
        {"enum": [1, 2, 5]},
        {"multipleOf": 5},
        {"not": {"const": 2}},
    ],
    "amount": [{"exclusiveMinimum": 0}, {"maximum": 10}, {"minimum": 0.5}, {"const": 1}],
    "s": [
        {"enum": ["a", "b"]},
        {"pattern": "^[a-z]+$"},
        {"minLength": 1},
        {"const": {"$identity": "team"}},
        {"not": {"enum": ["b"]}},
        {"maxLength": 3, "pattern": "a"},
    ],
    "owner": [
        {"const": {"$identity": "subject"}},
        {"enum": [{"$identity": "subject"}, "x"]},
        {"not": {"const": {"$identity": "subject"}}},
        {"minLength": 1},
    ],
    "flag": [{"const": False}, {"const": True}, {"enum": [True, False]}],
    "tags": [
        {"maxItems": 1},
        {"items": {"enum": {"$identity": "teams"}}},
        {"items": {"enum": ["a", "b"]}, "minItems": 1},
        {"contains": {"const": "a"}},
        {"uniqueItems": True},
    ],
    "rows": [
        {"minItems": 1},
        {"maxItems": 1},
        {"items": {"properties": {"v": {"maximum": 4}}}},
        {"contains": {"properties": {"k": {"const": "a"}}}},
    ],
    "opts": [
        {"properties": {"mode": {"const": "a"}}},
        {"required": ["mode"]},
        {"properties": {"level": {"maximum": 2}}},
    ],
    "doc": [{"$granted": {"type": "doc", "action": "use"}}, {"pattern": "^d"}, {"enum": ["d1", "d2", "e1"]}],
    "box": [{"$granted": {"type": "box", "action": "use"}}, {"pattern": "^b"}, {"const": "b1"}],
}
