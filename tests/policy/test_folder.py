"""A whole folder is read, or refused with everything that is wrong with it."""

from __future__ import annotations

import datetime as dt
import re
from functools import cache

import pytest

from gatewright.policy.catalog import render_spec, spec_from_json, spec_path
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import DEFAULT_MODEL, DEFERRED, load_policies
from gatewright.policy.model import ToolSpec
from gatewright.policy.policyset import PolicySet
from gatewright.policy.source import Source
from gatewright.policy.toolfile import Approval, Budget, ResultCuts
from shared_data import shared
from worlds.reader import World
from worlds.shelf import SHARED, world_named, worlds


@cache
def catalog_of(name: str) -> dict[str, ToolSpec]:
    """The world's tools."""
    return {tool: spec_from_json(spec) for tool, spec in world_named(name).catalog.items()}


def load(world: World, **texts: str) -> PolicySet:
    """The world's policies with *texts* put over its own, against its catalog."""
    return load_policies(Source.from_texts({**world.texts, **texts}), catalog_of(world.name))


def codes(texts: dict[str, str]) -> list[str]:
    """Code and place of what is wrong with *texts*."""
    with pytest.raises(PolicyInvalid) as caught:
        load_policies(Source.from_texts(texts))
    return [f"{each.code} {each.place}" for each in caught.value.findings]


@pytest.mark.parametrize("name", SHARED)
def test_the_shared_worlds_load_without_a_finding(name: str) -> None:
    """Three organisations, written by others."""
    shared(f"worlds/{name}")
    policies = load(world_named(name))
    assert policies.warnings == ()


@pytest.mark.parametrize("world", [pytest.param(world, id=world.name) for world in worlds()])
def test_a_world_loads_from_its_own_catalog_files_too(world: World) -> None:
    """A given catalog and the same one written down are the same policies."""
    specs = [spec_from_json(spec) for spec in world.catalog.values()]
    written = {spec_path(spec.name): render_spec(spec) for spec in specs}
    read = load_policies(Source.from_texts({**world.texts, **written}))
    assert read.catalog == {spec.name: spec for spec in specs}
    assert read.tools == load(world).tools


def test_everything_is_read_into_its_place() -> None:
    """The bank's folder, sampled."""
    policies = load(world_named("bank"))
    refund = policies.tools["refund.create"]
    every, small = refund.limits[0], (refund.allow or ())[0]
    assert refund.refusal == "No such transaction for this customer. Ask for the number once more."
    assert (every.id, every.place.file, every.place.line) == ("every-refund", "tools/refund.create.yaml", 5)
    assert every.resource["transaction"] == {
        "branch": {"const": {"$identity": "branch"}},
        "employee": {"not": {"const": {"$identity": "subject"}}},
    }
    assert every.duties.budgets == (
        Budget("subject", 86400.0, 20, "amount_chf", 60000, "refund.create:limits/every-refund"),
    )
    assert (small.roles, small.arguments["note",].schema) == (("agent",), {})
    assert small.arguments["branch",].value == {"$identity": "branch"}
    approval = (refund.allow or ())[2].duties.approvals[0]
    assert approval == Approval(("supervisor",), 2, 900.0, {"branch": {"const": {"$identity": "branch"}}})
    cuts = (policies.tools["customer.get"].allow or ())[0].result
    assert cuts == ResultCuts(
        keep={("notes",): {"by": {"const": {"$identity": "subject"}}}},
        hidden=(("iban",),),
        mask={("phone",): "last4", ("born",): "year", ("notes", "*", "by"): "redact"},
    )
    assert policies.tenants["zurich"].settings == {"max_transfer": 300, "report_rows": 200}
    assert policies.tenants["geneva"].settings == policies.any_tenant.settings
    assert policies.tenants["geneva"].limits["refund.create"][0].tenant == "geneva"
    assert policies.names.roles["agent"] == {"auditor"}
    assert policies.names.calendars["freeze"].dates == (dt.date(2026, 12, 20), dt.date(2027, 1, 3))
    assert len([rule for rule in policies.rules if rule.place.file == "tenants/zurich/policy.csv"]) == 300


