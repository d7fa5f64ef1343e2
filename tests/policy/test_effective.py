"""EFFECTIVE.txt says what each role may do, and a change that widens anything shows in it."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest

from gatewright.policy.caller import Actor, Caller
from gatewright.policy.catalog import spec_from_json
from gatewright.policy.effective import IN_PRODUCTION, effective_text
from gatewright.policy.engine import compile_engine
from gatewright.policy.folder import load_policies
from gatewright.policy.policyset import PolicySet
from gatewright.policy.source import Source, read_folder
from small_policies import CATALOG, names_yaml
from worlds.reader import World
from worlds.shelf import worlds

ROOT = Path(__file__).parents[2]
TOOL = """\
tool: logs.query
limits:
  - { id: asked, entries: [far], for: { actors: [copilot] }, duties: { approval: { by: [lead], within: 15m } } }
allow:
  - { id: near, roles: [viewer, lead] }
  - { id: far, roles: [viewer], duties: { reason: true } }
  - { id: asked, roles: [lead], duties: { approval: { by: [lead], within: 15m } } }
"""
ROWS = "p, viewer, *, logs.query, call, allow\n"


def lines(rows: str, tool: str = TOOL, excludes: str = "", **files: str) -> list[str]:
    """The lines of a small folder, without the revision."""
    texts = {"policy.csv": rows, "names.yaml": names_yaml(excludes=excludes), "identity.yaml": "issuers: []\n"}
    texts |= {"tools/a.yaml": tool, **files}
    policies = load_policies(Source.from_texts(texts), CATALOG, any_age=True)
    *found, last = effective_text(policies).splitlines()
    assert last == policies.revision
    assert found == sorted(found)
    return found


def test_a_line_says_role_tool_entry_and_whether_it_asks() -> None:
    """What is inherited counts; what no row opens has no line."""
    assert lines(f"{ROWS}p, lead, *, logs.query, call, allow\ng, analyst, viewer, *\n") == [
        "analyst logs.query far does not ask",
        "analyst logs.query near does not ask",
        "lead logs.query asked asks",
        "lead logs.query near does not ask",
        "viewer logs.query far does not ask",
        "viewer logs.query near does not ask",
    ]


def test_nothing_allowed_is_no_line() -> None:
    """Neither an entry without a row, nor a row without an entry, nor what is denied, nor excluded roles."""
    assert lines("") == []
    assert lines(ROWS, "tool: logs.query\nlimits: []\n") == []
    assert lines(f"{ROWS}p, *, *, logs.*, call, deny\n") == []
    assert lines(f"{ROWS}g, suspended, viewer, *\n", excludes="excludes: [viewer]") == lines(ROWS)


def test_tenants_are_named_where_they_differ() -> None:
    """By rows of one, by a limit of one; those that are alike stand in one line."""
    assert lines("p, lead, acme, logs.query, call, allow\np, viewer, *, logs.query, call, allow\n") == [
        "lead logs.query asked asks in acme",
        "lead logs.query near does not ask in acme",
        *lines(ROWS),
    ]
    limits = "logs.query: [ { id: l, entries: [near], duties: { approval: { by: [lead], within: 1h } } } ]\n"
    assert lines(ROWS, **{"tenants/globex/limits.yaml": limits}) == [
        "viewer logs.query far does not ask",
        "viewer logs.query near asks in globex",
        "viewer logs.query near does not ask in acme",
    ]


def test_days_are_named_where_rows_end() -> None:
    """An allow until a day, a deny until a day, and what never ends."""
    assert lines("p, lead, *, logs.query, call, allow, 2026-09-30\n", TOOL.replace("[viewer, lead]", "[viewer]")) == [
        "lead logs.query asked asks until 2026-09-30"
    ]
    assert lines(f"{ROWS}p, viewer, *, logs.query, call, deny, 2026-09-30\n") == [
        "viewer logs.query far does not ask from 2026-10-01",
        "viewer logs.query near does not ask from 2026-10-01",
    ]
    assert lines(f"{ROWS}g, oncall, viewer, *, 2026-09-30\n")[:2] == [
        "oncall logs.query far does not ask until 2026-09-30",
        "oncall logs.query near does not ask until 2026-09-30",
    ]


def test_an_actor_has_lines_of_its_own() -> None:
    """It needs rows too, and a limit may ask for it alone."""
    rows = f"{ROWS}p, copilot, *, logs.query, call, allow\np, actor:bot, acme, logs.query, call, allow\n"
    assert lines(rows) == [
        "viewer logs.query far asks for copilot",
        "viewer logs.query far does not ask",
        "viewer logs.query far does not ask for actor:bot in acme",
        "viewer logs.query near does not ask",
        "viewer logs.query near does not ask for actor:bot in acme",
        "viewer logs.query near does not ask for copilot",
    ]


def test_a_subject_has_lines_for_what_its_own_rows_open() -> None:
    """And none for what the role opens."""
    assert lines(f"{ROWS}p, subject:bea, *, logs.query, call, allow\n") == [
        "lead logs.query asked asks for subject:bea",
        "lead logs.query near does not ask for subject:bea",
        *lines(ROWS),
    ]


def test_a_tenant_by_pattern_stands_for_itself() -> None:
    """It is none of those that are declared."""
    issuer = (
        "issuers: [ { alias: a, issuer: 'https://a.example', audience: x, keys: { file: k.json }, algorithms: [RS256],"
        " tenants: { pattern: 't-[0-9]+' } } ]\n"
    )
    rows = f"p, lead, acme, logs.query, call, allow\n{ROWS}"
    found = lines(rows, **{"identity.yaml": issuer, "k.json": "{}", "tenants/acme/limits.yaml": "{}\n"})
    assert found[0] == "lead logs.query asked asks in acme"
    assert found[2] == "viewer logs.query far does not ask"


def test_a_folder_in_production_says_so_first() -> None:
    """So that one that stops saying so is still held to its file."""
    assert lines(ROWS, **{"identity.yaml": "production: true\nissuers: []\nroles: roles\n"})[0] == IN_PRODUCTION


@pytest.mark.parametrize("world", [pytest.param(world, id=world.name) for world in worlds()])
def test_the_lines_of_a_world_are_what_the_engine_opens(world: World) -> None:
    """Each line today, and no other, for each role with and without each actor, in each tenant."""
    policies = _policies(world)
    engine, said = compile_engine(policies), effective_text(policies).splitlines()[:-1]
    for tenant in sorted(policies.names.tenants):
        for actor in (None, *sorted(policies.names.actors)):
            for role in policies.names.roles:
                who = Caller("nobody", tenant, frozenset({role}), (actor and Actor("bot", frozenset({actor}))) or None)
                standing = engine.standing(who, dt.date(2026, 10, 28))
                opened = {
                    (tool, entry.id)
                    for tool, policy in policies.tools.items()
                    for entry in policy.allow or ()
                    if engine.opening_roles(standing, entry.roles, tool)
                }
                assert opened == _said(said, role, tenant, f" for {actor}" if actor else "")


def _policies(world: World) -> PolicySet:
    catalog = {name: spec_from_json(spec) for name, spec in world.catalog.items()}
    return load_policies(Source.from_texts(world.texts), catalog)


def _said(lines: list[str], role: str, tenant: str, whom: str) -> set[tuple[str, str]]:
    found = set()
    for line in lines:
        words = line.split()
        where = line.partition(" in ")[2].partition(" until ")[0].split(", ") if " in " in line else [tenant]
        about = line.partition(" for ")[2].split()[:1]
        if words[0] == role and tenant in where and about == whom.split()[1:]:
            found.add((words[1], words[2]))
    return found


def test_the_shipped_policies_have_their_file() -> None:
    """`gatewright effective --write` after each change of them."""
    source = read_folder(ROOT / "policies")
    assert source.files["EFFECTIVE.txt"].decode() == effective_text(load_policies(source))
