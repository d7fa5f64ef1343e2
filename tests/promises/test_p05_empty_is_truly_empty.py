"""
P5 over whole worlds: no denial is answered ok, and what is answered empty is empty for the reference decider too.

The dual of P4's suite: there nothing may be told, here what is told may not be nothing.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from noninterference.dual import masquerades
from noninterference.world import Gallery

pytestmark = pytest.mark.promise("P5")
SEED = int(os.environ.get("GATEWRIGHT_SEED", "1"))
CALLS = 20_000
LONG = 300_000


@pytest.fixture(scope="module")
def gallery() -> Iterator[Gallery]:
    """Some settings."""
    gallery = Gallery(SEED, 6)
    yield gallery
    gallery.close()


def look(gallery: Gallery, count: int) -> None:
    """Fail with the first answer that is not what the reference says; denials and empty answers are both many."""
    seen: Counter[str] = Counter()
    assert next(masquerades(gallery, SEED, count, seen), None) is None
    assert seen.total() == count
    assert seen["denied"] > count / 3
    assert seen["empty"] > count / 25


def test_no_denial_is_dressed_as_an_answer(gallery: Gallery) -> None:
    """Of 20,000 calls, none that is denied is ok, with [], {}, null, 0 or an empty text; each empty one is empty."""
    look(gallery, CALLS)


@pytest.mark.long
def test_no_denial_is_dressed_as_an_answer_at_length(gallery: Gallery) -> None:
    """The same of 300,000 calls."""
    look(gallery, LONG)
