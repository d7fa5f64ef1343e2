"""
Which names may a tool's policy use? The catalog, names.yaml and identity.yaml, asked by kind.

In come a tool's catalog entry and the closed names; out come what is known of arguments, facts, context, attributes,
claims and results, and findings for conditions and references that name something else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, cast

from gatewright.policy.clauses import Target, check_clause
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.knowledge import Known
from gatewright.policy.model import Conditions, Json, Names, Schema, ToolSpec
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.references import KINDS
from gatewright.policy.uses import Uses

__all__ = ["BEFORE_RECORDS", "Declared", "Kind", "read_conditions"]

Kind: TypeAlias = Literal["argument", "fact", "context", "attribute", "claim", "result"]

BEFORE_RECORDS: Final = KINDS - {"$resource"}
"""References that can be filled before any record is loaded."""


@dataclass(frozen=True, slots=True)
class Declared:
    """
    What one tool's policy may name.

    *tool* is None where the catalog is not known yet, and so is *tools*, the names of all tools. *claims* are
    the declared claims with their schemas.
    """

    tool: ToolSpec | None
    names: Names
    claims: Mapping[str, Schema]
    uses: Uses
    tools: frozenset[str] | None = None
    _asked: dict[tuple[Kind, str], Known] = field(default_factory=dict, compare=False, repr=False)

    def known(self, kind: Kind, resource: str = "") -> Known:
        """Return what is known of the map of all that is of *kind*; *resource* says whose attributes."""
        known = self._asked.get((kind, resource))
        if known is None:
            what = {"result": "field of the result", "attribute": f"attribute of {resource}"}.get(kind, kind)
            code = "unknown_field" if kind == "result" else f"unknown_{kind}"
            known = self._asked[kind, resource] = Known.of(self._schema(kind, resource), code, what)
        return known

    def is_resource(self, name: str) -> bool:
        """Whether the tool names a resource *name*."""
        return self.tool is None or name in self.tool.resources

    def resources(self) -> tuple[str, ...]:
        """The resources that the tool names."""
        return () if self.tool is None else tuple(self.tool.resources)

    def target(self, kinds: frozenset[str] = KINDS) -> Target:
        """Return how references are followed where those of *kinds* can be filled."""

        def follow(kind: str, path: str, node: Node, reader: Reader) -> Schema | None:
            if kind not in kinds:
                message = f"{kind} is not known yet where this is asked"
                reader.findings.add(node.place, "late_reference", message, f"known here: {', '.join(sorted(kinds))}")
                return None
            return self._follow(kind, path, node, reader)

        return follow

    def _follow(self, kind: str, path: str, node: Node, reader: Reader) -> Schema | None:
        if kind == "$resource":
            return self._follow_resource(path, node, reader)
        if kind == "$tenant":
            known = Known.of(_closed(_properties(self.names.settings)), "unknown_setting", "setting")
        else:
            known = self.known(_REFERRED[kind])
        pointer = parse_pointer(path) if kind == "$argument" else (path,)
        found = known.along(pointer)
        if found is None or not pointer:
            reader.unknown(node.place, known.code, path, list(known.names()), known.what)
            return None
        return found.schema()

    def _follow_resource(self, path: str, node: Node, reader: Reader) -> Schema | None:
        name, _, attribute = path.partition(".")
        if not self.is_resource(name):
            reader.unknown(node.place, "unknown_resource", name, self.resources(), "resource")
            return None
        if self.tool is not None and "*" in self.tool.resources[name].at:
            reader.findings.add(node.place, "several_records", f"{name!r} may name several records, not exactly one")
            return None
        known = self.known("attribute", name)
        if not known.has(attribute):
            reader.unknown(node.place, known.code, attribute, list(known.names()), known.what)
            return None
        return known.at(attribute).schema()

    def _schema(self, kind: Kind, resource: str) -> Schema | None:
        if kind == "claim":
            return _closed({**self.claims, "subject": {"type": "string"}, "tenant": {"type": "string"}})
        if self.tool is None:
            return None
        if kind == "argument":
            return self.tool.schema
        if kind == "fact":
            return _closed({name: {} for name in self.tool.facts})
        if kind == "context":
            return _closed({**self.tool.context, **self._context()})
        if kind == "result":
            return self.tool.result
        spec = self.tool.resources.get(resource)
        return None if spec is None else spec.attributes or _closed({})

    def _context(self) -> dict[str, Schema]:
        return {
            "date": {"type": "integer"},
            "calendar": {"type": "array", "items": _one_of(self.names.calendars)},
            "called": {"type": "array", "items": _one_of(self.tools or ())},
            "stage": {"type": "string"},
        }


_REFERRED: Final[Mapping[str, Kind]] = {
    "$identity": "claim",
    "$argument": "argument",
    "$fact": "fact",
    "$context": "context",
}


def read_conditions(
    node: Node | None, known: Known, declared: Declared, reader: Reader, kinds: frozenset[str] = KINDS
) -> Conditions:
    """Return a map of name → schema whose names are those of *known*; references of *kinds* can be filled there."""
    if node is None:
        return {}
    node = declared.uses.put_in(node)
    found: dict[str, Schema] = {}
    for name, schema in reader.mapping(node, None, "map of conditions").items():
        if not known.has(name):
            reader.unknown(node.keys[name], known.code, name, list(known.names()), known.what)
        elif not isinstance(schema.value, dict):
            reader.findings.add(schema.place, "wrong_kind", "a condition must be a mapping of keywords")
        else:
            check_clause(schema, known.at(name), declared.target(kinds), reader, ("on_violation",))
            if "on_violation" in schema.value:
                reader.choice(schema.value["on_violation"], ("forbidden",), "on_violation")
            found[name] = cast("Schema", schema.plain())
    return found


def _closed(properties: Mapping[str, Schema]) -> Schema:
    return {"type": "object", "properties": cast("Json", dict(properties)), "additionalProperties": False}


def _one_of(names: Mapping[str, object] | frozenset[str] | tuple[str, ...]) -> Schema:
    return {"type": "string", "enum": cast("Json", sorted(names))} if names else {"type": "string", "not": {}}


def _properties(schema: Schema) -> Mapping[str, Schema]:
    properties = schema.get("properties", {})
    return cast("Mapping[str, Schema]", properties) if isinstance(properties, Mapping) else {}
