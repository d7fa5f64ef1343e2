"""An operation's key comes from the application, never from a secret or a model; the tool sees its own alone."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from dataclasses import replace

import pytest

from gatewright.middleware.identifiers import new_id
from gatewright.middleware.journal import MemoryJournal
from gatewright.middleware.operations import (
    Operation,
    Proposal,
    RunningOperation,
    canonical_arguments,
    current_operation,
    operation_key,
    running,
)
from gatewright.middleware.record import Trail, expand
from gatewright.policy.errors import Misuse

AT = 1_796_032_800.0
PROPOSAL = Proposal("acme", "amy", "orders.refund", b"{}", "chat-1", "0" * 32, "0" * 32, "v1", "refund-1")


def an_operation() -> Operation:
    """An operation that was started for the second time."""
    return Operation(
        id=new_id(),
        key=operation_key(PROPOSAL),
        tenant="acme",
        subject="amy",
        tool="orders.refund",
        name="refund-1",
        interaction="chat-1",
        digest="k.d",
        state="started",
        attempt=2,
        call="0" * 32,
        trace="0" * 32,
        view="v1",
        owner="here",
        started_at=AT,
    )


def test_a_key_is_that_of_scope_and_name() -> None:
    """The same whatever the call, its arguments or the model's id; another for each part of the scope."""
    key = operation_key(PROPOSAL)
    assert key == operation_key(replace(PROPOSAL, arguments=b"[]", call=new_id(), interaction="chat-2", view="v2"))
    others = [
        replace(PROPOSAL, tenant="globex"),
        replace(PROPOSAL, subject="bob"),
        replace(PROPOSAL, tool="orders.cancel"),
        replace(PROPOSAL, name="refund-2"),
        replace(PROPOSAL, tenant="acme\0amy", subject=""),
        replace(PROPOSAL, subject='amy","x', tool="orders"),
        replace(PROPOSAL, name=None),
    ]
    assert len({key, *map(operation_key, others)}) == len(others) + 1


def test_every_unnamed_write_has_a_key_of_its_own() -> None:
    """Two equal calls are two operations."""
    assert operation_key(replace(PROPOSAL, name=None)) != operation_key(replace(PROPOSAL, name=None))


def test_arguments_are_compared_in_canonical_form() -> None:
    """Order does not matter, types do; integers that RFC 8785 cannot hold have a form of their own."""
    assert canonical_arguments({"b": 1, "a": [1, 2]}) == canonical_arguments({"a": [1, 2], "b": 1})
    forms = [canonical_arguments({"a": value}) for value in (1, "1", True, None, [1], 2**53, 2**53 + 1, 2**90)]
    assert len(set(forms)) == len(forms)
    assert canonical_arguments({"b": 2**90, "a": 1}) == canonical_arguments({"a": 1, "b": 2**90})


def test_there_is_no_operation_outside_a_write() -> None:
    """Asking for one is a mistake that says so."""
    with pytest.raises(Misuse):
        current_operation()


def test_the_body_sees_its_operation_and_only_inside() -> None:
    """Threads get it with a copied context, tasks by themselves; afterwards it is gone."""
    operation, trail = an_operation(), Trail(AT)
    with running(RunningOperation(operation, trail, lambda line: None, lambda: AT)):
        seen = current_operation()
        assert (seen.key, seen.id, seen.attempt) == (operation.key, operation.id, 2)
        assert copy_context().run(current_operation) is seen
        assert asyncio.run(_current()) is seen
    with pytest.raises(Misuse):
        current_operation()


async def _current() -> RunningOperation:
    return current_operation()


def test_a_commit_is_told_with_the_call_or_after_it() -> None:
    """Inside the call it is one of its events; once the call is answered, a line of its own."""
    trail, late = Trail(AT), MemoryJournal()
    operation = RunningOperation(an_operation(), trail, late.append, lambda: AT + 60)
    operation.committed("order-7")
    trail.answer("ok")
    operation.committed("settled-7")
    assert [event.kind for event in expand(trail.line())] == ["business_committed", "call_answered"]
    (event,) = expand(late.lines[0], 2)
    assert (event.call, event.sequence, event.fields["reference"]) == (trail.call, 2, "settled-7")
    assert event.at == "2026-11-30T10:01:00.000000Z"
