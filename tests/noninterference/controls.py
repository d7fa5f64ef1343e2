"""
Does the suite find a leak that is there? One seeded leak at a time, until its first hit.

In comes a leak; out comes what gave it away, or nothing, and then the suite is too weak.
"""

from __future__ import annotations

from collections.abc import Iterator

from gatewright.middleware import publish
from noninterference.leaks import PATHS, Leak
from noninterference.patch import leaking
from noninterference.paths import alike, parting
from noninterference.run import Runner
from noninterference.world import Gallery, pairs


def first_hit(gallery: Gallery, leak: Leak, seed: int, count: int) -> str:
    """What tells that the product has *leak*, within *count* pairs of its family; empty where nothing does."""
    runner = Runner(gallery)
    _forget(gallery)
    try:
        with leaking(leak):
            if leak.found == PATHS:
                return next(_partings(runner, gallery), "")
            for number, pair in enumerate(pairs(gallery, leak.found, seed, count)):
                if runner.difference(pair) is not None:
                    return f"pair {number}"
            return ""
    except AssertionError as error:
        return str(error)
    finally:
        runner.close()
        _forget(gallery)


def _partings(runner: Runner, gallery: Gallery) -> Iterator[str]:
    for setting in gallery.settings:
        archive = gallery.archive(setting)
        yield from parting(runner, archive, alike(archive))


def _forget(gallery: Gallery) -> None:
    """Empty what the product remembers, so that nothing made with a leak outlives it."""
    for archive in gallery.archives.values():
        archive.guard._runtime.live.snapshot.renew()
    publish._PLANS.clear()
