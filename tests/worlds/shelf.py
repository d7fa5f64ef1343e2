"""Every world there is: the shared ones where they are present, and those kept beside this file."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from shared_data import shared_folder
from worlds.reader import World, read_world

SHARED = ("obs", "software", "airline")


@cache
def worlds() -> tuple[World, ...]:
    """All worlds that can be read here, the shared ones first."""
    root = shared_folder()
    folders = [root / "worlds" / name for name in SHARED if (root / "worlds" / name).exists()]
    own = sorted(path.parent for path in Path(__file__).parent.glob("*/world.yaml"))
    return tuple(read_world(folder, root / "data/tau-bench/airline-tools.json") for folder in [*folders, *own])


def world_named(name: str) -> World:
    """The world called *name*."""
    return next(world for world in worlds() if world.name == name)
