"""The in-process executor: threads call the task functions; numba releases the interpreter lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from typing import Any

from bigtopic.learning.documents import Documents, keeps_all
from bigtopic.learning.executors.base import Arrays, Executor, ExecutorSpec
from bigtopic.learning.executors.thread_team import ThreadTeam
from bigtopic.learning.executors.until_end import UntilEnd, may_wait
from bigtopic.learning.reduce import TreeInAnyOrder, add
from bigtopic.learning.remembering import Remembering, keeps_state, remembering
from bigtopic.learning.run import Run
from bigtopic.learning.tasks import Place, SliceTask, Task, plus
from bigtopic.parallel import cluster
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.state.lazy_array import Additions
from bigtopic.support.side_by_side import helped
from bigtopic.types import Stats

__all__ = ["EXECUTOR", "ThreadExecutor"]

READ_BLOCKS_AHEAD = 2  # of the next exchange
SLICES_AHEAD = (
    2  # of the next exchange, besides one for each thread: the later ones are read while these are at work
)


class ThreadExecutor(Executor):
    """Runs rounds on threads of this process.

    Parameters
    ----------
    run : see `bigtopic.learning.run`
    n_threads : at least 1; does not change the result
    """

    def __init__(self, run: Run, n_threads: int = 1) -> None:
        super().__init__(run)
        self._reader = BlockReader(run.parts, keep_all=keeps_all(run.plan))
        self._place = Place(run, Documents(run, self._reader), _remembering(run))
        self._team = ThreadTeam(n_threads)

    def map_reduce(self, tasks: Sequence[Task], arrays: Arrays) -> Any:
        """See `Executor.map_reduce`."""
        tree = TreeInAnyOrder(len(tasks), plus)
        self._compute(tasks, arrays, tree.push)
        return tree.result()

    def concurrent_rounds(self, rounds: Sequence[Sequence[SliceTask]], arrays: Arrays) -> Sequence[Stats]:
        """See `Executor.concurrent_rounds`."""
        trees = [TreeInAnyOrder(len(tasks), add) for tasks in rounds]
        where = [(tree, i) for tree, tasks in zip(trees, rounds, strict=True) for i in range(len(tasks))]

        def push(stats: Stats, number: int) -> None:
            tree, i = where[number]
            tree.push(stats, i)

        self._compute([task for tasks in rounds for task in tasks], arrays, push)
        return [tree.result() for tree in trees]

    def _compute(self, tasks: Sequence[Task], arrays: Arrays, push: Callable[[Any, int], None]) -> None:
        ahead = self._team.n_threads + SLICES_AHEAD

        def compute(number: int) -> None:
            for later in tasks[number + ahead : number + ahead + 1]:
                later.prefetch(self._place)
            push(tasks[number].compute(self._place, arrays), number)

        self._team.each(compute, len(tasks))
        self._place.remembering.flush()

    def prefetch(self, tasks: Sequence[Task]) -> None:
        """See `Executor.prefetch`."""
        refs = [ref for task in tasks for ref in task.refs]
        for read_block in islice(dict.fromkeys(ref.read_block for ref in refs), READ_BLOCKS_AHEAD):
            self._reader.prefetch(read_block)
        for task in tasks[: self._team.n_threads + SLICES_AHEAD]:
            if isinstance(task, SliceTask):
                self._place.remembering.prefetch(task.ref, task.iteration.pass_number, later=True)

    def read_ahead(self, cursor: Cursor) -> None:
        """Begin to read what the round at the cursor needs."""
        for rnd in islice(self.run.plan.rounds(cursor.pass_number, cursor.round, cursor.ahead), 1):
            self._reader.prefetch(rnd.slices[0].read_block)

    @contextmanager
    def stepping(self) -> Iterator[Callable[[Additions], None]]:
        """See `Executor.stepping`."""
        with helped(self._team.share):
            yield partial(Additions.do, n_threads=self._team.n_threads)

    def moved(self, pass_number: int) -> None:
        """See `Executor.moved`."""
        self._place.remembering.moved(pass_number)

    def close(self) -> None:
        # Slices first: one may be waiting for a read block that only the reader can deliver.
        with ExitStack() as stack:
            stack.callback(cluster.rest)
            stack.callback(self._place.remembering.close)
            stack.callback(self._reader.close)
            stack.callback(self._team.close)


def _remembering(run: Run) -> Remembering:
    files = run.work.state
    if files is not None and run.unseen and may_wait(run) and keeps_state(files.bytes_in_memory()):
        return UntilEnd(files)
    return remembering(run.work, whole=True)


EXECUTOR = ExecutorSpec(lambda run, client, n_threads: ThreadExecutor(run, n_threads))