SMALL = {
    "names.yaml": "roles: { viewer: {} }\ntenants: { acme: {} }\n",
    "policy.csv": "p, viewer, *, logs.query, call, allow\n",
    "identity.yaml": "issuers: []\n",
    "tools/logs.yaml": (
        "tool: logs.query\nallow: [ { id: all, roles: [viewer], arguments: { limit: { maximum: 5 } } } ]\n"
    ),
}


def test_a_tool_without_a_catalog_entry_is_a_finding() -> None:
    """Wherever it is named; nothing is taken on trust."""
    assert codes(SMALL) == ["unknown_tool policy.csv:1:15", "unknown_tool tools/logs.yaml:1:7"]


def test_a_catalog_that_is_not_known_yet_defers_what_needs_it() -> None:
    """Tools and their arguments are taken as they are; every other name is held to what is declared."""
    policies = load_policies(Source.from_texts(SMALL), DEFERRED)
    assert (policies.tools["logs.query"].allow or ())[0].arguments["limit",].schema == {"maximum": 5}
    with pytest.raises(PolicyInvalid, match="unknown_role"):
        load_policies(Source.from_texts({**SMALL, "policy.csv": "p, viewr, *, logs.query, call, allow\n"}), DEFERRED)


def test_a_broken_catalog_file_can_be_written_again() -> None:
    """A guard that is about to write the catalog loads the rest meanwhile."""
    broken = {**SMALL, "catalog/logs.query.json": "{"}
    assert load_policies(Source.from_texts(broken), DEFERRED).catalog == {}
    assert codes(broken) == ["json catalog/logs.query.json:1:2"]


def test_a_folder_without_a_model_has_the_default_one() -> None:
    """model.conf is optional; what is there is handed on as it is."""
    assert load_policies(Source.from_texts(SMALL), DEFERRED).model == DEFAULT_MODEL
    other = f"# ours\n{DEFAULT_MODEL}"
    assert load_policies(Source.from_texts({**SMALL, "model.conf": other}), DEFERRED).model == other
    assert "model model.conf:1:1" in codes({**SMALL, "model.conf": "[x]\n"})


def test_the_missing_files_of_an_empty_folder_are_named() -> None:
    """Without names nothing else can be checked, so they come first."""
    assert codes({}) == ["file_missing identity.yaml:1:1", "file_missing names.yaml:1:1", "file_missing policy.csv:1:1"]


@pytest.mark.case(21)
def test_the_revision_follows_every_file_that_decides() -> None:
    """And no other; whatever a file says, its bytes count."""
    first = load_policies(Source.from_texts(SMALL), DEFERRED).revision
    for path in SMALL:
        changed = load_policies(Source.from_texts({**SMALL, path: f"{SMALL[path]}# why\n"}), DEFERRED)
        assert changed.revision != first, path
    with_tests = {**SMALL, "tests/a.yaml": 'now: "2026-10-28T09:00:00Z"\n'}
    assert load_policies(Source.from_texts(with_tests), DEFERRED).revision == first


def test_tests_are_kept_as_data() -> None:
    """One item a document."""
    tests = {"tests/a.yaml": "lists: {}\n---\nsame: []\n", "tests/b/c.yaml": "lists: {}\n"}
    policies = load_policies(Source.from_texts({**SMALL, **tests}), DEFERRED)
    assert policies.tests == {
        "tests/a.yaml": {"lists": {}},
        "tests/a.yaml#1": {"same": []},
        "tests/b/c.yaml": {"lists": {}},
    }


def test_a_condition_that_nothing_uses_is_told() -> None:
    """A warning: the folder loads."""
    texts = {**SMALL, "conditions.yaml": "own: { owner: { const: { $identity: subject } } }\n"}
    policies = load_policies(Source.from_texts(texts), DEFERRED)
    assert [(each.code, str(each.place)) for each in policies.warnings] == [("unused_condition", "conditions.yaml:1:6")]


@pytest.mark.case(15)
@pytest.mark.parametrize("role", ["Viewer", "VIEWER", "viewer ", "pwned", ""])
def test_a_role_of_another_spelling_is_no_role(role: str) -> None:
    """Names are exact."""
    texts = {**SMALL, "tools/logs.yaml": f'tool: logs.query\nallow: [ {{ id: all, roles: ["{role}"] }} ]\n'}
    with pytest.raises(PolicyInvalid):
        load_policies(Source.from_texts(texts), DEFERRED)


