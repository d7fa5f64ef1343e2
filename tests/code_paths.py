"""
Which way does a call take through the product? Every line of policy/ and middleware/ that it executes.

A comparison of pairs, not a measurement of time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from gatewright import middleware, policy

Line = tuple[str, int]
PACKAGES = tuple(str(Path(module.__file__ or "").parent) for module in (policy, middleware))


def lines_of(call: Callable[[], object]) -> list[Line]:
    """Every line of ours that *call* executes in this thread, in order; ids are drawn in blocks, which is no path."""
    seen: list[Line] = []

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename.endswith("identifiers.py") or not frame.f_code.co_filename.startswith(PACKAGES):
            return None
        if event == "line":
            seen.append((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return seen


def first_difference(one: list[Line], other: list[Line]) -> object:
    """Where two ways part, None where they do not."""
    parted = next((pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]), None)
    return parted or (None if len(one) == len(other) else f"{len(one)} lines and {len(other)}")
