"""`gatewright operations` and `gatewright approvals`: people look at what waits for them, and what they say counts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from commands import run
from desk import Desk, open_one
from gatewright import Guard, Happened, UnresolvedOperation
from gatewright.middleware.results import ApprovalRequired, FailedResult, Ok, Unknown

APPROVAL = "{ id: a, roles: [agent], duties: { approval: { by: [supervisor], within: 15m } } }"
CLOSE = Guard.close
OPENED: list[Guard] = []
APPROVER = "p, supervisor, *, some.pay, approve, allow\n"


class Backend:
    """A backend that loses its first answer."""

    def __init__(self) -> None:
        self.done: list[int] = []
        self.knows = False

    def pay(self, amount: int) -> dict[str, int]:
        """Pay."""
        self.done.append(amount)
        if len(self.done) == 1:
            raise RuntimeError("the answer was lost")
        return {"paid": amount}

    def look(self, operation: UnresolvedOperation) -> Any:
        """Say whether it was paid."""
        return Happened({"paid": 5}) if self.knows else None


def open_backend(place: Path, **stated: Any) -> tuple[Desk, Backend]:
    """A desk whose ledger is in a file."""
    backend = Backend()

    def pay(amount: int) -> dict[str, int]:
        """Pay."""
        return backend.pay(amount)

    stated.setdefault("reconcile", backend.look)
    desk, _ = open_one(pay, name="some.pay", kind="write", options={"ledger": str(place)}, **stated)
    OPENED.append(desk.guard)
    return desk, backend


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    """Close every guard in the end, also where commands are kept from it."""
    yield
    while OPENED:
        CLOSE(OPENED.pop())


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Where the ledger is."""
    return tmp_path / "ledger.db"


def importable(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let commands find the desk's guard."""
    module = ModuleType("the_app")
    module.guard = desk.guard  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "the_app", module)
    monkeypatch.setattr(Guard, "close", lambda self: None)
    return "the_app:guard"


def lose(desk: Desk, name: str = "pay-1") -> Unknown:
    """Make a write whose answer is lost."""
    result = desk.call("some.pay", {"amount": 5}, operation=name)
    assert isinstance(result, Unknown)
    return result


def test_what_is_unknown_is_listed_and_shown(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the story of the call; names of others are harmless to a terminal."""
    desk, _ = open_backend(store)
    lost = lose(desk, "pay\x1b[2J")
    assert run("operations", "list", "--store", str(store)) == 0
    listed = capsys.readouterr().out
    assert lost.operation_id in listed
    assert "some.pay acme amy" in listed
    assert "\x1b" not in listed
    assert run("operations", "list", "--state", "succeeded", "--store", str(store)) == 0
    assert capsys.readouterr().out == ""
    assert run("operations", "show", lost.operation_id, "--store", str(store)) == 0
    shown = capsys.readouterr().out
    assert "reconcile yes" in shown
    assert "execution_started" in shown


@pytest.mark.parametrize("happened", [True, False])
def test_a_person_settles_with_a_reason_that_is_kept(store: Path, happened: bool) -> None:
    """What happened is never run again; what did not may be tried again. The reason is in the call's events."""
    desk, backend = open_backend(store)
    lost = lose(desk)
    call = desk.guard.last_call_id
    assert call is not None
    word = "happened" if happened else "did-not-happen"
    asked = ("operations", "settle", lost.operation_id, word, "--store", str(store))
    assert run(*asked) == 2
    assert run(*asked, "--reason", "  ") == 2
    assert run(*asked, "--reason", "x" * 501) == 2
    assert run(*asked, "--reason", "receipt 12") == 0
    assert run(*asked, "--reason", "again") == 2
    last = desk.guard.events(call)[-1].fields
    assert (last["note"], last["reason"], last["effect"]) == ("receipt 12", "by_hand", "done" if happened else "none")
    answer = desk.call("some.pay", {"amount": 5}, operation="pay-1")
    assert answer == (FailedResult("invalid_result", "done") if happened else Ok({"paid": 5}))
    assert backend.done == ([5] if happened else [5, 5])


def test_a_command_has_the_tools_asked(
    store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 1 while something stays unknown, 0 once it is known."""
    desk, backend = open_backend(store)
    lost = lose(desk)
    guard = importable(desk, monkeypatch)
    assert run("operations", "reconcile", guard) == 1
    assert "cannot_tell" in capsys.readouterr().out
    assert run("operations", "reconcile", guard, "0" * 32) == 2
    backend.knows = True
    assert run("operations", "reconcile", guard, lost.operation_id) == 0
    assert "happened" in capsys.readouterr().out
    assert desk.call("some.pay", {"amount": 5}, operation="pay-1") == Ok({"paid": 5})
    assert backend.done == [5]


def test_no_ledger_is_made_by_looking(tmp_path: Path) -> None:
    """A misspelt place is a mistake, not a new store; so is an operation that is not there."""
    assert run("operations", "list", "--store", str(tmp_path / "none.db")) == 2
    assert not (tmp_path / "none.db").exists()
    desk, _ = open_backend(tmp_path / "ledger.db")
    desk.guard.close()
    assert run("operations", "show", "0" * 32, "--store", str(tmp_path / "ledger.db")) == 2
    assert run("operations", "show", "\ud800", "--store", str(tmp_path / "ledger.db")) == 2


def test_approvers_answer_with_a_token_of_their_own(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a file or a variable; what is approved runs once, and a stranger's answer is refused with exit code 1."""
    desk, backend = open_backend(store, entry=APPROVAL, rows=APPROVER)
    backend.done.append(0)
    parked = desk.call("some.pay", {"amount": 5})
    assert isinstance(parked, ApprovalRequired)
    guard, token = importable(desk, monkeypatch), tmp_path / "token"
    token.write_text(desk.token("supervisor", "sue") + "\n")
    monkeypatch.setenv("AMY", desk.token())
    monkeypatch.delenv("GATEWRIGHT_TOKEN", raising=False)
    assert run("approvals", "list", guard) == 2
    assert run("approvals", "list", guard, "--token-file", str(tmp_path / "none")) == 2
    capsys.readouterr()
    assert run("approvals", "list", guard, "--token-file", str(token)) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["id"], listed["arguments"], listed["missing"]) == (parked.approval_id, {"amount": 5}, 1)
    assert run("approvals", "approve", guard, parked.approval_id, "--token-env", "AMY") == 1
    assert json.loads(capsys.readouterr().err) == {"status": "forbidden", "retryable": False}
    assert run("approvals", "approve", guard, parked.approval_id, "--token-file", str(token)) == 0
    assert json.loads(capsys.readouterr().out)["data"]["state"] == "granted"
    assert run("approvals", "withdraw", guard, parked.approval_id, "--token-file", str(token)) == 0
    assert desk.call("some.pay", {"amount": 5}) == parked
    assert run("approvals", "reject", guard, parked.approval_id, "--token-file", str(token)) == 0
    assert backend.done == [0]
