"""
P4 over whole worlds: what differs outside a caller's view makes no difference that the caller can see.

The view is the reference decider's. Twelve families of probes; `tests/noninterference` has the worlds and the eyes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from noninterference.paths import alike, parting
from noninterference.probes import FAMILIES
from noninterference.run import Runner
from noninterference.shrink import shrink
from noninterference.world import Gallery, pairs

pytestmark = [pytest.mark.promise("P4"), pytest.mark.promise("P12")]
SEED = int(os.environ.get("GATEWRIGHT_SEED", "1"))
PAIRS = 500
LONG = 5000


@pytest.fixture(scope="module")
def gallery() -> Iterator[Gallery]:
    """The settings of all pairs."""
    gallery = Gallery(SEED)
    yield gallery
    gallery.close()


def look(gallery: Gallery, family: str, seed: int, count: int) -> None:
    """Fail with the smallest pair of worlds that can be told apart, or where too few probes read what was changed."""
    runner = Runner(gallery)
    try:
        for pair in pairs(gallery, family, seed, count):
            found = runner.difference(pair)
            assert found is None, str(shrink(runner, found))
    finally:
        runner.close()
    assert runner.read >= runner.asked / 2, f"{family}: only {runner.read} of {runner.asked} pairs read the change"


@pytest.mark.parametrize("family", FAMILIES)
def test_no_difference_is_seen(gallery: Gallery, family: str) -> None:
    """500 pairs of worlds a family, and at least half of them read what differs."""
    look(gallery, family, SEED, PAIRS)


def test_hidden_and_made_up_foreign_and_absent_take_one_way(gallery: Gallery) -> None:
    """Line by line through our modules, for every person, setting and tool; nothing is left to statistics."""
    runner, count = Runner(gallery), 0
    try:
        for setting in gallery.settings:
            archive = gallery.archive(setting)
            sets = list(alike(archive))
            count += sum(len(each.probes) - 1 for each in sets)
            assert next(parting(runner, archive, iter(sets)), None) is None
    finally:
        runner.close()
    assert count > 1500


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_no_difference_is_seen_at_length(family: str) -> None:
    """The same with 5,000 pairs a family, over other settings."""
    gallery = Gallery(SEED + 1, 30)
    try:
        look(gallery, family, SEED + 1, LONG)
    finally:
        gallery.close()
