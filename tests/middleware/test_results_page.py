"""docs/results.md says what the code says."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.middleware.failures import Stopped
from gatewright.middleware.outcome import FAILED_CODES
from gatewright.middleware.results import FORBIDDEN, NOT_FOUND, FailedResult, Unauthenticated

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()


@pytest.mark.parametrize("code", FAILED_CODES)
def test_the_table_of_codes_is_the_one_in_the_code(code: str) -> None:
    """Each row with its retryable and next."""
    retryable, advice = FAILED_CODES[code]  # type: ignore[index]
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{code}` |"))
    assert row.endswith(f"| {'yes' if retryable else 'no'} | `{advice}` |")


@pytest.mark.parametrize("stopped", Stopped.__subclasses__())
def test_every_status_has_its_row(stopped: type[Stopped]) -> None:
    """With the exception that a direct call raises."""
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{stopped.code}` |"))
    assert row.endswith(f"| `{stopped.__name__}` |")


def test_the_json_of_constants_is_quoted_as_it_is() -> None:
    """Bytes in the page are bytes in the code."""
    for result in (FORBIDDEN, NOT_FOUND, FailedResult("timeout"), Unauthenticated("token_expired")):
        assert result.to_bytes().decode() in PAGE
