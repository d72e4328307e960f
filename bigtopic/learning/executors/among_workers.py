"""Exchanges of replicas, and long rounds, on Dask: an all-reduce among the workers, or graphs.

Workers that share no files with the driver keep copies of the params (`copy_futures`), and make an exchange or a long
round with one task each (`learning.all_reduce.direct`). The driver submits the next exchange before it asks for the
result of this one: workers begin it at once, while the scheduler and the driver do their part. Where a worker cannot
take part, the work is repeated as a graph. Where workers share files, all of it is done as graphs, with the params in
files: of an exchange, a task for each replica, whose changes are added along the merge tree. Graphs are also used where
a worker cannot hold a copy; then the params are sent to each worker that does a task.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import accumulate, count
from typing import Any, NamedTuple

from bigtopic.learning import sharing
from bigtopic.learning.all_reduce.collectives import Exchange, LongRound
from bigtopic.learning.all_reduce.copies import Behind, Version
from bigtopic.learning.all_reduce.direct import Collective, take_part
from bigtopic.learning.all_reduce.rows import joined_rows
from bigtopic.learning.executors import copy_futures
from bigtopic.learning.executors.copy_futures import CopyFutures
from bigtopic.learning.executors.forecast import round_seconds
from bigtopic.learning.executors.graph_tasks import Opaque, merged, n_tasks, node_tasks, placed
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.executors.segments import Segment
from bigtopic.learning.executors.sending import Sender
from bigtopic.learning.reduce import Tree
from bigtopic.learning.replicas.changes import Changes, joined
from bigtopic.learning.replicas.share import Share, share_changes
from bigtopic.parallel.keys import task_key
from bigtopic.parallel.results import Cancelled, results_of
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Round
from bigtopic.types import Stats

__all__ = [
    "COLLECTIVE_PREFIXES",
    "REPLICA_PREFIXES",
    "AmongWorkers",
    "collective_graph",
    "makes_rounds",
    "replica_graph",
]

COLLECTIVE_PREFIXES = ("bt-allreduce", *copy_futures.PREFIXES)
REPLICA_PREFIXES = ("bt-replica", "bt-join")


class _Begun(NamedTuple):
    """What workers make, and futures of their parts."""

    collective: Collective
    parts: list[Any]


class AmongWorkers:
    """The exchanges and long rounds of one run.

    Parameters
    ----------
    run : of the driver
    sender : of the run
    client : a `dask.distributed.Client`, or None
    compute, result : what graphs compute, as futures on a client; and the result of one
    """

    def __init__(
        self,
        run: Run,
        sender: Sender,
        client: Any,
        compute: Callable[[list[Any]], Any],
        result: Callable[[Any], Any],
    ) -> None:
        self._run, self._sender, self._client = run, sender, client
        self._compute, self._result = compute, result
        self._copies = CopyFutures(sender, client)
        self._ahead: _Begun | None = None

    def changes(self, segment: Segment) -> list[Changes]:
        """What the replicas of a segment change, added along the tree, in parts."""
        attempts = count()

        def attempt() -> list[Changes]:
            if next(attempts) == 0 and self._copies.are_useful():
                with self._or_behind():
                    return self._results_of(
                        self._begin_or_take_ahead(segment), lambda: self._begin_next(segment)
                    )
            self._drop()
            return [self._as_graph(segment)]

        return self._sender.repeated(attempt)

    def stats(self, segment: Segment, rnd: Round) -> Stats | None:
        """The statistics of a round, if workers can make it among themselves."""
        if segment.groups.most_missed or not makes_rounds(self._run):
            return None
        if not self._copies.are_useful():
            self._drop()
            return None
        return self._sender.tried(lambda: self._round(segment, rnd))

    def _round(self, segment: Segment, rnd: Round) -> Stats:
        (cursor,) = [one for one in segment.cursors if one.round == rnd.number]
        with self._or_behind():
            version = self._copies.ensure(segment.params, cursor.step)
            stats: Stats = joined_rows(self._results_of(self._begin_round(version, cursor, rnd)))
            return stats

    def _begin_round(self, version: Version, first: Cursor, rnd: Round) -> _Begun:
        threads = self._threads()
        n_nodes = n_tasks(sum(threads.values()), round_seconds(self._run))
        tasks = node_tasks(rnd.slices, n_nodes)
        slices: Counter[str] = Counter()
        for worker, task in zip(placed(len(tasks), threads), tasks, strict=True):
            slices[worker] += len(task)
        return self._submit(LongRound(version, *_bounds(threads, slices), first, n_nodes))

    def _results_of(self, begun: _Begun, begin_next: Callable[[], _Begun | None] = lambda: None) -> list[Any]:
        self._copies.advance(begun.collective.n_updates)
        self._ahead = begin_next() if self._copies.are_complete() else None
        return results_of(self._client, begun.parts, begun.collective.workers)

    @contextmanager
    def _or_behind(self) -> Iterator[None]:
        """In this context, whatever fails on a cluster that is there means that a worker is behind."""
        try:
            yield
        except Cancelled:
            self._drop()
            raise
        except Exception as error:
            if self._client.status != "running":
                raise
            self._copies.record_failure()
            self._drop()
            # If it was a task that failed, it fails again
            raise Behind("a worker could not take part") from error
        except BaseException:
            self._drop()
            raise

    def _begin_or_take_ahead(self, segment: Segment) -> _Begun:
        """The exchange of a segment, which may have begun before."""
        ahead, self._ahead = self._ahead, None
        first = segment.cursors[0]
        if ahead is not None:
            if self._copies.match(segment.params, first.step) and _is_of(ahead.collective, segment):
                return ahead
            self._drop()
        return self._begin(
            self._copies.ensure(segment.params, first.step), first, len(segment.rounds), len(segment.shares)
        )

    def _begin_next(self, segment: Segment) -> _Begun | None:
        """Begin the exchange after this one, if it is of the same pass."""
        first = segment.cursors[-1].later(1)
        n_rounds, n_replicas = self._run.plan.exchange_at(first.pass_number, first.round)
        return self._begin(self._copies.version, first, n_rounds, n_replicas) if n_replicas else None

    def _begin(self, version: Version, first: Cursor, n_rounds: int, n_replicas: int) -> _Begun:
        threads = self._threads()
        replicas = Counter(placed(n_replicas, threads))
        return self._submit(Exchange(version, *_bounds(threads, replicas), first, n_rounds))

    def _threads(self) -> dict[str, int]:
        threads = self._copies.threads()
        if not threads:
            raise Behind("no worker has a copy of the params any more")
        return threads

    def _submit(self, collective: Collective) -> _Begun:
        graph, keys = collective_graph(self._sender.run(), collective, self._sender.name())
        # Without a time in which all graphs have one priority, workers begin an exchange before the next one
        return _Begun(collective, self._client.get(graph, keys, sync=False, fifo_timeout="0s"))

    def _drop(self) -> None:
        self._ahead = None
        self._copies.drop()

    def _as_graph(self, segment: Segment) -> Changes:
        """What the replicas of a segment change, by a graph that is given the params."""
        shared = self._sender.publish(segment.params.without_means().arrays)
        try:
            shares, name = segment.shares, self._sender.name()
            placed = self._sender.placed(len(shares))
            (found,) = self._compute([replica_graph(self._sender.run(), shares, shared, name, placed)])
            changes: Changes = self._result(found)
            return changes
        finally:
            if isinstance(shared, sharing.MappedArrays):
                shared.remove()

    def close(self) -> None:
        self._drop()


def makes_rounds(run: Run) -> bool:
    """Whether the rounds of a run are such that workers can make them among themselves."""
    return run.plan.long_rounds and run.settings.one_iteration and run.work.kernel.state != "round"


def _bounds(threads: Mapping[str, int], leaves: Mapping[str, int]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The workers of a collective, and what each does of the leaves, of which it has so many."""
    workers = tuple(sorted(threads))
    return workers, tuple(accumulate((leaves[worker] for worker in workers), initial=0))


