"""
What does a tool's loader say of a record? The records a decision asks for, as plain JSON and as they were loaded.

In come the (resource, id) pairs that are wanted; out come records, present, absent and broken alike. Looks only where
the loader does, and hands it the caller's tenant.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, cast

import pydantic_core

from gatewright.middleware.call import Call, Wait
from gatewright.middleware.failures import NotFound
from gatewright.policy.model import JsonObject
from gatewright.policy.settlement import NOT_LOADED, Broken, Record, Records

__all__ = ["load_records"]


def load_records(
    call: Call, need: Records
) -> Generator[Wait, Any, tuple[dict[tuple[str, str], Record], dict[tuple[str, str], Any]]]:
    """
    Load all that *need* asks for, whatever became of the one before; a loader that raises gives a `Broken` record.

    Returns:
        The records as the decision sees them, and as their loaders returned them.
    """
    call.touched = True
    judged: dict[tuple[str, str], Record] = {}
    returned: dict[tuple[str, str], Any] = {}
    for name, identity in need.wanted:
        loader = call.tool.loaders.get(name)
        if loader is None:
            judged[name, identity] = NOT_LOADED
            continue
        try:
            found = yield Wait(loader, identity, call.caller.tenant, deadline=call.deadline)
        except NotFound:
            found = None
        except Exception as error:  # noqa: BLE001 - whatever a loader raises, nothing of it may be seen
            found = Broken(type(error).__name__)
        judged[name, identity] = found if isinstance(found, Broken) else _plain(found)
        returned[name, identity] = found
    return judged, returned


def _plain(found: object) -> Record:
    try:
        plain = pydantic_core.to_jsonable_python(found)
    except Exception:  # noqa: BLE001 - a record's own methods may raise anything
        plain = False
    return cast("JsonObject | None", plain) if plain is None or isinstance(plain, Mapping) else Broken("no record")
