"""
What does a whole policies folder say? Every file read, checked against every other, and put together.

In comes a `Source`; out comes a frozen `PolicySet`, or `PolicyInvalid` with all findings at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from gatewright.policy.catalog import read_catalog
from gatewright.policy.declared import Declared
from gatewright.policy.entries import read_about, read_entry, read_limit
from gatewright.policy.errors import Place, PolicyInvalid
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Findings, Node, read_documents, read_text
from gatewright.policy.model import (
    Delegation,
    Json,
    JsonObject,
    Limit,
    Names,
    PolicySet,
    TenantPolicy,
    ToolPolicy,
    ToolSpec,
)
from gatewright.policy.names import read_names
from gatewright.policy.rows import RowSet, Vocabulary, read_rows
from gatewright.policy.source import Source
from gatewright.policy.uses import put_in
from gatewright.policy.validator import compile_schema

__all__ = ["DEFAULT_MODEL", "DEFERRED", "Deferred", "load_policies"]

DEFAULT_MODEL: Final = """\
[request_definition]
r = sub, dom, obj, act
[policy_definition]
p = sub, dom, obj, act, eft, until, ref
[role_definition]
g = _, _, _
g2 = _, _
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = (p.sub == "*" || g(r.sub, p.sub, r.dom)) && (p.dom == "*" || p.dom == r.dom) && \
(keyMatch(r.obj, p.obj) || g2(r.obj, p.obj)) && (p.act == "*" || p.act == r.act)
"""
_KNOWN: Final = ("model.conf", "names.yaml", "policy.csv", "identity.yaml", "conditions.yaml", "EFFECTIVE.txt")
_TOOL: Final = ("format", "tool", "tools", "about", "stages", "limits", "allow", "refusal")
_IDENTITY: Final = ("format", "production", "issuers", "tenant_claim", "roles", "actor", "claims", "lifetime", "leeway")
_NOTHING: Final = Names({}, frozenset(), frozenset(), {}, Delegation(), {}, {})


class Deferred:
    """The type of `DEFERRED`."""

    def __repr__(self) -> str:
        return "DEFERRED"


DEFERRED: Final = Deferred()
"""Stands for a catalog that is not known yet; what needs it is not checked."""


def load_policies(source: Source, catalog: Mapping[str, ToolSpec] | Deferred | None = None) -> PolicySet:
    """
    Read *source* as one set of policies.

    *catalog* None takes the catalog from the source; a mapping stands in for it; `DEFERRED` says that it is not known.

    Raises:
        PolicyInvalid: with every finding, sorted by file, line and column.
    """
    loading = _Loading(source, catalog)
    policies = loading.load()
    if loading.findings.errors():
        raise PolicyInvalid(loading.findings.all)
    return policies


class _Loading:
    """One folder while it is being read."""

    def __init__(self, source: Source, catalog: Mapping[str, ToolSpec] | Deferred | None) -> None:
        self.source = source
        self.findings = Findings()
        self.reader = Reader(self.findings)
        self.deferred = isinstance(catalog, Deferred)
        read = read_catalog(source, self.findings) if catalog is None or self.deferred else catalog
        self.catalog: Mapping[str, ToolSpec] = cast("Mapping[str, ToolSpec]", read)
        self.names = _NOTHING
        self.claims: frozenset[str] = frozenset()
        self.tools: dict[str, ToolPolicy] = {}
        self.allowed_at: dict[str, Place] = {}

    def load(self) -> PolicySet:
        self._check_paths()
        self.names = self._names()
        profiles = self._profiles()
        conditions = self._conditions()
        rows = self._rows()
        for path in self.source.under("tools", ".yaml", ".yml"):
            for document in read_documents(path, self.source.files[path], self.findings):
                self._tool_document(put_in(document, conditions, self.reader))
        return PolicySet(
            revision=self.source.digest,
            model=self._model(),
            names=self.names,
            rules=tuple(rows.rules),
            links=tuple(rows.links),
            memberships=tuple(rows.memberships),
            tools=self.tools,
            catalog=self.catalog,
            tenants={tenant: self._tenant(tenant, conditions) for tenant in sorted(self.names.tenants)},
            any_tenant=TenantPolicy({}, self._settings("")),
            profiles=profiles,
            tests=self._tests(),
            warnings=tuple(self.findings.all),
        )

    def _check_paths(self) -> None:
        for path in self.source.files:
            top = path.split("/", 1)[0]
            if "/" not in path and path not in _KNOWN and path.endswith((".yaml", ".yml", ".csv", ".conf")):
                self.reader.unknown(Place(path), "unknown_file", path, _KNOWN, "policy file")
            elif "/" in path and top not in ("catalog", "tools", "tenants", "tests"):
                self.reader.unknown(
                    Place(path), "unknown_file", top, ("catalog", "tools", "tenants", "tests"), "folder"
                )

    def _one(self, path: str) -> Node | None:
        if path not in self.source.files:
            return None
        documents = read_documents(path, self.source.files[path], self.findings)
        if len(documents) > 1:
            self.findings.add(documents[1].place, "several_documents", "this file holds one document")
        for document in documents[:1]:
            self._check_format(document)
        return documents[0] if documents else None

    def _check_format(self, document: Node) -> None:
        if isinstance(document.value, dict) and "format" in document.value:
            version = document.value["format"]
            if version.value != 1 or isinstance(version.value, bool):
                self.findings.add(version.place, "unknown_format", "the only format is 1")

    def _names(self) -> Names:
        node = self._one("names.yaml")
        if node is None:
            if "names.yaml" not in self.source.files:
                self.findings.add(Place("names.yaml"), "file_missing", "a policies folder has a names.yaml")
            return _NOTHING
        return read_names(node, self.reader)

    def _profiles(self) -> JsonObject:
        node = self._one("identity.yaml")
        parts = self.reader.mapping(node, _IDENTITY, "identity.yaml")
        issuers = [self.reader.mapping(each) for each in self.reader.items(parts.get("issuers"), "list of issuers")]
        schemas = [self.reader.mapping(each.get("claims"), None, "schema") for each in (parts, *issuers)]
        self.claims = frozenset(
            name for schema in schemas for name in self.reader.mapping(schema.get("properties"), None, "map of claims")
        )
        plain = self.reader.plain(node)
        return {name: value for name, value in plain.items() if name != "format"} if isinstance(plain, Mapping) else {}

    def _conditions(self) -> Mapping[str, Node]:
        found = self.reader.mapping(self._one("conditions.yaml"), None, "conditions.yaml")
        return {name: node for name, node in found.items() if name != "format"}

    def _model(self) -> str:
        content = self.source.files.get("model.conf")
        return DEFAULT_MODEL if content is None else read_text("model.conf", content, self.findings) or ""

    def _rows(self) -> RowSet:
        rows = RowSet()
        words = Vocabulary(self.names, None if self.deferred else frozenset(self.catalog))
        if "policy.csv" not in self.source.files:
            self.findings.add(Place("policy.csv"), "file_missing", "a policies folder has a policy.csv")
        for path in self.source.files:
            if path == "policy.csv":
                read_rows(path, self.source.files[path], words, self.findings, rows)
            elif path.startswith("tenants/") and path.endswith("/policy.csv"):
                self._tenant_rows(path, words, rows)
        return rows

    def _tenant_rows(self, path: str, words: Vocabulary, rows: RowSet) -> None:
        own = RowSet()
        read_rows(path, self.source.files[path], words, self.findings, own)
        tenant = path.split("/")[1]
        for dom, place in [(row.dom, row.place) for row in own.rules] + [(row.dom, row.place) for row in own.links]:
            if dom != tenant:
                self.findings.add(place, "foreign_domain", f"rows here are of the domain {tenant!r} only")
        delegate = self.names.delegate
        for rule in own.rules:
            if rule.eft == "allow" and not self._delegated(rule.obj, rule.act):
                self.findings.add(rule.place, "not_delegated", f"{rule.obj!r} is not for tenants to allow")
        for link in own.links:
            if link.role not in delegate.roles:
                self.findings.add(link.place, "not_delegated", f"the role {link.role!r} is not for tenants to give")
        for member in own.memberships:
            self.findings.add(member.place, "not_delegated", "groups are not for tenants to change")
        rows.rules += own.rules
        rows.links += own.links

    def _delegated(self, obj: str, act: str) -> bool:
        """Whether a tenant may allow this: resources of its own domain freely, tools where names.yaml says so."""
        return ":" in obj or (act == "call" and obj in self.names.delegate.tools)

    def _tool_document(self, document: Node) -> None:
        self._check_format(document)
        parts = self.reader.mapping(document, _TOOL, "tool file")
        read_about(parts.get("about"), self.reader)
        names = self._tool_names(document, parts)
        for name in names:
            self._add_tool(name, parts)

    def _tool_names(self, document: Node, parts: Mapping[str, Node]) -> list[str]:
        known = None if self.deferred else self.catalog
        if ("tool" in parts) == ("tools" in parts):
            self.findings.add(document.place, "missing_key", "a tool file names its tool, or its tools")
            return []
        if "tools" in parts:
            return list(self.reader.names(parts["tools"], known, "unknown_tool", "tool"))
        name = self.reader.text(parts["tool"], "tool")
        if known is not None and name and name not in known:
            self.reader.unknown(parts["tool"].place, "unknown_tool", name, known, "tool")
            return []
        return [name] if name else []

    def _add_tool(self, name: str, parts: Mapping[str, Node]) -> None:
        declared = self._declared(name)
        before = self.tools.get(name, ToolPolicy(name))
        allow = before.allow
        if "allow" in parts:
            if allow is not None:
                self.findings.add(parts["allow"].place, "second_allow", f"{name!r} has an allow list already")
            allow = tuple(
                read_entry(each, declared, self.reader) for each in self.reader.items(parts["allow"], "allow list")
            )
            self._unique([(entry.id, entry.place) for entry in allow])
        limits = tuple(
            read_limit(each, declared, self.reader, None, None)
            for each in self.reader.items(parts.get("limits"), "list of limits")
        )
        self._unique([(limit.id, limit.place) for limit in (*before.limits, *limits)])
        stages = before.stages
        if "stages" in parts:
            own = frozenset(self.reader.names(parts["stages"], None, "", "stage"))
            stages = own if stages is None else stages & own
        refusal = self.reader.text(parts["refusal"], "refusal") if "refusal" in parts else before.refusal
        self.tools[name] = ToolPolicy(name, stages, (*before.limits, *limits), allow, refusal)

    def _unique(self, ids: list[tuple[str, Place]]) -> None:
        seen: set[str] = set()
        for name, place in ids:
            if name in seen:
                self.findings.add(place, "repeated", f"the id {name!r} stands here twice")
            seen.add(name)

    def _declared(self, tool: str) -> Declared:
        return Declared(None if self.deferred else self.catalog.get(tool), self.names, self.claims)

    def _tenant(self, tenant: str, conditions: Mapping[str, Node]) -> TenantPolicy:
        found: dict[str, tuple[Limit, ...]] = {}
        node = self._one(f"tenants/{tenant}/limits.yaml")
        if node is not None:
            node = put_in(node, conditions, self.reader)
        for tool, value in self.reader.mapping(node, None, "limits.yaml").items():
            if tool == "format" or node is None:
                continue
            if not self.deferred and tool not in self.catalog:
                self.reader.unknown(node.keys[tool], "unknown_tool", tool, self.catalog, "tool")
                continue
            allow = self.tools.get(tool, ToolPolicy(tool)).allow or ()
            entries = frozenset(entry.id for entry in allow)
            found[tool] = tuple(
                read_limit(each, self._declared(tool), self.reader, entries, tenant)
                for each in self.reader.items(value, "list of limits")
            )
        return TenantPolicy(found, self._settings(tenant))

    def _settings(self, tenant: str) -> JsonObject:
        schema = self.names.settings
        properties = cast("Mapping[str, JsonObject]", schema.get("properties", {}))
        filled: dict[str, Json] = {name: each["default"] for name, each in properties.items() if "default" in each}
        node = self._one(f"tenants/{tenant}/settings.yaml")
        if node is None:
            return filled
        given = {name: value for name, value in self.reader.mapping(node).items() if name != "format"}
        for name, value in given.items():
            if name not in properties:
                self.reader.unknown(node.keys[name], "unknown_setting", name, properties, "setting")
            elif not compile_schema(properties[name]).accepts(value.plain()):
                self.findings.add(value.place, "bad_setting", f"{name!r} is not as names.yaml declares it")
            else:
                filled[name] = value.plain()
        return filled

    def _tests(self) -> dict[str, JsonObject]:
        found: dict[str, JsonObject] = {}
        for path in self.source.under("tests", ".yaml", ".yml"):
            for document in read_documents(path, self.source.files[path], self.findings):
                plain = document.plain()
                found[path] = plain if isinstance(plain, Mapping) else {}
        return found
