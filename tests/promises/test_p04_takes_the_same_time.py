"""P4 in time: no difference is found between hidden and absent; what is measured with finds one of 40 ns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from gatewright.middleware.decode import decode
from noninterference.archive import Archive
from noninterference.paths import rows
from noninterference.policies import HiddenTool, Setting
from noninterference.probes import Probe
from noninterference.run import token_of
from noninterference.table import Table
from noninterference.timing import FAIL, PASS, largest_t
from noninterference.world import PEOPLE

pytestmark = [pytest.mark.promise("P4"), pytest.mark.long]
COUNT = 100_000
RUNS = 3
RAW = b'{"case":"a-1","lang":"en","flags":[1,2,3],"text":"something of a usual length","more":{"a":1,"b":2}}'
KNOWN = {str(number): number for number in range(1_000_000)}
PAIRS = {
    "F1": (Probe("vault.open", "{}"), Probe("vault.opem", "{}")),
    "F2": (Probe("case.read", '{"case":"a-1"}'), Probe("case.read", '{"case":"a-9"}')),
    "F5": (
        Probe("case.create", '{"folder":"f-1","title":"x"}'),
        Probe("case.create", '{"folder":"f-9","title":"x"}'),
    ),
    "F9": (Probe("case.update", '{"case":"a-1","title":"x"}'), Probe("case.update", '{"case":"a-9","title":"x"}')),
}
"""Hidden and absent; those of F9 name an operation. F3 has no refusal: what differs there is the tool's own time."""


@pytest.fixture(scope="module")
def archive() -> Iterator[Archive]:
    """An archive whose rows are all hidden from a clerk of branch one."""
    archive = Archive(Setting(tools=(HiddenTool("vault.open"),)))
    archive.table = Table(rows())
    yield archive
    archive.close()


def call_of(archive: Archive, probe: Probe, operation: str | None) -> Callable[[], object]:
    """The call of a probe, in no interaction; the journal is emptied behind it."""
    token = token_of(PEOPLE[0])

    def call() -> None:
        archive.guard.call(probe.tool, probe.raw, token=token, operation=operation)
        archive.journal.lines.clear()

    return call


@pytest.mark.parametrize("family", PAIRS)
def test_no_difference_of_time_is_found(archive: Archive, family: str) -> None:
    """|t| stays below 10, and is below 4.5 in one of three runs, with 100,000 calls of each kind."""
    hidden, absent = (call_of(archive, probe, "op" if family == "F9" else None) for probe in PAIRS[family])
    found = []
    for run in range(RUNS):
        found.append(largest_t(hidden, absent, COUNT, run))
        assert found[-1] < FAIL, found
        if found[-1] < PASS:
            return
    pytest.fail(f"|t| {found} in {RUNS} runs")


def test_what_is_the_same_measures_the_same() -> None:
    """A against A, twenty times: 20 of 20 pass."""
    step = lambda: decode(RAW)  # noqa: E731
    found = [largest_t(step, step, 20_000, run) for run in range(20)]
    assert max(found) < PASS, found


def test_a_difference_of_a_dict_lookup_is_found() -> None:
    """About 40 ns more in a step of some microseconds: |t| of 10 or more."""
    names = iter(list(KNOWN) * 2)

    def more() -> None:
        decode(RAW)
        KNOWN[next(names)]

    assert largest_t(lambda: decode(RAW), more, 100_000) >= FAIL
