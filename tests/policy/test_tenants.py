"""A tenant's folder reaches as far as its own domain and what is delegated, no further."""

from __future__ import annotations

import pytest

from gatewright.policy.catalog import spec_from_json
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.policyset import PolicySet
from gatewright.policy.source import Source

NAMES = """\
roles: { viewer: {}, oncall: {} }
actors: [bot, aide]
tenants: { acme: {}, globex: {} }
types: { service: [read], alert: [mute] }
delegate: { tools: [tools/reading, alerts.list], roles: [viewer, bot] }
settings:
  type: object
  properties: { span_s: { type: integer, minimum: 1, default: 60 }, zone: { type: string } }
"""
ROWS = """\
p, viewer, *, tools/reading, call, allow
p, viewer, *, tools/all, call, allow
g2, logs.query, tools/reading
g2, logs.old, tools/reading, 2026-10-01
g2, logs.old, tools/all
"""
TOOLS = """\
tool: logs.query
allow: [ { id: all, roles: [viewer] } ]
---
tool: alerts.mute
allow: [ { id: all, roles: [viewer] } ]
"""
BOUND = "limits: [ { id: own, resource: { alert: { tenant: { const: { $identity: tenant } } } } } ]\n"


def spec(name: str, type_: str = "", scope: str = "any") -> dict[str, object]:
    """A tool that names one resource, or none."""
    attributes = {"type": "object", "properties": {"tenant": {"type": "string"}}}
    resource = {"type": type_, "at": "/id", "scope": scope, "attributes": attributes}
    texts = {"description": "d", "use_when": "u", "not_for": "n"}
    schema = {"type": "object", "properties": {"id": {"type": "string"}}}
    found = {"name": name, "kind": "read", "action": {"service": "read", "alert": "mute"}.get(type_, "x"), **texts}
    return {**found, "schema": schema, "resources": {type_: resource} if type_ else {}}


CATALOG = {
    each["name"]: spec_from_json(each)  # type: ignore[arg-type]
    for each in (
        spec("logs.query", "service", "tenant"),
        spec("logs.old"),
        spec("alerts.mute", "alert"),
        spec("alerts.list"),
    )
}


def load(path: str, text: str, tools: str = TOOLS) -> PolicySet:
    """The folder with one more file of acme's."""
    texts = {"names.yaml": NAMES, "policy.csv": ROWS, "identity.yaml": "issuers: []\n", "tools/all.yaml": tools}
    return load_policies(Source.from_texts({**texts, f"tenants/acme/{path}": text}), CATALOG)


def faults(path: str, text: str, tools: str = TOOLS) -> list[str]:
    """Code and line of what is wrong with acme's file."""
    with pytest.raises(PolicyInvalid) as caught:
        load(path, text, tools)
    return [f"{each.code} {each.place.line}" for each in caught.value.findings if each.severity == "error"]


def test_what_is_delegated_may_be_written() -> None:
    """Denies of anything, types that are bound to the tenant, listed tools and groups, listed roles."""
    rows = (
        "p, *, acme, *, *, deny\n"
        "p, viewer, acme, service:a, read, allow\n"
        "p, viewer, acme, tools/reading, call, allow\n"
        "p, viewer, acme, logs.query, call, allow\n"
        "p, subject:eve, acme, alerts.list, call, allow\n"
        "g, subject:eve, viewer, acme\n"
        "g, actor:b1, bot, acme\n"
    )
    policies = load("policy.csv", rows)
    assert [rule.place.line for rule in policies.rules if rule.place.file.startswith("tenants/")] == [1, 2, 3, 4, 5]
    assert len(policies.links) == 2


@pytest.mark.promise("P12")
@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ("p, viewer, globex, service:a, read, deny", "foreign_domain"),
        ("p, viewer, *, service:a, read, allow", "foreign_domain"),
        ("g, subject:eve, viewer, globex", "foreign_domain"),
        ("g, subject:eve, viewer, *", "foreign_domain"),
        ("g, subject:eve, oncall, acme", "not_delegated"),
        ("g, actor:b1, aide, acme", "not_delegated"),
        ("g2, logs.query, tools/all", "not_delegated"),
        ("p, viewer, acme, alerts.mute, call, allow", "not_delegated"),
        ("p, viewer, acme, alerts.mute, approve, allow", "not_delegated"),
        ("p, viewer, acme, logs.*, call, allow", "not_delegated"),
        ("p, viewer, acme, tools/all, call, allow", "not_delegated"),
        ("p, viewer, acme, logs.old, call, allow", "not_delegated"),
    ],
)
def test_what_is_not_delegated_is_refused(row: str, fault: str) -> None:
    """A tool belongs to a delegated group only where it does so without an end."""
    assert faults("policy.csv", f"{row}\n") == [f"{fault} 1"]


@pytest.mark.promise("P12")
def test_a_type_must_be_bound_to_the_tenant() -> None:
    """By its loader, or by a limit that is always on; any other record could be another tenant's."""
    row = "p, viewer, acme, alert:*, mute, allow\n"
    assert faults("policy.csv", row) == ["type_not_bound 1"]
    assert load("policy.csv", row, TOOLS + BOUND)
    for weaker in (
        BOUND.replace("id: own", "id: own, for: { roles: [oncall] }"),
        BOUND.replace("id: own", "id: own, entries: [all]"),
        BOUND.replace("id: own", "id: own, unless: { context: { date: { minimum: 3 } } }"),
        BOUND.replace("$identity: tenant", "$identity: subject"),
        BOUND.replace("const: { $identity: tenant }", "const: acme"),
        BOUND.replace("resource:", "state:"),
    ):
        assert faults("policy.csv", row, TOOLS + weaker) == ["type_not_bound 1"]


def test_a_tool_that_is_open_to_nobody_binds_nothing() -> None:
    """Its records are never reached; opening it asks again."""
    row = "p, viewer, acme, alert:*, mute, allow\n"
    assert load("policy.csv", row, "tool: logs.query\nallow: [ { id: all, roles: [viewer] } ]\n")


def test_limits_of_a_tenant_are_its_own() -> None:
    """They carry its name."""
    text = "format: 1\nlogs.query: [ { id: acme, entries: [all], arguments: { id: { maxLength: 3 } } } ]\n"
    policies = load("limits.yaml", text)
    (limit,) = policies.tenants["acme"].limits["logs.query"]
    assert (limit.id, limit.tenant, limit.entries) == ("acme", "acme", {"all"})
    assert policies.tenants["globex"].limits == {}


def test_settings_are_filled_with_defaults() -> None:
    """What is not given has the default of names.yaml, or is not there."""
    policies = load("settings.yaml", "format: 1\nzone: eu\n")
    assert policies.tenants["acme"].settings == {"span_s": 60, "zone": "eu"}
    assert policies.tenants["globex"].settings == policies.any_tenant.settings == {"span_s": 60}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("span_s: 0\n", "bad_setting 1"),
        ("span_s: 1.0\n", "bad_setting 1"),
        ("span_s: true\n", "bad_setting 1"),
        ("span: 3\n", "unknown_setting 1"),
        ("[]\n", "wrong_kind 1"),
        ("span_s:\n", "bad_setting 1"),
    ],
)
def test_settings_are_typed(text: str, fault: str) -> None:
    """By the schema of names.yaml."""
    assert faults("settings.yaml", text) == [fault]
