"""Casbin rows are strict, and the fast way of reading them reads what the careful way reads."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.policy import rows as room
from gatewright.policy.errors import Place
from gatewright.policy.formats import Findings
from gatewright.policy.model import Delegation, Link, Membership, Names, Rule
from gatewright.policy.rows import RowSet, check_groups, read_rows
from gatewright.policy.vocabulary import Vocabulary

NAMES = Names(
    roles={"viewer": frozenset(), "oncall": frozenset()},
    actors=frozenset({"bot"}),
    tenants=frozenset({"acme", "globex"}),
    types={"service": frozenset({"read", "open"}), "alert": frozenset({"mute"})},
    delegate=Delegation(),
    calendars={},
    settings={},
)
WORDS = Vocabulary(NAMES, frozenset({"logs.query", "alerts.mute"}))


def read(text: str) -> tuple[RowSet, list[str]]:
    """The rows of *text*, and code with place of every finding."""
    rows, findings = RowSet(), Findings()
    read_rows("policy.csv", text.encode("utf-8", "surrogatepass"), WORDS, findings, rows)
    return rows, [f"{each.code} {each.place.line}:{each.place.column}" for each in findings.all]


def test_rows_say_who_may_do_what() -> None:
    """All three kinds, with and without until and ref; blanks around cells and blank lines mean nothing."""
    text = (
        "# who may read\n\n"
        "p, viewer, *, logs.query, call, allow\n"
        "  p,subject:tmp , acme,service:a ,read,deny ,2026-10-01,SEC-77\n"
        "p, *, globex, alerts.mute, call, deny, , PLAN-1\r\n"
        "   # a comment may stand further in\n"
        "g, oncall, viewer, *, 2026-10-01\n"
        "g, actor:b1, bot, acme\n"
        "g2, logs.query, tools/reading\n"
    )
    rows, found = read(text)
    assert not found
    day, file = dt.date(2026, 10, 1), "policy.csv"
    assert rows.rules == [
        Rule("viewer", "*", "logs.query", "call", "allow", None, "", Place(file, 3, 1)),
        Rule("subject:tmp", "acme", "service:a", "read", "deny", day, "SEC-77", Place(file, 4, 3)),
        Rule("*", "globex", "alerts.mute", "call", "deny", None, "PLAN-1", Place(file, 5, 1)),
    ]
    assert rows.links == [
        Link("oncall", "viewer", "*", day, "", Place(file, 7, 1)),
        Link("actor:b1", "bot", "acme", None, "", Place(file, 8, 1)),
    ]
    assert rows.memberships == [Membership("logs.query", "tools/reading", None, "", Place(file, 9, 1))]
    assert rows.rules[1].id == "policy.csv:4"


@pytest.mark.case(8)
def test_quotes_are_those_of_rfc_4180() -> None:
    """A comma, a doubled quote and a number sign inside of quotes are part of the cell."""
    rows, found = read('p, viewer, *, "service:a,b", read, allow\np, viewer, *, "service:a""#1" , read, allow\n')
    assert not found
    assert [rule.obj for rule in rows.rules] == ["service:a,b", 'service:a"#1']


def test_places_are_right_behind_quoted_commas() -> None:
    """The column is that of the cell, not the third comma's."""
    assert read('p, "subject:a,b", *, logs.qury, call, allow\n')[1] == ["unknown_tool 1:22"]


@pytest.mark.parametrize(
    ("obj", "faults"),
    [
        ("service:*", []),
        ("service:a*", ["star"]),
        ("service:a-*", []),
        ("service:a/*", []),
        ("service:*b", ["star"]),
        ("service:a*b*", ["star"]),
        ("service:**", ["star"]),
        ("logs.*", []),
        ("log*", ["star"]),
        ("ser*", ["star"]),
        ("*", ["allow_everything"]),
        ("**", ["star"]),
    ],
)
def test_a_star_stands_alone_or_last_behind_a_separator(obj: str, faults: list[str]) -> None:
    """Anything else would match what nobody meant."""
    _, found = read(f"p, viewer, *, {obj}, *, allow\n")
    assert [each.split()[0] for each in found] == faults


def test_everything_may_be_denied() -> None:
    """Only an allow on a bare star is refused."""
    assert not read("p, bot, *, *, *, deny\n")[1]


def test_a_cell_has_one_finding_at_most_and_a_row_as_many_as_cells() -> None:
    """All that is wrong with a row comes at once."""
    text = "p, viewr, acm, servce:a, read, alow, 2026-13-01, \n"
    assert read(text)[1] == [
        "empty_cell 1:50",
        "unknown_role 1:4",
        "unknown_tenant 1:11",
        "unknown_type 1:16",
        "effect 1:32",
    ]


@pytest.mark.case(9)
@pytest.mark.parametrize("row", ["p, viewer, read", "p", "p, a, b, c, d, allow, , r, more", "g, a, b", "g2, a", ","])
def test_a_row_of_another_width_is_refused_at_load(row: str) -> None:
    """It never waits for a decision to break."""
    rows, found = read(f"{row}\np, viewer, *, logs.query, call, allow\n")
    assert [each.split()[0] for each in found] in (["row_width"], ["unknown_row_type"])
    assert len(rows.rules) == 1


