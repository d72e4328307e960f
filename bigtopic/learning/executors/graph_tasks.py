"""Graphs of tasks on a cluster: nodes of the merge tree, their sums, and the worker that each is for.

Consecutive tasks are for the same worker, which therefore adds most of their sums itself: of W workers, where W is a
power of two, W - 1 hand over one sum each. A worker is a preference: Dask gives the task to another one that is idle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from itertools import count
from typing import Any, Generic, TypeVar

from bigtopic.learning import sharing
from bigtopic.learning.documents import Documents
from bigtopic.learning.reduce import Tree
from bigtopic.learning.remembering import InMemory, Remembering, remembering
from bigtopic.learning.run import Run
from bigtopic.learning.tasks import Node, Place, compute_node, plus
from bigtopic.parallel.workers import task_key
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import SliceRef
from bigtopic.state.documents.state_files import State
from bigtopic.types import Stats

__all__ = ["Opaque", "n_nodes", "placed", "remembering_graph", "sum_graph"]

Content = TypeVar("Content")

TASKS_PER_THREAD = 4  # so that threads of unequal speed end together
LEAST_TASKS = 32  # for workers that join during a round
TASK_SECONDS = 0.05  # of work for each node beyond one for each thread: one costs milliseconds


class Opaque(Generic[Content]):
    """An argument of a task that contains no tasks. Dask looks for tasks in tuples and dataclasses, but not in here:
    among thousands of slices, the search takes longer than all else that the driver does for a graph."""

    def __init__(self, content: Content) -> None:
        self.content = content


def n_nodes(n_threads: int, round_seconds: float) -> int:
    """Nodes that a round should have, at least, for so many threads of a cluster; it takes one core `round_seconds`."""
    wanted = max(LEAST_TASKS, TASKS_PER_THREAD * n_threads)
    return max(1, n_threads, min(wanted, int(round_seconds / TASK_SECONDS)))


def placed(n_tasks: int, n_threads: Mapping[str, int]) -> list[str]:
    """Address of the worker for each task, in order; `n_threads` has the threads of each worker."""
    threads = [worker for worker in sorted(n_threads) for _ in range(n_threads[worker])]
    return [threads[task * len(threads) // n_tasks] for task in range(n_tasks)]


def sum_graph(
    run: Any,
    nodes: Sequence[Node],
    shared: Any,
    name: str,
    workers: Sequence[str] | None = None,
) -> Any:
    """The graph of a sum: tasks, and their sums along the merge tree.

    Parameters
    ----------
    run : a `Run`, or a future of one
    nodes : the tasks, see `nodes`
    shared : params as `sharing.publish` gives them, the arrays themselves, or a future of them
    name : for keys, which begin with "bt-estep" and "bt-add"; unique among the graphs of all clients at a time
    workers : address of the worker that should do each node; None for any

    Returns
    -------
    dask.delayed.Delayed
        Of `Stats` or `Changes`.
    """
    from dask import delayed

    compute = delayed(_node, pure=False)
    sums = [
        compute(run, Opaque(node), shared, dask_key_name=task_key("bt-estep", name, i))
        for i, node in _at(workers, nodes)
    ]
    return _added(run, sums, nodes, name)


def remembering_graph(
    run: Any,
    nodes: Sequence[Node],
    shared: Any,
    before: Sequence[Any],
    name: str,
    workers: Sequence[str] | None = None,
) -> tuple[Any, list[Any]]:
    """Like `sum_graph`, for a kernel that remembers documents from one inner iteration to the next.

    Parameters
    ----------
    before : for each node the state that the last inner iteration left, or a future of it; empty in the first one

    Returns
    -------
    dask.delayed.Delayed
        Of `Stats`.
    list of dask.delayed.Delayed
        For each node the state left by this inner iteration.
    """
    from dask import delayed

    compute, pick = delayed(_remembering_node, pure=False), delayed(_pick, pure=False)
    both = [
        compute(
            run,
            Opaque(node),
            shared,
            before[i] if before else None,
            dask_key_name=task_key("bt-both", name, i),
        )
        for i, node in _at(workers, nodes)
    ]
    sums, states = (
        [pick(one, which, dask_key_name=task_key(prefix, name, i)) for i, one in enumerate(both)]
        for which, prefix in enumerate(("bt-estep", "bt-state"))
    )
    return _added(run, sums, nodes, name), states


def _at(workers: Sequence[str] | None, nodes: Sequence[Node]) -> Iterator[tuple[int, Node]]:
    """The nodes and their numbers; tasks made before the next one are for its worker."""
    import dask

    for i, node in enumerate(nodes):
        with dask.annotate(workers=[workers[i]], allow_other_workers=True) if workers else nullcontext():
            yield i, node


def _added(run: Any, sums: Sequence[Any], nodes: Sequence[Node], name: str) -> Any:
    from dask import delayed

    merge, numbers = delayed(_merged, pure=False), count()
    tree = Tree(
        sum(map(len, nodes)),
        lambda a, b: merge(run, a, b, dask_key_name=task_key("bt-add", name, next(numbers))),
    )
    for one, node in zip(sums, nodes, strict=True):
        tree.push(one, len(node))
    return tree.result()


def _merged(run: Run, a: Any, b: Any) -> Any:
    """The sum of two nodes, as a task. It takes the run only to keep a copy on the worker, see `Run`."""
    return plus(a, b)


def _node(run: Run, node: Opaque[Node], shared: Any) -> Any:
    with closing(remembering(run.work)) as remembered:
        return _computed(run, node.content, shared, remembered)


def _remembering_node(
    run: Run, node: Opaque[Node], shared: Any, before: dict[SliceRef, State] | None
) -> tuple[Stats, dict[SliceRef, State]]:
    remembered = InMemory(before)
    return _computed(run, node.content, shared, remembered), remembered.state


def _computed(run: Run, node: Node, shared: Any, remembered: Remembering) -> Any:
    place = Place(run, Documents(run, BlockReader(run.parts, ahead=0), keeps=False), remembered)
    return compute_node(place, node, sharing.load_arrays(shared))


def _pick(both: tuple[Any, Any], which: int) -> Any:
    return both[which]
