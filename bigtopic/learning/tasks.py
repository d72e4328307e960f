"""Tasks: what an executor computes anywhere, any number of times, and adds along the merge tree.

A round is a task for each slice; their sum is its statistics. An exchange of replicas is a task for each share; their
sum is the changes. A task writes nothing but the state of its documents, for the next pass. Consecutive tasks that are
a node of the merge tree can be computed together, anywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, groupby, pairwise
from typing import Any

import numpy as np

from bigtopic.learning.documents import Documents
from bigtopic.learning.estep import evaluate
from bigtopic.learning.reduce import Tree, add, cut
from bigtopic.learning.remembering import Remembering
from bigtopic.learning.replicas.changes import Changes, joined
from bigtopic.learning.replicas.share import Share, share_changes
from bigtopic.learning.run import Iteration, Run
from bigtopic.plan.slices import SliceRef
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay
from bigtopic.types import AxisStats, Stats, nbytes_of

__all__ = [
    "Node", "Place", "ShareTask", "SliceTask", "Task", "compute_node", "nodes", "packed", "plus", "read_alone",
    "unpacked",
]  # fmt: skip

Arrays = Mapping[str, LazyArray | Overlay]


@dataclass(frozen=True)
class Place:
    """The inputs of a task where it runs: documents, and their state."""

    run: Run
    documents: Documents
    remembering: Remembering


@dataclass(frozen=True)
class SliceTask:
    """The statistics of a slice in an inner iteration of its round."""

    ref: SliceRef
    iteration: Iteration

    @property
    def update(self) -> int:
        """Number of the update that it is for, from 1."""
        return self.iteration.step

    def prefetch(self, place: Place) -> None:
        """Begin to read what the task needs."""
        place.documents.prefetch(self.ref)
        place.remembering.prefetch(self.ref, self.iteration.pass_number)

    def compute(self, place: Place, arrays: Arrays) -> Stats:
        gathered = place.documents.gather(self.ref, arrays)
        return evaluate(self.ref, gathered, place.run.work, self.iteration, place.remembering)


@dataclass(frozen=True)
class ShareTask:
    """The changes of a replica in an exchange. The replica handles the state of its documents."""

    share: Share

    @property
    def update(self) -> int:
        """Number of its first update, from 1."""
        return self.share.cursors[0].step + 1

    def prefetch(self, place: Place) -> None:
        """Begin to read what the task needs."""
        place.documents.prefetch(self.share.rounds[0].slices[0])

    def compute(self, place: Place, arrays: Any) -> Changes:
        return share_changes(place.run, self.share, place.documents.read, arrays)


Task = SliceTask | ShareTask
Node = tuple[Task, ...]


def plus(a: Any, b: Any) -> Any:
    """The sum of two results of the same kind."""
    return joined(a, b) if isinstance(a, Changes) else add(a, b)


def nodes(tasks: Sequence[Task], n_nodes: int) -> list[Node]:
    """The tasks in order, as at least `n_nodes` nodes of their merge tree, or one for each task if there are fewer."""
    bounds = accumulate(cut(len(tasks), n_nodes), initial=0)
    return [_read_alone(tasks[first:last]) for first, last in pairwise(bounds)]


def _read_alone(tasks: Sequence[Task]) -> Node:
    """The same tasks, whose read blocks hold no documents of other nodes."""
    slices = [task for task in tasks if isinstance(task, SliceTask)]
    if len(slices) < len(tasks):
        return tuple(tasks)
    refs = read_alone([task.ref for task in slices])
    return tuple(SliceTask(ref, task.iteration) for task, ref in zip(slices, refs, strict=True))


def read_alone(refs: Sequence[SliceRef]) -> tuple[SliceRef, ...]:
    """The slices, with read blocks that contain no other slices."""
    together = (list(own) for _, own in groupby(refs, lambda ref: ref.read_block))
    return tuple(
        replace(ref, read_block_start=own[0].start, read_block_stop=own[-1].stop, rest=read_alone(ref.rest))
        for own in together
        for ref in own
    )


def compute_node(place: Place, node: Sequence[Task], arrays: Any) -> Any:
    """The sum of the tasks of a node, the state of whose documents is written."""
    tree = Tree(len(node), plus)
    for task, following in zip(node, [*node[1:], None], strict=True):
        if following is not None:
            following.prefetch(place)
        tree.push(task.compute(place, arrays))
    place.remembering.flush()
    return tree.result()


def packed(stats: Stats) -> tuple[Stats, int]:
    """Statistics on their way to another process, and their bytes: values of which most are zeros, as counts of labels
    are, become a `csr_array`."""
    from scipy.sparse import csr_array

    arrays, n_bytes = {}, 0
    for name, one in stats.arrays.items():
        few: Any = csr_array(one.values)
        saved = nbytes_of(one.values) - nbytes_of(few)
        arrays[name] = AxisStats(one.ids, few).summed(one.sums) if saved > 0 else one
        n_bytes += one.__sizeof__() - max(0, saved)
    return replace(stats, arrays=arrays), n_bytes


def unpacked(stats: Stats, params: Arrays) -> Stats:
    """The same statistics as they were before they were `packed`, for these params."""
    arrays = dict(stats.arrays)
    for name, one in stats.arrays.items():
        values: Any = one.values
        if not isinstance(values, np.ndarray) and not params[name].is_sparse:
            arrays[name] = AxisStats(one.ids, values.toarray()).summed(one.sums)
    return replace(stats, arrays=arrays)
