"""
What do the documents under tools/ say together? One policy a tool, put together from every document that names it.

In come documents and what is declared; out come `ToolPolicy`s by tool. Exactly one document gives a tool's `allow`
list; limits add up, and stages meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from gatewright.policy.declared import Declared
from gatewright.policy.entries import read_about, read_entry, read_limit
from gatewright.policy.errors import Place
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Findings, Node
from gatewright.policy.toolfile import Limit, ToolPolicy

__all__ = ["Documents", "check_ids"]

_KEYS: Final = ("format", "tool", "tools", "about", "stages", "limits", "allow", "refusal")


class Documents:
    """The tools' policies while documents are being added. *declared* answers what a tool's policy may name."""

    def __init__(self, tools: frozenset[str] | None, declared: Callable[[str], Declared], reader: Reader) -> None:
        self.known = tools
        self.declared = declared
        self.reader = reader
        self.policies: dict[str, ToolPolicy] = {}
        self._aimed: list[tuple[str, tuple[str, ...], Node]] = []

    def add(self, document: Node) -> None:
        """Add what one document says of each tool that it names."""
        parts = self.reader.mapping(document, _KEYS, "tool file")
        read_about(parts.get("about"), self.reader)
        for name in self._names(document, parts):
            self._add(name, parts)

    def finish(self) -> dict[str, ToolPolicy]:
        """Return the policies; limits that aim at entries are held to the entries that there are now."""
        for tool, ids, node in self._aimed:
            entries = {entry.id for entry in self.policies[tool].allow or ()}
            for index, name in enumerate(ids):
                if name not in entries:
                    place = self.reader.items(node)[index].place
                    self.reader.unknown(place, "unknown_entry", name, entries, f"entry of {tool}")
        return self.policies

    def _names(self, document: Node, parts: Mapping[str, Node]) -> tuple[str, ...]:
        if ("tool" in parts) == ("tools" in parts):
            self.reader.findings.add(document.place, "missing_key", "a tool file names its tool, or its tools")
            return ()
        if "tools" in parts:
            self.reader.not_empty(parts["tools"], "no tool is named")
            return self.reader.names(parts["tools"], self.known, "unknown_tool", "tool")
        name = self.reader.text(parts["tool"], "tool")
        if self.known is not None and name and name not in self.known:
            hint = "every tool has a catalog file; gatewright catalog writes it" if not self.known else ""
            if hint:
                self.reader.findings.add(parts["tool"].place, "unknown_tool", f"no such tool: {name!r}", hint)
            else:
                self.reader.unknown(parts["tool"].place, "unknown_tool", name, self.known, "tool")
            return ()
        return (name,) if name else ()

    def _add(self, name: str, parts: Mapping[str, Node]) -> None:
        declared, reader = self.declared(name), self.reader
        before = self.policies.get(name, ToolPolicy(name))
        limits = self._limits(name, parts.get("limits"), declared)
        check_ids([(limit.id, limit.place) for limit in (*before.limits, *limits)], reader.findings)
        policy = replace(before, limits=(*before.limits, *limits), stages=self._stages(before, parts.get("stages")))
        if "allow" in parts:
            if before.allow is not None:
                place = parts["allow"].place
                reader.findings.add(place, "second_allow", f"{name!r} has an allow list already", "merge the two")
            allow = tuple(read_entry(each, declared, reader) for each in reader.items(parts["allow"], "allow list"))
            check_ids([(entry.id, entry.place) for entry in allow], reader.findings)
            policy = replace(policy, allow=allow)
        if "refusal" in parts:
            if before.refusal is not None:
                reader.findings.add(parts["refusal"].place, "second_refusal", f"{name!r} has a refusal already")
            policy = replace(policy, refusal=reader.text(parts["refusal"], "refusal"))
        self.policies[name] = policy

    def _limits(self, tool: str, node: Node | None, declared: Declared) -> list[Limit]:
        found = []
        for each in self.reader.items(node, "list of limits"):
            found.append(read_limit(each, declared, self.reader, None, None))
            aimed = each.value.get("entries") if isinstance(each.value, dict) else None
            if aimed is not None and isinstance(aimed.value, list):
                ids = tuple(item.value if isinstance(item.value, str) else "" for item in aimed.value)
                self._aimed.append((tool, ids, aimed))
        return found

    def _stages(self, before: ToolPolicy, node: Node | None) -> frozenset[str] | None:
        if node is None:
            return before.stages
        own = frozenset(self.reader.names(node, None, "", "stage"))
        both = own if before.stages is None else own & before.stages
        if not both:
            self.reader.findings.add(node.place, "no_stage", f"{before.tool!r} is left with no stage at all")
        return both


def check_ids(ids: Iterable[tuple[str, Place]], findings: Findings) -> None:
    """Find ids that stand twice."""
    seen: set[str] = set()
    for name, place in ids:
        if name in seen:
            findings.add(place, "repeated", f"the id {name!r} stands here twice")
        seen.add(name)
