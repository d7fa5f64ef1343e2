"""Policies that change under a guard, and tools that are not what their catalog file says."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from desk import ISSUER, WORDS, open_desk, open_folder, policies, write_folder
from effective import write_effective
from gatewright import Guard, Misuse, PolicyInvalid
from gatewright.middleware.live import cataloguing
from gatewright.middleware.results import FORBIDDEN
from gatewright.policy.folder import DEFERRED

ACCEPT = "gatewright catalog MODULE:GUARD --write"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The desk's policies as a folder, without a catalog."""
    return write_folder(tmp_path / "policies")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings about tools."""
    return [record.getMessage() for record in caplog.records if record.name == "gatewright.policies"]


@pytest.mark.promise("P10")
def test_without_a_catalog_every_tool_is_quarantined(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Hidden from everyone, said once each, with the command that accepts it."""
    with caplog.at_level(logging.WARNING):
        desk = open_folder(folder)
        for _ in range(3):
            assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN
    assert desk.event("tool_selected")["reason"] == "quarantined"
    assert desk.guard.tools(desk.token()) == []
    assert desk.ran == []
    told = warnings(caplog)
    assert len(told) == 7
    assert all(ACCEPT in text for text in told)


def test_accepting_the_catalog_opens_the_tools(folder: Path) -> None:
    """What is written is what is registered; a second time there is nothing to write."""
    desk = open_folder(folder)
    assert len(desk.guard.accept_catalog()) == 7
    assert desk.guard.accept_catalog() == ()
    assert desk.call("note.echo", {"text": "x"}).status == "ok"
    written = json.loads((folder / "catalog" / "note.echo.json").read_text())
    assert written["name"] == "note.echo"
    assert written["use_when"] == WORDS["use_when"]


@pytest.mark.promise("P10")
@pytest.mark.case(70)
@pytest.mark.parametrize(
    ("old", "new"), [("a note as it is", "something else"), ('"read"', '"write"'), ("a customer asks for it", "never")]
)
def test_a_tool_that_differs_from_its_file_is_quarantined(
    folder: Path, caplog: pytest.LogCaptureFixture, old: str, new: str
) -> None:
    """Any difference: a description, a kind, a word for the model. The others stay open."""
    desk = open_folder(folder)
    desk.guard.accept_catalog()
    file = folder / "catalog" / "note.echo.json"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    caplog.clear()
    assert desk.guard.reload()
    assert desk.call("note.echo", {"text": "x"}) == desk.call("no.such") == FORBIDDEN
    assert desk.call("order.find", {"order": "a-1"}).status == "ok"
    assert "note.echo" not in [tool["name"] for tool in desk.guard.tools(desk.token())]
    loaded = [event for event in desk.journal.events() if event.kind == "policy_loaded"][-1]
    assert loaded.fields["quarantined"] == ["note.echo"]
    other = open_folder(folder)
    assert other.call("note.echo", {"text": "x"}) == FORBIDDEN
    assert other.call("order.find", {"order": "a-1"}).status == "ok"
    assert any("note.echo" in text and ACCEPT in text for text in warnings(caplog))


def test_a_tool_of_the_catalog_that_is_not_registered_is_hidden(folder: Path) -> None:
    """Another process may have it; here nothing would run."""
    open_folder(folder).guard.accept_catalog()
    desk = open_folder(folder, tools=False)
    assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN
    assert desk.event("tool_selected")["reason"] == "disabled"


@pytest.mark.promise("P10")
def test_a_broken_folder_keeps_a_guard_from_starting(folder: Path) -> None:
    """With file, line and column."""
    with (folder / "policy.csv").open("a") as rows:
        rows.write("p, agent, *, order.find, call, maybe\n")
    with pytest.raises(PolicyInvalid, match=r"policy\.csv:15:"):
        open_folder(folder)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("identity.yaml", '{"issuers": [{"alias": "login"}]}'),
        ("model.conf", "[matchers]\nm = true\n"),
        ("names.yaml", "["),
    ],
)
def test_identity_model_and_names_are_a_part_of_it(folder: Path, file: str, text: str) -> None:
    """Whatever of it is wrong, nothing of it counts."""
    (folder / file).write_text(text)
    with pytest.raises(PolicyInvalid, match=file):
        open_folder(folder)


