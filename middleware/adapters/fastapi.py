"""
Whose request is this? A FastAPI dependency that identifies it, and opens the session that its endpoint calls tools in.

In comes a request; out comes its caller, or 401 and 400 as RFC 6750 has them. Asynchronous, because what a plain `def`
dependency sets is not seen by the endpoint.
"""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any, cast

from gatewright.middleware.bearer import BearerAnswer, BearerRefused, Challenge, read_bearer
from gatewright.middleware.failures import CallUnauthenticated
from gatewright.middleware.guard import Guard
from gatewright.middleware.results import Unauthenticated
from gatewright.policy.caller import Caller

__all__ = ["bearer_session"]


def bearer_session(
    guard: Guard, *, realm: str = "gatewright", resource_metadata: str | None = None
) -> Callable[..., AsyncIterator[Caller]]:
    """
    Return a dependency: `caller: Annotated[Caller, Depends(bearer_session(guard))]`.

    Inside the endpoint guarded functions may be called directly, and `guard.call` without a token; both are the
    request's. Without a good token the endpoint is not entered: 401, or 400 where the token is brought wrongly. *realm*
    and *resource_metadata* are `Challenge`'s. FastAPI is imported here and not before.
    """
    from fastapi import HTTPException, Request, Security  # its types stay inside, so that ours are known without it
    from fastapi.security import HTTPBearer

    challenge = Challenge(realm, resource_metadata)
    scheme = Security(HTTPBearer(bearerFormat="JWT", scheme_name="gatewright", auto_error=False))

    async def session(request: Request, _scheme: Annotated[Any, scheme]) -> AsyncIterator[Caller]:
        try:
            token = read_bearer(request.scope["headers"], request.scope.get("query_string", b""))
            caller = await guard.aidentify(token)
        except (BearerRefused, CallUnauthenticated) as refused:
            told = refused if isinstance(refused, BearerRefused) else cast("Unauthenticated", refused.result)
        else:
            with guard.session(token):
                yield caller
            return
        answer = challenge.answer(told)
        raise HTTPException(answer.status, answer.result.to_json(), _headers(answer))

    return session


def _headers(answer: BearerAnswer) -> dict[str, str]:
    """Return the headers that are not about the body, which FastAPI writes."""
    return {
        name.decode("ascii"): value.decode("ascii")
        for name, value in answer.headers
        if not name.startswith(b"content-")
    }
