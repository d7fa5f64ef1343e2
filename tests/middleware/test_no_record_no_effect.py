"""A disk that is full, a database that is locked or may only be read: no effect without a durable record."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gatewright import Guard
from gatewright.testing import FakeIssuer

POLICIES = {
    "names.yaml": "roles: { clerk: {} }\nactors: []\ntenants: { acme: {} }\ntypes: {}\ndelegate: {}\n",
    "policy.csv": "p, clerk, *, note.add, call, allow\n",
    "tools/note.yaml": "tool: note.add\nallow: [ { id: all, roles: [clerk], arguments: { text: {} } } ]\n",
}
ISSUER = FakeIssuer()


def pragma(guard: Guard, *texts: str) -> None:
    """Set something of the connection that the ledger writes with."""
    for text in texts:
        guard._runtime.ledger.store.write(lambda it, text=text: it.connection.exec_driver_sql(text))


@contextmanager
def full(guard: Guard, _: Path) -> Iterator[None]:
    """The database may not grow by a page."""
    pragma(guard, "PRAGMA max_page_count=1")
    yield
    pragma(guard, "PRAGMA max_page_count=1000000")


@contextmanager
def read_only(guard: Guard, _: Path) -> Iterator[None]:
    """Whatever writes is refused by the database."""
    pragma(guard, "PRAGMA query_only=1")
    yield
    store = guard._runtime.ledger.store
    store._drop()


@contextmanager
def locked(guard: Guard, ledger: Path) -> Iterator[None]:
    """Another process holds the database, and nobody waits long for it."""
    pragma(guard, "PRAGMA busy_timeout=10")
    other = sqlite3.connect(ledger, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield
    other.execute("ROLLBACK")
    other.close()


@pytest.mark.promise("P8")
@pytest.mark.parametrize("trouble", [full, locked, read_only])
def test_a_write_that_cannot_be_recorded_is_not_made(
    tmp_path: Path, trouble: Callable[[Guard, Path], contextmanager[None]]
) -> None:
    """It is answered `unavailable`, its body is not entered; when the trouble is over, writes go on."""
    ledger, entered = tmp_path / "ledger.db", []
    profile = json.dumps({"issuers": [ISSUER.profile(["acme"])]})
    token = ISSUER.token(sub="amy", tenant="acme", roles=["clerk"])
    with Guard({**POLICIES, "identity.yaml": profile}, ledger=ledger) as guard:

        @guard.tool("note.add", kind="write", use_when="you note", not_for="anything else")
        def add(text: str) -> None:
            """Add a note."""
            entered.append(text)

        told = [guard.call("note.add", '{"text":"before"}', token=token).to_json()]
        with trouble(guard, ledger):
            while told[-1]["status"] == "ok" and len(told) < 100:  # a full database has some room in its last pages
                told.append(guard.call("note.add", '{"text":"x"}', token=token).to_json())
        assert (told[-1]["status"], told[-1]["code"], told[-1]["effect"]) == ("failed", "unavailable", "none")
        assert len(entered) == len(told) - 1
        assert guard.call("note.add", '{"text":"after"}', token=token).status == "ok"
        lines = b"".join(guard._runtime.ledger.iter_lines())
        assert lines.count(b'"execution_started"') == len(entered) == len(told)
