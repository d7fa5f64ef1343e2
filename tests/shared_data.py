"""Where the data that several projects share lies: `../shared`, or wherever GATEWRIGHT_SHARED points."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def shared_folder() -> Path:
    """The shared folder, whether or not it is there."""
    return Path(os.environ.get("GATEWRIGHT_SHARED") or ROOT.parent / "shared")


def shared(path: str) -> Path:
    """The shared file or folder *path*; the test (or its module) skips where it is missing."""
    found = shared_folder() / path
    if not found.exists():
        pytest.skip(f"needs shared/{path}: set GATEWRIGHT_SHARED to the shared folder", allow_module_level=True)
    return found
