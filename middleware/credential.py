"""
Where does the token come from when a call names none? Sources of one caller's token, for servers of one caller.

In comes the name of a variable or a file; out comes the token as it is at that moment, or None. Keeps no token, and
believes none: each is verified like any other.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final, TypeAlias

from gatewright.middleware.compact import MAX_TOKEN

__all__ = ["UNSAID", "TokenFile", "TokenSource", "TokenVariable", "Unsaid", "ask"]

TokenSource: TypeAlias = Callable[[], "str | None"]
"""Returns the token of this moment; None where there is none. Asked once a call."""


class Unsaid(Enum):
    """That no token was named, which is not the same as None: nobody."""

    UNSAID = "unsaid"


UNSAID: Final = Unsaid.UNSAID


class TokenVariable:
    """The token in an environment variable, for a server that its client starts over stdio."""

    __slots__ = ("name",)

    def __init__(self, name: str = "GATEWRIGHT_TOKEN") -> None:
        self.name: str = name

    def __call__(self) -> str | None:
        """Return the token; None where the variable is not set or empty."""
        return os.environ.get(self.name, "").strip() or None

    def __repr__(self) -> str:
        return f"TokenVariable({self.name!r})"


class TokenFile:
    """
    The token in a file, read anew for each call, so that whoever refreshes it need tell nobody.

    Only a plain file of at most 16 KiB counts; blank space around the token does not.
    """

    __slots__ = ("path",)

    def __init__(self, path: str | Path) -> None:
        self.path: Path = Path(path)

    def __call__(self) -> str | None:
        """Return the token; None where there is no such file, or it is empty."""
        try:
            handle = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe must not hold up the call
        except (OSError, ValueError):
            return None
        try:
            is_plain = stat.S_ISREG(os.fstat(handle).st_mode)
            content = os.read(handle, MAX_TOKEN + 2) if is_plain else b""
        except OSError:
            return None
        finally:
            os.close(handle)
        return content.decode("ascii", "replace").strip() or None

    def __repr__(self) -> str:
        return f"TokenFile({str(self.path)!r})"


def ask(source: TokenSource | None) -> str | None:
    """Return the token of *source*; one that raises has none."""
    if source is None:
        return None
    try:
        return source()
    except Exception:  # noqa: BLE001 - whatever it ran into, there is no token, and its text may hold one
        return None
