"""
What does a whole policies folder say? Every file read, checked against every other, and put together.

In comes a `Source`; out comes a frozen `PolicySet`, or `PolicyInvalid` with all findings at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from gatewright.policy.alternatives import check_alternatives
from gatewright.policy.catalog import read_specs
from gatewright.policy.clauses import check_clause
from gatewright.policy.currency import check_currency
from gatewright.policy.declared import Declared
from gatewright.policy.documents import Documents
from gatewright.policy.editions import check_edition
from gatewright.policy.engine import unheld
from gatewright.policy.errors import Place, PolicyInvalid
from gatewright.policy.expectations import Expectations
from gatewright.policy.fields import Reader
from gatewright.policy.fitness import check_specs
from gatewright.policy.formats import Findings, Node, read_documents, read_text
from gatewright.policy.identity import Identity, read_identity
from gatewright.policy.knowledge import ANY
from gatewright.policy.layout import Layout
from gatewright.policy.matcher import read_layout, read_model
from gatewright.policy.model import JsonObject, Names, ToolSpec
from gatewright.policy.names import NO_NAMES, check_delegated, read_names
from gatewright.policy.pacing import breathe, uncollected
from gatewright.policy.paths import check_paths, tenant_of
from gatewright.policy.policyset import PolicySet, TenantPolicy
from gatewright.policy.rows import RowSet, check_groups, read_rows
from gatewright.policy.source import Source
from gatewright.policy.tenants import Delegated, read_settings, read_tenant_limits
from gatewright.policy.toolfile import ToolPolicy
from gatewright.policy.uses import Uses
from gatewright.policy.vocabulary import Vocabulary

__all__ = ["DEFAULT_MODEL", "DEFERRED", "Deferred", "load_identity", "load_policies"]

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


_NEEDED: Final = ("names.yaml", "policy.csv", "identity.yaml")


class Deferred:
    """The type of `DEFERRED`."""

    def __repr__(self) -> str:
        return "DEFERRED"


DEFERRED: Final = Deferred()
"""Stands for a catalog that is not known yet; what needs it is not checked."""


def load_policies(
    source: Source, catalog: Mapping[str, ToolSpec] | Deferred | None = None, *, any_age: bool = False
) -> PolicySet:
    """
    Read *source* as one set of policies.

    *catalog* None takes the catalog from the source; a mapping stands in for it; `DEFERRED` says that it is not known.
    *any_age* takes a folder whose EFFECTIVE.txt is not current, for whoever is about to write it.

    Raises:
        PolicyInvalid: with every finding, sorted by file, line and column.
    """
    with uncollected():
        loading = _Loading(source, catalog)
        policies = loading.load(any_age=any_age)
    if loading.findings.errors():
        raise PolicyInvalid(loading.findings.all)
    return policies


def load_identity(source: Source) -> tuple[JsonObject, Names]:
    """Return the plain data of identity.yaml and the declared names, as far as they can be read whatever is wrong."""
    loading = _Loading(source, DEFERRED)
    node = loading.one("names.yaml")
    names = NO_NAMES if node is None else read_names(node, loading.reader)
    return read_identity(loading.one("identity.yaml"), names, loading.reader).profiles, names


def _catalog(
    source: Source, catalog: Mapping[str, ToolSpec] | Deferred | None, findings: Findings
) -> Mapping[str, ToolSpec]:
    """The catalog in force; faults in files that are about to be written again are none."""
    if isinstance(catalog, Mapping):
        return catalog
    return read_specs(source, findings if catalog is None else Findings())


def _stated(source: Source, catalog: object) -> frozenset[str]:
    """The tools that have a catalog file, whether or not it can be read; none where *catalog* stands in for them."""
    paths = source.under("catalog", ".json") if catalog is None else ()
    return frozenset(path.removeprefix("catalog/").removesuffix(".json") for path in paths)


class _Loading:
    """One folder while it is being read."""

    def __init__(self, source: Source, catalog: Mapping[str, ToolSpec] | Deferred | None) -> None:
        self.source = source
        self.findings = Findings()
        self.reader = Reader(self.findings)
        self.catalog: Mapping[str, ToolSpec] = _catalog(source, catalog, self.findings)
        self.tools = None if isinstance(catalog, Deferred) else frozenset(self.catalog) | _stated(source, catalog)
        self.names = NO_NAMES
        self.identity = Identity()
        self.uses = Uses({}, self.reader)
        self.declared = cache(self._declared)

    def load(self, *, any_age: bool) -> PolicySet:
        node = self._declarations()
        policies = self._tools()
        model = self._model()
        rows = self._rows(policies, self._layout(model))
        check_delegated(node, rows.made, self.tools, self.reader)
        tenants = {tenant: self._tenant(tenant, policies) for tenant in sorted(self.names.tenants)}
        check_alternatives(policies, self.catalog, tenants.values(), self.names, rows.links, self.findings)
        tests = self._tests(policies)
        if not any_age:
            check_currency(self.source, self.findings, is_production=self.identity.is_production)
        if not self.findings.errors():
            self._warn_of_unused()
        return PolicySet(
            revision=self.source.digest,
            model=model,
            names=self.names,
            rules=tuple(rows.rules),
            links=tuple(rows.links),
            memberships=tuple(rows.memberships),
            tools=policies,
            catalog=self.catalog,
            tenants=tenants,
            any_tenant=TenantPolicy({}, read_settings(None, "names.yaml", self.names, self.reader)),
            profiles=self.identity.profiles,
            tests=tests,
            warnings=tuple(sorted(self.findings.all)),
        )

    def _declarations(self) -> Node:
        """Read what every other file is checked against; return the node of names.yaml."""
        for path in _NEEDED:
            if path not in self.source.files:
                self.findings.add(Place(path), "file_missing", f"a policies folder has a {path}")
        node = self.one("names.yaml")
        if node is None:
            raise PolicyInvalid(self.findings.all)
        self.names = read_names(node, self.reader)
        self.identity = read_identity(self.one("identity.yaml"), self.names, self.reader)
        check_paths(self.source, self.names, self.identity.key_files, self.findings)
        if self.tools is not None:
            check_specs(self.catalog, self.source, self.names, self.findings)
        self._conditions()
        return node

    def _tools(self) -> Mapping[str, ToolPolicy]:
        """Read every document under tools/."""
        documents = Documents(self.tools, self.declared, self.reader)
        for path in self.source.under("tools", ".yaml"):
            for document in self._documents(path):
                documents.add(document)
        return documents.finish()

    def _documents(self, path: str) -> list[Node]:
        """The documents of a file that holds some; `format` may start each."""
        breathe()
        before = len(self.findings)
        documents = read_documents(path, self.source.files[path], self.findings)
        if not documents and len(self.findings) == before:
            self.findings.add(Place(path), "empty_file", "nothing stands in this file", "write {}, or delete it")
        for document in documents:
            check_edition(document, self.findings)
        return documents

    def one(self, path: str) -> Node | None:
        """The document of a file that holds one; None where there is no such file."""
        if path not in self.source.files:
            return None
        documents = self._documents(path)
        if len(documents) > 1:
            self.findings.add(documents[1].place, "several_documents", "this file holds one document")
        return documents[0] if documents else None

    def _conditions(self) -> None:
        """Read conditions.yaml; each is checked by itself here, and against what it speaks of where it is used."""
        found = self.reader.mapping(self.one("conditions.yaml"), None, "map of conditions.yaml")
        self.uses = Uses({name: node for name, node in found.items() if name != "format"}, self.reader)
        blank = self._declared("")
        for name, node in self.uses.conditions.items():
            whole = self.uses.put_in(node, (name,))
            for schema in self.reader.mapping(whole, None, "map of conditions").values():
                check_clause(schema, ANY, blank.target(), self.reader, ("on_violation",))
        self.uses.used.clear()

    def _declared(self, tool: str) -> Declared:
        spec = None if self.tools is None else self.catalog.get(tool)
        return Declared(spec, self.names, self.identity.claims, self.uses, self.tools)

    def _model(self) -> str:
        content = self.source.files.get("model.conf")
        return DEFAULT_MODEL if content is None else read_text("model.conf", content, self.findings) or ""

    def _layout(self, text: str) -> Layout:
        """How rows are read; what is wrong with the model is found here."""
        try:
            model = read_model(text)
        except PolicyInvalid as error:
            self.findings.take(error.findings)
            return read_layout(text)
        self.findings.take(unheld(self.names, model))
        return model.layout()

    def _rows(self, policies: Mapping[str, ToolPolicy], layout: Layout) -> RowSet:
        words = Vocabulary(self.names, self.tools, layout)
        rows = RowSet()
        read_rows("policy.csv", self.source.files.get("policy.csv", b""), words, self.findings, rows)
        catalog = None if self.tools is None else self.catalog
        delegated = Delegated(self.names, catalog, policies, list(rows.memberships))
        for path in self.source.under("tenants", "/policy.csv"):
            own = RowSet()
            read_rows(path, self.source.files[path], words, self.findings, own)
            delegated.check(tenant_of(path), own, self.findings)
            rows.add_delegated(own)
        check_groups(rows, self.names.delegate.tools, self.findings)
        return rows

    def _tenant(self, tenant: str, policies: Mapping[str, ToolPolicy]) -> TenantPolicy:
        limits, settings = f"tenants/{tenant}/limits.yaml", f"tenants/{tenant}/settings.yaml"
        return TenantPolicy(
            read_tenant_limits(self.one(limits), tenant, self.tools, self.declared, policies, self.reader),
            read_settings(self.one(settings), settings, self.names, self.reader),
        )

    def _tests(self, policies: Mapping[str, ToolPolicy]) -> dict[str, JsonObject]:
        expectations = Expectations(self.names, self.identity.claims, self.tools, policies, self.reader)
        found: dict[str, JsonObject] = {}
        for path in self.source.under("tests", ".yaml"):
            for number, document in enumerate(self._documents(path)):
                found[f"{path}#{number}" if number else path] = expectations.read(document)
        return found

    def _warn_of_unused(self) -> None:
        for name, node in self.uses.conditions.items():
            if name not in self.uses.used:
                self.findings.warn(node.place, "unused_condition", f"nothing uses the condition {name!r}")
