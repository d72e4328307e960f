"""Rounds of several slices on Dask: an all-reduce among the workers where they can (`among_workers`), or graphs of
E-step tasks and their reduction. The driver owns the params and does the step. Short rounds before replicas begin are
done whole, on one worker."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

from bigtopic.errors import ON_THREADS
from bigtopic.learning import sharing
from bigtopic.learning.executors import among_workers, whole
from bigtopic.learning.executors.among_workers import AmongWorkers
from bigtopic.learning.executors.choice import begins_whole
from bigtopic.learning.executors.forecast import round_seconds
from bigtopic.learning.executors.graph_tasks import (
    Opaque,
    merged,
    n_tasks,
    node_stats,
    node_stats_alone,
    node_tasks,
)
from bigtopic.learning.executors.protocol import (
    AbleWorkers,
    Executor,
    ExecutorSpec,
    MemoryOfRun,
    Run,
    Updates,
)
from bigtopic.learning.executors.segments import Segment, by_segments, do_rounds
from bigtopic.learning.executors.sending import Mistaken, Sender
from bigtopic.learning.executors.whole import WholeExecutor
from bigtopic.learning.reduce import Tree, add
from bigtopic.learning.remembering import InMemory
from bigtopic.learning.work import Iteration
from bigtopic.parallel.cluster import threads_of
from bigtopic.parallel.keys import task_key
from bigtopic.parallel.results import result_of
from bigtopic.parallel.shared_files import shares_files
from bigtopic.parallel.workers import Places
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import Round, SliceRef
from bigtopic.state.documents.state_files import State
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.overlay import Overlay
from bigtopic.state.params import Params
from bigtopic.types import Stats

__all__ = ["EXECUTOR", "GraphExecutor", "remembering_graph", "round_graph"]

Arrays = Mapping[str, LazyArray | Overlay]
Task = tuple[SliceRef, ...]
PREFIXES = "bt-estep", "bt-add"
REMEMBERING_PREFIXES = (
    "bt-both",
    "bt-state",
)  # further ones, of kernels that remember documents within a round


class GraphExecutor(Executor):
    """Runs rounds on a Dask client, or under another Dask scheduler.

    Parameters
    ----------
    run : see `protocol.Run`
    client : a `dask.distributed.Client`, or None with `scheduler`
    scheduler : name of a Dask scheduler ("threads", "sync", ...) to use instead of a client
    """

    def __init__(self, run: Run, client: Any = None, *, scheduler: str | None = None) -> None:
        self._run = run
        self._client = client
        self._scheduler = scheduler
        self._remembers_rounds = run.work.kernel.state == "round"
        self._sender = Sender(run, client, _prefixes(run))
        self._among_workers = AmongWorkers(run, self._sender, client, self._compute, self._result)
        self._whole = None if client is None else WholeExecutor(run, client, self._sender)
        self._iterations: list[tuple[Arrays, Iteration]] = []  # of this round
        self._tasks: Sequence[Task] = ()
        self._workers: list[str] | None = None  # for each task
        self._places = Places()  # of the last graph
        self._states: list[Any] = []  # what the last inner iteration left, by task

    def advance(
        self,
        params: Params,
        cursor: Cursor,
        max_rounds: int | None = None,
        max_seconds: float | None = None,
        n_passes: int = 1,
    ) -> Updates:
        """See `Executor.advance`."""
        begun = time.perf_counter()
        if (n_whole := self._n_whole(cursor)) > 0:
            assert self._whole is not None
            wanted = n_whole if max_rounds is None else min(n_whole, max_rounds)
            for moved, reports in self._whole.advance(params, cursor, wanted, max_seconds, n_passes):
                yield moved, reports
                params, cursor = moved, cursor.after(reports)
                max_rounds = None if max_rounds is None else max_rounds - len(reports)
            if self._n_whole(cursor) <= 0:
                self._whole.let_go()
            if max_seconds is not None:
                max_seconds -= time.perf_counter() - begun
        yield from by_segments(
            self._run,
            params,
            cursor,
            max_rounds,
            max_seconds,
            self._do,
            replicate=self._among_workers.changes,
        )

    def _n_whole(self, cursor: Cursor) -> int:
        """How many of the next rounds are done whole: those before replicas begin, if they are short."""
        if self._whole is None or not begins_whole(self._run):
            return 0
        return self._run.plan.undivided_rounds - cursor.step

    def _do(self, segment: Segment) -> None:
        do_rounds(segment, partial(self._round, segment))

    def _round(self, segment: Segment, rnd: Round, arrays: Arrays, iteration: Iteration) -> Stats:
        """The statistics of a round: computed by an all-reduce of the workers, or as a graph."""
        found = self._among_workers.stats(segment, rnd)
        return self.map_reduce(rnd, arrays, iteration) if found is None else found

    def map_reduce(self, rnd: Round, arrays: Arrays, iteration: Iteration) -> Stats:
        """The statistics of a round at these arrays: one graph."""
        if iteration.number == 1 or not self._remembers_rounds:
            self._iterations, self._states = [], []
        self._iterations.append((arrays, iteration))
        # A repetition does all iterations: what was lost may be the state that an earlier one left.
        left = self._iterations[-1:]

        def attempt() -> Stats:
            nonlocal left
            iterations, left = left, self._iterations
            return [self._iteration(rnd, *one) for one in iterations][-1]

        return self._sender.repeated(attempt)

    def _iteration(self, rnd: Round, arrays: Arrays, iteration: Iteration) -> Stats:
        if iteration.number == 1:
            n_threads = sum(self._sender.threads().values())
            self._tasks = node_tasks(rnd.slices, n_tasks(n_threads, round_seconds(self._run)))
            self._workers = self._sender.placed(len(self._tasks))
        shared = self._sender.publish(arrays)
        try:
            return self._sum(shared, iteration)
        finally:
            if isinstance(shared, sharing.MappedArrays):
                shared.remove()

    def _sum(self, shared: Any, iteration: Iteration) -> Stats:
        inputs = self._sender.run(), self._tasks, shared, iteration
        if not self._remembers_rounds:
            return self._checked_sum(inputs)
        before = self._states if iteration.number > 1 else None
        graph, states = remembering_graph(*inputs, before, self._sender.name(), self._workers)
        total, *self._states = self._compute_together([graph, *states])
        result: Stats = self._result(total)
        return result

    def _checked_sum(self, inputs: tuple[Any, Any, Any, Any]) -> Stats:
        mark, name = self._sender.name(), self._sender.name_again()
        (total,) = self._compute([round_graph(*inputs, name, self._workers, mark)])
        return _checked(self._result(total), mark, len(self._tasks))

    def _compute(self, graphs: list[Any]) -> Any:
        """The results; futures on a client."""
        if self._client is None:
            import dask

            compute: Any = dask.compute
            return compute(*graphs, scheduler=self._scheduler)
        return self._client.compute(graphs, **self._options())

    def _compute_together(self, graphs: list[Any]) -> Any:
        """As `_compute`, but as one graph: of each collection that is computed, the scheduler keeps hundreds of bytes
        for good (`distributed.spans`)."""
        if self._client is None:
            return self._compute(graphs)
        from dask.highlevelgraph import HighLevelGraph

        together = HighLevelGraph.merge(*(graph.dask for graph in graphs))
        return self._client.get(together, [graph.key for graph in graphs], sync=False, **self._options())

    def _options(self) -> dict[str, Any]:
        self._places = self._sender.places()
        return {"retries": 2, **self._places.options()}

    def _result(self, computed: Any) -> Any:
        return computed if self._client is None else result_of(self._client, computed, self._places.only)

    def use_workers(self, able: AbleWorkers) -> None:
        """See `Executor.use_workers`."""
        self._sender.able = able

    def close(self) -> None:
        self._iterations, self._states = [], []
        self._among_workers.close()
        if self._whole is not None:
            self._whole.close()
        self._sender.close()


def _prefixes(run: Run) -> tuple[str, ...]:
    """The prefixes of a run's tasks, and no others: of each that is held, the scheduler keeps kilobytes for good."""
    remembering = REMEMBERING_PREFIXES if run.work.kernel.state == "round" else ()
    replicas = (*among_workers.REPLICA_PREFIXES, whole.PREFIX) if run.plan.replicas > 1 else ()
    collectives = among_workers.COLLECTIVE_PREFIXES if replicas or among_workers.makes_rounds(run) else ()
    return (*PREFIXES, *remembering, *replicas, *collectives)


