"""
How do many callers share one commit? Whoever comes first carries out what others hand in meanwhile, all at once.

In come jobs from any thread; each is in exactly one batch, batches run one after the other, and nobody returns before
the batch of its job has ended. There is no thread of our own: a lone caller pays nothing for the others.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

from gatewright.policy.errors import Misuse

__all__ = ["MOST", "Combiner", "Job"]

MOST: Final = 64
"""Jobs in one batch."""

T = TypeVar("T")


class Job(Generic[T]):
    """
    Work to be done in a batch. Who runs the batch writes its *answer* or its *error*.

    *locks* and *shared* are names that must be locked before the batch begins; *alone* is a job that shares no
    transaction with another one.
    """

    __slots__ = ("_turn", "alone", "answer", "error", "finished", "locks", "shared", "work")

    def __init__(self, work: T, locks: Sequence[str] = (), shared: Sequence[str] = (), *, alone: bool = False) -> None:
        self.work: T = work
        self.locks: Sequence[str] = locks
        self.shared: Sequence[str] = shared
        self.alone: bool = alone
        self.answer: object = None
        self.error: BaseException | None = None
        self.finished: bool = False
        self._turn = threading.Lock()
        self._turn.acquire()

    def wait(self) -> BaseException | None:
        """
        Wait until the job is finished, or its caller is to run the next batch.

        It cannot be given up half-way, so an interruption is kept and returned afterwards.
        """
        interruption: BaseException | None = None
        while True:
            try:
                self._turn.acquire()
            except BaseException as error:  # noqa: BLE001 - the caller raises it once nobody depends on this thread
                interruption = error
            else:
                return interruption

    def wake(self, *, finished: bool) -> None:
        """Let `wait` return."""
        self.finished = finished
        self._turn.release()


class Combiner(Generic[T]):
    """
    Runs batches of jobs, one at a time, in the thread of one of their callers.

    *run* carries out a batch and never raises; each job of it has its answer or its error then.
    """

    def __init__(self, run: Callable[[Sequence[Job[T]]], None]) -> None:
        self._run = run
        self._lock = threading.Lock()
        self._waiting: list[Job[T]] = []
        self._leader: int | None = None

    def carry_out(self, job: Job[T]) -> None:
        """
        Have *job* carried out; it has its answer or its error afterwards.

        Raises:
            Misuse: the work of another job asks for this one, which could never begin.
        """
        me = threading.get_ident()
        with self._lock:
            if self._leader == me:
                raise Misuse("a transaction inside a transaction", "do it in the work of the outer one")
            self._waiting.append(job)
            leads = self._leader is None
            if leads:
                self._leader = me
        interruption = None if leads else job.wait()
        if not job.finished:
            self._lead(job, me)
        if interruption is not None:
            raise interruption

    def _lead(self, mine: Job[T], me: int) -> None:
        with self._lock:
            self._leader = me
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
        try:
            self._run(batch)
        finally:
            with self._lock:
                successor = self._waiting[0] if self._waiting else None
                self._leader = None if successor is None else 0
            if successor is not None:
                successor.wake(finished=False)
            for job in batch:
                if job is not mine:
                    job.wake(finished=True)
            mine.finished = True
