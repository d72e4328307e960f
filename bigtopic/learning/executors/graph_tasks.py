"""The tasks of a round on a cluster: nodes of the merge tree, and the worker that each is for.

Consecutive tasks are for the same worker, which therefore adds most of their sums itself: of W workers, where W is a
power of two, W - 1 hand over one sum each. A worker is a preference: Dask gives the task to another one that is idle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, groupby, pairwise
from typing import Any, Generic, TypeVar

from bigtopic.learning.estep import Arrays, estep_task
from bigtopic.learning.executors.documents import params_are_still
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.reduce import cut
from bigtopic.learning.remembering import Remembering, remembering
from bigtopic.learning.work import Iteration
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import SliceRef
from bigtopic.types import Stats

__all__ = ["Opaque", "merged", "n_tasks", "node_stats", "node_stats_alone", "node_tasks", "placed"]

Content = TypeVar("Content")

TASKS_PER_THREAD = 4  # so that threads of unequal speed end together
LEAST_TASKS = 32  # for workers that join during a round
TASK_SECONDS = 0.05  # of work for each task beyond one for each thread: a task costs milliseconds


class Opaque(Generic[Content]):
    """An argument of a task that contains no tasks. Dask looks for tasks in tuples and dataclasses, but not in here:
    among thousands of slices, the search takes longer than all else that the driver does for a graph."""

    def __init__(self, content: Content) -> None:
        self.content = content


def n_tasks(n_threads: int, round_seconds: float) -> int:
    """Tasks that a round should have, at least, for so many threads of a cluster; it takes one core `round_seconds`."""
    wanted = max(LEAST_TASKS, TASKS_PER_THREAD * n_threads)
    return max(1, n_threads, min(wanted, int(round_seconds / TASK_SECONDS)))


def node_tasks(slices: Sequence[SliceRef], n_nodes: int) -> list[tuple[SliceRef, ...]]:
    """The tasks of a round, in order: at least `n_nodes` of them, or one for each slice if there are fewer slices."""
    bounds = accumulate(cut(len(slices), n_nodes), initial=0)
    return [_read_alone(slices[first:last]) for first, last in pairwise(bounds)]


def _read_alone(slices: Sequence[SliceRef]) -> tuple[SliceRef, ...]:
    """The same slices, whose read blocks hold no documents of other tasks."""
    alone: list[SliceRef] = []
    for _, together in groupby(slices, lambda ref: ref.read_block):
        own = list(together)
        start, stop = own[0].start, own[-1].stop
        for ref in own:
            rest = _read_alone(ref.rest)
            alone.append(replace(ref, read_block_start=start, read_block_stop=stop, rest=rest))
    return tuple(alone)


def placed(n_tasks: int, n_threads: Mapping[str, int]) -> list[str]:
    """Address of the worker for each task, in order; `n_threads` has the threads of each worker."""
    threads = [worker for worker in sorted(n_threads) for _ in range(n_threads[worker])]
    return [threads[task * len(threads) // n_tasks] for task in range(n_tasks)]


def node_stats_alone(
    run: Run, refs: Sequence[SliceRef], arrays: Arrays, iteration: Iteration
) -> Stats | None:
    """The statistics of the slices of a task; state of documents is read, and written, by the task itself."""
    remembered = remembering(run.work)
    try:
        return node_stats(run, refs, arrays, iteration, remembered)
    finally:
        remembered.close()


def node_stats(
    run: Run, refs: Sequence[SliceRef], arrays: Arrays, iteration: Iteration, remembered: Remembering
) -> Stats | None:
    """As `node_stats_alone`, with the state in `remembered`. With a delay, kernels read copies of the rows, although
    the params do not move here: on threads they must, and reading in place may give other bits."""
    read, in_place = BlockReader(run.parts, ahead=0).block, params_are_still(run.plan)
    return estep_task(refs, read, arrays, run.work, iteration, remembered, in_place=in_place)


def merged(run: Run, plus: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """The sum of what two tasks return, as a task. Of the run, it needs only that a copy is here, see `Run`."""
    return plus(a, b)
