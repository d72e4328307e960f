"""What the workers of a Dask client add up among themselves, on copies of the params.

Each worker takes part with one task:

    1. it does its share of the work, which is consecutive: added up to the largest nodes of the merge tree;
    2. it receives every W-th row from each of the W workers, and adds these rows along the rest of the tree;
    3. it collects the sums of all rows, and moves its copy by them.

So a worker sends the rows of its nodes once, and its part of the total once to each other worker, whatever W is, and
all add at the same time. The tree is that of the work, whichever workers do it, and a row is added by itself: the bits
are those of one thread. Rows are on their way while others are divided and added, and while the copy is made that
moves; where a worker would wait for them, it prepares the documents of its next share. In step t, worker i sends to
worker i - t, so that no worker has to send to all others at a time.

References: Thakur, Rabenseifner, Gropp (2005), "Optimization of collective communication operations in MPICH":
reduce-scatter, then allgather.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bigtopic import buffers
from bigtopic.learning.copies import (
    Behind,
    Version,
    after,
    arrays_in_turn,
    begin_move,
    end_move,
    keep_ahead,
    lose,
)
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.reduce import NodesInAnyOrder, Tree, cover
from bigtopic.learning.share_documents import ShareDocuments
from bigtopic.parallel.cluster import bounded_map, step_aside, threads_here
from bigtopic.parallel.mailbox import Absent, Mailbox, mailbox
from bigtopic.plan.cursor import Cursor
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.types import AxisStats

__all__ = ["Meeting", "Node", "NodeTask", "parts", "take_part", "whole"]

_SUM = "sum"  # name of a piece; those of a worker's sums have the number of the worker that they are for
Node = tuple[int, Any]  # how many leaves of the tree a sum covers, and the sum
NodeTask = tuple[int, Callable[[], Any]]  # the same, and what computes it


@dataclass(frozen=True)
class Meeting(ABC):
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
    def tasks(self, run: Run, number: int, arrays: Mapping[str, LazyArray]) -> list[NodeTask]:
        """The work of a worker, in order: nodes of the tree, to be done on its threads."""

    def ahead(self, run: Run, number: int) -> tuple[Hashable, list[ShareDocuments]]:
        """What a worker can prepare of its next tasks while it waits for others, and a name that they know it by."""
        return None, []

    @abstractmethod
    def plus(self, a: Any, b: Any) -> Any:
        """The sum of two sums."""

    @abstractmethod
    def moved(self, run: Run) -> Collection[str]:
        """The arrays that `move` moves."""

    @abstractmethod
    def move(self, run: Run, params: Params, total: Any) -> None:
        """Update the params in place by the sum of all."""


def take_part(run: Run, meeting: Meeting, number: int) -> Any:
    """Do the part of a worker: its copy moves.

    Parameters
    ----------
    run : of the driver
    number : of the worker, in the meeting

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
    if box.address != meeting.workers[number]:
        raise Behind(f"the part of worker {meeting.workers[number]} was given to another one")
    try:
        return _part(run, meeting, number, box)
    except BaseException as error:
        lose(meeting.version)
        box.leave(meeting.version.name)
        if isinstance(error, Absent):
            raise Behind(f"{error}: the work must be repeated") from error
        raise


def _part(run: Run, meeting: Meeting, number: int, box: Mailbox) -> Any:
    with arrays_in_turn(meeting.version, step_aside) as arrays:
        box.attend(meeting.name)
        nodes = list(_nodes(run, meeting, number, arrays, box))
        reports = _reports([one for _, one in nodes])
        name, ahead = meeting.ahead(run, number)
        # No more than there are tasks at a time, whose documents were in memory before
        meanwhile = partial(_prepare_some, ahead[: threads_here()], arrays)
        added = _added(meeting, number, nodes, box, meanwhile)
        others = _others(meeting, number)
        box.offer(meeting.name, {_SUM: added}, times=len(others))
        coming = box.collect(meeting.name, [(meeting.workers[i], _SUM) for i in others], meanwhile)
        params = begin_move(meeting.version, meeting.moved(run))  # while they come
        total = whole([added, *(one for _, one in coming)])
        if params is not None:
            meeting.move(run, params, total)
            end_move(meeting.version, params, meeting.n_updates)
        if ahead:
            keep_ahead(after(meeting.version, meeting.n_updates), name, ahead)
    return replace(added, reports=reports) if reports else added


def _prepare_some(documents: Sequence[ShareDocuments], arrays: Mapping[str, LazyArray]) -> bool:
    """Go on with the first of these that are not prepared; False if all are."""
    return any(one.prepare_some(arrays) for one in documents)