def round_graph(
    run: Any,
    tasks: Sequence[Task],
    shared: Any,
    iteration: Iteration,
    name: str,
    workers: Sequence[str] | None = None,
    mark: str = "",
) -> Any:
    """The graph of a round: its tasks, and their sums along the merge tree.

    Parameters
    ----------
    run : a `Run`, or a future of one
    tasks : the slices of the round, see `graph_tasks.node_tasks`
    shared : params as `sharing.publish` gives them, the arrays themselves, or a future of them
    iteration : the inner iteration of the round
    name : for keys, which begin with "bt-estep" and "bt-add"; unique among the graphs of all clients at a time
    workers : address of the worker that should do each task; None for any
    mark : name of a figure that counts the results of its E-steps, see `sending`; none where no other graph has the
        same keys

    Returns
    -------
    dask.delayed.Delayed
        Of `Stats`.
    """
    from dask import delayed

    estep = delayed(_node, pure=False)
    stats = [
        estep(run, Opaque(task), shared, iteration, mark, dask_key_name=task_key("bt-estep", name, i))
        for i, task in _at(workers, tasks)
    ]
    return _added(run, stats, tasks, name)


def remembering_graph(
    run: Any,
    tasks: Sequence[Task],
    shared: Any,
    iteration: Iteration,
    before: Sequence[Any] | None,
    name: str,
    workers: Sequence[str] | None = None,
) -> tuple[Any, list[Any]]:
    """Like `round_graph`, for a kernel that remembers documents from one inner iteration to the next.

    Parameters
    ----------
    before : for each task the state that the last inner iteration left, or a future of it; None in the first one

    Returns
    -------
    dask.delayed.Delayed
        Of `Stats`.
    list of dask.delayed.Delayed
        For each task the state left by this inner iteration.
    """
    from dask import delayed

    estep, pick = delayed(_remembering_node, pure=False), delayed(_pick, pure=False)
    both = [
        estep(
            run,
            Opaque(task),
            shared,
            iteration,
            before and before[i],
            dask_key_name=task_key("bt-both", name, i),
        )
        for i, task in _at(workers, tasks)
    ]
    stats, states = (
        [pick(one, which, dask_key_name=task_key(prefix, name, i)) for i, one in enumerate(both)]
        for which, prefix in enumerate(("bt-estep", "bt-state"))
    )
    return _added(run, stats, tasks, name), states


