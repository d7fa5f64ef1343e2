"""Every broken policy gives its exact finding and place; each file beside this one is named after its fault."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from gatewright.policy.engine import compile_engine
from gatewright.policy.errors import Finding, PolicyInvalid
from gatewright.policy.folder import load_policies
from gatewright.policy.source import Source, read_folder

HERE = Path(__file__).parent
SOUND = {path: content.decode() for path, content in read_folder(HERE / "sound").files.items()}
FAULTS = sorted(path for path in HERE.glob("*/*.yaml") if path.parent.name != "sound")


def findings_of(texts: dict[str, str]) -> tuple[Finding, ...]:
    """What loading *texts* finds."""
    with pytest.raises(PolicyInvalid) as caught:
        compile_engine(load_policies(Source.from_texts(texts)))
    return caught.value.findings


def test_the_sound_folder_loads() -> None:
    """What the faults are put into has none of its own."""
    assert compile_engine(load_policies(Source.from_texts(SOUND)))


@pytest.mark.promise("P10")
@pytest.mark.parametrize("path", FAULTS, ids=[f"{path.parent.name}/{path.stem}" for path in FAULTS])
def test_a_fault_is_found_where_it_stands(path: Path) -> None:
    """Code, file, line and column of every finding, and of no other; the folder is not loaded."""
    fault: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    found = findings_of({**SOUND, fault["file"]: fault["text"]})
    expected = fault["expect"] if isinstance(fault["expect"], list) else [fault["expect"]]
    assert [(each.code, each.place.file, each.place.line, each.place.column) for each in found] == [
        (each["code"], each.get("file", fault["file"]), each["line"], each["column"]) for each in expected
    ]


def test_every_code_that_is_found_is_on_its_page() -> None:
    """docs/findings.md lists what a code may be."""
    listed = set(re.findall(r"`(\w+)`", (HERE.parents[1] / "docs/findings.md").read_text("utf-8")))
    expected = [yaml.safe_load(path.read_text("utf-8"))["expect"] for path in FAULTS]
    codes = {each["code"] for item in expected for each in (item if isinstance(item, list) else [item])}
    assert codes <= listed


def test_all_findings_come_at_once_and_sorted() -> None:
    """One run names everything that is wrong, in the order of files and lines."""
    broken = {**SOUND, "policy.csv": "p, viewr, *, logs.query, call, allow\np, viewer, *, logs.query, call, denny\n"}
    found = findings_of({**broken, "tools/logs.yaml": "tool: logs.query\nalow: []\n"})
    assert [(each.place.file, each.place.line, each.code) for each in found] == [
        ("policy.csv", 1, "unknown_role"),
        ("policy.csv", 2, "effect"),
        ("tools/logs.yaml", 2, "unknown_key"),
    ]


@pytest.mark.case(7)
@pytest.mark.parametrize(
    "row",
    [
        "\ufeffp, viewer, *, logs.query, call, deny",
        "p, viewer, *, logs.query, call, DENY",
        "p, viewer, *, logs.query, call, deny # note",
        "p, viewer, *, logs.query, call, denny",
    ],
)
def test_a_mangled_deny_row_is_never_dropped_in_silence(row: str) -> None:
    """Stock Casbin drops each of these and lets the allow below it win."""
    text = f"{row}\np, viewer, *, logs.query, call, allow\n"
    assert all(finding.place.line == 1 for finding in findings_of({**SOUND, "policy.csv": text}))


@pytest.mark.case(7)
def test_a_quoted_row_type_is_the_row_type() -> None:
    """Quotes are those of RFC 4180, so the deny row counts."""
    text = '"p", viewer, *, logs.query, call, deny\np, viewer, *, logs.query, call, allow\n'
    policies = load_policies(Source.from_texts({**SOUND, "policy.csv": text}))
    assert [rule.eft for rule in policies.rules] == ["deny", "allow"]


@pytest.mark.case(8)
def test_a_comma_inside_quotes_is_part_of_the_cell() -> None:
    """One field, not two."""
    text = 'p, "subject:a,b", *, logs.query, call, allow\n'
    policies = load_policies(Source.from_texts({**SOUND, "policy.csv": text}))
    assert policies.rules[0].sub == "subject:a,b"


@pytest.mark.case(9)
def test_one_bad_row_is_refused_at_load_and_not_at_a_decision() -> None:
    """Two columns for one never become an error for another."""
    text = "p, viewer, logs.query\np, oncall, *, alerts.mute, call, allow\n"
    assert [finding.code for finding in findings_of({**SOUND, "policy.csv": text})] == ["row_width"]