def _added(
    meeting: Meeting, number: int, nodes: list[Node], box: Mailbox, meanwhile: Callable[[], bool]
) -> Any:
    """The rows of a worker, added along the tree as they come, while others get theirs of its nodes."""
    others = _others(meeting, number)
    coming = box.collect(meeting.name, [(meeting.workers[i], number) for i in others], meanwhile)
    tree = NodesInAnyOrder(meeting.bounds[-1], meeting.plus)

    def add(i: int, part: list[Node]) -> None:
        first = meeting.bounds[i]
        for size, one in part:
            tree.push(one, first, size)
            first += size

    for i, part in parts(nodes, [*reversed(others), number]):
        if i == number:
            add(i, part)
        else:
            box.offer(meeting.name, {i: part})
    for i, part in coming:
        add(others[i], part)
    return tree.result()


def _others(meeting: Meeting, number: int) -> list[int]:
    """The other workers; the next one first, so that not all ask the same one at a time."""
    n = len(meeting.workers)
    return [(number + i) % n for i in range(1, n)]


def _nodes(
    run: Run, meeting: Meeting, number: int, arrays: Mapping[str, LazyArray], box: Mailbox
) -> Iterator[Node]:
    """The sums of a worker, as the largest nodes of the tree."""

    def do(task: NodeTask) -> Node:
        if box.has_ended(meeting.version.name):
            raise Absent("the driver has given up")
        covers, work = task
        return covers, work()

    tasks, n_threads = meeting.tasks(run, number, arrays), threads_here()
    done = bounded_map(do, tasks, n_threads=n_threads, n_in_flight=n_threads + 1)
    for size in cover(meeting.bounds[-1], *meeting.bounds[number : number + 2]):
        tree, left = Tree(size, meeting.plus), size
        while left:
            covers, one = next(done)
            tree.push(one, covers)
            left -= covers
        yield size, tree.result()


def parts(nodes: list[Node], workers: Sequence[int]) -> Iterator[tuple[int, list[Node]]]:
    """For each worker, in this order, its rows of the nodes, without reports; `nodes` are let go one by one, the last
    one when all parts of it are made."""
    divided: list[Iterable[Node]] = []
    while nodes:
        size, one = nodes.pop(0)
        pieces = ((size, piece) for piece in _pieces(one, workers))
        del one
        divided.append(list(pieces) if nodes else pieces)
    for i, *part in zip(workers, *divided, strict=True):
        yield i, part


def _pieces(one: Any, workers: Sequence[int]) -> Iterator[Any]:
    rows = {name: _every(some, workers) for name, some in one.arrays.items()}
    one = _with({}, one)
    for _ in workers:
        yield _with({name: next(some) for name, some in rows.items()}, one)


def _every(rows: AxisStats, workers: Sequence[int]) -> Iterator[AxisStats]:
    """For each worker the rows whose ids leave its number when divided by how many they are: of any ids, about as many.
    Few have no ids; worker 0 has all of these."""
    n = len(workers)
    if rows.ids is None:
        yield from (AxisStats(None, rows.values if i == 0 else rows.values[:0]) for i in workers)
        return
    owner = (rows.ids % n).astype(np.min_scalar_type(n))  # NumPy sorts short numbers faster
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner, np.arange(n + 1), sorter=order)
    values = buffers.empty(rows.values.shape, rows.values.dtype)
    for i in workers:
        own = slice(*ends[i : i + 2])
        ids = np.take(rows.ids, order[own])
        np.take(rows.values, order[own], axis=0, out=values[own], mode="clip")  # without another copy
        yield AxisStats(ids, values[own])


def whole(sums: Sequence[Any]) -> Any:
    """All rows of a sum, by increasing ids, from those that each worker has added; and all reports."""
    arrays = {name: _together([one.arrays[name] for one in sums]) for name in sums[0].arrays}
    total, reports = _with(arrays, sums[0]), _reports(sums)
    return replace(total, reports=reports) if reports else total


def _with(arrays: Mapping[str, AxisStats], one: Any) -> Any:
    """A sum with these arrays, without reports."""
    return replace(one, arrays=arrays, **({"reports": ()} if _reports([one]) else {}))


def _reports(sums: Sequence[Any]) -> tuple[Any, ...]:
    """Those of changes; statistics have none."""
    return tuple(report for one in sums for report in getattr(one, "reports", ()))


def _together(some: Sequence[AxisStats]) -> AxisStats:
    if some[0].ids is None:
        return max(some, key=lambda rows: len(rows.values))
    known = [rows.ids for rows in some if rows.ids is not None]
    there = np.zeros(max(int(ids.max(initial=-1)) for ids in known) + 1, bool)
    for ids in known:
        there[ids] = True
    places = np.cumsum(there) - 1
    together = np.flatnonzero(there).astype(some[0].ids.dtype)
    values = buffers.empty((len(together), some[0].values.shape[1]), some[0].values.dtype)
    for ids, rows in zip(known, some, strict=True):
        values[places[ids]] = rows.values
    return AxisStats(together, values)