@pytest.mark.case(7)
@pytest.mark.promise("P10")
@pytest.mark.parametrize(
    "effect", ["DENY", "Deny", "denny", "deny # note", "den\u200by", "deny\u00a0", "dény", "deny;"]
)
def test_a_deny_that_is_not_spelt_deny_is_a_finding(effect: str) -> None:
    """It never becomes an inert row."""
    _, found = read(f"p, viewer, *, logs.query, call, {effect}\n")
    assert len(found) == 1


def test_groups_must_meet() -> None:
    """A group that nothing makes, and one a slip away from an asked one, are errors; one nobody asks for is told."""
    rows, found = read(
        "p, viewer, *, tools/reading, call, allow\n"
        "p, viewer, *, tools/writing, call, allow\n"
        "g2, logs.query, tools/reading\n"
        "g2, alerts.mute, tools/readin\n"
        "g2, alerts.mute, tools/spare\n"
        "g2, alerts.mute, tools/lent\n"
    )
    findings = Findings()
    check_groups(rows, ["tools/lent"], findings)
    assert not found
    assert [(each.code, each.place.line, each.place.column, each.severity) for each in findings.all] == [
        ("unknown_group", 2, 15, "error"),
        ("unused_group", 4, 18, "error"),
        ("unused_group", 5, 18, "warning"),
    ]


def test_tools_are_not_asked_where_the_catalog_is_not_known() -> None:
    """Everything else still is."""
    rows, findings = RowSet(), Findings()
    text = b"p, viewer, *, made.up, call, allow\np, viewer, *, made.*, cal, allow\ng2, made.up, tools/x\n"
    read_rows("policy.csv", text, Vocabulary(NAMES, None), findings, rows)
    assert [each.code for each in findings.all] == ["unknown_action"]


def test_a_file_of_faults_is_not_read_to_its_end() -> None:
    """After a thousand findings there is no use in going on."""
    _, found = read("p, viewr, *, logs.query, call, allow\n" * 50_000)
    assert len(found) == 1000
    assert found[-1].startswith("too_many")


_CELL = st.sampled_from(
    [
        *(
            "p",
            "g",
            "g2",
            "viewer",
            "viewr",
            "bot",
            "subject:a",
            "subject:",
            "subject:a*",
            "actor:b",
            "*",
            "acme",
            "acm",
        ),
        *(
            "logs.query",
            "logs.*",
            "service:a",
            "service:*",
            "service:a*",
            "service:",
            "servce:a",
            "alert:a/*",
            "tools/x",
        ),
        *(
            "read",
            "mute",
            "call",
            "approve",
            "allow",
            "deny",
            "Deny",
            "2026-10-01",
            "2026-02-30",
            "",
            "SEC-1",
            '"a,b"',
            "a#b",
        ),
    ]
)
_PLAIN_ROW = st.tuples(
    st.just("p"),
    st.sampled_from(["viewer", "viewr", "subject:a", "subject:", "subject:*", "bot", "*", ""]),
    st.sampled_from(["*", "acme", "globex", "acm"]),
    st.sampled_from(
        ["service:a", "service:*", "service:a*", "service:a-*", "service:", "alert:x", "servce:a", "logs.query"]
    ),
    st.sampled_from(["read", "open", "mute", "*", "raed"]),
    st.sampled_from(["allow", "deny", "alow"]),
) | st.tuples(
    st.just("p"),
    st.just("viewer"),
    st.just("*"),
    st.sampled_from(["service:a", "service:b"]),
    st.just("read"),
    st.just("allow"),
    st.sampled_from(["", "2026-10-01", "2026-02-30", "x"]),
    st.sampled_from(["SEC-1", "", "a#b", '"q"']),
)
_ROW = st.builds(
    lambda cells, blank: blank.join([",", ""]).join(cells),
    _PLAIN_ROW | st.lists(_CELL, min_size=1, max_size=9).map(tuple),
    st.sampled_from(["", " ", "  "]),
)


@given(st.lists(_ROW, min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_the_fast_way_reads_what_the_careful_way_reads(lines: list[str], end: str) -> None:
    """Same rows, same places, same findings."""
    text = end.join(lines) + end
    fast = read(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(room._Reading, "take_rule", lambda *_: False)
        careful = read(text)
    assert fast == careful


@given(st.text(max_size=80) | st.text('p,g2 "#*:\n\t\ra', max_size=80))
@pytest.mark.promise("P11")
def test_no_text_crashes_the_reader(text: str) -> None:
    """Every row is read or has a finding; nothing is dropped."""
    rows, found = read(text)
    lines = [line for line in text.split("\n") if line.strip(" \r") and not line.lstrip(" ").startswith("#")]
    assert found or len(rows.rules) + len(rows.links) + len(rows.memberships) == len(lines)
