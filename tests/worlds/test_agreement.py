"""The product's judge and the reference decider agree on the worlds' cases, on their neighbours and on inventions."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator

import pytest

from worlds.invented import invent
from worlds.neighbours import Situation, neighbours, situation_of
from worlds.opinion import reference_of
from worlds.product import snapshot_of, verdict_of
from worlds.reader import World
from worlds.shelf import worlds

SEED = int(os.environ.get("GATEWRIGHT_SEED", "1"))
WORLDS = [pytest.param(world, id=world.name) for world in worlds()]
INVENTED = 40
OUTCOMES = ("ok", "approval_required", "invalid_arguments", "forbidden", "not_found", "conflict", "rate_limited")


def disagreements(world: World, situations: Iterable[Situation], seen: Counter[str] | None = None) -> Iterator[str]:
    """Every situation that the two decide differently: status, entry, stage, and the filled arguments where allowed."""
    snapshot = snapshot_of(world)
    for situation in situations:
        verdict, answer = verdict_of(snapshot, situation), reference_of(situation)
        product = (verdict.outcome, verdict.entry, verdict.stage, verdict.filled)
        reference = (answer["status"], answer["entry"], answer["stage"], answer.get("filled"))
        if seen is not None:
            seen[answer["status"]] += 1
        if product != reference:
            yield (
                f"{world.name}: {situation.person} {situation.caller} {situation.tool} {situation.arguments} "
                f"{situation.now} {situation.context} {situation.steps}\n  product {product} {verdict.reason}\n"
                f"  reference {reference} {answer['fields']}"
            )


@pytest.mark.parametrize("world", WORLDS)
def test_both_decide_every_case_alike(world: World) -> None:
    """The cases themselves."""
    assert not list(disagreements(world, (situation_of(world, case) for case in world.cases)))


@pytest.mark.parametrize("world", WORLDS)
def test_both_decide_the_neighbours_of_the_cases_alike(world: World) -> None:
    """A value, a name, a caller, a time, a thing or a use away from a case; and the neighbours meet every status."""
    seen: Counter[str] = Counter()
    found = list(disagreements(world, neighbours(world, SEED, 700), seen))
    assert not found, f"{len(found)} of 700, the first:\n{found[0]}"
    assert len(seen) >= len(OUTCOMES) - 2, seen


def test_both_decide_invented_policies_alike() -> None:
    """Small policies that nobody wrote, and calls near to what they allow."""
    found = [item for seed in range(INVENTED) for item in invented_disagreements(SEED * 1000 + seed, 25)]
    assert not found, f"{len(found)} of 1000, the first:\n{found[0]}"


@pytest.mark.long
def test_both_decide_many_invented_policies_alike() -> None:
    """The same at length."""
    found = [item for seed in range(2000) for item in invented_disagreements(SEED * 100_000 + seed, 40)]
    assert not found, f"{len(found)} of 80000, the first:\n{found[0]}"


def invented_disagreements(seed: int, count: int) -> Iterator[str]:
    """The disagreements in the world of *seed*."""
    world = invent(seed)
    return disagreements(world, neighbours(world, 1, count))