def _at(workers: Sequence[str] | None, tasks: Sequence[Task]) -> Iterator[tuple[int, Task]]:
    """The tasks and their numbers; what is made while one is yielded is for its worker."""
    import dask

    for i, task in enumerate(tasks):
        with dask.annotate(workers=[workers[i]], allow_other_workers=True) if workers else nullcontext():
            yield i, task


def _added(run: Any, stats: Sequence[Any], tasks: Sequence[Task], name: str) -> Any:
    from dask import delayed

    merge, numbers = delayed(merged, pure=False), count()
    tree = Tree(
        sum(map(len, tasks)),
        lambda a, b: merge(run, add, a, b, dask_key_name=task_key("bt-add", name, next(numbers))),
    )
    for one, task in zip(stats, tasks, strict=True):
        tree.push(one, len(task))
    return tree.result()


def _node(run: Run, task: Opaque[Task], shared: Any, iteration: Iteration, mark: str = "") -> Stats | None:
    stats = node_stats_alone(run, task.content, sharing.load_arrays(shared), iteration)
    return replace(stats, info={**stats.info, mark: 1.0}) if stats and mark else stats


def _checked(total: Stats, mark: str, n_tasks: int) -> Stats:
    """The total without the figure of the mark, which counts the results that are of this graph.

    Raises
    ------
    Mistaken
        When it counts fewer than all tasks: the other results are those of an earlier graph.
    """
    info = dict(total.info)
    if (found := info.pop(mark, 0.0)) != n_tasks:
        raise Mistaken(
            f"Dask returned repeatedly, for {n_tasks - found:.0f} of {n_tasks} tasks, the results of an earlier round; "
            f"restart the cluster, or {ON_THREADS}"
        )
    return replace(total, info=info)


def _remembering_node(
    run: Run,
    task: Opaque[Task],
    shared: Any,
    iteration: Iteration,
    before: dict[SliceRef, State] | None,
) -> tuple[Stats | None, dict[SliceRef, State]]:
    remembered = InMemory(before)
    stats = node_stats(run, task.content, sharing.load_arrays(shared), iteration, remembered)
    return stats, remembered.state


def _pick(both: tuple[Any, Any], which: int) -> Any:
    return both[which]


def _worker_bytes(memory: MemoryOfRun, client: Any, n_threads: int) -> int:
    """Tasks on all threads, and the params: the rows they read of mapped files, or a copy. Before replicas begin, one
    worker has whole rounds."""
    mapped = shares_files(client, sharing.places())
    tasks = memory.of_tasks(n_threads, mapped, threads_of(client))
    return max(tasks, whole.worker_bytes(memory, client, n_threads)) if memory.has_whole_rounds else tasks


EXECUTOR = ExecutorSpec(
    lambda run, client, n_threads: GraphExecutor(run, client), on_client=True, worker_bytes=_worker_bytes
)
