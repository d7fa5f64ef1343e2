"""One shop for every promise that leaves it as it was; a test that changes a shop opens its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from promises.shop import Shop, open_shop


@pytest.fixture(scope="session")
def opened() -> Iterator[Shop]:
    """The shop, opened once and closed at the end."""
    shop = open_shop()
    with shop.guard:
        yield shop


@pytest.fixture
def shop(opened: Shop) -> Shop:
    """The shop with nothing noted and nothing about to happen."""
    opened.reset()
    return opened
