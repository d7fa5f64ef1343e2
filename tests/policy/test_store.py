"""The last good set stays in force; a new one comes as a whole."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from gatewright.policy.engine import Engine
from gatewright.policy.errors import Finding, Place, PolicyInvalid
from gatewright.policy.store import Store
from small_policies import caller, engine_of, may

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

    def rejected(self, findings: tuple[Finding, ...], looks: str) -> None:
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


@pytest.mark.parametrize("unforeseen", [RuntimeError("odd"), OSError("gone"), MemoryError()])
def test_an_unforeseen_fault_while_reloading_changes_nothing(unforeseen: Exception) -> None:
    """Whoever asked for the reload gets no exception: health and listener say what it was."""
    folder, hearing = Folder(), Hearing()

    def failing() -> str:
        if folder.text == "two":
            raise unforeseen
        return folder.build()

    store: Store[str] = Store(failing, folder.fingerprint, listener=hearing)
    folder.text = "two"
    assert store.reload() is None
    assert (store.current, store.health.degraded) == ("one", True)
    assert type(unforeseen).__name__ in store.health.findings[0].message


def test_what_failed_for_no_fault_of_the_source_is_tried_again_and_told_once() -> None:
    """A source that looks as it did is built again, for the reason may have passed."""
    folder, hearing = Folder(), Hearing()
    failures = [OSError("busy"), OSError("busy")]

    def failing() -> str:
        if folder.text == "two" and failures:
            raise failures.pop()
        return folder.build()

    store: Store[str] = Store(failing, folder.fingerprint, listener=hearing)
    folder.text = "two"
    assert [store.poll(), store.poll(), store.poll(), store.poll()] == [None, None, "two", None]
    assert [len(heard) for heard in hearing.heard if isinstance(heard, tuple)] == [2, 1, 2]
    assert not store.health.degraded


def test_a_source_that_cannot_be_looked_at_is_looked_at_again() -> None:
    """It comes back as it was, and the store is whole again."""
    folder, gone = Folder(), [False]

    def look() -> str:
        if gone[0]:
            raise OSError("gone")
        return folder.fingerprint()

    store: Store[str] = Store(folder.build, look)
    gone[0] = True
    assert (store.poll(), store.reload(), store.health.degraded, store.current) == (None, None, True, "one")
    gone[0] = False
    assert (store.poll(), store.health.degraded) == ("one", False)


def test_a_broken_source_that_stays_the_same_is_built_once() -> None:
    """And told once, however often it is looked at."""
    folder, hearing = Folder(), Hearing()
    store: Store[str] = Store(folder.build, folder.fingerprint, listener=hearing)
    folder.text = None
    for _ in range(3):
        assert store.poll() is None
    assert folder.builds == 2
    assert hearing.heard == [(None, "one"), (BROKEN,)]


class Raising(Hearing):
    """A listener that hears and then raises."""

    def loaded(self, old: str | None, new: str) -> None:
        super().loaded(old, new)
        raise RuntimeError("full")

    def rejected(self, findings: tuple[Finding, ...], looks: str) -> None:
        super().rejected(findings, looks)
        raise RuntimeError("full")


def test_a_listener_that_raises_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """The log says so; the swap has happened, and the last good set stays where it has not."""
    folder, hearing = Folder(), Raising()
    store: Store[str] = Store(folder.build, folder.fingerprint, listener=hearing)
    folder.text = "two"
    assert store.reload() == "two"
    folder.text = None
    assert store.reload() is None
    assert (store.current, len(hearing.heard), len(caplog.records)) == ("two", 3, 3)


def test_health_names_the_revision_in_force() -> None:
    """Of the last good set, also while a newer one does not load."""
    folder = Folder()
    store: Store[str] = Store(folder.build, folder.fingerprint, revision_of=str.upper)
    folder.text = None
    store.reload()
    assert (store.health.revision, store.health.degraded) == ("ONE", True)
    assert store.health.age_s >= 0


@pytest.mark.case(1)
@pytest.mark.promise("P10")
def test_a_reload_beside_readers_gives_no_wrong_decision() -> None:
    """Three threads decide while the same rows are loaded over and over: a deny through a role is never lost."""
    rows = "p, subject:ann, *, logs.query, call, allow\np, suspended, *, logs.query, call, deny\n"
    rows += "g, subject:ann, suspended, *\np, viewer, *, logs.query, call, allow\ng, lead, viewer, *\n"
    store: Store[Engine] = Store(lambda: engine_of(rows))
    wrong: list[object] = []
    done = threading.Event()

    def decide() -> None:
        try:
            while not done.is_set():
                if may(store.current, caller(), "logs.query") or not may(
                    store.current, caller("lead", subject="bea"), "logs.query"
                ):
                    wrong.append("decision")
        except Exception as error:  # noqa: BLE001 - any exception is the failure that is looked for
            wrong.append(error)

    threads = [threading.Thread(target=decide) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(40):
        assert store.reload() is not None
    done.set()
    for thread in threads:
        thread.join(10)
    assert wrong == []
