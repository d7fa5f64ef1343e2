"""The comparison of worlds is worth its name: it finds every seeded leak, each at its first hit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from noninterference.controls import first_hit
from noninterference.leaks import LEAKS, Leak
from noninterference.world import Gallery

pytestmark = pytest.mark.promise("P4")
SEED = 3
PAIRS = 1000


@pytest.fixture(scope="module")
def gallery() -> Iterator[Gallery]:
    """Some settings; what a leak left in their caches is forgotten after each."""
    gallery = Gallery(SEED, 8)
    yield gallery
    gallery.close()


@pytest.mark.parametrize("leak", [pytest.param(leak, id=leak.name) for leak in LEAKS])
def test_a_seeded_leak_is_found(gallery: Gallery, leak: Leak) -> None:
    """A leak that is not found means that the suite is too weak; one whose text is gone fails and says so."""
    assert first_hit(gallery, leak, SEED, PAIRS), f"not found: {leak.name}"


def test_there_are_as_many_leaks_as_docs_say() -> None:
    """At least 45, spread over modules of both packages, no two of a name."""
    assert len({leak.name for leak in LEAKS}) == len(LEAKS) >= 45
    assert len({leak.file for leak in LEAKS}) >= 15
