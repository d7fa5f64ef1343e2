"""What every test may rely on: long tests run only when asked for."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the switch that `make test-long` uses."""
    parser.addoption("--long", action="store_true", help="run the long tests too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip long tests, with the reason, where they were not asked for."""
    if config.getoption("--long"):
        return
    reason = pytest.mark.skip(reason="long: runs in `make test-long`")
    for item in items:
        if item.get_closest_marker("long") is not None:
            item.add_marker(reason)
