"""names.yaml closes the names: roles, tenants, types, calendars and settings."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.policy.errors import Place
from gatewright.policy.fields import Reader
from gatewright.policy.formats import Findings, read_documents
from gatewright.policy.model import Calendar, Delegation, Names
from gatewright.policy.names import check_alike, read_names
from gatewright.policy.nearest import is_slip, nearest


def read(text: str) -> tuple[Names, list[str]]:
    """The names, and code with place of every finding."""
    findings = Findings()
    (document,) = read_documents("names.yaml", text.encode(), findings)
    names = read_names(document, Reader(findings))
    return names, [f"{each.code} {each.place.line}:{each.place.column}" for each in findings.all]


def test_every_part_is_read() -> None:
    """As POLICY.md writes it."""
    names, found = read(
        """\
format: 1
roles: { agent: {}, compliance: { excludes: [agent], about: second line } }
actors: [copilot]
tenants: { zurich: {}, geneva: { plan: free, seats: 3 } }
types: { transaction: [refund], customer: [read, note] }
delegate: { tools: [tools/reading], roles: [agent] }
calendars:
  desk: { days: [mon, fri], from: "08:00", to: "18:00", tz: Europe/Zurich, except: ["2026-12-25"] }
  freeze: { dates: ["2026-12-20", "2027-01-03"], tz: UTC }
settings: { type: object, properties: { max_span_s: { type: integer, default: 3600 } } }
"""
    )
    assert not found
    assert names == Names(
        roles={"agent": frozenset({"compliance"}), "compliance": frozenset({"agent"})},
        actors=frozenset({"copilot"}),
        tenants=frozenset({"zurich", "geneva"}),
        types={"transaction": frozenset({"refund"}), "customer": frozenset({"read", "note"})},
        delegate=Delegation(frozenset({"tools/reading"}), frozenset({"agent"})),
        calendars={
            "desk": Calendar(
                "Europe/Zurich",
                frozenset({0, 4}),
                dt.time(8),
                dt.time(18),
                None,
                frozenset({dt.date(2026, 12, 25)}),
            ),
            "freeze": Calendar("UTC", dates=(dt.date(2026, 12, 20), dt.date(2027, 1, 3))),
        },
        settings={
            "type": "object",
            "properties": {"max_span_s": {"type": "integer", "default": 3600}},
            "additionalProperties": False,
        },
    )


def test_exclusion_is_held_both_ways() -> None:
    """Written one way."""
    names, _ = read("roles: { a: { excludes: [b] }, b: {}, c: { excludes: [b] } }\ntenants: {}\n")
    assert names.roles == {"a": frozenset({"b"}), "b": frozenset({"a", "c"}), "c": frozenset({"b"})}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("admin", "Admin"),
        ("tier1", "tierl"),
        ("tier1", "tierI"),
        ("pool", "po0l"),
        ("modern", "modem"),
        ("corner", "comer"),
    ],
)
def test_names_that_look_alike_are_findings(first: str, second: str) -> None:
    """A person reading a row would take one for the other."""
    findings = Findings()
    check_alike([(first, Place("x")), (second, Place("x", 2))], "role", findings)
    assert [(each.code, each.place.line) for each in findings.all] == [("look_alike", 2)]


@pytest.mark.parametrize("name", ["аdmin", "ad min", "", "ａdmin", "admin\u200b", "a" * 129, "a/b", "a:b", "*"])
def test_a_name_is_made_of_plain_characters(name: str) -> None:
    """Nothing outside of ASCII, so that no letter passes for another."""
    _, found = read(f'roles: {{ "{name}": {{}} }}\ntenants: {{}}\n')
    assert [each.split()[0] for each in found] == ["bad_name"]


def test_a_hint_names_the_nearest() -> None:
    """Where one is near, and in bounded time."""
    assert nearest("viewr", ["oncall", "viewer"]) == "did you mean 'viewer'?"
    assert nearest("x" * 1000, ["x" * 999]) == ""
    assert nearest("viewr", []) == ""


@given(st.text("abc", min_size=1, max_size=6), st.data())
def test_one_slip_is_noticed_both_ways(name: str, data: st.DataObject) -> None:
    """A character more, less or other, or two swapped; the same name is none."""
    at = data.draw(st.integers(0, len(name) - 1))
    letter = data.draw(st.sampled_from("abcd"))
    swapped = name[:at] + name[at : at + 2][::-1] + name[at + 2 :]
    for other in (
        name[:at] + name[at + 1 :],
        name[:at] + letter + name[at:],
        name[:at] + letter + name[at + 1 :],
        swapped,
    ):
        assert is_slip(name, other) == is_slip(other, name) == (name != other)
    assert not is_slip(name, f"{name}dd")
