"""More entries than a role schema can show are found in the files, before a caller loses the tool over them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gatewright.policy.errors import Finding, PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.model import ToolSpec
from gatewright.policy.narrowing import MOST_ALTERNATIVES
from gatewright.policy.source import Source

SCHEMA: Any = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["n"],
    "additionalProperties": False,
}
SPEC = ToolSpec("count", "read", "read", "Counts.", "asked", "else", SCHEMA)
ROLES = [f"r{number}" for number in range(MOST_ALTERNATIVES + 1)]


def entry(number: int, *roles: str, **arguments: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "roles": list(roles), "arguments": arguments or {"n": {"maximum": number}}}


def found(
    entries: list[dict[str, Any]],
    *,
    excludes: dict[str, list[str]] | None = None,
    rows: str = "",
    limits: Any = (),
    own: Any = None,
) -> list[tuple[str, str, int]]:
    """Severity, code and line of every finding about the number of entries."""
    roles = {role: {"excludes": (excludes or {})[role]} if role in (excludes or {}) else {} for role in ROLES}
    names = {"roles": roles, "actors": [], "tenants": {"acme": {}, "globex": {}}, "types": {}}
    lines = [
        "tool: count",
        f"limits: {yaml.safe_dump(list(limits), default_flow_style=True, width=9999).strip()}",
        "allow:",
    ]
    lines += [f"  - {yaml.safe_dump(each, default_flow_style=True, width=9999).strip()}" for each in entries]
    texts = {
        "names.yaml": yaml.safe_dump(names),
        "identity.yaml": "issuers: []\n",
        "policy.csv": "".join(f"p, {role}, *, count, call, allow\n" for role in ROLES) + rows,
        "tools/count.yaml": "\n".join(lines),
    }
    if own is not None:
        texts["tenants/acme/limits.yaml"] = yaml.safe_dump({"count": own})
    try:
        every: tuple[Finding, ...] = load_policies(Source.from_texts(texts), {"count": SPEC}).warnings
    except PolicyInvalid as error:
        every = error.findings
    return [(each.severity, each.code, each.place.line) for each in every if each.code == "too_many_entries"]


ERROR = [("error", "too_many_entries", 3 + MOST_ALTERNATIVES + 1)]
WARNING = [("warning", "too_many_entries", 3 + MOST_ALTERNATIVES + 1)]
COUNT = range(MOST_ALTERNATIVES + 1)


def test_nine_entries_of_one_role_that_differ_are_an_error() -> None:
    """At the ninth; eight are none."""
    assert found([entry(number, "r0") for number in COUNT]) == ERROR
    assert found([entry(number, "r0") for number in COUNT][:-1]) == []


def test_inherited_entries_count() -> None:
    """Whoever inherits a role has its entries too, in any domain."""
    entries = [entry(number, "r0" if number % 2 else "r1") for number in COUNT]
    assert found(entries, rows="g, r0, r1, acme\n") == ERROR
    assert found(entries) == WARNING


def test_entries_that_show_the_same_are_one() -> None:
    """Other facts, other roles, another pin and a name hidden either way show nothing else."""
    same = [{**entry(number, "r0", n={"maximum": 5}), "duties": {"timeout": f"{number + 1}s"}} for number in COUNT]
    assert found(same) == []
    pinned = [entry(number, "r0", n={"pin": number}, note="hidden" if number % 2 else {"pin": "x"}) for number in COUNT]
    assert found(pinned) == []


def test_what_takes_many_roles_at_once_is_a_warning() -> None:
    """One entry a role: nobody needs to hold them all, but whoever does would lose the tool."""
    assert found([entry(number, ROLES[number]) for number in COUNT]) == WARNING


def test_roles_that_exclude_each_other_are_never_held_together() -> None:
    """One pair is enough to bring nine down to eight."""
    assert found([entry(number, ROLES[number]) for number in COUNT], excludes={"r3": ["r7"]}) == []


def test_a_limit_that_aims_at_entries_makes_them_differ() -> None:
    """In the tool's file, or in a tenant's."""
    same = [entry(number, "r0", n={"maximum": 500}) for number in COUNT]
    limits = [{"id": f"l{n}", "entries": [f"e{n}"], "arguments": {"n": {"minimum": n}}} for n in COUNT]
    assert found(same, limits=limits) == ERROR
    assert found(same, limits=limits[:4], own=limits[4:]) == ERROR
    assert found(same, limits=[{**limit, "entries": [f"e{n}" for n in COUNT]} for limit in limits]) == []


@pytest.mark.parametrize("count", [40, 200])
def test_many_roles_that_exclude_each_other_are_answered_soon(count: int) -> None:
    """The search is bounded."""
    assert isinstance(
        found(
            [entry(number, ROLES[number % len(ROLES)]) for number in range(count)],
            excludes={role: [ROLES[(at + 1) % len(ROLES)]] for at, role in enumerate(ROLES)},
        ),
        list,
    )
