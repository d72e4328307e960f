"""What the workers of a Dask client add up among themselves, on copies of the params.

Each worker takes part with one task:

    1. it does its share of the work, which is consecutive: added up to the largest nodes of the merge tree;
    2. it receives every W-th row from each of the W workers, and adds these rows along the rest of the tree;
    3. it collects the sums of all rows, and moves its copy by them.

So a worker sends the rows of its nodes once, and its part of the total once to each other worker, whatever W is, and
all add at the same time. The tree is that of the work, whichever workers do it, and a row is added by itself: the bits
are those of one thread.

References: Thakur, Rabenseifner, Gropp (2005), "Optimization of collective communication operations in MPICH":
reduce-scatter, then allgather.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from bigtopic.learning.copies import Behind, Version, arrays_in_turn, lose, move
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.reduce import Tree, cover
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
        split = parts(nodes, len(meeting.workers))
        added = _added(meeting, number, split, box)
        others = _others(meeting, number)
        box.offer(meeting.name, {_SUM: added}, times=len(others))
        sums = box.collect(meeting.name, [(meeting.workers[i], _SUM) for i in others])
        total = whole([added, *sums])
        move(
            meeting.version,
            meeting.moved(run),
            lambda params: meeting.move(run, params, total),
            meeting.n_updates,
        )
    return replace(added, reports=reports) if reports else added


def _added(meeting: Meeting, number: int, split: list[list[Node]], box: Mailbox) -> Any:
    """The rows of a worker, added along the tree; `split` is what it has for each."""
    others = _others(meeting, number)
    box.offer(meeting.name, {i: split[i] for i in others})
    found = {number: split[number]}
    split.clear()
    got = box.collect(meeting.name, [(meeting.workers[i], number) for i in others])
    found.update(zip(others, got, strict=True))
    tree = Tree(meeting.bounds[-1], meeting.plus)
    for i in range(len(meeting.workers)):
        for size, one in found.pop(i):
            tree.push(one, size)
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


def parts(nodes: list[Node], n: int) -> list[list[Node]]:
    """The same nodes `n` times, each time with every n-th row, and without reports; `nodes` are let go one by one."""
    divided: list[list[Node]] = [[] for _ in range(n)]
    while nodes:
        size, one = nodes.pop(0)
        rows = {name: _every(some, n) for name, some in one.arrays.items()}
        for i, part in enumerate(divided):
            part.append((size, _with({name: of[i] for name, of in rows.items()}, one)))
    return divided


def _every(rows: AxisStats, n: int) -> list[AxisStats]:
    """The rows whose ids leave 0, 1, ... when divided by n: of any ids, about as many. Few have no ids; the first part
    has all of these."""
    if rows.ids is None:
        return [rows] + [AxisStats(None, rows.values[:0])] * (n - 1)
    owner = rows.ids % n
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner, np.arange(n + 1), sorter=order)
    return [AxisStats(rows.ids[order[a:b]], rows.values[order[a:b]]) for a, b in pairwise(ends)]


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
    ids = np.concatenate([rows.ids for rows in some if rows.ids is not None])
    order = np.argsort(ids, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    values = np.empty((len(ids), some[0].values.shape[1]), some[0].values.dtype)
    start = 0
    for rows in some:
        values[places[start : start + len(rows.values)]] = rows.values
        start += len(rows.values)
    return AxisStats(ids[order], values)
