"""
What does a whole policies folder say? Everything read from it, as one frozen record.

Built by `folder`; compiled by `engine` and `snapshot`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gatewright.policy.errors import Finding
from gatewright.policy.model import JsonObject, Link, Membership, Names, Rule, ToolSpec
from gatewright.policy.toolfile import Limit, ToolPolicy

__all__ = ["PolicySet", "TenantPolicy"]


@dataclass(frozen=True, slots=True)
class TenantPolicy:
    """One tenant's folder: its limits by tool, and its settings with the defaults of names.yaml filled in."""

    limits: Mapping[str, tuple[Limit, ...]] = field(default_factory=dict)
    settings: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicySet:
    """
    A whole policies folder, read and checked.

    *revision* is the content hash of everything that decides. *tenants* has every declared tenant; *any_tenant*
    stands for those that an issuer may assert by pattern. *profiles* is identity.yaml as plain data, checked for
    shape (`issuers` gives it meaning). *tests* holds the test files as data. *warnings* are findings that do not keep
    the folder from loading.
    """

    revision: str
    model: str
    names: Names
    rules: tuple[Rule, ...]
    links: tuple[Link, ...]
    memberships: tuple[Membership, ...]
    tools: Mapping[str, ToolPolicy]
    catalog: Mapping[str, ToolSpec]
    tenants: Mapping[str, TenantPolicy]
    profiles: JsonObject
    any_tenant: TenantPolicy = field(default_factory=TenantPolicy)
    tests: Mapping[str, JsonObject] = field(default_factory=dict)
    warnings: tuple[Finding, ...] = ()
