"""Consecutive minibatches on threads: which thread gathers, runs a kernel or steps, and in which order.

With a delay, a minibatch does not see the last updates before it (Langford, Smola, Zinkevich 2009, "Slow learners are
fast"). What it sees depends only on its number, see `delays.Groups`, so any number of threads computes the same:

* the tasks of a round gather when exactly the steps that it sees are done;
* a round steps when its tasks are merged, in order. If steps write what is gathered, a step also waits until all rounds
  that do not see it have gathered; if they put that off, `settle` waits instead.

Rounds of a group see the same steps. So threads gather side by side, and they also do side by side what the steps of a
group put off, before the next rounds gather.

A task is a slice, or a whole round for an executor that runs rounds elsewhere: nothing else says what a round sees.
Without a delay, threads share the slices of one round and meet at its end. With a delay of 1, one thread's kernel runs
while another steps and gathers, and no thread waits as long as they take turns.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, Protocol

from bigtopic.learning.reduce import Tree, add
from bigtopic.learning.stopping import uninterrupted
from bigtopic.side_by_side import Part, helped

__all__ = ["Jobs", "Pipeline"]


class Jobs(Protocol):
    """The work for a task and for a round; `number` counts the rounds of the pipeline from 0."""

    def prefetch(self, task: Any) -> None:
        """The task will be gathered soon."""

    def gather(self, number: int, task: Any) -> Any:
        """Everything that reads the params: documents, and the rows that they need."""

    def evaluate(self, number: int, task: Any, gathered: Any) -> Any:
        """Run the kernel; reads no params that a step moves."""

    def step(self, number: int, total: Any) -> None:
        """Update the params by the sum of what the tasks of a round evaluate to, usually `Stats`."""

    def seal(self) -> None:
        """Close the batch of what the steps so far have put off; one later call of `settle` applies it."""

    def settle(self) -> None:
        """Apply the oldest closed batch; nothing reads the params meanwhile."""


class Pipeline:
    """Some rounds; all earlier updates are done before the first, and all of these at the end.

    Parameters
    ----------
    rounds : the tasks of each, in order
    jobs : the work for tasks and rounds
    sees : how many of these updates each round sees; None for all before it
    plus : the sum of what two tasks evaluate to
    puts_off : whether what a step changes is seen only once `settle` was called
    """

    def __init__(
        self,
        rounds: Sequence[Sequence[Any]],
        jobs: Jobs,
        sees: Sequence[int] | None = None,
        plus: Callable[[Any, Any], Any] = add,
        puts_off: bool = False,
    ) -> None:
        self._jobs = jobs
        self._delayed, self._puts_off = sees is not None, puts_off
        self._sees = range(len(rounds)) if sees is None else sees
        self._tasks = [(number, task) for number, tasks in enumerate(rounds) for task in tasks]
        self._n_rounds = len(rounds)
        self._gathers_left = [len(tasks) for tasks in rounds]
        self._gathered = 0  # first round that has not gathered
        self._merges_left = list(self._gathers_left)
        # Shared state changes only while this is held, except `_merged`, `_merges_left` and `_trees`: they belong to
        # the thread that set `_updating`. Others may read an old `_merged`; then they gather later, never too early.
        # A thread that begins a job wakes one that waits, if there is more to do: to wake all for every job would take
        # longer than the jobs.
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._claimed = 0  # tasks that are being done, or have been
        self._ready: deque[tuple[int, Any]] = deque()  # tasks that were gathered by a thread that had to step
        self._done: dict[int, Any] = {}
        self._merged = 0
        self._stepped = 0
        self._awaited = {*self._sees, self._n_rounds}  # numbers of steps that a round waits for
        self._sealed: deque[int] = deque()  # those of them that are done, but not settled
        self._settled = 0  # the last one that is
        self._updating = False
        self._parts: deque[Part] = deque()  # of the update that is at work, not begun
        self._parts_left = 0  # not done
        self._parts_over = threading.Condition(lock)  # all are done, or no thread is left to do the others
        self._threads = 0  # that have not left, or are still to begin
        self._idle = 0  # threads that wait
        self._trees = deque(Tree(len(tasks), plus) for tasks in rounds)  # of rounds that have not stepped
        self._window = 0
        self._most_ready = 1
        self._failure: BaseException | None = None

    def run(self, pool: Executor | None, n_threads: int) -> None:
        """Do all rounds on this thread and `n_threads - 1` of the pool. Re-raises the exception of a job."""
        self._window = n_threads + 2
        self._most_ready = n_threads if self._delayed else 1
        n_helpers = min(n_threads, len(self._tasks)) - 1 if pool is not None else 0
        self._threads = 1 + n_helpers
        helpers: list[Future[None]] = []
        try:
            with uninterrupted():
                for _ in range(n_helpers):
                    assert pool is not None
                    helpers.append(pool.submit(self._work))
        except BaseException as failure:
            self._fail(failure)
        self._work()
        with uninterrupted():  # they may be stepping
            for helper in helpers:
                helper.result()
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        """Do what can be done next until nothing is left."""
        try:
            while True:
                with self._changed:
                    job = self._next()
                    while job is None and not self._over():
                        self._idle += 1
                        self._changed.wait()
                        self._idle -= 1
                        job = self._next()
                    if self._idle and self._has_more():
                        self._changed.notify()
                if job is None:
                    return
                job()
        except BaseException as failure:
            self._fail(failure)
        finally:
            self._leave()

    def _fail(self, failure: BaseException) -> None:
        with self._changed:
            self._failure = self._failure or failure
            self._changed.notify_all()

    def _leave(self) -> None:
        with self._changed:
            self._threads -= 1
            self._parts_over.notify()

    def _over(self) -> bool:
        return self._settled == self._n_rounds or self._failure is not None

    def _next(self) -> Callable[[], None] | None:
        """Claim the most urgent job; None when there is nothing to do now."""
        if self._parts:
            return self._parts.popleft()
        if self._over():
            return None
        if self._may_update():
            self._updating = True
            return self._update
        if self._ready and not self._may_gather_ahead():
            return partial(self._evaluate, *self._ready.popleft())
        if self._may_gather():
            item = self._claimed
            self._claimed += 1
            return partial(self._do_task, item)
        return None

    def _has_more(self) -> bool:
        """Whether `_next` has a job for another thread."""
        return not self._over() and bool(
            self._parts or self._ready or self._may_update() or self._may_gather()
        )

    def _may_update(self) -> bool:
        return not self._updating and (self._may_merge() or self._may_step() or self._may_settle())

    def _may_gather(self) -> bool:
        if self._claimed == len(self._tasks):
            return False
        number, _ = self._tasks[self._claimed]
        in_window = number > self._stepped or self._claimed - self._merged < self._window
        return self._sees[number] <= self._settled and in_window

    def _may_gather_ahead(self) -> bool:
        """Whether to gather goes before what was gathered already: others wait until all of a group has."""
        return len(self._ready) + 1 < self._most_ready and self._may_gather()

    def _may_merge(self) -> bool:
        return self._merged in self._done and self._merges_left[self._stepped] > 0

    def _may_step(self) -> bool:
        if self._stepped == self._n_rounds or self._merges_left[self._stepped]:
            return False
        return self._puts_off or (not self._sealed and self._has_gathered(self._stepped))

    def _may_settle(self) -> bool:
        return len(self._sealed) > 0 and self._has_gathered(self._sealed[0] - 1)

    def _has_gathered(self, number: int) -> bool:
        """Whether all rounds that do not see the step of this one have gathered."""
        return self._gathered >= bisect_right(self._sees, number)

    def _do_task(self, item: int) -> None:
        number, task = self._tasks[item]
        ahead = item + self._window
        if ahead < len(self._tasks):
            self._jobs.prefetch(self._tasks[ahead][1])
        gathered = self._jobs.gather(number, task)
        with self._changed:
            self._gathers_left[number] -= 1
            while self._gathered < self._n_rounds and self._gathers_left[self._gathered] == 0:
                self._gathered += 1
            if self._idle and self._has_more():  # a step may have waited for this
                self._changed.notify()
            elif self._delayed and (self._may_update() or self._may_gather_ahead()):  # others wait for that
                self._ready.append((item, gathered))
                return
        self._evaluate(item, gathered)

    def _evaluate(self, item: int, gathered: Any) -> None:
        number, task = self._tasks[item]
        found = self._jobs.evaluate(number, task, gathered)
        with self._changed:
            self._done[item] = found

    def _update(self) -> None:
        """Merge and step as far as possible; one thread at a time, which those that wait help."""
        with helped(self._share):
            self._merge_and_step()

    def _merge_and_step(self) -> None:
        while True:
            with self._changed:
                settles = self._may_settle()  # first: others wait for that
                found = self._done.pop(self._merged) if not settles and self._may_merge() else None
                if self._over() or not (settles or found is not None or self._may_step()):
                    self._updating = False
                    return
            if settles:
                self._settle()
                continue
            if found is None:
                self._step()
                continue
            self._trees[0].push(found)
            self._merges_left[self._stepped] -= 1
            self._merged += 1

    def _step(self) -> None:
        total = self._trees.popleft().result()
        assert total is not None
        with uninterrupted():
            self._jobs.step(self._stepped, total)
            if sealed := self._stepped + 1 in self._awaited:
                self._jobs.seal()
        with self._changed:
            self._stepped += 1
            if sealed:
                self._sealed.append(self._stepped)

    def _settle(self) -> None:
        with uninterrupted():
            self._jobs.settle()
        with self._changed:
            self._settled = self._sealed.popleft()
            self._wake()

    def _wake(self) -> None:
        """As many threads as have rounds to gather now, or all at the end."""
        if self._over():
            self._changed.notify_all()
        else:
            self._changed.notify(bisect_right(self._sees, self._settled) - self._gathered)

    def _share(self, cut: Callable[[int], Sequence[Part]]) -> None:
        """Do the parts of an update, with the threads that wait; raises what one of them raised."""
        failures: list[BaseException] = []
        with self._changed:
            parts = cut(1 + self._idle)
            self._parts.extend(partial(self._do_part, part, failures) for part in parts)
            self._parts_left = len(parts)
            self._changed.notify(len(parts) - 1)
        while (part := self._next_part()) is not None:
            part()
        if failures:
            raise failures[0]
        if self._parts_left:
            assert self._failure is not None
            raise self._failure

    def _next_part(self) -> Part | None:
        """A part to do; None when all are done, or those that are left went with a thread that Ctrl-C ended."""
        with self._changed:
            if not self._parts:
                self._parts_over.wait_for(lambda: self._parts_left == 0 or self._threads == 1)
            return self._parts.popleft() if self._parts else None

    def _do_part(self, part: Part, failures: list[BaseException]) -> None:
        with uninterrupted():
            try:
                part()
            except BaseException as failure:
                failures.append(failure)
            with self._changed:
                self._parts_left -= 1
                if self._parts_left == 0:
                    self._parts_over.notify()
