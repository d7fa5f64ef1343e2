"""
Is every name that a tool file uses declared somewhere? The catalog, names.yaml and identity.yaml, asked by kind.

In come a tool's catalog entry and the closed names; out come findings for references, facts, context names, resources,
attributes and arguments that do not exist.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, cast

from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.keywords import KEYWORDS
from gatewright.policy.model import Json, Names, Pointer, ToolSpec
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.pruning import children
from gatewright.policy.references import KINDS

__all__ = ["Declared"]

_CONTEXT: Final = frozenset({"date", "calendar", "called", "stage"})
_TEXTS: Final = frozenset({"description", "examples", "default"})


@dataclass(frozen=True, slots=True)
class Declared:
    """What one tool's file may name. *tool* is None where the catalog is not known yet."""

    tool: ToolSpec | None
    names: Names
    claims: frozenset[str]

    def check_pointer(self, pointer: Pointer, node: Node, key: str, reader: Reader) -> None:
        """Find an argument that the base schema does not have."""
        if self.tool is None or any(children(self.tool.schema, pointer, self.tool.schema)):
            return
        known = cast("Mapping[str, Json]", self.tool.schema.get("properties", {}))
        reader.unknown(node.keys[key], "unknown_argument", key, known, f"argument of {self.tool.name}")

    def check_names(self, kind: str, node: Node, reader: Reader, resource: str = "") -> None:
        """Find conditions on names that are not declared."""
        known = self._known(kind, resource)
        for name in reader.mapping(node):
            if known is not None and name not in known:
                reader.unknown(node.keys[name], f"unknown_{kind}", name, known, kind)

    def check_schema(self, node: Node, reader: Reader, beside: Collection[str] = ()) -> None:
        """Find keywords that are none, and references to what is not declared, at every depth."""
        if isinstance(node.value, bool):
            return
        for keyword, value in reader.mapping(node, None, "schema").items():
            if keyword in KINDS or keyword in beside:
                continue
            if keyword not in KEYWORDS and keyword not in _TEXTS:
                reader.unknown(node.keys[keyword], "unknown_keyword", keyword, KEYWORDS, "keyword")
            elif self._check_reference(value, reader):
                continue
            elif keyword in ("properties", "patternProperties", "$defs", "dependentSchemas"):
                for each in reader.mapping(value).values():
                    self.check_schema(each, reader)
            elif keyword in ("anyOf", "allOf", "oneOf", "prefixItems"):
                for each in reader.items(value):
                    self.check_schema(each, reader)
            elif keyword in ("items", "not", "contains", "additionalProperties", "propertyNames", "if", "then", "else"):
                self.check_schema(value, reader)
            elif keyword == "enum":
                for each in reader.items(value):
                    self._check_reference(each, reader)

    def check_value(self, node: Node, reader: Reader) -> None:
        """Find references to what is not declared in a pinned value."""
        if self._check_reference(node, reader):
            return
        if isinstance(node.value, dict):
            for each in node.value.values():
                self.check_value(each, reader)
        elif isinstance(node.value, list):
            for each in node.value:
                self.check_value(each, reader)

    def _check_reference(self, node: Node, reader: Reader) -> bool:
        """Whether *node* is a reference; what it names must exist."""
        if not isinstance(node.value, dict) or not any(name.startswith("$") for name in node.value):
            return False
        for kind, path in node.value.items():
            if kind not in KINDS or len(node.value) != 1:
                reader.unknown(node.keys[kind], "unknown_reference", kind, KINDS, "reference")
            else:
                self._check_target(kind, reader.text(path, "reference"), path, reader)
        return True

    def _check_target(self, kind: str, name: str, node: Node, reader: Reader) -> None:
        if kind == "$resource":
            resource, _, attribute = name.partition(".")
            known = self._known("resource", "")
            if known is not None and resource not in known:
                reader.unknown(node.place, "unknown_resource", resource, known, "resource")
            known = self._known("attribute", resource)
            if known is not None and attribute not in known:
                reader.unknown(node.place, "unknown_attribute", attribute, known, f"attribute of {resource}")
            return
        if kind == "$argument":
            if self.tool is not None and not any(children(self.tool.schema, parse_pointer(name), self.tool.schema)):
                known = cast("Mapping[str, Json]", self.tool.schema.get("properties", {}))
                reader.unknown(node.place, "unknown_argument", name, known, "argument")
            return
        what = {"$identity": "claim", "$tenant": "setting", "$fact": "fact", "$context": "context"}[kind]
        known = self._known(what, "")
        if known is not None and name not in known:
            reader.unknown(node.place, f"unknown_{what}", name, known, what)

    def _known(self, kind: str, resource: str) -> Collection[str] | None:
        if kind == "claim":
            return self.claims | {"subject", "tenant"}
        if kind == "setting":
            return list(cast("Mapping[str, Json]", self.names.settings.get("properties", {})))
        if self.tool is None:
            return None
        if kind == "fact":
            return self.tool.facts
        if kind == "context":
            return _CONTEXT | set(self.tool.context)
        if kind == "resource":
            return self.tool.resources
        spec = self.tool.resources.get(resource)
        if spec is None or spec.attributes is None:
            return None
        return list(cast("Mapping[str, Json]", spec.attributes.get("properties", {})))