def test_a_policy_page_s_examples_load() -> None:
    """The snippets of POLICY.md, put into a folder as they stand there."""
    page = shared("POLICY.md").read_text("utf-8")
    names = _block(page, "## names.yaml").replace("agent: {},", "agent: {}, developer: {}, maintainer: {},")
    rows = re.sub(r"(?m) {3,}\S.*$", "", _block(page, "    p, agent, *, tools/desk"))
    tool = _block(page, "## A tool file").replace(", /lines/*/tax: hidden", ", /lines/*/tax: hidden")
    texts = {
        "names.yaml": names.replace("[copilot]", "[copilot, coder]"),
        "policy.csv": rows + "p, agent, *, tools/reading, call, allow\ng2, note.add, tools/reading\n",
        "identity.yaml": _block(page, "## identity.yaml").replace("production: true", "production: false"),
        "conditions.yaml": "same-branch: { branch: { const: { $identity: branch } } }\n",
        "tools/all.yaml": tool,
        "tests/refunds.yaml": _tests(_block(page, "## Tests")),
    }
    policies = load_policies(Source.from_texts(texts), {name: spec_from_json(_spec(name)) for name in _TOOLS})
    refund = policies.tools["refund.create"]
    assert [entry.id for entry in refund.allow or ()] == ["small", "middle", "middle-asked"]
    assert policies.tools["git.write"].stages == {"investigate", "fix"}
    assert [rule.until for rule in policies.rules][-2] == dt.date(2026, 10, 1)


_TOOLS = {
    "refund.create": ["customer_id", "transaction_id", "currency", "note", "branch"],
    "git.read": [],
    "git.write": [],
    "card.freeze": [],
    "note.add": [],
    "web.fetch": [],
    "customer.lookup": [],
}


def _spec(name: str) -> dict[str, object]:
    properties: dict[str, object] = {each: {"type": "string"} for each in _TOOLS[name]}
    resources: dict[str, object] = {}
    if name == "refund.create":
        line = {"type": "object", "properties": {"tax": {"type": "number"}}}
        properties |= {"amount": {"type": "number"}, "lines": {"type": "array", "items": line}}
        attributes = {"branch": "string", "employee": "string", "refundable": "number"}
        record = {"type": "object", "properties": {each: {"type": kind} for each, kind in attributes.items()}}
        resources["transaction"] = {
            "type": "transaction",
            "at": "/transaction_id",
            "scope": "tenant",
            "attributes": record,
        }
    return {
        "name": name,
        "kind": "write",
        "action": "refund" if resources else "write",
        "description": "A tool.",
        "use_when": "Use it.",
        "not_for": "Nothing else.",
        "schema": {"type": "object", "properties": properties},
        "facts": {"amount_chf": {"field": "/amount"} if resources else {}, "sensitive_path": {}},
        "resources": resources,
    }


def _block(page: str, start: str) -> str:
    """The first indented block of *page* at or behind *start*."""
    text = page[page.index(start) :]
    found = re.search(r"(?m)(?:^ {4}.*\n)+", text)
    assert found is not None
    return re.sub(r"(?m)^ {4}", "", found[0])


def _tests(text: str) -> str:
    """The example speaks of calls that it does not write out."""
    more = "foreign: { like: small }, absent: { like: small }, hidden tool: { tool: note.add }"
    more += ", made-up tool: { tool: no.such, nobody: true }, "
    people = "sid: { like: amy }, sam: { like: amy }, "
    return text.replace("calls:      { ", f"calls:      {{ {more}").replace(
        "identities: { ", f"identities: {{ {people}"
    )


def test_no_leeway_is_a_leeway() -> None:
    """Zero seconds are a duration where nothing says otherwise; no lifetime is none."""
    bank = world_named("bank")
    text = bank.texts["identity.yaml"]
    assert "leeway: 5s" in text
    assert load(bank, **{"identity.yaml": text.replace("leeway: 5s", "leeway: 0s")})
    with pytest.raises(PolicyInvalid, match="bad_duration"):
        load(bank, **{"identity.yaml": text.replace("lifetime: 1h", "lifetime: 0h")})
