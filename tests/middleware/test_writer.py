"""What was taken is written, also where a process ends without closing anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gatewright.middleware.journal import StoreJournal

SCRIPT = """
import sys
from gatewright.middleware.journal import StoreJournal
from gatewright.middleware.record import Trail
trail = Trail(0.0)
trail.answer("ok")
StoreJournal(sys.argv[1]).append(trail.line())
"""


@pytest.mark.promise("P9")
def test_a_process_that_closes_nothing_loses_no_line(tmp_path: Path) -> None:
    """The end of the process ends the writer, not the lines."""
    place = tmp_path / "events.db"
    for _ in range(3):
        subprocess.run([sys.executable, "-c", SCRIPT, str(place)], check=True)
    journal = StoreJournal(place)
    assert len(list(journal.iter_lines())) == 3
    journal.close()
