"""What stock Casbin is given: the same rows, as wide as its model wants them, and none that has ended."""

from __future__ import annotations

import datetime as dt

import casbin
import pytest
from casbin.model import Model
from casbin.persist.adapters.string_adapter import StringAdapter

from gatewright.policy.errors import PolicyInvalid
from gatewright.policy.export import export_casbin
from small_policies import TODAY, policies_of

ROWS = """\
p, viewer, *, tools/reading, call, allow
p, suspended, acme, logs.query, call, deny, , OPS-1
p, subject:ann, *, service:a, read, allow, 2026-09-30, OPS-2
p, lead, *, logs.query, call, allow, 2026-09-29, OPS-3
g, lead, viewer, *
g, analyst, viewer, *, 2026-09-29
g2, logs.query, tools/reading
g2, logs.purge, tools/reading, 2026-09-29
"""


def rows_of(text: str) -> list[str]:
    """The rows of an exported file."""
    return [line for line in text.splitlines() if not line.startswith("#")]


def test_rows_are_padded_and_what_has_ended_is_left_out() -> None:
    """Seven cells a p row, three a g row, two a g2 row."""
    assert rows_of(export_casbin(policies_of(ROWS), TODAY)["policy.csv"]) == [
        "p, viewer, *, tools/reading, call, allow, ,",
        "p, suspended, acme, logs.query, call, deny, , OPS-1",
        "p, subject:ann, *, service:a, read, allow, 2026-09-30, OPS-2",
        "g, lead, viewer, *",
        "g2, logs.query, tools/reading",
    ]


def test_the_day_decides_what_has_ended() -> None:
    """A day earlier, everything counts."""
    earlier = export_casbin(policies_of(ROWS), TODAY - dt.timedelta(days=1))["policy.csv"]
    assert len(rows_of(earlier)) == 8


def test_stock_casbin_reads_what_was_written() -> None:
    """Its answers are those of the rows."""
    files = export_casbin(policies_of(ROWS), TODAY)
    model = Model()
    model.load_model_from_text(files["model.conf"])
    stock = casbin.Enforcer(model, StringAdapter(files["policy.csv"]))
    stock.add_named_domain_matching_func("g", lambda asked, stated: stated == "*" or asked == stated)
    stock.build_role_links()
    assert stock.enforce("lead", "acme", "logs.query", "call")
    assert not stock.enforce("suspended", "acme", "logs.query", "call")
    assert not stock.enforce("lead", "acme", "logs.purge", "call")


@pytest.mark.case(8)
@pytest.mark.parametrize("subject", ["a,b", "a(b)", "a[1]"])
def test_a_row_that_stock_casbin_would_misread_is_not_written(subject: str) -> None:
    """Nor is it left out: it may be a deny."""
    with pytest.raises(PolicyInvalid, match="not_for_casbin"):
        export_casbin(policies_of(f'p, "subject:{subject}", *, logs.query, call, deny\n'), TODAY)