@pytest.mark.promise("P10")
def test_a_reload_swaps_policies_and_identity_together(folder: Path) -> None:
    """A new issuer and its rows are live at once; the old one is not believed any more."""
    desk = open_folder(folder)
    desk.guard.accept_catalog()
    token = desk.token()
    assert desk.call("note.echo", {"text": "x"}, token=token).status == "ok"
    text = (folder / "identity.yaml").read_text()
    (folder / "identity.yaml").write_text(text.replace("https://login.example", "https://other.example"))
    assert desk.guard.reload()
    assert desk.call("note.echo", {"text": "x"}, token=token).status == "unauthenticated"
    (folder / "identity.yaml").write_text("{")
    assert not desk.guard.reload()
    assert desk.guard.health.degraded
    (folder / "identity.yaml").write_text(text)
    assert desk.guard.reload()
    assert not desk.guard.health.degraded
    assert desk.call("note.echo", {"text": "x"}, token=token).status == "ok"


def test_a_change_of_the_folder_is_noticed_by_looking(folder: Path) -> None:
    """What the watching thread does each second."""
    desk = open_folder(folder)
    desk.guard.accept_catalog()
    store = desk.guard._runtime.live._store
    assert store is not None
    assert store.poll() is None
    rows = (folder / "policy.csv").read_text()
    (folder / "policy.csv").write_text(rows.replace("p, agent, *, tools/desk, call, allow\n", ""))
    assert store.poll() is not None
    assert desk.call("note.echo", {"text": "x"}) == FORBIDDEN


def test_a_guard_watches_its_folder_until_it_is_closed(folder: Path) -> None:
    """A thread of its own, gone after close."""
    import threading

    guard = Guard(folder, journal="memory", ledger=":memory:", keys="k" * 32)
    names = [thread.name for thread in threading.enumerate()]
    assert "gatewright-policies" in names
    guard.close()
    assert "gatewright-policies" not in [thread.name for thread in threading.enumerate()]


def test_events_and_operations_live_beside_the_folder_by_default(folder: Path) -> None:
    """In `.gatewright`, readable by the owner alone; closing lets them go."""
    with Guard(folder, keys="k" * 32, watch=False) as guard:
        guard.call("note.echo", "{}", token=None)
        assert guard.events(guard.last_call_id or "")[-1].kind == "call_answered"
    stores = folder.parent / ".gatewright"
    assert {path.name for path in stores.iterdir()} >= {"events.db", "ledger.db"}
    assert stores.stat().st_mode & 0o077 == 0


def test_a_catalog_in_the_texts_is_the_catalog() -> None:
    """Texts with catalog files are held to them, as a folder is."""
    texts = {**policies(ISSUER), **open_desk().guard.catalog()}
    assert open_desk(policies=texts).call("note.echo", {"text": "x"}).status == "ok"
    changed = {**texts, "catalog/note.echo.json": texts["catalog/note.echo.json"].replace("a note", "no note")}
    assert open_desk(policies=changed).call("note.echo", {"text": "x"}) == FORBIDDEN


def test_policies_in_memory_have_no_catalog_to_accept() -> None:
    """Their catalog is the registered tools."""
    with pytest.raises(Misuse, match="in memory"):
        open_desk().guard.accept_catalog()


def test_while_cataloguing_a_guard_loads_although_its_catalog_is_wrong(folder: Path) -> None:
    """Otherwise the command that mends it could not import the application; nothing is opened beside the folder."""
    (folder / "catalog").mkdir()
    (folder / "catalog" / "note.gone.json").write_text(
        open_desk().guard.catalog()["catalog/note.echo.json"].replace("note.echo", "note.gone")
    )
    with pytest.raises(PolicyInvalid, match="unknown_tool"):
        open_folder(folder)
    with cataloguing():
        guard = Guard(folder, keys="k" * 32)
        guard.close()
    assert not (folder.parent / ".gatewright").exists()


def test_a_story_tells_a_call_and_nothing_of_its_arguments(folder: Path) -> None:
    """For a person; what was sent is not in it."""
    desk = open_desk()
    desk.call("note.echo", {"text": "secret"})
    story = desk.guard.story(desk.guard.last_call_id or "")
    assert "note.echo" in story
    assert "answered ok" in story
    assert "secret" not in story


def test_a_production_folder_needs_keys_that_last(folder: Path) -> None:
    """Keys that end with the process are for tests."""
    identity: dict[str, Any] = json.loads((folder / "identity.yaml").read_text())
    (folder / "identity.yaml").write_text(json.dumps({"production": True, **identity}))
    write_effective(folder, DEFERRED)
    with pytest.raises(PolicyInvalid, match="keys_missing"):
        Guard(folder, journal="memory", ledger=":memory:", watch=False)
    Guard(folder, journal="memory", ledger=":memory:", watch=False, keys="k" * 32).close()
