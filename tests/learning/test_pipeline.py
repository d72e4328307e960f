"""Minibatches on threads see exactly the updates that their number allows, whatever the threads do."""

from __future__ import annotations

import random
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from bigtopic.learning.executors.pipeline import Pipeline
from bigtopic.plan.delays import groups_of

from bigtopic.learning.stopping import interruptible
from bigtopic.plan.slices import SliceRef
from bigtopic.side_by_side import ROWS, in_parts, over_rows
from bigtopic.types import AxisStats, Stats


def slices_of(sizes: list[int]) -> list[list[SliceRef]]:
    return [[SliceRef(n, i, i + 1, 0, size) for i in range(size)] for n, size in enumerate(sizes)]


class Told:
    """Jobs that note what they see; each takes a random time."""

    def __init__(self, seed: int, fails: tuple[str, int] | None = None) -> None:
        self.seen: dict[tuple[int, int], int] = {}
        self.steps: list[tuple[int, list[float]]] = []
        self.running, self.most = 0, 0
        self.settled: list[int] = []  # steps before each call
        self.sealed: list[int] = []  # steps that the next calls are about
        self.seen_now = 0  # steps that are settled
        self.parts_left = 0
        self._random, self._lock, self._fails = random.Random(seed), threading.Lock(), fails

    def _pause(self, job: str, number: int) -> None:
        if self._fails == (job, number):
            raise ValueError(f"{job} {number}")
        with self._lock:
            seconds = self._random.random() * 1e-3
        time.sleep(seconds)

    def prefetch(self, ref: SliceRef) -> None:
        pass

    def gather(self, number: int, ref: SliceRef) -> Any:
        before = self.seen_now
        assert not self.parts_left, "rows are read before all are added"
        self._pause("gather", number)
        assert self.seen_now == before, "rows are added while they are read"
        self.seen[number, ref.start] = before
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        return number, ref

    def evaluate(self, number: int, ref: SliceRef, gathered: Any) -> Stats:
        assert gathered == (number, ref)
        self._pause("evaluate", number)
        with self._lock:
            self.running -= 1
        rows = AxisStats(np.array([ref.start], np.int32), np.full((1, 1), number + 0.5))
        return Stats({"a": rows}, 1, 1.0)

    def step(self, number: int, stats: Stats) -> None:
        self._pause("step", number)
        axis = stats.arrays["a"]
        assert axis.ids is not None
        self.steps.append((number, axis.ids.tolist()))

    def seal(self) -> None:
        self.sealed.append(len(self.steps))

    def settle(self) -> None:
        self.settled.append(self.sealed.pop(0))
        self.parts_left = 4
        in_parts([self._part] * self.parts_left)
        assert not self.parts_left
        self.seen_now = self.settled[-1]

    def _part(self) -> None:
        self._pause("part", self.settled[-1])
        with self._lock:
            self.parts_left -= 1


class AtOnce(Told):
    """Jobs whose steps put nothing off."""

    def step(self, number: int, stats: Stats) -> None:
        assert not self.sealed
        super().step(number, stats)
        self.seen_now = len(self.steps)


def run(sizes: list[int], delay: int, n_threads: int, jobs: Told) -> None:
    sees = groups_of(len(sizes), 1000, delay).seen() if delay else None
    with ThreadPoolExecutor(max(1, n_threads - 1)) as pool:
        pipeline = Pipeline(slices_of(sizes), jobs, sees, puts_off=not isinstance(jobs, AtOnce))
        pipeline.run(pool if n_threads > 1 else None, n_threads)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("delay", [0, 1, 2, 3, 6, 15])
@pytest.mark.parametrize("sizes", [[1], [1] * 12, [2] * 6, [1, 3, 1, 1, 2, 20, 1]], ids=str)
@pytest.mark.parametrize("kind", [Told, AtOnce])
def test_what_a_round_sees_is_told_by_its_number(kind, sizes, delay, n_threads):
    jobs = kind(seed=n_threads)
    run(sizes, delay, n_threads, jobs)
    sees = {0: range(12), 1: [0, *range(11)], 2: [0, 0, 0, 2, 2, 3, 5, 5, 6, 8, 8, 9]}
    sees |= {3: [0, 0, 0, 0, 2, 2, 4, 4, 6, 6, 8, 8], 6: [0] * 7 + [4] * 4 + [7], 15: [0] * 12}
    assert jobs.settled == sorted({*list(sees[delay])[1 : len(sizes)], len(sizes)} - {0})
    assert jobs.seen == {(n, i): sees[delay][n] for n, size in enumerate(sizes) for i in range(size)}
    assert jobs.steps == [(n, list(range(size))) for n, size in enumerate(sizes)]