def _is_of(collective: Collective, segment: Segment) -> bool:
    """Whether this is the exchange of a segment."""
    found = collective.first, collective.n_updates, collective.bounds[-1]
    return found == (segment.cursors[0], len(segment.rounds), len(segment.shares))


def collective_graph(run: Any, collective: Collective, name: str) -> tuple[Any, list[str]]:
    """The tasks of a collective, each for its worker.

    Parameters
    ----------
    run, name : as for `graphs.round_graph`; keys begin with "bt-allreduce"

    Returns
    -------
    dask.highlevelgraph.HighLevelGraph
    list of str
        The keys of what `direct.take_part` returns, for each worker. They are not tried again: others have left.
    """
    from dask import annotate, delayed
    from dask.highlevelgraph import HighLevelGraph

    take, opaque, tasks = delayed(_take_part, pure=False), Opaque(collective), []
    for rank, worker in enumerate(collective.workers):
        # No others: an idle one would take the next part of one that is still at work. If a worker is gone, its part
        # does not begin, which `results_of` notices
        with annotate(workers=[worker]):
            tasks.append(take(run, opaque, rank, dask_key_name=task_key("bt-allreduce", name, rank)))
    return HighLevelGraph.merge(*(task.dask for task in tasks)), [task.key for task in tasks]


def replica_graph(
    run: Any, shares: Sequence[Share], shared: Any, name: str, workers: Sequence[str] | None = None
) -> Any:
    """The graph of an exchange: one task per replica, added along the tree.

    Parameters
    ----------
    run, name, workers : as for `graphs.round_graph`; keys begin with "bt-replica" and "bt-join"
    shares : one for each replica
    shared : params, as for `graphs.round_graph`

    Returns
    -------
    dask.delayed.Delayed
        Of `Changes`.
    """
    from dask import annotate, delayed

    learn, join, numbers = delayed(_share, pure=False), delayed(merged, pure=False), count()
    tree = Tree(
        len(shares),
        lambda a, b: join(run, joined, a, b, dask_key_name=task_key("bt-join", name, next(numbers))),
    )
    for i, share in enumerate(shares):
        with annotate(workers=[workers[i]], allow_other_workers=True) if workers else nullcontext():
            changes = learn(run, Opaque(share), shared, dask_key_name=task_key("bt-replica", name, i))
        tree.push(changes)
    return tree.result()


def _take_part(run: Run, collective: Opaque[Collective], rank: int) -> Any:
    return take_part(run, collective.content, rank)


def _share(run: Run, share: Opaque[Share], shared: Any) -> Changes:
    arrays: Any = sharing.load_arrays(shared)
    return share_changes(run, share.content, BlockReader(run.parts, ahead=0).block, arrays)
