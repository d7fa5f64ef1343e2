"""What does the reference say of a situation? The only question asked here; nothing of gatewright is imported."""

from __future__ import annotations

from functools import cache
from typing import Any

from reference.decide import decide
from reference.folder import read_policies
from worlds.neighbours import Situation


@cache
def _policies(texts: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    return read_policies(dict(texts))


def reference_of(situation: Situation) -> dict[str, Any]:
    """The reference's decision."""
    return decide(
        _policies(tuple(sorted(situation.world.texts.items()))),
        situation.world.catalog,
        situation.caller,
        situation.tool,
        situation.arguments,
        now=situation.now,
        context=situation.context,
        things=situation.things,
        facts=situation.world.facts,
        used=situation.used,
    )
