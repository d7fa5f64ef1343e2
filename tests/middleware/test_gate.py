"""The body and its deadline exclude each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gatewright.middleware.gate import Gate


def test_a_body_is_entered_once_and_left_once() -> None:
    """The usual way."""
    gate = Gate()
    assert [gate.enter(), gate.enter(), gate.leave(), gate.leave(), gate.expire()] == [True, False, True, False, False]
    assert gate.was_entered


def test_what_has_expired_is_not_entered() -> None:
    """Whoever waited has said that nothing happened."""
    gate = Gate()
    assert [gate.expire(), gate.enter(), gate.leave(), gate.was_entered] == [True, False, False, False]


def test_what_expires_inside_counts_no_more() -> None:
    """It was entered, and nobody knows what it does."""
    gate = Gate()
    assert [gate.enter(), gate.expire(), gate.leave(), gate.was_entered] == [True, True, False, True]


@pytest.mark.promise("P8")
def test_of_two_threads_one_wins() -> None:
    """Never is a body entered that was said not to be."""
    for _ in range(200):
        gate, start = Gate(), Barrier(2)

        def enter(gate: Gate = gate, start: Barrier = start) -> bool:
            start.wait()
            return gate.enter()

        def expire(gate: Gate = gate, start: Barrier = start) -> bool:
            start.wait()
            gate.expire()
            return gate.was_entered

        with ThreadPoolExecutor(2) as pool:
            entered, known = pool.submit(enter), pool.submit(expire)
            assert entered.result() == known.result()
