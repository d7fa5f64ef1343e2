"""
Whose request is this? An ASGI middleware that identifies every request, and answers those of nobody (RFC 6750).

In comes any ASGI application; each of its requests runs in a session of the token that it brings. Imports no framework,
allows no tool, and hands the token to nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias, cast

from gatewright.middleware.bearer import BearerAnswer, BearerRefused, Challenge, read_bearer
from gatewright.middleware.failures import CallUnauthenticated
from gatewright.middleware.guard import Guard
from gatewright.middleware.results import Unauthenticated

__all__ = ["App", "BearerMiddleware", "request_token"]

Message: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = "Callable[[], Awaitable[Message]]"
Send: TypeAlias = "Callable[[Message], Awaitable[None]]"
App: TypeAlias = "Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]"
"""An ASGI 3 application."""

_POLICY_VIOLATION: Final = 1008
_DENIAL: Final = "websocket.http.response"


class BearerMiddleware:
    """
    Identifies each request by its `Authorization: Bearer` header, and runs *app* in a session of that token.

    A request whose token identifies nobody is answered here: 401, or 400 where it brings the token wrongly. One without
    any is answered too, unless *optional*: then it goes on, and whatever tool it calls is `unauthenticated`. Inside,
    `scope["gatewright.caller"]` is the caller, or None. *realm* and *resource_metadata* are `Challenge`'s.

    A session ends with its request. A server that handles several requests in one task, as one with conversations may,
    passes each one's `request_token` to the calls it makes.
    """

    def __init__(
        self,
        app: App,
        guard: Guard,
        *,
        optional: bool = False,
        realm: str = "gatewright",
        resource_metadata: str | None = None,
    ) -> None:
        self.app: App = app
        self.guard: Guard = guard
        self.optional: bool = optional
        self._challenge = Challenge(realm, resource_metadata)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request, or hand it on."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        try:
            token = request_token(scope)
            caller = None if token is None and self.optional else await self.guard.aidentify(token)
        except (BearerRefused, CallUnauthenticated) as refused:
            answer = self._challenge.answer(_result(refused))
        else:
            with self.guard.session(token):
                await self.app({**scope, "gatewright.caller": caller}, receive, send)
            return
        await _refuse(answer, scope, receive, send)


def request_token(scope: MutableMapping[str, Any]) -> str | None:
    """
    Return the token that a request brings, unverified; None where it brings none.

    Raises:
        BearerRefused: it brings it wrongly.
    """
    return read_bearer(scope["headers"], scope.get("query_string", b""))


def _result(refused: BearerRefused | CallUnauthenticated) -> Unauthenticated | BearerRefused:
    return refused if isinstance(refused, BearerRefused) else cast("Unauthenticated", refused.result)


async def _refuse(answer: BearerAnswer, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await _respond("http.response", answer, send)
        return
    await receive()  # websocket.connect: a server takes no answer before it was read
    if _DENIAL in scope.get("extensions", {}):
        await _respond(_DENIAL, answer, send)
    else:
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": ""})


async def _respond(kind: str, answer: BearerAnswer, send: Send) -> None:
    await send({"type": f"{kind}.start", "status": answer.status, "headers": list(answer.headers)})
    await send({"type": f"{kind}.body", "body": answer.body})
