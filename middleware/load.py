"""
What does a tool's loader say of a record? The records a decision asks for, as plain JSON and as they were loaded.

In come the (resource, id) pairs that are wanted; out come records, or `LoaderFailed`. Looks only where the loader does,
and hands it the caller's tenant.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, cast

import pydantic_core

from gatewright.middleware.call import Call, Wait
from gatewright.policy.errors import GatewrightError
from gatewright.policy.model import JsonObject
from gatewright.policy.settlement import NOT_LOADED, Record, Records

__all__ = ["LoaderFailed", "load_records"]


class LoaderFailed(GatewrightError):
    """A loader raised, or returned what is no record; *why* holds the resource's name and the type of the error."""

    code = "loader_failed"

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


def load_records(
    call: Call, need: Records
) -> Generator[Wait, Any, tuple[dict[tuple[str, str], Record], dict[tuple[str, str], Any]]]:
    """
    Load what *need* asks for, absent and present alike.

    Returns:
        The records as the decision sees them, and as their loaders returned them.

    Raises:
        LoaderFailed: nothing can be decided.
    """
    judged: dict[tuple[str, str], Record] = {}
    returned: dict[tuple[str, str], Any] = {}
    for name, identity in need.wanted:
        loader = call.tool.loaders.get(name)
        if loader is None:
            judged[name, identity] = NOT_LOADED
            continue
        try:
            found = yield Wait(loader, identity, call.caller.tenant, deadline=call.deadline)
        except Exception as error:  # noqa: BLE001 - whatever a loader raises, nothing of it may be seen
            why = f"{name}: {type(error).__name__}"
        else:
            judged[name, identity] = _plain(name, found)
            returned[name, identity] = found
            continue
        raise LoaderFailed(why)
    return judged, returned


def _plain(name: str, found: object) -> JsonObject | None:
    try:
        plain = pydantic_core.to_jsonable_python(found)
    except Exception:  # noqa: BLE001 - a record's own methods may raise anything
        plain = False
    if plain is not None and not isinstance(plain, Mapping):
        raise LoaderFailed(f"{name}: no record")
    return cast("JsonObject | None", plain)
