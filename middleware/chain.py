"""
Which steps does a call walk, in which order? The chain as data, printed as its own documentation.

In come the built-in steps and those of the application; out comes an ordered tuple. A step can stop a call and nothing
else; built-in ones are never removed or moved.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from inspect import getdoc, iscoroutinefunction
from typing import Any, TypeAlias

from gatewright.middleware.call import Call, Inspection, Outcome, Wait
from gatewright.middleware.contain import contain
from gatewright.middleware.failures import Stopped
from gatewright.middleware.outcome import Outcome as Answer
from gatewright.policy.errors import Misuse

__all__ = ["Chain", "OwnStep", "Step", "own_step"]

OwnStep: TypeAlias = "Callable[[Inspection], Any]"
"""A step of an application: returns None, a result other than `ok`, or a `Stopped`; may be async."""


@dataclass(frozen=True, slots=True)
class Step:
    """
    One step: its name, the question it answers, what it may stop a call with, and the function that does it.

    *io* says that the step may wait. *own* marks a step of the application.
    """

    name: str
    question: str
    run: Callable[[Call], Outcome]
    stops: tuple[str, ...] = ()
    io: bool = False
    own: bool = False


class Chain:
    """The ordered steps of one guard. `print(chain)` tells what happens to a call."""

    __slots__ = ("deciding", "entering", "leaving", "steps")

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps: tuple[Step, ...] = tuple(steps)
        names = [step.name for step in steps]
        at = names.index("recheck")
        if names[at : at + 2] != ["recheck", "execute"]:
            raise Misuse("execute comes right after recheck", "nothing may happen between the two")
        self.deciding: tuple[Step, ...] = self.steps[:at]
        self.entering: tuple[Step, ...] = self.steps[at : at + 2]
        self.leaving: tuple[Step, ...] = self.steps[at + 2 :]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"Chain({' → '.join(step.name for step in self.steps)})"

    def __str__(self) -> str:
        names = max(len(step.name) for step in self.steps)
        questions = max(len(step.question) for step in self.steps)
        return "\n".join(
            f"{number:>2}  {step.name:<{names}}  {step.question:<{questions}}  {_stops(step)}".rstrip()
            for number, step in enumerate(self.steps, 1)
        )

    def with_steps(self, after: str, steps: Sequence[OwnStep]) -> Chain:
        """
        Return this chain with *steps* of the application right behind the step *after*.

        Raises:
            Misuse: *after* is neither `validate` nor `authorize`.
        """
        if after not in ("validate", "authorize"):
            raise Misuse(f"no step may be added after {after}", "after_validate and after_authorize are the two places")
        at = [step.name for step in self.steps].index(after) + 1
        return Chain((*self.steps[:at], *map(own_step, steps), *self.steps[at:]))


def own_step(function: OwnStep) -> Step:
    """Return the step of an application's *function*; its name and the first line of its docstring describe it."""
    if not callable(function):
        raise Misuse(f"a step is a function, not {type(function).__name__}", "write def step(call): …")
    name = getattr(function, "__name__", type(function).__name__)
    question = (getdoc(function) or "A step of this application.").partition("\n")[0]

    def run(call: Call) -> Generator[Wait, Any, Stopped | None]:
        seen = Inspection.of(call)
        answer = (yield Wait(function, seen)) if iscoroutinefunction(function) else contain(function, seen)
        return _own_answer(call, name, answer)

    return Step(name, question, run, ("anything but ok",), io=True, own=True)


def _own_answer(call: Call, name: str, answer: object) -> Stopped | None:
    """Only None lets a call go on; what is no refusal is one all the same."""
    if answer is None:
        return None
    result = answer.result if isinstance(answer, Stopped) else answer
    if isinstance(result, Answer) and result.status != "ok":
        return call.stop(result)  # type: ignore[arg-type]
    raise TypeError(f"the step {name} returned neither None nor a refusal")


def _stops(step: Step) -> str:
    return f"→ {', '.join(step.stops)}" if step.stops else ""
