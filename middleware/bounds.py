"""
How much may a caller try, and a result weigh? The numbers that a guard holds every call to.

In come what an application states; out comes a checked record. Decides nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypedDict

from gatewright.middleware.notice import StaleReads
from gatewright.middleware.repairs import MAX_REPAIRS
from gatewright.middleware.results import Result
from gatewright.policy.errors import Misuse

__all__ = ["GUESSES", "RESULT_BYTES", "BoundOptions", "Bounds", "pause_of"]

GUESSES: int = 50
"""How many refused calls one subject has in one interaction within an hour, unless the application says otherwise."""

RESULT_BYTES: int = 1_048_576
"""The bytes that a result may have, unless the application says otherwise."""


class BoundOptions(TypedDict, total=False):
    """
    The bounds that `Guard` takes.

    *repairs* is how often arguments may be corrected in one interaction. *guesses* is how many refused calls one
    subject has in one interaction within an hour; after them every call is refused, None for no such bound.
    *refusal_grid* is in seconds: refusals that had to touch data leave at whole multiples of it after their call came
    in; 0 is off. *result_bytes* is what a result may have as JSON; what is longer is cut where that can be said, else
    withheld. *max_policy_age* is how many seconds ago the folder may last have been seen to say what is in force:
    beyond it writes are refused and reads are marked; None for no such bound.
    *stale_reads* says what becomes of reads while revocations cannot be seen for longer than five seconds: `run`, or
    `refuse` with `unavailable`; writes are refused then in any case.
    """

    repairs: int
    guesses: int | None
    refusal_grid: float
    result_bytes: int
    max_policy_age: float | None
    stale_reads: StaleReads


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of one guard, as `BoundOptions` describes them."""

    repairs: int = MAX_REPAIRS
    guesses: int | None = GUESSES
    refusal_grid: float = 0.0
    result_bytes: int = RESULT_BYTES
    max_policy_age: float | None = None
    stale_reads: StaleReads = "run"

    def __post_init__(self) -> None:
        if self.guesses is not None and self.guesses < 1:
            raise Misuse(f"guesses is {self.guesses}", "at least 1, or None for no bound")
        if not 0 <= self.refusal_grid < math.inf:
            raise Misuse(f"refusal_grid is {self.refusal_grid}", "seconds, such as 0.005; 0 is off")
        if self.max_policy_age is not None and not self.max_policy_age > 0:
            raise Misuse(f"max_policy_age is {self.max_policy_age}", "seconds, more than 0, or None for no bound")
        if self.stale_reads not in ("run", "refuse"):
            raise Misuse("stale_reads is neither run nor refuse", "run, unless a stale answer is worse than none")
        if self.result_bytes < 1:
            raise Misuse(f"result_bytes is {self.result_bytes}", "bytes, at least 1")


def pause_of(result: Result, elapsed: float, grid: float) -> float:
    """
    Return the seconds to hold *result* back, which is there *elapsed* seconds after its call came in.

    A refusal leaves at a whole multiple of *grid*, so that its time tells a multiple and nothing finer.
    """
    if not grid or result.status not in ("forbidden", "not_found"):
        return 0.0
    return math.ceil(elapsed / grid) * grid - elapsed
