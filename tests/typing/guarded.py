"""What type checkers must see of the front door. Checked, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import assert_type

from gatewright import Guard, Page, Resource, ToolCall
from gatewright.middleware.results import Result

guard = Guard("policies")


@guard.tool("a.sync", kind="read", use_when="x", not_for="y")
def find(order: str, limit: int = 5) -> Page[str]:
    """Return something."""
    return Page(items=[order])


@guard.tool("an.async", kind="write", use_when="x", not_for="y", timeout=5)
async def refund(order: str, *, amount: int) -> int:
    """Return something later."""
    return amount


@guard.tool("a.stream", kind="read", use_when="x", not_for="y")
async def lines(count: int) -> AsyncIterator[str]:
    """Return something bit by bit."""
    yield str(count)


def load(id: str, tenant: str) -> dict[str, str] | None:
    """Load something."""
    return None


def plain_values() -> None:
    """A guarded function has the type that it was written with."""
    with guard.session("token"):
        assert_type(find("a"), Page[str])
        assert_type(find(order="a", limit=3), Page[str])
    one: Callable[[str, int], Page[str]] = find
    two: Callable[[int], AsyncIterator[str]] = lines
    assert_type(guard.call("a.sync", "{}", token=None), Result)
    assert_type(guard.call_many([ToolCall("a.sync", {}), ("a.sync", "{}", "c1")], token="t"), list[Result])
    print(one, two, Resource("order", at="/order", load=load, scope="tenant"))


async def awaited_values() -> None:
    """The same from a task."""
    assert_type(await refund("a", amount=3), int)
    later: Awaitable[int] = refund("a", amount=3)
    assert_type(await later, int)
    assert_type(await guard.acall("a.sync", b"{}", token="t", interaction="chat"), Result)
    async for line in lines(3):
        assert_type(line, str)


def mistakes() -> None:
    """What a type checker must refuse."""
    find(1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    find("a", colour="red")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    guard.call("a.sync", "{}", token=5)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    guard.tool("x", kind="delete", use_when="x", not_for="y")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    guard.tool("x", kind="read", use_when="x")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
