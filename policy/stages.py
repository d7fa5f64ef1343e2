"""
In which order is a call judged? The stages of POLICY.md, "How a call is judged", the first one first.

Two names and nothing else; tests of policies, decisions and events speak of the same stages.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

__all__ = ["STAGES", "Stage"]

Stage: TypeAlias = Literal[
    "call", "schema", "authority", "narrowing", "rules", "facts", "context", "resource", "state", "budget"
]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
"""A call that stopped at a later one came further."""
