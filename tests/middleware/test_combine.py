"""Jobs of many threads are carried out in batches: each once, and nobody waits for a batch that is not theirs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import pytest

from gatewright.middleware.combine import MOST, Combiner, Job
from gatewright.policy.errors import Misuse


class Runner:
    """Runs batches of functions; the first one waits until it may go on."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.began = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, batch: Sequence[Job[Callable[[], object]]]) -> None:
        """Answer each job."""
        self.batches.append(len(batch))
        for job in batch:
            try:
                job.answer = job.work()
            except Exception as error:  # noqa: BLE001 - a job's own
                job.error = error
        if not self.began.is_set():
            self.began.set()
            self.may_end.wait()


def carry_out(combiner: Combiner[Callable[[], object]], answers: list[object], number: int) -> threading.Thread:
    """Hand in a job from a thread of its own."""

    def call() -> None:
        job: Job[Callable[[], object]] = Job(lambda: number)
        combiner.carry_out(job)
        answers.append(job.answer)

    thread = threading.Thread(target=call)
    thread.start()
    return thread


@pytest.mark.parametrize("count", [1, 8, MOST + 5])
def test_what_comes_in_during_a_batch_is_the_next_one(count: int) -> None:
    """However many there are, up to the most that a batch holds; each is carried out once."""
    runner, answers = Runner(), []
    combiner: Combiner[Callable[[], object]] = Combiner(runner)
    threads = [carry_out(combiner, answers, -1)]
    runner.began.wait()
    threads += [carry_out(combiner, answers, number) for number in range(count)]
    while len(combiner._waiting) < count:
        threading.Event().wait(0.001)
    runner.may_end.set()
    for thread in threads:
        thread.join()
    assert runner.batches == [1, *([MOST, count - MOST] if count > MOST else [count])]
    assert sorted(answers, key=str) == sorted([-1, *range(count)], key=str)


def test_a_job_inside_a_job_is_refused() -> None:
    """It could never begin; the outer one goes on and may say so."""
    runner = Runner()
    runner.may_end.set()
    combiner: Combiner[Callable[[], object]] = Combiner(runner)
    outer: Job[Callable[[], object]] = Job(lambda: combiner.carry_out(Job(lambda: 1)))
    combiner.carry_out(outer)
    assert isinstance(outer.error, Misuse)
    after: Job[Callable[[], object]] = Job(lambda: 2)
    combiner.carry_out(after)
    assert after.answer == 2


def test_many_threads_have_each_job_done_once() -> None:
    """Sixteen threads, two hundred jobs each, nothing lost and nothing twice."""
    counted: list[int] = []

    def run(batch: Sequence[Job[int]]) -> None:
        for job in batch:
            counted.append(job.work)
            job.answer = job.work

    combiner: Combiner[int] = Combiner(run)
    wrong: list[int] = []

    def call(first: int) -> None:
        for number in range(first, first + 200):
            job = Job(number)
            combiner.carry_out(job)
            if job.answer != number:
                wrong.append(number)

    threads = [threading.Thread(target=call, args=(200 * thread,)) for thread in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert sorted(counted) == list(range(3_200))
