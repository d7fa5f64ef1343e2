"""A hundred thousand decisions of the judge and of the reference decider: well-typed, near misses and garbage."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from comparing import compare
from parallel import spread
from worlds.shelf import worlds

SEED = int(os.environ.get("GATEWRIGHT_SEED", "1"))
INVENTED = 80
ROWS = 200


def jobs(times: int) -> list[tuple[str, str, int, int]]:
    """About a hundred thousand decisions, *times* over with other seeds."""
    found = []
    for seed in range(SEED * 100, SEED * 100 + times):
        found += [(kind, world.name, seed, 750) for world in worlds() for kind in ("near", "typed", "garbage")]
        found += [
            (kind, str(seed * 1000 + at), seed, 60) for at in range(INVENTED) for kind in ("near", "typed", "garbage")
        ]
        found += [("rows", "", seed * 1000 + at, 385) for at in range(ROWS)]
    return found


def compared(times: int) -> tuple[Counter[str], list[str]]:
    """What the reference said, and every difference."""
    answers = spread(compare, jobs(times))
    return sum((seen for seen, _ in answers), Counter()), [fault for _, faults in answers for fault in faults]


@pytest.mark.promise("P1")
def test_both_decide_a_hundred_thousand_times_alike() -> None:
    """No difference; every status is met."""
    seen, faults = compared(1)
    assert not faults, f"{len(faults)}, the first:\n{faults[0]}"
    assert sum(seen.values()) >= 100_000
    assert (
        min(seen[status] for status in ("ok", "approval_required", "forbidden", "invalid_arguments", "allowed")) > 100
    )


@pytest.mark.long
def test_both_decide_a_million_times_alike() -> None:
    """The same with ten seeds."""
    seen, faults = compared(10)
    assert not faults, f"{len(faults)}, the first:\n{faults[0]}"
    assert sum(seen.values()) >= 1_000_000
