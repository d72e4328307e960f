"""Rounds of several slices, and exchanges of replicas, on Dask: graphs of tasks and of their sums. The driver owns the
params and does the steps. Short rounds before replicas begin are done whole, on one worker."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from bigtopic.learning import sharing
from bigtopic.learning.executors import whole
from bigtopic.learning.executors.base import (
    AbleWorkers,
    Arrays,
    ExecutorSpec,
    MapReduceExecutor,
    MemoryOfRun,
    Until,
    Updates,
)
from bigtopic.learning.executors.choice import begins_whole, round_seconds
from bigtopic.learning.executors.graph_tasks import n_nodes, remembering_graph, sum_graph
from bigtopic.learning.executors.sending import Sender
from bigtopic.learning.executors.whole import WholeExecutor
from bigtopic.learning.run import Run
from bigtopic.learning.tasks import Node, SliceTask, Task, nodes
from bigtopic.parallel.cluster import threads_of
from bigtopic.parallel.results import result_of
from bigtopic.parallel.shared_files import shares_files
from bigtopic.parallel.workers import Places
from bigtopic.plan.cursor import Cursor
from bigtopic.state.params import Params

__all__ = ["EXECUTOR", "GraphExecutor"]

PREFIXES = ("bt-estep", "bt-add")
REMEMBERING_PREFIXES = ("bt-both", "bt-state")  # of kernels that remember documents within a round


class GraphExecutor(MapReduceExecutor):
    """Runs rounds on a Dask client, or under another Dask scheduler.

    Parameters
    ----------
    run : see `bigtopic.learning.run`
    client : a `dask.distributed.Client`, or None with `scheduler`
    scheduler : name of a Dask scheduler ("threads", "sync", ...) to use instead of a client
    """

    def __init__(self, run: Run, client: Any = None, *, scheduler: str | None = None) -> None:
        super().__init__(run)
        self._client = client
        self._scheduler = scheduler
        self._remembers_rounds = run.work.kernel.state == "round"
        self._sender = Sender(run, client, _prefixes(run))
        self._whole = None if client is None else WholeExecutor(run, client, self._sender)
        self._calls: list[
            tuple[Sequence[Sequence[Task]], Arrays]
        ] = []  # of the inner iterations of this round
        self._nodes: list[list[Node]] = []  # of each round
        self._workers: list[str] | None = None  # for each node
        self._places = Places()  # of the last graph
        self._states: list[Any] = []  # what the last inner iteration left, by node

    def advance(self, params: Params, cursor: Cursor, until: Until) -> Updates:
        """See `Executor.advance`."""
        begun = time.perf_counter()
        self._sender.begin_pass(cursor.pass_number)
        if (n_whole := self._n_whole(cursor)) > 0:
            assert self._whole is not None
            wanted = n_whole if until.max_rounds is None else min(n_whole, until.max_rounds)
            for moved, reports in self._whole.advance(params, cursor, until._replace(max_rounds=wanted)):
                yield moved, reports
                params, cursor = moved, cursor.after(reports)
                if until.max_rounds is not None:
                    until = until._replace(max_rounds=until.max_rounds - len(reports))
            if self._n_whole(cursor) <= 0:
                self._whole.release_params()
            if until.max_seconds is not None:
                until = until._replace(max_seconds=until.max_seconds - (time.perf_counter() - begun))
        yield from super().advance(params, cursor, until)

    def _n_whole(self, cursor: Cursor) -> int:
        """The number of next rounds to do whole: all before replicas begin, if they are short."""
        if self._whole is None or not begins_whole(self.run):
            return 0
        return self.run.plan.undivided_rounds - cursor.step

    def map_reduce(self, rounds: Sequence[Sequence[Task]], arrays: Arrays) -> list[Any]:
        """See `MapReduceExecutor.map_reduce`: one graph."""
        if self._begins_round(rounds):
            self._calls = []
        self._calls.append((rounds, arrays))
        # A repetition does all iterations: the lost data may be the state of an earlier one.
        left = self._calls[-1:]

        def attempt() -> list[Any]:
            nonlocal left
            calls, left = left, self._calls
            return [self._sums(*call) for call in calls][-1]

        return self._sender.repeated(attempt)

    def _sums(self, rounds: Sequence[Sequence[Task]], arrays: Arrays) -> list[Any]:
        if self._begins_round(rounds):
            n = n_nodes(sum(self._sender.threads().values()), round_seconds(self.run))
            self._nodes = [nodes(tasks, -(-n // len(rounds))) for tasks in rounds]
            self._workers, self._states = self._sender.placed(sum(map(len, self._nodes))), []
        else:
            self._nodes = [
                _next_iteration(own, tasks) for own, tasks in zip(self._nodes, rounds, strict=True)
            ]
        shared = self._sender.publish(arrays)
        try:
            with self._sender.in_span():
                return self._of_graph(shared)
        finally:
            if isinstance(shared, sharing.MappedArrays):
                shared.remove()

    def _begins_round(self, rounds: Sequence[Sequence[Task]]) -> bool:
        """Whether no task needs what an earlier one left in memory."""
        first = rounds[0][0]
        return not (self._remembers_rounds and isinstance(first, SliceTask) and first.iteration.number > 1)

    def _of_graph(self, shared: Any) -> list[Any]:
        run, workers, before = self._sender.run(), iter(self._workers or ()), iter(self._states)
        graphs, states = [], []
        for own in self._nodes:
            name, where = self._sender.name(own[0][0].update), list(islice(workers, len(own)))
            if self._remembers_rounds and isinstance(own[0][0], SliceTask):
                graph, left = remembering_graph(run, own, shared, list(islice(before, len(own))), name, where)
                states += left
            else:
                graph = sum_graph(run, own, shared, name, where)
            graphs.append(graph)
        computed = self._compute([*graphs, *states])
        self._states = computed[len(graphs) :]
        return [self._result(total) for total in computed[: len(graphs)]]

    def _compute(self, graphs: list[Any]) -> Any:
        """The results; futures on a client. All are one graph: of each collection that is computed, the scheduler keeps
        hundreds of bytes for good (`distributed.spans`)."""
        if self._client is None:
            import dask

            compute: Any = dask.compute
            return compute(*graphs, scheduler=self._scheduler)
        from dask.highlevelgraph import HighLevelGraph

        self._places = self._sender.places()
        together = HighLevelGraph.merge(*(graph.dask for graph in graphs))
        keys = [graph.key for graph in graphs]
        return self._client.get(together, keys, sync=False, **self._places.options())

    def _result(self, computed: Any) -> Any:
        return computed if self._client is None else result_of(self._client, computed, self._places.only)

    def use_workers(self, able: AbleWorkers) -> None:
        """See `Executor.use_workers`."""
        self._sender.able = able

    def close(self) -> None:
        self._calls, self._states = [], []
        if self._whole is not None:
            self._whole.close()
        self._sender.close()


def _next_iteration(nodes: Sequence[Node], tasks: Sequence[Task]) -> list[Node]:
    """Further tasks for the slices of some nodes, whose state is where these were computed."""
    first = tasks[0]
    assert isinstance(first, SliceTask)
    return [
        tuple(SliceTask(task.ref, first.iteration) for task in node if isinstance(task, SliceTask))
        for node in nodes
    ]


def _prefixes(run: Run) -> tuple[str, ...]:
    """The prefixes of a run's tasks, and no others: of each that is held, the scheduler keeps kilobytes for good."""
    remembering = REMEMBERING_PREFIXES if run.work.kernel.state == "round" else ()
    return (*PREFIXES, *remembering, *([whole.PREFIX] if run.plan.replicas > 1 else []))


def _worker_bytes(memory: MemoryOfRun, client: Any, n_threads: int) -> int:
    """Tasks on all threads, and the params: the rows they read of mapped files, or a copy. Before replicas begin, one
    worker has whole rounds."""
    mapped = shares_files(client, sharing.places())
    tasks = memory.of_tasks(n_threads, mapped, threads_of(client))
    return max(tasks, whole.worker_bytes(memory, client, n_threads)) if memory.has_whole_rounds else tasks


EXECUTOR = ExecutorSpec(
    lambda run, client, n_threads: GraphExecutor(run, client), on_client=True, worker_bytes=_worker_bytes
)
