"""
Which process holds this, and does it still live? A name for the process that no later one can have.

Made of the machine's boot, the process id and the time it started. A process that cannot be seen from here counts as
gone: what it holds becomes `unknown`, which its own outcome still settles should it live after all.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from gatewright.middleware.identifiers import new_id

__all__ = ["is_alive", "is_here", "this_process"]


@cache
def this_process() -> str:
    """Return the name of this process; a forked child has its own."""
    pid = os.getpid()
    return f"{_boot()}/{pid}/{_started(pid) or new_id()}"


def is_alive(owner: str) -> bool:
    """Return whether the process named *owner* is seen to live on this machine."""
    if owner == this_process():
        return True
    boot, _, rest = owner.partition("/")
    pid, _, started = rest.partition("/")
    return boot == _boot() and pid.isdecimal() and started == _started(int(pid))


def is_here(owner: str) -> bool:
    """Return whether the process named *owner* is, or was, one of this machine since it was started."""
    return owner.partition("/")[0] == _boot()


@cache
def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown"


def _started(pid: int) -> str | None:
    """Return when the process started, in the kernel's ticks; None where it is gone or a zombie, or cannot be seen."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if state in "ZX" else fields[18]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=this_process.cache_clear)
