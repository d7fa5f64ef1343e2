"""What a transaction of the ledger writes is there together or not at all, and its chain has no gap."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from databases import new_store
from gatewright.middleware.linking import link_hash
from gatewright.middleware.record import event_line
from gatewright.middleware.stores import StoreUnavailable
from gatewright.middleware.transactions import Transaction, Transactions

AT = 1_796_032_800.0
LIMITED = """
import resource, sys
sys.path.insert(0, "tests")
from pathlib import Path
from tests.middleware.test_transactions import *
store, path = Transactions(sys.argv[1]), Path(sys.argv[1])
write(store)
size = Path(f"{path}-wal").stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, resource.RLIM_INFINITY))
written = 1
try:
    while True:
        write(store)
        written += 1
except StoreUnavailable:
    pass
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
write(store)
print(written + 1)
"""


def write(store: Transactions) -> None:
    """Write one line in a transaction of its own."""
    store.write(lambda it: it.write_line(event_line("policy_loaded", AT, rules=3)))


def write_and_fail(store: Transactions) -> None:
    """Write one line, and come to grief before the transaction ends."""

    def work(transaction: Transaction) -> None:
        transaction.write_line(event_line("policy_loaded", AT, rules=4))
        raise LookupError

    store.write(work)


def check_chain(path: Path, count: int) -> None:
    """Expect *count* lines in one chain without a gap."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT chain, position, prev, line, hash FROM event_line ORDER BY id").fetchall()
    connection.close()
    before = bytes(32)
    assert len(rows) == count
    for expected, (chain, position, prev, line, linked) in enumerate(rows):
        assert (position, prev, linked) == (expected, before, link_hash(chain, position, prev, line))
        before = linked


def test_what_is_undone_leaves_no_gap_in_the_chain(tmp_path: Path) -> None:
    """The next line takes the place of the one that was never committed."""
    store = Transactions(tmp_path / "ledger.db")
    write(store)
    with pytest.raises(LookupError):
        write_and_fail(store)
    write(store)
    store.close()
    check_chain(tmp_path / "ledger.db", 2)


def test_two_connections_wait_for_each_other(tmp_path: Path) -> None:
    """Whoever reads to decide what to write holds the write lock from the start: nobody fails and nothing is lost."""
    stores = [Transactions(tmp_path / "ledger.db") for _ in range(2)]
    together = threading.Barrier(2)
    failed: list[Exception] = []

    def count_and_write(transaction: Transaction) -> None:
        transaction.connection.exec_driver_sql("SELECT count(*) FROM event_line").scalar()
        transaction.write_line(event_line("policy_loaded", AT, rules=3))

    def count_up(store: Transactions) -> None:
        together.wait()
        try:
            for _ in range(50):
                store.write(count_and_write, locks=["lines"])
        except StoreUnavailable as error:
            failed.append(error)

    threads = [threading.Thread(target=count_up, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sum(1 for _ in stores[0].lines(None, None)) == 100
    for store in stores:
        store.close()


def test_a_full_disk_refuses_and_passes(tmp_path: Path) -> None:
    """No half transaction is left behind, and once there is room it goes on, in the same chain."""
    pytest.importorskip("resource")

    command = [sys.executable, "-c", LIMITED, str(tmp_path / "ledger.db")]
    root = Path(__file__).parents[2]
    answer = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    check_chain(tmp_path / "ledger.db", int(answer.stdout))


def test_a_backend_that_was_ended_costs_no_write(tmp_path: Path) -> None:
    """The next transaction finds its connection gone before it has done anything, and connects anew."""
    place = new_store("postgresql", tmp_path)
    store, other = Transactions(place), Transactions(place)
    write(store)
    pid = store.write(lambda it: it.connection.exec_driver_sql("SELECT pg_backend_pid()").scalar())
    ended = other.write(
        lambda it: it.connection.exec_driver_sql("SELECT pg_terminate_backend(%s, 5000)", (pid,)).scalar()
    )
    assert ended
    write(store)
    assert sum(1 for _ in store.lines(None, None)) == 2
    store.close()
    other.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_fails_in_a_shared_commit_undoes_itself_alone(kind: str, tmp_path: Path) -> None:
    """Work before it and after it in the same transaction is committed, by one commit, and its chain has no gap."""
    store = Transactions(new_store(kind, tmp_path))
    inside, go_on = threading.Event(), threading.Event()
    failed: list[BaseException] = []

    def halt(transaction: Transaction) -> None:
        inside.set()
        go_on.wait()

    def call(work: Callable[[Transaction], None]) -> None:
        try:
            store.write(work)
        except (LookupError, StoreUnavailable) as error:
            failed.append(error)

    def break_off(transaction: Transaction) -> None:
        transaction.write_line(event_line("policy_loaded", AT, rules=4))
        raise LookupError

    def nonsense(transaction: Transaction) -> None:
        transaction.connection.exec_driver_sql("SELECT nothing FROM nowhere")

    def good(transaction: Transaction) -> None:
        transaction.write_line(event_line("policy_loaded", AT, rules=3))

    works = [halt, good, break_off, nonsense, good]
    threads = [threading.Thread(target=call, args=(work,)) for work in works]
    threads[0].start()
    inside.wait()
    for number, thread in enumerate(threads[1:], 1):
        thread.start()
        while len(store._combiner._waiting) < number:
            threading.Event().wait(0.001)
    go_on.set()
    for thread in threads:
        thread.join()
    assert sorted(type(error).__name__ for error in failed) == ["LookupError", "StoreUnavailable"]
    assert sum(1 for _ in store.lines(None, None)) == 2
    store.close()
