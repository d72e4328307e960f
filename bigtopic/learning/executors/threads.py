"""The in-process executor: threads call the task functions; numba releases the interpreter lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from typing import Any

from bigtopic.learning.documents import Documents, keeps_all
from bigtopic.learning.executors.base import Arrays, ExecutorSpec, MapReduceExecutor
from bigtopic.learning.reduce import TreeInAnyOrder
from bigtopic.learning.remembering import remembering
from bigtopic.learning.run import Run
from bigtopic.learning.stopping import uninterrupted
from bigtopic.learning.tasks import Place, SliceTask, Task, plus
from bigtopic.parallel import cluster
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.state.lazy_array import Additions
from bigtopic.support.side_by_side import Part, helped

__all__ = ["EXECUTOR", "ThreadExecutor", "ThreadTeam"]

READ_BLOCKS_AHEAD = 2  # of the next exchange
SLICES_AHEAD = 2  # of the next exchange, besides one per thread, so that later ones are read meanwhile


class ThreadExecutor(MapReduceExecutor):
    """Runs rounds on threads of this process.

    Parameters
    ----------
    run : see `bigtopic.learning.run`
    n_threads : at least 1; does not change the result
    """

    def __init__(self, run: Run, n_threads: int = 1) -> None:
        super().__init__(run)
        self._reader = BlockReader(run.parts, keep_all=keeps_all(run.plan))
        self._place = Place(run, Documents(run, self._reader), remembering(run.work, keeps=True))
        self._team = ThreadTeam(n_threads)

    def map_reduce(self, rounds: Sequence[Sequence[Task]], arrays: Arrays) -> list[Any]:
        """See `MapReduceExecutor.map_reduce`."""
        trees = [TreeInAnyOrder(len(tasks), plus) for tasks in rounds]
        work = [
            (task, tree, i) for tasks, tree in zip(rounds, trees, strict=True) for i, task in enumerate(tasks)
        ]
        ahead = self._team.n_threads + SLICES_AHEAD

        def compute(number: int) -> None:
            for later, _, _ in work[number + ahead : number + ahead + 1]:
                later.prefetch(self._place)
            task, tree, i = work[number]
            tree.push(task.compute(self._place, arrays), i)

        self._team.each(compute, len(work))
        self._place.remembering.flush()
        return [tree.result() for tree in trees]

    def prefetch(self, tasks: Sequence[SliceTask]) -> None:
        """See `MapReduceExecutor.prefetch`."""
        for read_block in islice(dict.fromkeys(task.ref.read_block for task in tasks), READ_BLOCKS_AHEAD):
            self._reader.prefetch(read_block)
        for task in tasks[: self._team.n_threads + SLICES_AHEAD]:
            self._place.remembering.prefetch(task.ref, task.iteration.pass_number, later=True)

    def read_ahead(self, cursor: Cursor) -> None:
        """Begin to read what the round at the cursor needs."""
        for rnd in islice(self.run.plan.rounds(cursor.pass_number, cursor.round, cursor.ahead), 1):
            self._reader.prefetch(rnd.slices[0].read_block)

    @contextmanager
    def stepping(self) -> Iterator[Callable[[Additions], None]]:
        """See `MapReduceExecutor.stepping`."""
        with helped(self._team.share):
            yield partial(Additions.do, n_threads=self._team.n_threads)

    def close(self) -> None:
        # Slices first: one may be waiting for a read block that only the reader can deliver.
        with ExitStack() as stack:
            stack.callback(cluster.rest)
            stack.callback(self._place.remembering.close)
            stack.callback(self._reader.close)
            stack.callback(self._team.close)


EXECUTOR = ExecutorSpec(lambda run, client, n_threads: ThreadExecutor(run, n_threads))


class ThreadTeam:
    """This thread and `n_threads - 1` others. Only one thread uses a team."""

    def __init__(self, n_threads: int) -> None:
        self.n_threads = n_threads
        helpers = n_threads - 1
        self._pool = ThreadPoolExecutor(helpers, thread_name_prefix="bigtopic") if helpers else None

    def each(self, work: Callable[[int], None], n: int) -> None:
        """Call `work(0)`, ..., `work(n - 1)`; calls begin in this order. Raises the first failure, after all calls
        that have begun have ended."""
        numbers, lock, failures = iter(range(n)), threading.Lock(), list[BaseException]()

        def do() -> None:
            try:
                while not failures:
                    with lock:
                        number = next(numbers, None)
                    if number is None:
                        return
                    work(number)
            except BaseException as failure:
                failures.append(failure)

        helpers: list[Future[None]] = []
        try:
            with uninterrupted():
                for _ in range(min(self.n_threads, n) - 1):
                    assert self._pool is not None
                    helpers.append(self._pool.submit(do))
            do()
        except BaseException as failure:  # a second Ctrl-C
            failures.append(failure)
        with uninterrupted():
            for helper in helpers:
                helper.result()
        if failures:
            raise failures[0]

    def share(self, cut: Callable[[int], Sequence[Part]]) -> None:
        """Do the parts that `cut` makes for the threads, see `side_by_side.helped`."""
        parts = cut(self.n_threads)
        self.each(lambda number: parts[number](), len(parts))

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
