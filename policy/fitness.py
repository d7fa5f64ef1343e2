"""
Do the catalog and the closed names fit each other? Types and actions of resources, and every pointer into arguments.

In come the tools and names.yaml's names; out come findings, placed in the catalog's files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from gatewright.policy.catalog import locate, spec_path
from gatewright.policy.formats import Findings
from gatewright.policy.knowledge import Known
from gatewright.policy.model import Names, ToolSpec
from gatewright.policy.nearest import nearest
from gatewright.policy.pointers import parse_pointer
from gatewright.policy.source import Source

__all__ = ["check_specs"]

_JOIN: Final = re.compile(r"@(?=/)")
_RUNTIME_CONTEXT: Final = ("date", "calendar", "called", "stage")


def check_specs(catalog: Mapping[str, ToolSpec], source: Source, names: Names, findings: Findings) -> None:
    """Find what tools say of resources, facts, flags and context that nothing declares."""
    for spec in catalog.values():
        _Check(spec, source, names, findings).check()


class _Check:
    """One tool being checked."""

    def __init__(self, spec: ToolSpec, source: Source, names: Names, findings: Findings) -> None:
        self.spec = spec
        self.source = source
        self.names = names
        self.findings = findings
        self.arguments = Known.of(spec.schema)

    def check(self) -> None:
        for name, resource in self.spec.resources.items():
            self._known(("resources", name, "type"), resource.type, self.names.types, "unknown_type", "resource type")
            for part in _JOIN.split(resource.at):
                self._pointer(("resources", name, "at"), part)
            actions = self.names.types.get(resource.type)
            if actions is not None:
                what = f"action of {resource.type}"
                self._known(("action",), self.spec.action, actions, "unknown_action", what)
        for name, fact in self.spec.facts.items():
            if fact.field:
                self._pointer(("facts", name, "field"), fact.field)
        for pointer in self.spec.flags:
            self._pointer(("flags", pointer), pointer)
        for name in _RUNTIME_CONTEXT:
            if name in self.spec.context:
                self._find(("context", name), "taken_name", f"the runtime says what {name!r} is")

    def _pointer(self, path: tuple[str, ...], text: str) -> None:
        pointer = parse_pointer(text)
        if not pointer or self.arguments.along(pointer) is None:
            hint = nearest(text.strip("/"), list(self.arguments.names()))
            self._find(path, "unknown_argument", f"no such argument of {self.spec.name}: {text!r}", hint)

    def _known(self, path: tuple[str, ...], name: str, known: Collection[str], code: str, what: str) -> None:
        if name not in known:
            self._find(path, code, f"no such {what}: {name!r}", nearest(name, known))

    def _find(self, path: tuple[str, ...], code: str, message: str, hint: str = "") -> None:
        file = spec_path(self.spec.name)
        self.findings.add(locate(file, self.source.files.get(file, b""), path), code, message, hint)
