"""Documents under tools/ come together in one policy a tool."""

from __future__ import annotations

import pytest

from gatewright.policy.catalog import spec_from_json
from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.policyset import PolicySet
from gatewright.policy.source import Source

NAMES = "roles: { viewer: {}, oncall: {} }\nactors: [bot]\ntenants: { acme: {} }\n"
TEXTS = {"description": "d", "use_when": "u", "not_for": "n"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "n": {"type": "integer"}}}
CATALOG = {
    name: spec_from_json({"name": name, "kind": "read", "action": "x", **TEXTS, "schema": SCHEMA, "facts": {"f": {}}})
    for name in ("one", "two")
}


def load(**files: str) -> PolicySet:
    """The folder with these files under tools/."""
    texts = {"names.yaml": NAMES, "policy.csv": "p, viewer, *, one, call, allow\n", "identity.yaml": "issuers: []\n"}
    return load_policies(
        Source.from_texts({**texts, **{f"tools/{name}.yaml": text for name, text in files.items()}}), CATALOG
    )


def test_a_document_may_cut_several_tools() -> None:
    """Limits add up in the order of files and documents; each tool has its own budget."""
    policies = load(
        a="tools: [one, two]\nlimits: [ { id: both, duties: { budget: { calls: 3, per: tenant, window: 1d } } } ]\n",
        b="tool: one\nlimits: [ { id: own } ]\nallow: [ { id: all, roles: [viewer] } ]\n",
    )
    one, two = policies.tools["one"], policies.tools["two"]
    assert [limit.id for limit in one.limits] == ["both", "own"]
    assert [limit.id for limit in two.limits] == ["both"]
    assert (one.allow and one.allow[0].id, two.allow) == ("all", None)
    assert {limit.duties.budgets[0].id for limit in (one.limits[0], two.limits[0])} == {
        "one:limits/both",
        "two:limits/both",
    }


def test_an_empty_allow_list_is_one() -> None:
    """Open to nobody, and said so."""
    assert load(a="tool: one\nallow: []\n").tools["one"].allow == ()


def test_stages_meet() -> None:
    """A document can only take away."""
    policies = load(a="tool: one\nstages: [plan, fix]\n", b="tool: one\nstages: [fix, ship]\n", c="tool: two\n")
    assert policies.tools["one"].stages == {"fix"}
    assert policies.tools["two"].stages is None


def test_a_limit_may_aim_at_entries_of_a_later_document() -> None:
    """And at no others."""
    aimed = "tool: one\nlimits: [ { id: x, entries: [all] } ]\n"
    policies = load(a=aimed, b="tool: one\nallow: [ { id: all, roles: [viewer] } ]\n")
    assert policies.tools["one"].limits[0].entries == {"all"}
    with pytest.raises(PolicyInvalid, match="unknown_entry"):
        load(a=aimed, b="tool: one\nallow: [ { id: every, roles: [viewer] } ]\n")


def test_ids_are_unique_over_all_documents_of_a_tool() -> None:
    """Decisions and events name them."""
    with pytest.raises(PolicyInvalid) as caught:
        load(a="tool: one\nlimits: [ { id: x } ]\n", b="tool: one\nlimits: [ { id: x } ]\n")
    assert [(each.code, each.place.file) for each in caught.value.findings] == [("repeated", "tools/b.yaml")]


def test_whom_a_limit_is_for() -> None:
    """Nobody named is everyone."""
    text = "tool: one\nlimits:\n  - { id: x }\n  - { id: y, for: { roles: [viewer], actors: [bot] } }\n"
    first, second = load(a=text).tools["one"].limits
    assert (first.roles, first.actors, first.entries, first.unless) == (None, None, None, None)
    assert (second.roles, second.actors) == ({"viewer"}, {"bot"})


def test_an_argument_that_a_limit_does_nothing_to_is_told() -> None:
    """A limit never shows an argument; the folder loads with a warning."""
    policies = load(a="tool: one\nlimits: [ { id: x, arguments: { a: {} } } ]\n")
    assert [(each.code, str(each.place)) for each in policies.warnings] == [("shows_nothing", "tools/a.yaml:2:33")]


def test_every_way_of_cutting_an_argument() -> None:
    """Hidden, pinned, shown, narrowed; texts and violations stand beside the keywords."""
    text = (
        "tool: one\nallow:\n  - id: all\n    roles: [viewer]\n    arguments:\n"
        "      a: { pattern: '^x$', on_violation: forbidden, description: The x., examples: [x], default: x }\n"
        "      n: { pin: 3 }\n"
    )
    ((pointer, cut), (_, pin)) = (load(a=text).tools["one"].allow or ())[0].arguments.items()
    assert (pointer, cut.how, cut.schema, cut.forbidden) == (("a",), "narrow", {"pattern": "^x$"}, True)
    assert cut.texts == {"description": "The x.", "examples": ["x"], "default": "x"}
    assert (pin.how, pin.value) == ("pin", 3)
