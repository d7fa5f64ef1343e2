"""
Which policies stand in a world? The archive's own, and what a world may have beside it that some caller never sees.

In comes a `Setting`; out come policy texts by path. The same setting gives the same texts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

TENANTS = ("acme", "globex", "initech")
CLAIMS = {"type": "object", "properties": {"branch": {"type": "string"}}}
NAMES = """\
roles: { clerk: {}, intern: {}, auditor: {}, manager: {}, guest: {} }
actors: [copilot]
tenants: { acme: {}, globex: {}, initech: {} }
types: { case: [read, update, release], folder: [create] }
"""
ROWS = """\
p, clerk, *, tools/desk, call, allow
p, auditor, *, tools/desk, call, allow
p, intern, *, case.read, call, allow
p, intern, *, case.list, call, allow
p, copilot, *, case.read, call, allow
p, copilot, *, case.list, call, allow
p, copilot, *, case:a-*, read, allow
p, manager, *, tools/desk, call, allow
p, clerk, *, case:*, *, allow
p, clerk, *, folder:*, create, allow
p, auditor, *, case:*, *, allow
p, auditor, *, folder:*, create, allow
p, intern, *, case:a-*, read, allow
p, manager, *, case:*, *, allow
p, manager, *, folder:*, create, allow
"""
DESK = (
    "case.read",
    "case.list",
    "case.page",
    "case.search",
    "case.stats",
    "case.create",
    "case.update",
    "case.release",
    "desk.ping",
)
OWN = "{ branch: { const: { $identity: branch } } }"
TOOLS = f"""\
tool: case.read
allow:
  - id: clerk
    roles: [clerk]
    arguments: {{ lang: {{ enum: [en, de] }} }}
    resource: {{ case: {OWN} }}
    result: {{ hidden: [/level], mask: {{ /phone: redact, /owner: last4, /card: hash }} }}
  - {{ id: auditor, roles: [auditor], arguments: {{ lang: {{}} }}, result: {{ mask: {{ /phone: redact }} }} }}
  - {{ id: intern, roles: [intern], arguments: {{ lang: {{}} }}, result: {{ show: [/id, /title] }} }}
---
tool: case.list
allow:
  - id: clerk
    roles: [clerk]
    arguments: {{ sort: {{}} }}
    result:
      keep: {{ /items: {OWN} }}
      hidden: [/items/*/level]
      mask: {{ /items/*/phone: redact, /items/*/owner: last4, /items/*/card: hash }}
      rows: 3
  - {{ id: auditor, roles: [auditor], arguments: {{ sort: {{}} }}, result: {{ show: [/items/*/title], rows: 4 }} }}
  - id: intern
    roles: [intern]
    result: {{ keep: {{ /items: {{ id: {{ pattern: "^a-" }} }} }}, show: [/items/*/id, /items/*/title], rows: 2 }}
---
tool: case.page
allow:
  - id: clerk
    roles: [clerk]
    arguments: {{ cursor: {{}} }}
    result: {{ keep: {{ /items: {OWN} }}, show: [/items/*/id, /items/*/title, /items/*/branch] }}
  - {{ id: auditor, roles: [auditor], arguments: {{ cursor: {{}} }}, result: {{ show: [/items/*/title] }} }}
---
tool: case.search
allow:
  - id: clerk
    roles: [clerk]
    arguments: {{ mode: {{}} }}
    result: {{ keep: {{ /items: {OWN} }}, show: [/items/*/id, /items/*/title, /items/*/branch] }}
  - {{ id: auditor, roles: [auditor], result: {{ show: [/items/*/title] }} }}
---
tool: case.stats
allow:
  - {{ id: any, roles: [clerk, auditor], result: {{ only_if: {{ cases: {{ minimum: 2 }} }}, hidden: [/most] }} }}
---
tool: case.create
refusal: There is no such folder for you.
allow:
  - {{ id: clerk, roles: [clerk], resource: {{ folder: {OWN} }} }}
  - {{ id: auditor, roles: [auditor] }}
---
tool: case.update
refusal: No such case. Ask for the number once more.
allow:
  - id: clerk
    roles: [clerk]
    arguments: {{ title: {{ maxLength: 40 }} }}
    resource: {{ case: {OWN} }}
    state: {{ case: {{ open: {{ const: true }} }} }}
  - {{ id: auditor, roles: [auditor], state: {{ case: {{ open: {{ const: true }} }} }} }}
---
tool: case.release
allow:
  - id: clerk
    roles: [clerk]
    resource: {{ case: {OWN} }}
    duties: {{ approval: {{ by: [manager], within: 15m }} }}
---
tool: desk.ping
limits: [ {{ id: few, duties: {{ budget: {{ calls: 3, per: subject, window: 1m }} }} }} ]
allow: [ {{ id: any, roles: [clerk, auditor, manager] }} ]
"""


@dataclass(frozen=True)
class HiddenTool:
    """A tool that some roles have and others never hear of. *shape* is which arguments it takes, *stage* a stage."""

    name: str
    shape: int = 0
    words: int = 1
    roles: tuple[str, ...] = ("manager",)
    stage: str = ""


@dataclass(frozen=True)
class Setting:
    """What stands beside the archive's own policies: tools, rows, entries of other roles, limits of tenants."""

    tools: tuple[HiddenTool, ...] = ()
    rows: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    limits: tuple[tuple[str, str], ...] = ()


def texts_of(setting: Setting, identity: Mapping[str, object]) -> dict[str, str]:
    """The policies of *setting* by path."""
    groups = "".join(f"g2, {name}, tools/desk\n" for name in DESK)
    calls = "".join(f"p, {role}, *, {tool.name}, call, allow\n" for tool in setting.tools for role in tool.roles)
    found = {
        "names.yaml": NAMES,
        "policy.csv": ROWS + groups + calls + "".join(f"{row}\n" for row in setting.rows),
        "tools/desk.yaml": _with_entries(setting.entries),
        "identity.yaml": json.dumps(identity),
    }
    if setting.tools:
        found["tools/others.yaml"] = "---\n".join(map(_hidden_text, setting.tools))
    return found | {f"tenants/{tenant}/limits.yaml": text for tenant, text in setting.limits}


def _with_entries(entries: tuple[str, ...]) -> str:
    """The desk's tools, with entries of managers at the end of the tools they are for."""
    documents = TOOLS.split("---\n")
    for entry in entries:
        tool, _, text = entry.partition(" ")
        at = next(number for number, each in enumerate(documents) if each.startswith(f"tool: {tool}\n"))
        documents[at] += f"  - {text}\n"
    return "---\n".join(documents)


def _hidden_text(tool: HiddenTool) -> str:
    stages = f"stages: [{tool.stage}]\n" if tool.stage else ""
    roles = ", ".join(tool.roles)
    return f"tool: {tool.name}\n{stages}refusal: Ask the chief.\nallow: [ {{ id: theirs, roles: [{roles}] }} ]\n"
