"""
Where does this process run? Operating system, Python and our own version, named by one digest in every event.

The snapshot itself stands in `policy_loaded`, which every process writes when it starts. Holds nothing of a user's
environment variables, host names or paths.
"""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import rfc8785

__all__ = ["Environment", "environment"]


@dataclass(frozen=True, slots=True)
class Environment:
    """What a process runs on; *digest* is the first 16 hexadecimal digits of SHA-256 over the rest."""

    os: str
    python: str
    gatewright: str
    digest: str


@cache
def environment() -> Environment:
    """Return this process's environment; looked at once."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    try:
        ours = version("gatewright")
    except PackageNotFoundError:
        ours = "uninstalled"
    whole = rfc8785.dumps({"os": system, "python": python, "gatewright": ours})
    return Environment(system, python, ours, hashlib.sha256(whole).hexdigest()[:16])
