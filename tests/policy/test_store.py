"""The last good set stays in force; a new one comes as a whole."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from gatewright.policy.errors import Finding, Place, PolicyInvalid
from gatewright.policy.store import Store

BROKEN = Finding(Place("policy.csv", 3), "effect", "an effect is exactly allow or deny")


class Folder:
    """A source that a test edits: its text, or None where it does not load."""

    def __init__(self) -> None:
        self.text: str | None = "one"
        self.builds = 0

    def build(self) -> str:
        self.builds += 1
        if self.text is None:
            raise PolicyInvalid([BROKEN])
        return self.text

    def fingerprint(self) -> str:
        return repr(self.text)


class Hearing:
    """A listener that writes down what it heard, and can be waited for."""

    def __init__(self) -> None:
        self.heard: list[object] = []
        self.heard_one = threading.Event()

    def loaded(self, old: str | None, new: str) -> None:
        self.heard.append((old, new))
        self.heard_one.set()

    def rejected(self, findings: tuple[Finding, ...]) -> None:
        self.heard.append(findings)
        self.heard_one.set()


def test_a_first_build_that_fails_leaves_nothing_to_go_on_with() -> None:
    """Start is refused: there is no last good set."""
    folder = Folder()
    folder.text = None
    with pytest.raises(PolicyInvalid):
        Store(folder.build)


@pytest.mark.case(5)
@pytest.mark.promise("P10")
def test_a_failed_reload_keeps_the_last_good_set_and_says_so() -> None:
    """The old one goes on, health is degraded, the listener hears why."""
    folder, hearing = Folder(), Hearing()
    store = Store(folder.build, folder.fingerprint, listener=hearing)
    folder.text = None
    assert store.reload() is None
    assert store.current == "one"
    assert store.health.degraded
    assert store.health.findings == (BROKEN,)
    folder.text = "two"
    assert store.reload() == "two"
    assert (store.current, store.health.degraded) == ("two", False)
    assert hearing.heard == [(None, "one"), (BROKEN,), ("one", "two")]


def test_polling_builds_only_what_looks_different() -> None:
    """The content is the truth: the same content is not built again."""
    folder = Folder()
    store = Store(folder.build, folder.fingerprint)
    assert store.poll() is None
    assert folder.builds == 1
    folder.text = "two"
    assert store.poll() == "two"
    assert store.poll() is None
    assert folder.builds == 2


def test_a_running_store_notices_a_change_by_itself() -> None:
    """The thread polls until it is stopped."""
    folder, hearing = Folder(), Hearing()
    store: Store[str] = Store(folder.build, folder.fingerprint, listener=hearing, poll_s=0.01)
    hearing.heard_one.clear()
    store.start()
    folder.text = "two"
    assert hearing.heard_one.wait(5)
    store.stop()
    assert store.current == "two"


@pytest.mark.parametrize("unforeseen", [RuntimeError("odd"), OSError("gone")])
def test_an_unforeseen_fault_while_polling_changes_nothing(unforeseen: Exception) -> None:
    """The thread lives on and the last good set stays."""
    folder, hearing = Folder(), Hearing()
    build: Callable[[], str] = folder.build

    def failing() -> str:
        if folder.text == "two":
            raise unforeseen
        return build()

    store: Store[str] = Store(failing, folder.fingerprint, listener=hearing, poll_s=0.01)
    hearing.heard_one.clear()
    folder.text = "two"
    store.start()
    assert hearing.heard_one.wait(5)
    store.stop()
    assert store.current == "one"
    assert [finding.code for finding in store.health.findings] == ["unforeseen"]
