"""A folder in production is the one that its EFFECTIVE.txt was generated from."""

from __future__ import annotations

import pytest

from gatewright.policy.currency import check_currency
from gatewright.policy.formats import Findings
from gatewright.policy.source import Source

TEXTS = {"policy.csv": "p, viewer, *, logs.query, call, allow\np, viewer, *, logs.query, call, deny\n"}
REVISION = Source.from_texts(TEXTS).digest


def found(texts: dict[str, str], *, production: bool) -> list[tuple[str, int, str]]:
    """Code, line and severity of what is found."""
    findings = Findings()
    check_currency(Source.from_texts(texts), findings, is_production=production)
    return [(each.code, each.place.line, each.severity) for each in findings.all]


@pytest.mark.parametrize("last", [REVISION, f"revision {REVISION}"])
def test_a_current_file_is_no_finding(last: str) -> None:
    """Its last line ends in the revision."""
    assert not found({**TEXTS, "EFFECTIVE.txt": f"viewer logs.query all\n{last}\n"}, production=True)


@pytest.mark.case(6)
@pytest.mark.promise("P10")
def test_a_half_written_file_does_not_load_in_production() -> None:
    """The deny row is not written yet, so the revision is another one."""
    half = {"policy.csv": "p, viewer, *, logs.query, call, allow\n", "EFFECTIVE.txt": f"x\n{REVISION}\n"}
    assert found(half, production=True) == [("effective_stale", 2, "error")]
    assert found(half, production=False) == [("effective_stale", 2, "warning")]


def test_an_empty_file_is_stale() -> None:
    """It names no revision."""
    assert found({**TEXTS, "EFFECTIVE.txt": ""}, production=True) == [("effective_stale", 1, "error")]


def test_a_missing_file_is_told_in_production_only() -> None:
    """Elsewhere there need not be one."""
    assert found(TEXTS, production=True) == [("effective_missing", 1, "warning")]
    assert not found(TEXTS, production=False)
