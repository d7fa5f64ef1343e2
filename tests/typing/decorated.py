"""What type checkers know of a decorated function: everything it was before. Checked, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import assert_type

from gatewright import Guard, Page
from gatewright.middleware.results import Result

guard = Guard({})


@guard.tool("lines.read", kind="read", use_when="u", not_for="n")
def read(service: str, limit: int = 10) -> Page[str]:
    """Read lines."""
    return Page(items=[service] * limit)


@guard.tool("lines.fetch", kind="read", use_when="u", not_for="n")
async def fetch(service: str) -> list[str]:
    """Fetch lines."""
    return [service]


@guard.tool("lines.follow", kind="read", use_when="u", not_for="n")
async def follow(service: str) -> AsyncIterator[str]:
    """Follow lines."""
    yield service


def check_kinds() -> None:
    """A decorated function keeps its signature."""
    assert_type(read("inventory", limit=3), Page[str])
    waiting: Callable[[str], Awaitable[list[str]]] = fetch
    following: Callable[[str], AsyncIterator[str]] = follow
    del waiting, following
    read(7)  # type: ignore[arg-type]
    read("inventory", unknown=1)  # type: ignore[call-arg]


async def check_calls() -> None:
    """Calls answer with the closed union, sync and async alike."""
    assert_type(guard.call("lines.read", "{}", token=None), Result)
    assert_type(await guard.acall("lines.read", b"{}", token="t"), Result)
    assert_type(await fetch("inventory"), list[str])
