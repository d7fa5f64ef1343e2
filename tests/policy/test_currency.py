"""A folder in production is the one that its EFFECTIVE.txt was generated from."""

from __future__ import annotations

import pytest

from gatewright.policy.currency import check_currency
from gatewright.policy.effective import IN_PRODUCTION
from gatewright.policy.formats import Findings
from gatewright.policy.source import Source

TEXTS = {"policy.csv": "p, viewer, *, logs.query, call, allow\np, viewer, *, logs.query, call, deny\n"}
REVISION = Source.from_texts(TEXTS).digest


def found(texts: dict[str, str], *, production: bool) -> list[tuple[str, int, str]]:
    """Code, line and severity of what is found."""
    findings = Findings()
    check_currency(Source.from_texts(texts), findings, is_production=production)
    return [(each.code, each.place.line, each.severity) for each in findings.all]


def test_a_current_file_is_no_finding() -> None:
    """Its last line is the revision."""
    assert not found({**TEXTS, "EFFECTIVE.txt": f"viewer logs.query all asks\n{REVISION}\n"}, production=True)


@pytest.mark.parametrize("cut", range(1, len(REVISION)))
def test_a_file_that_is_cut_off_is_stale(cut: int) -> None:
    """Part of a revision is none."""
    assert found({**TEXTS, "EFFECTIVE.txt": f"a b c asks\n{REVISION[:cut]}"}, production=True)


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


@pytest.mark.promise("P10")
def test_a_missing_file_keeps_a_folder_in_production_from_loading() -> None:
    """Elsewhere there need not be one."""
    assert found(TEXTS, production=True) == [("effective_missing", 1, "error")]
    assert not found(TEXTS, production=False)


@pytest.mark.case(6)
@pytest.mark.promise("P10")
def test_a_folder_that_stops_saying_that_it_is_in_production_is_held_to_its_file() -> None:
    """The line that said so may be what was cut off."""
    half = {**TEXTS, "EFFECTIVE.txt": f"{IN_PRODUCTION}\na b c asks\n{'0' * 64}\n"}
    assert found(half, production=False) == [("effective_stale", 3, "error")]
