"""What the workers of a Dask client add up among themselves, on copies of the params.

Each worker takes part with one task:

    1. it does its share of the work, which is consecutive: added up to the largest nodes of the merge tree;
    2. it receives every W-th row from each of the W workers, and adds these rows along the rest of the tree;
    3. it collects the sums of all rows and adds them to its copy: in an exchange as they arrive, in a long round when
       all are there.

So a worker sends the rows of its nodes once, and its part of the total once to each other worker, whatever W is, and
all add at the same time. Many workers do 2. and 3. in two stages each, so that a worker asks few others: it receives
every G-th row from the G workers of its group; then its share of these rows from the worker at its place in each other
group. The sums take the same way back. The tree is that of the work, whichever workers do it, and a row is added by
itself: the bits are those of one thread.

Columns that only pad the rows do not travel. Rows are on their way while others are divided and added, and while the
copy is made that moves; where a worker would wait for them, it prepares the documents of its next share. In step t,
worker i sends to worker i - t, so that no worker has to send to all others at a time.

References: Thakur, Rabenseifner, Gropp (2005), "Optimization of collective communication operations in MPICH":
reduce-scatter, then allgather.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any

from bigtopic.learning.all_reduce.copies import (
    Behind,
    Version,
    after,
    arrays_in_turn,
    begin_move,
    end_move,
    keep_ahead,
    lose,
)
from bigtopic.learning.all_reduce.rows import Node, reports_of, split_rows
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.reduce import NodesInAnyOrder, Tree, cover
from bigtopic.learning.replicas.documents import ShareDocuments
from bigtopic.parallel.cluster import bounded_map, step_aside, threads_here
from bigtopic.parallel.mailbox import Absent, Mailbox, mailbox
from bigtopic.plan.cursor import Cursor
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params

__all__ = ["GROUPS_FROM", "Collective", "NodeTask", "Stage", "stages_of", "take_part"]

GROUPS_FROM = 16  # workers: with so many, each would take too long to ask all others
_SUM = "sum"  # name of a piece, beside the places of the workers that pieces are for
NodeTask = tuple[int, Callable[[], Any]]  # how many leaves of the tree a sum covers, and what computes it


@dataclass(frozen=True)
class Collective(ABC):
    """What workers make together, for each of them. Sums are `Stats` or `Changes`: dataclasses with `arrays`.

    Attributes
    ----------
    version : of the copies that it begins with
    workers : addresses
    bounds : worker i does the leaves bounds[i]:bounds[i + 1] of the tree
    first : cursor of the first round
    """

    version: Version
    workers: tuple[str, ...]
    bounds: tuple[int, ...]
    first: Cursor

    @property
    def name(self) -> tuple[str, int]:
        """What the mailboxes of the workers know it by."""
        return self.version.name, self.version.n_updates

    @property
    @abstractmethod
    def n_updates(self) -> int:
        """By how many the copies move."""

    @abstractmethod
    def tasks(self, run: Run, rank: int, arrays: Mapping[str, LazyArray]) -> list[NodeTask]:
        """The work of a worker, in order: nodes of the tree, to be done on its threads."""

    def ahead(self, run: Run, rank: int) -> tuple[Hashable, list[ShareDocuments]]:
        """What a worker can prepare of its next tasks while it waits for others, and a name that they know it by."""
        return None, []

    @abstractmethod
    def plus(self, a: Any, b: Any) -> Any:
        """The sum of two sums."""

    @abstractmethod
    def moved(self, run: Run) -> Collection[str]:
        """The arrays that `move` moves."""

    @abstractmethod
    def move(self, run: Run, params: Params, parts: Iterable[Any]) -> None:
        """Update the params in place by the sum of all, whose rows come in parts; takes all of them."""


def take_part(run: Run, collective: Collective, rank: int) -> Any:
    """Do the part of a worker: its copy moves.

    Parameters
    ----------
    run : of the driver
    rank : of the worker, in the collective

    Returns
    -------
    Stats or Changes
        The rows of the sum that this worker has added; with the reports of its replicas, if it has any.

    Raises
    ------
    Behind
        When this worker, or another one, cannot take part.
    """
    box = mailbox()
    if box.address != collective.workers[rank]:
        raise Behind(f"the part of worker {collective.workers[rank]} was given to another one")
    try:
        return _part(run, collective, rank, box)
    except BaseException as error:
        lose(collective.version)
        box.leave(collective.version.name)
        if isinstance(error, Absent):
            raise Behind(f"{error}: the work must be repeated") from error
        raise


def _part(run: Run, collective: Collective, rank: int, box: Mailbox) -> Any:
    with arrays_in_turn(collective.version, step_aside) as arrays:
        box.join(collective.name)
        nodes = list(_nodes(run, collective, rank, arrays, box))
        reports = reports_of([one for _, one in nodes])
        key, ahead = collective.ahead(run, rank)
        # No more than there are tasks at a time, whose documents were in memory before
        meanwhile = partial(_prepare_some, ahead[: threads_here()], arrays)
        stages = stages_of(collective.bounds, rank)
        columns = {name: array.n_components for name, array in arrays.items()}
        for stage in stages:
            nodes = _added(collective, stage, nodes, columns, box, meanwhile)
        ((_, added),) = nodes
        sums = [added]
        for stage in reversed(stages[1:]):
            sums = [*sums, *chain.from_iterable(_collected(collective, stage, sums, box, meanwhile))]
        coming = _collected(collective, stages[0], sums, box, meanwhile)
        params = begin_move(collective.version, collective.moved(run))  # while most of them come
        total = chain(sums, chain.from_iterable(coming))
        if params is None:  # another task moves it, or this worker has lost it
            deque(total, maxlen=0)
        else:
            collective.move(run, params, total)
            end_move(collective.version, params, collective.n_updates)
        if ahead:
            keep_ahead(after(collective.version, collective.n_updates), key, ahead)
    return replace(added, reports=reports) if reports else added


def _prepare_some(documents: Sequence[ShareDocuments], arrays: Mapping[str, LazyArray]) -> bool:
    """Go on with the first of these that are not prepared; False if all are."""
    return any(one.prepare_some(arrays) for one in documents)


@dataclass(frozen=True)
class Stage:
    """Workers that divide the rows which all of them have of their nodes.

    Attributes
    ----------
    workers : their ranks
    firsts : first leaf of the nodes of each
    place : of this worker among them
    divisor : a row goes to the place that is its id, divided by this, modulo the number of workers
    """

    workers: Sequence[int]
    firsts: Sequence[int]
    place: int
    divisor: int

    def others(self) -> list[int]:
        """Places of the others; the next one first, so that not all ask the same one at a time."""
        n = len(self.workers)
        return [(self.place + i) % n for i in range(1, n)]


def stages_of(bounds: Sequence[int], rank: int) -> list[Stage]:
    """Those of a worker: its group; then, where there are several groups, the workers at its place in them.

    Parameters
    ----------
    bounds : of a collective
    rank : of the worker
    """
    n = len(bounds) - 1
    sizes = [n] if n < GROUPS_FROM else [i for i in range(1, n + 1) if n % i == 0 and i * i >= n]
    size = min(sizes)
    group, place = divmod(rank, size)
    own = range(group * size, (group + 1) * size)
    found = [Stage(own, [bounds[i] for i in own], place, 1)]
    if size < n:
        found.append(Stage(range(place, n, size), bounds[:-1:size], group, size))
    return found


def _added(
    collective: Collective,
    stage: Stage,
    nodes: list[Node],
    columns: Mapping[str, int],
    box: Mailbox,
    meanwhile: Callable[[], bool],
) -> list[Node]:
    """The rows of a worker, added along the tree as they come, while others get theirs of its nodes."""
    others = stage.others()
    coming = box.collect(collective.name, _wanted(collective, stage, stage.place), meanwhile)
    tree = NodesInAnyOrder(collective.bounds[-1], collective.plus)

    def add(place: int, part: list[Node]) -> None:
        first = stage.firsts[place]
        for size, one in part:
            tree.push(one, first, size)
            first += size

    for place, part in split_rows(nodes, [*reversed(others), stage.place], stage.divisor, columns):
        if place == stage.place:
            add(place, part)
        else:
            box.offer(collective.name, {(stage.divisor, place): part})
    for i, part in coming:
        add(others[i], part)
    return tree.nodes()


def _collected(
    collective: Collective, stage: Stage, sums: list[Any], box: Mailbox, meanwhile: Callable[[], bool]
) -> Iterator[list[Any]]:
    """The sums of the others, who get those of this worker."""
    box.offer(collective.name, {(stage.divisor, _SUM): sums}, times=len(stage.workers) - 1)
    coming = box.collect(collective.name, _wanted(collective, stage, _SUM), meanwhile)
    return (theirs for _, theirs in coming)


def _wanted(collective: Collective, stage: Stage, name: Hashable) -> list[tuple[str, Hashable]]:
    """A piece of each of the others."""
    return [(collective.workers[stage.workers[i]], (stage.divisor, name)) for i in stage.others()]


def _nodes(
    run: Run, collective: Collective, rank: int, arrays: Mapping[str, LazyArray], box: Mailbox
) -> Iterator[Node]:
    """The sums of a worker, as the largest nodes of the tree."""

    def do(task: NodeTask) -> Node:
        if box.has_ended(collective.version.name):
            raise Absent("these copies were given up")
        covers, work = task
        return covers, work()

    tasks, n_threads = deque(collective.tasks(run, rank, arrays)), threads_here()
    each = (tasks.popleft() for _ in range(len(tasks)))  # and with it go its documents
    done = bounded_map(do, each, n_threads=n_threads, n_in_flight=n_threads + 1)
    for size in cover(collective.bounds[-1], *collective.bounds[rank : rank + 2]):
        tree, left = Tree(size, collective.plus), size
        while left:
            covers, one = next(done)
            tree.push(one, covers)
            left -= covers
        yield size, tree.result()