def test_steps_that_put_off_do_not_wait_for_rounds_that_do_not_see_them():
    """With a delay of 3, a round of the second group gathers until both steps of the first one are done."""
    stepped = threading.Event()

    class Slow(Told):
        def gather(self, number: int, ref: SliceRef) -> Any:
            if number == 3:
                assert stepped.wait(60)
            return super().gather(number, ref)

        def step(self, number: int, stats: Stats) -> None:
            super().step(number, stats)
            if number == 1:
                assert not self.settled
                stepped.set()

    jobs = Slow(seed=0)
    run([1] * 8, 3, 3, jobs)
    assert len(jobs.steps) == 8


def test_few_slices_of_a_large_round_are_held_at_once():
    jobs = Told(seed=0)
    run([200], 0, 2, jobs)
    assert jobs.most <= 4


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("job", ["gather", "evaluate", "step", "part"])
def test_a_failure_is_raised_and_nobody_waits(job, n_threads):
    jobs = Told(seed=0, fails=(job, 3))
    with pytest.raises(ValueError, match=f"{job} 3"):
        run([1] * 10, 1, n_threads, jobs)
    assert len(jobs.steps) <= 4


class Interrupted(ThreadPoolExecutor):
    """Ctrl-C twice, while a thread begins."""

    def submit(self, *args: Any) -> Future[Any]:
        found = super().submit(*args)
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        return found


def test_no_thread_works_when_a_second_ctrl_c_is_raised():
    jobs = Told(seed=0)
    with interruptible(), Interrupted(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            Pipeline(slices_of([1] * 50), jobs).run(pool, 2)
        n_steps = len(jobs.steps)
    assert len(jobs.steps) == n_steps < 50


class Wide(Told):
    """Jobs whose steps loop over many rows; `meet` is called for each range."""

    def __init__(self, meet: Callable[[int, int], Any]) -> None:
        super().__init__(0)
        self._meet, self.rows = meet, np.zeros(4 * ROWS, int)

    def step(self, number: int, stats: Stats) -> None:
        over_rows(self._add, len(self.rows), 1 << 20)
        assert (self.rows == number + 1).all()
        super().step(number, stats)

    def _add(self, start: int, stop: int) -> None:
        self._meet(start, stop)
        self.rows[start:stop] += 1


@pytest.fixture
def shares_with_another(monkeypatch):
    """A step is shared when another thread waits. One that has just ended its kernel may still be on its way there."""
    share = Pipeline._share

    def share_later(self: Pipeline, cut: Any) -> None:
        while not self._idle:
            time.sleep(0.001)
        share(self, cut)

    monkeypatch.setattr(Pipeline, "_share", share_later)


@pytest.mark.usefixtures("shares_with_another")
def test_threads_that_wait_help_the_one_that_steps():
    both = threading.Barrier(2, timeout=60)  # so that one thread alone waits in vain
    jobs = Wide(lambda start, stop: both.wait())
    run([2, 2], 0, 2, jobs)
    assert len(jobs.steps) == 2


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_what_fails_in_a_range_of_a_step_is_raised(n_threads):
    def fail(start: int, stop: int) -> None:
        if stop == 4 * ROWS:
            raise ValueError("the last range")

    jobs = Wide(fail)
    with pytest.raises(ValueError, match="the last range"):
        run([2, 2], 0, n_threads, jobs)
    assert not jobs.steps


@pytest.mark.usefixtures("shares_with_another")
def test_a_range_that_went_with_its_thread_is_not_waited_for(monkeypatch):
    """Ctrl-C may end a thread that has a range, but has not begun it."""
    taken, do_part, ended = threading.Event(), Pipeline._do_part, []

    class Stepping(Wide):
        def step(self, number: int, stats: Stats) -> None:
            self.stepper = threading.current_thread()
            super().step(number, stats)

    def end(self: Pipeline, part: Callable[[], None], failures: list[BaseException]) -> None:
        if threading.current_thread() is not jobs.stepper:
            taken.set()
            raise KeyboardInterrupt
        do_part(self, part, failures)

    def begin() -> None:
        with pytest.raises(KeyboardInterrupt):
            run([2, 2], 0, 2, jobs)
        ended.append(True)

    jobs = Stepping(lambda start, stop: taken.wait(60))
    monkeypatch.setattr(Pipeline, "_do_part", end)
    caller = threading.Thread(target=begin, daemon=True)
    caller.start()
    caller.join(60)
    assert ended and not jobs.steps
