"""Exchanges of replicas as Dask graphs: a task for each replica, and their changes added along the merge tree.

Params reach the tasks in files where all workers can use them, else as copies that workers keep (`copying`). Where a
copy is missing or lost, the exchange is repeated with the params sent to whatever worker does a task.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import count
from typing import Any

from bigtopic.learning import sharing
from bigtopic.learning.copies import Behind, Version, arrays_of
from bigtopic.learning.executors import copying
from bigtopic.learning.executors.copying import Copies
from bigtopic.learning.executors.graph_tasks import Sealed
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.executors.segments import Segment
from bigtopic.learning.executors.sending import Sender
from bigtopic.learning.reduce import Tree
from bigtopic.learning.replicas import Changes, Share, joined, share_changes
from bigtopic.parallel.keys import task_key
from bigtopic.plan.reading import BlockReader

__all__ = ["PREFIXES", "Exchanges", "replica_graph"]

PREFIXES = ("bt-replica", "bt-join", *copying.PREFIXES)


class Exchanges:
    """The exchanges of one run.

    Parameters
    ----------
    sender : of the run
    client : a `dask.distributed.Client`, or None
    compute, result : what graphs compute, as futures on a client; and the result of one
    """

    def __init__(
        self,
        sender: Sender,
        client: Any,
        compute: Callable[[list[Any]], Any],
        result: Callable[[Any], Any],
    ) -> None:
        self._sender, self._compute, self._result = sender, compute, result
        self._copies = Copies(sender, client)

    def changes(self, segment: Segment) -> Changes:
        """What the replicas of a segment change, added along the tree."""
        attempts = count()

        def attempt() -> Changes:
            if next(attempts) == 0 and self._copies.are_useful():
                return self._with_copies(segment)
            self._copies.drop()
            return self._with_params(segment)

        return self._sender.repeated(attempt)

    def _with_copies(self, segment: Segment) -> Changes:
        version = self._copies.at(segment.params, segment.cursors[0].step)
        name = self._sender.name()
        graph = self._graph(segment, version, name)
        found, moved = self._compute([graph, self._copies.moves(self._sender.run(), graph, name)])
        try:
            changes: Changes = self._result(found)
        except Behind:
            self._copies.blame()
            raise
        self._copies.moving(moved, changes)
        return changes

    def _with_params(self, segment: Segment) -> Changes:
        shared = self._sender.share(segment.params.without_means().arrays)
        try:
            (found,) = self._compute([self._graph(segment, shared, self._sender.name())])
            changes: Changes = self._result(found)
            return changes
        finally:
            if isinstance(shared, sharing.MappedArrays):
                shared.remove()

    def _graph(self, segment: Segment, shared: Any, name: str) -> Any:
        shares = segment.shares
        return replica_graph(self._sender.run(), shares, shared, name, self._sender.placed(len(shares)))

    def close(self) -> None:
        self._copies.drop()


def replica_graph(
    run: Any, shares: Sequence[Share], shared: Any, name: str, workers: Sequence[str] | None = None
) -> Any:
    """The graph of an exchange: one task per replica, added along the tree.

    Parameters
    ----------
    run, name, workers : as for `graphs.round_graph`; keys begin with "bt-replica" and "bt-join"
    shares : one for each replica
    shared : the version that workers have copies of; or params, as for `graphs.round_graph`

    Returns
    -------
    dask.delayed.Delayed
        Of `Changes`.
    """
    from dask import annotate, delayed

    learn, join, numbers = delayed(_share, pure=False), delayed(joined, pure=False), count()
    tree = Tree(len(shares), lambda a, b: join(a, b, dask_key_name=task_key("bt-join", name, next(numbers))))
    for i, share in enumerate(shares):
        with annotate(workers=[workers[i]], allow_other_workers=True) if workers else nullcontext():
            changes = learn(run, Sealed(share), shared, dask_key_name=task_key("bt-replica", name, i))
        tree.push(changes)
    return tree.result()


def _share(run: Run, share: Sealed[Share], shared: Any) -> Changes:
    arrays: Any = arrays_of(shared) if isinstance(shared, Version) else sharing.load_arrays(shared)
    return share_changes(run, share.content, BlockReader(run.parts, ahead=0).block, arrays)
