"""
What is the least that still shows a difference? A pair with probes, acts and changes taken away while it is seen.

In comes a difference; out comes one of a pair that nothing can be taken from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from noninterference.run import Difference, Runner
from noninterference.world import Act, Pair, World


def shrink(runner: Runner, found: Difference) -> Difference:
    """The difference of the smallest pair that can be reached from that of *found* one step at a time."""
    while True:
        smaller = next((less for pair in _smaller(found.pair) if (less := runner.difference(pair))), None)
        if smaller is None:
            return found
        found = smaller


def _smaller(pair: Pair) -> Iterator[Pair]:
    """Every pair that is one step smaller."""
    for at in range(len(pair.probes)):
        if len(pair.probes) > 1:
            probes = (*pair.probes[:at], *pair.probes[at + 1 :])
            yield replace(pair, probes=probes, left=_earlier(pair.left, at), right=_earlier(pair.right, at))
    for side in ("left", "right"):
        world: World = getattr(pair, side)
        for number in range(len(world.acts)):
            acts = (*world.acts[:number], *world.acts[number + 1 :])
            yield replace(pair, **{side: replace(world, acts=acts)})
    if pair.left.setting != pair.right.setting:
        yield replace(pair, right=replace(pair.right, setting=pair.left.setting))
    for key in sorted(pair.changed_rows):
        rows = {other: row for other, row in pair.right.rows.items() if other != key}
        before = pair.left.rows.get(key)
        yield replace(pair, right=replace(pair.right, rows=rows if before is None else rows | {key: before}))


def _earlier(world: World, at: int) -> World:
    """*world* with the acts behind probe *at* one probe earlier."""
    acts = tuple(
        Act(act.at - 1 if act.at > at or act.at == at > 0 else act.at, act.person, act.probe) for act in world.acts
    )
    return replace(world, acts=acts)
