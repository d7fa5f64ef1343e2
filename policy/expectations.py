"""
Do the test files speak of what exists? The shape of tests/**/*.yaml and the names in it; `cases` runs them.

In come documents; out comes their plain data, with findings for keys and names that are none. Judges nothing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from gatewright.policy.errors import Place
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Node
from gatewright.policy.model import JsonObject, Names, Schema
from gatewright.policy.stages import STAGES
from gatewright.policy.toolfile import ToolPolicy

__all__ = ["STATUSES", "Expectations"]

STATUSES: Final = (
    "ok",
    "invalid_arguments",
    "forbidden",
    "unauthenticated",
    "approval_required",
    "not_found",
    "conflict",
    "unknown",
    "failed",
    "rate_limited",
)
_KEYS: Final = (
    "format",
    "about",
    "probe",
    "now",
    "context",
    "identities",
    "things",
    "calls",
    "results",
    "used",
    "expect",
    "approve",
    "same",
    "lists",
    "schemas",
)
_IDENTITY: Final = ("like", "subject", "tenant", "roles", "claims", "actor")
_CALL: Final = (
    "like",
    "tool",
    "arguments",
    "now",
    "context",
    "called",
    "facts",
    "things",
    "result",
    "used",
    "nobody",
)
_EXPECT: Final = (
    "status",
    "entry",
    "stage",
    "row",
    "field",
    "reason",
    "code",
    "by",
    "count",
    "notify",
    "shows",
    "lacks",
    "result",
    "filtered",
    "truncated",
    "used",
    "context",
)


class Expectations:
    """Reads test documents against what is declared; *tools* are None where the catalog is not known."""

    def __init__(
        self,
        names: Names,
        claims: Mapping[str, Schema],
        tools: Collection[str] | None,
        policies: Mapping[str, ToolPolicy],
        reader: Reader,
    ) -> None:
        self.names = names
        self.claims = claims
        self.tools = tools
        self.policies = policies
        self.reader = reader

    def read(self, document: Node) -> JsonObject:
        """Return one document's plain data, checked."""
        parts = self.reader.mapping(document, _KEYS, "test file")
        self._time(parts.get("now"))
        self.reader.flag(parts.get("probe"), "probe")
        identities = self._identities(parts.get("identities"))
        calls = self._calls(parts.get("calls"))
        self._things(parts.get("things"))
        self._by_identity(parts.get("expect"), identities, calls)
        self._approvals(parts.get("approve"), identities, calls)
        self._same(parts.get("same"), identities, calls)
        self._lists(parts.get("lists"), identities)
        self._schemas(parts.get("schemas"), identities)
        self._known_keys(parts.get("results"), calls, "unknown_call", "call")
        plain = document.plain()
        return plain if isinstance(plain, Mapping) else {}

    def _identities(self, node: Node | None) -> dict[str, Node]:
        found = self.reader.mapping(node, None, "map of identities")
        for value in found.values():
            parts = self.reader.mapping(value, _IDENTITY, "identity")
            self._like(parts.get("like"), found, "identity")
            if "tenant" in parts:
                self._choice(parts["tenant"], self.names.tenants, "unknown_tenant", "tenant")
            self.reader.names(parts.get("roles"), self.names.roles, "unknown_role", "role")
            self._known_keys(parts.get("claims"), self.claims, "unknown_claim", "claim")
            actor = self.reader.mapping(parts.get("actor"), ("id", "roles"), "actor")
            self.reader.names(actor.get("roles"), self.names.actors, "unknown_actor", "actor role")
        return found

    def _calls(self, node: Node | None) -> dict[str, Node]:
        found = self.reader.mapping(node, None, "map of calls")
        for value in found.values():
            parts = self.reader.mapping(value, _CALL, "call")
            self._like(parts.get("like"), found, "call")
            self._time(parts.get("now"))
            if not {"tool", "like"} & set(parts):
                self.reader.findings.add(value.place, "missing_key", "a call names its tool, or a call it is like")
            self._things(parts.get("things"))
            self._tool(parts)
        return found

    def _tool(self, parts: Mapping[str, Node]) -> None:
        """A tool that does not exist may be called on purpose, where the call says that nobody succeeds with it."""
        tool = parts.get("tool")
        name = self.reader.text(tool, "tool") if tool is not None else ""
        is_on_purpose = self.reader.flag(parts.get("nobody"), "nobody")
        if tool is not None and self.tools is not None and name and name not in self.tools and not is_on_purpose:
            self.reader.unknown(tool.place, "unknown_tool", name, self.tools, "tool")

    def _like(self, node: Node | None, found: Mapping[str, Node], what: str) -> None:
        if node is not None:
            self._choice(node, found, f"unknown_{what}", what)

    def _things(self, node: Node | None) -> None:
        for name in self.reader.mapping(node, None, "map of things"):
            kind = name.partition(":")[0]
            if kind not in self.names.types and node is not None:
                self.reader.unknown(node.keys[name], "unknown_type", kind, self.names.types, "resource type")

    def _by_identity(self, node: Node | None, identities: Mapping[str, Node], calls: Mapping[str, Node]) -> None:
        for _, per_call in self._known_keys(node, identities, "unknown_identity", "identity"):
            for call, value in self._known_keys(per_call, calls, "unknown_call", "call"):
                self._expectation(value, self._tool_of(calls.get(call), calls))

    def _expectation(self, node: Node, tool: str) -> None:
        if isinstance(node.value, str):
            self._choice(node, STATUSES, "unknown_status", "status")
            return
        parts = self.reader.mapping(node, _EXPECT, "expectation", ("status",))
        if "status" in parts:
            self._choice(parts["status"], STATUSES, "unknown_status", "status")
        if "stage" in parts:
            self._choice(parts["stage"], STAGES, "unknown_stage", "stage")
        self.reader.names(parts.get("by"), self.names.roles, "unknown_role", "role")
        if "entry" in parts and tool in self.policies:
            entries = [entry.id for entry in self.policies[tool].allow or ()]
            self._choice(parts["entry"], entries, "unknown_entry", f"entry of {tool}")

    def _tool_of(self, node: Node | None, calls: Mapping[str, Node]) -> str:
        for _ in range(len(calls) + 1):
            parts = node.value if node is not None and isinstance(node.value, dict) else {}
            tool, like = parts.get("tool"), parts.get("like")
            if tool is not None:
                return tool.value if isinstance(tool.value, str) else ""
            node = calls.get(like.value) if like is not None and isinstance(like.value, str) else None
        return ""

    def _approvals(self, node: Node | None, identities: Mapping[str, Node], calls: Mapping[str, Node]) -> None:
        for pair, place, value in self._pairs(node):
            self._pair(pair, place, identities, calls)
            for _, status in self._known_keys(value, identities, "unknown_identity", "identity"):
                self._choice(status, STATUSES, "unknown_status", "status")

    def _pairs(self, node: Node | None) -> Iterator[tuple[str, Place, Node]]:
        for pair, value in self.reader.mapping(node, None, "map of approvals").items():
            yield pair, node.keys[pair] if node is not None else value.place, value

    def _same(self, node: Node | None, identities: Mapping[str, Node], calls: Mapping[str, Node]) -> None:
        for group in self.reader.items(node, "list of groups"):
            for item in self.reader.items(group, "group of calls"):
                self._pair(self.reader.text(item, "call of an identity"), item.place, identities, calls)

    def _pair(self, text: str, place: Place, identities: Mapping[str, Node], calls: Mapping[str, Node]) -> None:
        """An identity and a call, `amy small`; either name may hold blanks."""
        splits = [(text[:at], text[at + 1 :]) for at, each in enumerate(text) if each == " "]
        if text and not any(who in identities and call in calls for who, call in splits):
            pairs = [f"{who} {call}" for who in list(identities)[:20] for call in list(calls)[:20]]
            self.reader.unknown(place, "unknown_call", text, pairs, "identity and call")

    def _lists(self, node: Node | None, identities: Mapping[str, Node]) -> None:
        for _, tools in self._known_keys(node, identities, "unknown_identity", "identity"):
            self.reader.names(tools, self.tools, "unknown_tool", "tool")

    def _schemas(self, node: Node | None, identities: Mapping[str, Node]) -> None:
        for _, per_tool in self._known_keys(node, identities, "unknown_identity", "identity"):
            for _, value in self._known_keys(per_tool, self.tools, "unknown_tool", "tool"):
                self.reader.mapping(value, ("shows", "lacks"), "schema")

    def _known_keys(
        self, node: Node | None, known: Collection[str] | None, code: str, what: str
    ) -> Iterator[tuple[str, Node]]:
        found = []
        for name, value in self.reader.mapping(node, None, f"map of {what}s").items():
            if known is not None and name not in known and node is not None:
                self.reader.unknown(node.keys[name], code, name, known, what)
            else:
                found.append((name, value))
        return iter(found)

    def _choice(self, node: Node, known: Collection[str], code: str, what: str) -> None:
        text = self.reader.text(node, what)
        if text and text not in known:
            self.reader.unknown(node.place, code, text, known, what)

    def _time(self, node: Node | None) -> None:
        if node is None:
            return
        text = self.reader.text(node, "time")
        try:
            if text and dt.datetime.fromisoformat(text).tzinfo is not None:
                return
        except ValueError:
            pass
        if text:
            self.reader.findings.add(node.place, "bad_time", "a time is written 2026-10-28T09:00:00Z", "quote it")
