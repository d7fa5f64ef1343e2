"""
What does a caller see of one call? Every byte of it: result, error, message, exception, and how much was logged.

In comes a result or an exception; out comes text that must be equal in two worlds of one view. Only declared nonces
are replaced, each of a fixed length, by the order in which they were first seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from gatewright import Stopped
from gatewright.middleware.results import Result

HEX = 32
NONCES = re.compile(r'"(operation_id|approval_id)":"([^"]*)"|(n-[0-9a-f]{10})')
"""Declared nonces: random ids of operations and approvals, and the ids that the tools gave out."""
CURSORS = re.compile(r"""(next_cursor["']?[:=] ?["'])([A-Za-z0-9_.=-]+)""")
"""Declared nonces too: sealed cursors. Their length is not replaced."""


def see_result(result: Result, provider: Any, locale: str) -> str:
    """The bytes of a result, its error, and the message of one provider."""
    message = result.to_message(provider, "call-1", name="a_tool", locale=locale)
    return "\n".join(
        (
            result.to_bytes().decode(),
            json.dumps(result.to_error(locale), ensure_ascii=False, separators=(",", ":")),
            json.dumps(message, ensure_ascii=False, separators=(",", ":")),
        )
    )


def see_exception(error: Exception) -> str:
    """The type, text and chain of what a direct call raised, and the result in it."""
    text = str(error)
    if isinstance(error, Stopped):
        check_id("call", error.call_id)
        text = text.replace(error.call_id, "#call") + "\n" + see_result(error.result, "plain", "en")
    return f"{type(error).__name__} {text} {error.__cause__!r} {error.__context__!r}"


def without_nonces(sights: Iterable[str]) -> tuple[str, ...]:
    """*sights* with the declared nonces replaced by numbers, in the order in which the caller saw them."""
    known: dict[str, str] = {}

    def replaced(found: re.Match[str]) -> str:
        name, id, made = found.groups()
        number = known.setdefault(id or made, f"#{len(known)}")
        if made is not None:
            return number
        check_id(name, id)
        return f'"{name}":"{number}"'

    def sealed(found: re.Match[str]) -> str:
        return f"{found[1]}{known.setdefault(found[2], f'#{len(known)}')} of {len(found[2])}"

    return tuple(CURSORS.sub(sealed, NONCES.sub(replaced, sight.replace('\\"', '"'))) for sight in sights)


def last_cursor(sight: str) -> str | None:
    """The cursor that the caller was given in *sight*."""
    found = CURSORS.search(sight)
    return None if found is None else found[2]


def check_id(name: str, id: str) -> None:
    """Raise where a nonce has not its fixed length and letters."""
    if re.fullmatch(f"[0-9a-f]{{{HEX}}}", id) is None or id.startswith("0" * 12):
        raise AssertionError(f"a nonce {name} of another form: {len(id)} characters")
