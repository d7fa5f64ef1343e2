"""Every store comes to the same tables, whichever database it is, whoever opens it first, and from whatever version."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import insert, inspect, select

from databases import new_store
from gatewright.middleware.journal import StoreJournal
from gatewright.middleware.ledger import Ledger
from gatewright.middleware.migrations import MIGRATIONS, NEWEST, migrate, version_of
from gatewright.middleware.seal import KeyRing
from gatewright.middleware.stores import StoreUnavailable, abandon, open_store, read_store, storable
from gatewright.middleware.tables import metadata, migration, spending
from gatewright.policy.errors import Misuse

ROOT = Path(__file__).parents[2]
OPENING = """
import sys
from gatewright.middleware.stores import open_store
print("ready", flush=True)
sys.stdin.readline()
open_store(sys.argv[1], "ledger").dispose()
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a store will be."""
    return new_store(request.param, tmp_path)


def test_migrated_tables_are_the_tables_of_the_code(place: str) -> None:
    """Names, types, nulls, keys and indexes: whoever changes a table has to write the step that changes stores."""
    engine = open_store(place, "ledger")
    found = inspect(engine)
    for name, table in metadata.tables.items():
        columns = {each["name"]: (str(each["type"]), each["nullable"]) for each in found.get_columns(name)}
        expected = {each.name: (str(each.type.compile(engine.dialect)), each.nullable) for each in table.columns}
        assert columns == expected
        assert found.get_pk_constraint(name)["constrained_columns"] == [each.name for each in table.primary_key]
        uniques = {str(each["name"]) for each in found.get_unique_constraints(name)}
        indexes = {str(each["name"]) for each in found.get_indexes(name)} - uniques
        assert indexes == {str(each.name) for each in table.indexes}
    assert set(found.get_table_names()) - {"sqlite_sequence"} == set(metadata.tables)
    engine.dispose()


def test_steps_are_numbered_without_a_gap() -> None:
    """From one on, and the last is the version of the code."""
    assert [step.number for step in MIGRATIONS] == list(range(1, NEWEST + 1))


@pytest.mark.parametrize("version", range(NEWEST))
def test_a_store_of_any_earlier_version_keeps_what_it_holds(place: str, version: int) -> None:
    """It is brought to the newest version when it is opened, step by step."""
    engine = open_store(place, "ledger")
    with engine.begin() as connection:
        for table in reversed(metadata.sorted_tables):
            connection.exec_driver_sql(f"DROP TABLE {table.name}")
        assert version_of(connection) == 0
        assert migrate(connection, version) == tuple(range(1, version + 1))
        if version:
            connection.execute(insert(spending), {"budget": "b", "holder": "h", "at": 1.0, "amount": 2.0})
    engine.dispose()
    engine = open_store(place, "ledger")
    with engine.connect() as connection:
        assert connection.execute(select(migration.c.number)).scalars().all() == list(range(1, NEWEST + 1))
        assert connection.execute(select(spending.c.amount)).scalars().all() == ([2.0] if version else [])
    engine.dispose()


def test_a_store_of_a_newer_version_is_refused_and_not_touched(place: str) -> None:
    """By everybody who opens stores, for writing or reading, with the two versions and what to do."""
    engine = open_store(place, "ledger")
    with engine.begin() as connection:
        connection.execute(insert(migration), {"number": NEWEST + 7, "name": "from the future"})
    engine.dispose()
    openings = (
        lambda: StoreJournal(place),
        lambda: Ledger(place, KeyRing.from_secret("s" * 32)),
        lambda: read_store(place, "journal"),
    )
    for opening in openings:
        with pytest.raises(Misuse, match=f"version {NEWEST + 7}, this Gatewright {NEWEST}.*newer"):
            opening()


def test_processes_that_open_a_new_store_at_once_all_find_it_migrated(place: str) -> None:
    """One migrates, the others wait for it."""
    command = [sys.executable, "-c", OPENING, place]
    pipe = subprocess.PIPE
    children = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) for _ in range(2)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [child.communicate()[0] for child in children] == [""] * 2
    assert [child.returncode for child in children] == [0] * 2
    engine = read_store(place, "ledger")
    with engine.connect() as connection:
        assert version_of(connection) == NEWEST
    engine.dispose()


def test_a_database_that_is_no_store_is_not_read(place: str) -> None:
    """Reading makes no tables."""
    with pytest.raises(StoreUnavailable):
        read_store(place, "journal")


@pytest.mark.parametrize("place", ["mysql://host/db", "http://host", "postgresql+psycopg://nobody@127.0.0.1:1/none"])
def test_what_is_no_store_says_so(place: str) -> None:
    """At once, and without a word of the URL, which may hold a password."""
    with pytest.raises((Misuse, StoreUnavailable)) as caught:
        open_store(place, "ledger")
    assert "host" not in str(caught.value).split("(")[0]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_has_connections_of_its_own(place: str) -> None:
    """The parent's connection still works after the child has come, asked and gone."""
    engine = open_store(place, "ledger")
    connection = engine.connect().execution_options(reading=True)
    connection.exec_driver_sql("SELECT 1")
    child = os.fork()
    if child == 0:
        abandon(engine, connection)
        with engine.connect().execution_options(reading=True) as own:
            os._exit(0 if own.exec_driver_sql("SELECT 1").scalar() == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert connection.exec_driver_sql("SELECT 2").scalar() == 2
    connection.close()
    engine.dispose()


def test_texts_are_as_both_databases_can_hold_them() -> None:
    """NUL and lone surrogates are replaced, everything else stays."""
    assert storable("Zürich 漢字 😀\n") == "Zürich 漢字 😀\n"
    assert storable("a\0b\ud800c") == "a\ufffdb\ufffdc"
