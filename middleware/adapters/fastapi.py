"""
Whose request is this? A FastAPI dependency that identifies it, and opens the session that its endpoint calls tools in.

In comes a request; out comes its caller, or 401 and 400 as RFC 6750 has them. Asynchronous, because what a plain `def`
dependency sets is not seen by the endpoint.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast

from fastapi import HTTPException, Request
from fastapi.openapi.models import HTTPBearer
from fastapi.security.base import SecurityBase

from gatewright.middleware.bearer import BearerAnswer, BearerRefused, Challenge, read_bearer
from gatewright.middleware.failures import CallUnauthenticated
from gatewright.middleware.guard import Guard
from gatewright.middleware.results import Unauthenticated
from gatewright.policy.model import Caller

__all__ = ["BearerSession"]


class BearerSession(SecurityBase):
    """
    A dependency: `caller: Annotated[Caller, Depends(BearerSession(guard))]`.

    Inside the endpoint guarded functions may be called directly, and `guard.call` without a token; both are the
    request's. Without a good token the endpoint is not entered. *realm* and *resource_metadata* are `Challenge`'s.
    """

    def __init__(self, guard: Guard, *, realm: str = "gatewright", resource_metadata: str | None = None) -> None:
        self.guard: Guard = guard
        self.scheme_name: str = "gatewright"
        self.model: HTTPBearer = HTTPBearer(bearerFormat="JWT")
        self._challenge = Challenge(realm, resource_metadata)

    async def __call__(self, request: Request) -> AsyncIterator[Caller]:
        """
        Give the caller of *request*, within a session of its token.

        Raises:
            HTTPException: 401 or 400.
        """
        try:
            token = read_bearer(request.scope["headers"], request.scope.get("query_string", b""))
            caller = await self.guard.aidentify(token)
        except BearerRefused as refused:
            answer, told = self._challenge.answer(refused), Unauthenticated("token_malformed")
        except CallUnauthenticated as refused:
            told = cast("Unauthenticated", refused.result)
            answer = self._challenge.answer(told)
        else:
            with self.guard.session(token):
                yield caller
            return
        raise _exception(answer, told)


def _exception(answer: BearerAnswer, told: Unauthenticated) -> HTTPException:
    headers = {name.decode("ascii"): value.decode("ascii") for name, value in answer.headers}
    kept = {name: headers[name] for name in ("www-authenticate", "cache-control")}
    return HTTPException(answer.status, told.to_json(), kept)
