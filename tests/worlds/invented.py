"""
Worlds that nobody wrote: small seeded policies over two tools that use every rule of the format, with calls to them.

Valid by construction as far as the format says what valid means; what a call should answer is the judges' to say.
"""

from __future__ import annotations

import json
import random
from typing import Any

from worlds.facts import FACTS
from worlds.invented_texts import ARGUMENTS, IDENTITY, IDS, MODEL, NAMES, NARROWINGS, NOW, PEOPLE, ROLES, VALUES
from worlds.reader import Case, World, closed

TOOLS = ["tools/all", "tools/all", "t.one", "t.*"]


class Inventor:
    """One seed's world, drawn piece by piece."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(f"invented {seed}")

    def some(self, most: int) -> int:
        """A small number up to *most*."""
        return self.chance.randint(0, most)

    def maybe(self, share: float) -> bool:
        """True in *share* of the draws."""
        return self.chance.random() < share

    def pick(self, items: Any) -> Any:
        """One of *items*."""
        return self.chance.choice(list(items))

    def world(self) -> World:
        """The whole world."""
        things = self.things()
        catalog = {name: self.spec(name, things) for name in ("t.one", "t.two")}
        tools = {name: self.tool(spec) for name, spec in catalog.items()}
        texts = {"model.conf": MODEL, "names.yaml": NAMES, "identity.yaml": IDENTITY, "policy.csv": self.rows()}
        texts |= {f"tools/{name}.yaml": json.dumps(tool) for name, tool in tools.items()}
        texts["tenants/x/settings.yaml"] = "most: 3"
        if self.maybe(0.5):
            texts["tenants/x/limits.yaml"] = json.dumps({"t.one": [self.limit("x1", catalog["t.one"], tenant=True)]})
        callers = self.callers()
        cases = tuple(self.case(number, catalog, tools, callers) for number in range(12))
        return World(f"invented-{self.seed}", catalog, texts, callers, things, NOW, cases, (), FACTS)

    def things(self) -> dict[str, dict[str, Any]]:
        """The records of both types in both tenants."""
        found = {}
        for kind, ids in IDS.items():
            for key in ids[:-1]:
                found[f"{kind}:{key}"] = {
                    "tenant": "y" if key in ("e1", "c1") else "x",
                    "owner": self.pick(["ann", "bob", ""]),
                    "team": self.pick(["red", "blue"]),
                    "open": self.maybe(0.7),
                    "level": self.some(4),
                }
        return found

    def rows(self) -> str:
        """Casbin rows: mostly allows, some denies, inheritance, groups, ends."""
        lines = ["g2, t.one, tools/all", "g2, t.two, tools/all"]
        for role in [*ROLES, "bot", "*"]:
            dom = self.pick(["*", "*", "*", "x"])
            if role != "*" and self.maybe(0.95):
                lines.append(f"p, {role}, {dom}, {self.pick(TOOLS)}, call, allow{self.until()}")
            for kind in IDS:
                objects = [f"{kind}:*", f"{kind}:*", *(f"{kind}:{key}" for key in IDS[kind])]
                for _ in range(1 + self.some(2) if role != "*" else self.some(1)):
                    action = self.pick(["use", "*"])
                    lines.append(f"p, {role}, {dom}, {self.pick(objects)}, {action}, allow{self.until()}")
        for _ in range(self.some(2)):
            sub = self.pick([*ROLES, "bot", "*", "subject:ann", "actor:helper"])
            obj = self.pick(["t.two", "doc:d2", "box:*", "doc:d3", "box:b2"])
            act = "call" if obj.startswith("t.") else "use"
            lines.append(f"p, {sub}, {self.pick(['*', 'x', 'y'])}, {obj}, {act}, deny{self.until()}")
        if self.maybe(0.5):
            lines.append(f"p, subject:bob, x, {self.pick(['t.one', 'doc:d1', 'box:b1'])}, *, allow")
        for member, role in self.pick([[("r2", "r1")], [("r2", "r1"), ("r3", "r2")], [("r3", "r1"), ("r1", "r2")], []]):
            lines.append(f"g, {member}, {role}, {self.pick(['*', 'x'])}")
        if self.maybe(0.3):
            lines.append("g, subject:eve, r1, x")
        if self.maybe(0.3):
            lines.append("g, actor:helper, bot, *")
        return "\n".join(dict.fromkeys(lines)) + "\n"

    def until(self) -> str:
        """A row's end, now and then."""
        return f", {self.pick(['2026-10-27', '2026-10-28', '2026-10-29'])}" if self.maybe(0.1) else ""

    def callers(self) -> dict[str, dict[str, Any]]:
        """Callers of both tenants, with and without claims and actors."""
        found: dict[str, dict[str, Any]] = {}
        for name in ("ann", "bob", "eve", "yan", "many"):
            roles = self.chance.sample(ROLES, 2 if name == "many" else 1)
            claims = {
                "most": self.some(6),
                "team": self.pick(["red", "blue", "a", ""]) if self.maybe(0.3) else "red",
                "teams": self.pick([["a"], ["a", "b"], []]),
            }
            if self.maybe(0.1):
                claims.pop(self.pick(claims))
            found[name] = {
                "tenant": "y" if name == "yan" else "x",
                "subject": name,
                "roles": roles,
                "claims": claims,
                "actor": None,
            }
        found["annbot"] = {**found["ann"], "actor": {"id": "helper", "roles": ["bot"] if self.maybe(0.7) else []}}
        return found

    def spec(self, name: str, things: dict[str, Any]) -> dict[str, Any]:
        """A tool's catalog file."""
        names = ["doc", *self.chance.sample([item for item in ARGUMENTS if item != "doc"], 5)]
        properties = {item: dict(ARGUMENTS[item]) for item in names}
        required = [item for item in names if self.maybe(0.5)]
        for item in names:
            if item not in required and self.maybe(0.4):
                properties[item]["default"] = self.pick(VALUES[item])
        schema = {"type": "object", "properties": properties, "required": sorted(required)}
        attributes = {"tenant": "string", "owner": "string", "team": "string", "open": "boolean", "level": "integer"}
        record = {"type": "object", "properties": {key: {"type": kind} for key, kind in attributes.items()}}
        record |= {"required": sorted(attributes), "additionalProperties": False}
        kinds = [kind for kind in IDS if kind in names]
        scopes = {kind: self.pick(["tenant", "any"]) for kind in kinds}
        return {
            "name": name,
            "kind": "write",
            "action": "use",
            "description": "A tool.",
            "use_when": "Use it.",
            "not_for": "Nothing else.",
            "schema": closed(schema),
            "result": None,
            "facts": {"total": {"field": ""}, "many": {"field": "/rows" if "rows" in names else ""}},
            "resources": {
                kind: {"type": kind, "at": f"/{kind}", "scope": scopes[kind], "attributes": record} for kind in kinds
            },
            "flags": {},
            "rules": [],
            "checks": [],
            "reasons": [],
            "context": {},
        }

    def tool(self, spec: dict[str, Any]) -> dict[str, Any]:
        """A tool's document: limits and one to three entries."""
        document: dict[str, Any] = {"tool": spec["name"]}
        if self.maybe(0.1):
            document["stages"] = ["draft", "final"]
        document["limits"] = [self.limit(f"l{number}", spec) for number in range(self.some(3))]
        document["allow"] = [self.entry(f"e{number}", spec) for number in range(1 + self.some(2))]
        return document

    def entry(self, name: str, spec: dict[str, Any]) -> dict[str, Any]:
        """An entry; most optional arguments are shown, some pinned or hidden."""
        block: dict[str, Any] = {"id": name, "roles": self.chance.sample(ROLES, 1 + self.some(2)), "arguments": {}}
        for item in spec["schema"]["properties"]:
            optional = item not in spec["schema"]["required"]
            draw = self.chance.random()
            if draw < 0.3:
                block["arguments"][item] = self.narrowing(item)
            elif optional and draw < 0.7:
                block["arguments"][item] = {}
            elif draw < 0.78:
                block["arguments"][item] = {"pin": self.pin(item)}
        self.nested(block, spec)
        return {**block, **self.conditions(spec, 0.2)}

    def limit(self, name: str, spec: dict[str, Any], tenant: bool = False) -> dict[str, Any]:
        """A limit for some or all, perhaps with `unless`."""
        block: dict[str, Any] = {"id": name, "arguments": {}}
        whom = {"roles": [self.pick(ROLES)]} if self.maybe(0.3) else {}
        whom |= {"actors": ["bot"]} if self.maybe(0.2) else {}
        if whom:
            block["for"] = whom
        if self.maybe(0.2):
            block["entries"] = ["e0"]
        if self.maybe(0.25):
            block["unless"] = self.unless(spec)
        for item in spec["schema"]["properties"]:
            if self.maybe(0.1):
                block["arguments"][item] = self.narrowing(item)
        self.nested(block, spec)
        if "unless" in block:
            block["arguments"] = {item: cut for item, cut in block["arguments"].items() if "pin" not in cut}
            block["arguments"] = {item: cut for item, cut in block["arguments"].items() if cut != "hidden"}
        return {**block, **self.conditions(spec, 0.15)}

    def nested(self, block: dict[str, Any], spec: dict[str, Any]) -> None:
        """A pointer into rows or opts, now and then."""
        properties = spec["schema"]["properties"]
        cut = block["arguments"]
        if "rows" in properties and "pin" not in cut.get("rows", {}) and self.maybe(0.4):
            name, value = self.pick(
                [
                    ("/rows/*/v", {"maximum": 4}),
                    ("/rows/*/t", "hidden"),
                    ("/rows/*/k", {"enum": ["a", "b"]}),
                    ("/rows/*/t", {"minimum": 0}),
                ]
            )
            cut[name] = value
        if "opts" in properties and "pin" not in cut.get("opts", {}) and self.maybe(0.4):
            name, value = self.pick(
                [
                    ("/opts/mode", {"const": "a"}),
                    ("/opts/deep", "hidden"),
                    ("/opts/level", {"maximum": 2}),
                    ("/opts/level", "hidden"),
                ]
            )
            cut[name] = value

    def pin(self, item: str) -> Any:
        """A pinned value: a literal or from the caller."""
        if item in ("s", "owner") and self.maybe(0.6):
            return self.pick([{"$identity": "subject"}, {"$identity": "team"}, {"$identity": "tenant"}])
        return self.pick(VALUES[item])

    def narrowing(self, item: str) -> dict[str, Any]:
        """A keyword or two on one argument."""
        cut = json.loads(json.dumps(self.pick(NARROWINGS[item])))
        return cut | ({"on_violation": "forbidden"} if "$granted" not in cut and self.maybe(0.1) else {})

    def conditions(self, spec: dict[str, Any], share: float) -> dict[str, Any]:
        """Facts, context, resource, state and duties."""
        found: dict[str, Any] = {}
        if self.maybe(share):
            found["facts"] = self.facts()
        if self.maybe(share / 2):
            found["context"] = self.context()
        for part, draws in (("resource", self.resource), ("state", self.state)):
            if self.maybe(share):
                kind = self.pick(spec["resources"])
                found[part] = {kind: draws(spec)}
        if self.maybe(share):
            found["duties"] = self.duties()
        return found

    def facts(self) -> dict[str, Any]:
        """A condition on a fact."""
        draws: list[dict[str, Any]] = [
            {"total": {"maximum": 10}},
            {"total": {"maximum": {"$identity": "most"}}},
            {"many": {"maximum": 1, "on_violation": "forbidden"}},
            {"many": {"not": {"minimum": 2}}},
        ]
        return dict(self.pick(draws))

    def context(self) -> dict[str, Any]:
        """A condition on the context."""
        draws: list[dict[str, Any]] = [
            {"calendar": {"contains": {"const": "day"}}},
            {"calendar": {"not": {"contains": {"const": "freeze"}}}},
            {"called": {"not": {"contains": {"const": "t.two"}}}},
            {"date": {"maximum": 20261028}},
            {"stage": {"enum": ["draft", "final"]}},
        ]
        return dict(self.pick(draws))

    def resource(self, spec: dict[str, Any]) -> dict[str, Any]:
        """A condition on whose a record is."""
        draws: list[dict[str, Any]] = [
            {"owner": {"const": {"$identity": "subject"}}},
            {"owner": {"not": {"const": {"$identity": "subject"}}}},
            {"team": {"const": {"$identity": "team"}}},
            {"tenant": {"const": {"$identity": "tenant"}}},
        ]
        return dict(self.pick(draws))

    def state(self, spec: dict[str, Any]) -> dict[str, Any]:
        """A condition on how a record stands."""
        draws: list[dict[str, Any]] = [
            {"open": {"const": True}},
            {"level": {"minimum": 1}},
            {"owner": {"const": {"$resource": "doc.owner"}}},
            {"level": {"minimum": {"$fact": "many"}}},
            {"open": {"const": True, "on_violation": "forbidden"}},
        ]
        if "n" in spec["schema"]["properties"]:
            draws.append({"level": {"minimum": {"$argument": "n"}}})
        return dict(self.pick(draws))

    def duties(self) -> dict[str, Any]:
        """What must be done with an allow."""
        draws: list[dict[str, Any]] = [
            {"approval": {"by": ["r3"], "within": "15m"}},
            {"reason": True},
            {"budget": {"calls": 20, "per": "subject", "window": "1d"}},
            {"budget": {"sum": "total", "max": 60000, "per": "tenant", "window": "1d"}},
        ]
        return dict(self.pick(draws))

    def unless(self, spec: dict[str, Any]) -> dict[str, Any]:
        """What switches a limit off."""
        return dict(
            self.pick([{"facts": self.facts()}, {"context": self.context()}, {"facts": {"many": {"const": 0}}}])
        )

    def case(self, number: int, catalog: dict[str, Any], tools: dict[str, Any], callers: dict[str, Any]) -> Case:
        """A call that one of the entries is likely to accept."""
        name = self.pick(catalog)
        schema, entry = catalog[name]["schema"], self.pick(tools[name]["allow"])
        cuts, arguments = entry["arguments"], {}
        for item in schema["properties"]:
            required = item in schema["required"] or bool(cuts.get(item))
            if (
                "pin" not in cuts.get(item, {})
                and (item in schema["required"] or item in cuts)
                and (required or self.maybe(0.4))
            ):
                arguments[item] = self.fitting(item, cuts.get(item, {}))
        if any(block.get("duties", {}).get("reason") for block in (entry, *tools[name]["limits"])) and self.maybe(0.7):
            arguments["_reason"] = "because"
        extra = {"context": {"stage": "draft"}} if self.maybe(0.6) else {}
        fitting = [person for person in PEOPLE if set(callers[person]["roles"]) & set(entry["roles"])]
        person = self.pick(fitting if fitting and self.maybe(0.8) else PEOPLE)
        return Case(f"case {number}", person, name, arguments, "", extra)

    def fitting(self, item: str, cut: dict[str, Any]) -> Any:
        """A value that the plainest keywords of *cut* do not refuse, where there is one among three draws."""
        for _ in range(3):
            value = self.pick(VALUES[item])
            low, high = cut.get("minimum", 0), cut.get("maximum", 10)
            if "enum" in cut and value not in cut["enum"]:
                continue
            if "const" in cut and not isinstance(cut["const"], dict) and value != cut["const"]:
                continue
            if item in ("n", "amount") and not isinstance(high, dict) and not low <= value <= high:
                continue
            return value
        return self.pick(VALUES[item])


def invent(seed: int) -> World:
    """The world of *seed*."""
    return Inventor(seed).world()
