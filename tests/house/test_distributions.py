"""Two distributions are called casbin; only one of them may be installed."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

import pytest

from gatewright import Guard, Misuse
from gatewright.policy.matcher import check_distribution

POLICIES = {
    "names.yaml": "roles: { reader: {} }\ntenants: { acme: {} }\n",
    "policy.csv": "",
    "identity.yaml": "issuers: []\n",
}


@pytest.fixture(autouse=True)
def asked_afresh() -> Iterator[None]:
    """The check looks once a process; here it looks each time."""
    check_distribution.cache_clear()
    yield
    check_distribution.cache_clear()


def test_one_distribution_is_right() -> None:
    """pycasbin alone is what we depend on."""
    check_distribution()


@pytest.mark.parametrize("found", [["pycasbin", "casbin"], ["casbin"]])
def test_the_older_distribution_keeps_a_guard_from_starting(monkeypatch: pytest.MonkeyPatch, found: list[str]) -> None:
    """The last one installed overwrites the other, so nobody knows which code decides; says how to mend it."""
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: {"casbin": found})
    with pytest.raises(Misuse) as caught:
        Guard(POLICIES)
    assert "pip uninstall casbin pycasbin" in caught.value.hint
