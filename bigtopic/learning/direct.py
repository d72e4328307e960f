"""An exchange of replicas that the workers of a Dask client make among themselves, on copies of the params.

Each worker takes part with one task:

    1. its replicas, which are consecutive, change the params: added up to the largest nodes of the merge tree;
    2. every W-th row of what each of W workers has comes to it, and is added along the rest of the tree;
    3. each worker collects these sums of all rows, and moves its copy by them.

So a worker sends and gets no more than its changes and the params, whatever W is, and all add at the same time. The
tree is that of the replicas, whichever workers have them, and a row is added by itself: the bits are those of one
thread.

References: Thakur, Rabenseifner, Gropp (2005), "Optimization of collective communication operations in MPICH":
reduce-scatter, then allgather.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from typing import Any

import numpy as np

from bigtopic.learning.copies import Behind, Version, arrays_in_turn, lose, move
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.reduce import Tree, cover
from bigtopic.learning.replicas import Changes, Share, joined, share_changes
from bigtopic.parallel.cluster import bounded_map, step_aside, threads_here
from bigtopic.parallel.mailbox import Absent, Mailbox, mailbox
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.exchanges import divided
from bigtopic.plan.reading import BlockReader
from bigtopic.types import AxisStats

__all__ = ["Meeting", "parts", "take_part", "whole"]

_SUM = "sum"  # name of a piece; those of changes have the number of the worker that they are for
Node = tuple[int, Changes]  # a sum of some consecutive replicas, and how many


@dataclass(frozen=True)
class Meeting:
    """What an exchange is, for each of the workers that make it.

    version : of the copies that it begins with
    workers : addresses
    bounds : worker i has the replicas bounds[i]:bounds[i + 1]
    first : cursor of the first of `n_rounds` consecutive rounds
    """

    version: Version
    workers: tuple[str, ...]
    bounds: tuple[int, ...]
    first: Cursor
    n_rounds: int

    @property
    def name(self) -> tuple[str, int]:
        """What the mailboxes of the workers know it by."""
        return self.version.name, self.version.n_updates

    def shares(self, run: Run, number: int) -> list[Share]:
        """Those of the replicas of a worker."""
        mine = divided(range(self.n_rounds), self.bounds[-1])[self.bounds[number] : self.bounds[number + 1]]
        if not mine:
            return []
        start, stop = mine[0][0], mine[-1][-1] + 1
        rounds = list(islice(run.plan.rounds(self.first.pass_number, self.first.round + start), stop - start))
        return [
            Share([rounds[i - start] for i in own], [self._cursor(i) for i in own], self.n_rounds)
            for own in mine
        ]

    def _cursor(self, i: int) -> Cursor:
        return Cursor(self.first.pass_number, self.first.round + i, self.first.step + i)


def take_part(run: Run, meeting: Meeting, number: int) -> Changes:
    """Do the part of a worker: its copy moves. Its rows of the sum, with the reports of its replicas.

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
            raise Behind(f"{error}: the exchange must be repeated") from error
        raise


def _part(run: Run, meeting: Meeting, number: int, box: Mailbox) -> Changes:
    with arrays_in_turn(meeting.version, step_aside) as arrays:
        box.attend(meeting.name)
        nodes = list(_nodes(run, meeting, number, arrays))
        reports = tuple(report for _, changes in nodes for report in changes.reports)
        split = parts(nodes, len(meeting.workers))
        del nodes
        added = _added(meeting, number, split, box)
        others = _others(meeting, number)
        box.offer(meeting.name, {_SUM: added}, times=len(others))
        sums = box.collect(meeting.name, [(meeting.workers[i], _SUM) for i in others])
        move(run, meeting.version, whole([added, *sums]), meeting.n_rounds)
    return replace(added, reports=reports)


def _added(meeting: Meeting, number: int, split: list[list[Node]], box: Mailbox) -> Changes:
    """The rows of a worker, added along the tree; `split` is what it has for each."""
    others = _others(meeting, number)
    box.offer(meeting.name, {i: split[i] for i in others})
    found = {number: split[number]}
    split.clear()
    got = box.collect(meeting.name, [(meeting.workers[i], number) for i in others])
    found.update(zip(others, got, strict=True))
    tree = Tree(meeting.bounds[-1], joined)
    for i in range(len(meeting.workers)):
        for size, changes in found.pop(i):
            tree.push(changes, size)
    added: Changes = tree.result()
    return added


def _others(meeting: Meeting, number: int) -> list[int]:
    """The other workers; the next one first, so that not all ask the same one at a time."""
    n = len(meeting.workers)
    return [(number + i) % n for i in range(1, n)]


def _nodes(run: Run, meeting: Meeting, number: int, arrays: Mapping[str, Any]) -> Iterator[Node]:
    """What the replicas of a worker change, as the largest nodes of the tree."""
    shares = meeting.shares(run, number)
    change = partial(share_changes, run, read=BlockReader(run.parts, ahead=0).block, arrays=arrays)
    changes = bounded_map(change, shares, n_threads=threads_here())
    for size in cover(meeting.bounds[-1], *meeting.bounds[number : number + 2]):
        tree = Tree(size, joined)
        for one in islice(changes, size):
            tree.push(one)
        yield size, tree.result()


def parts(nodes: Sequence[Node], n: int) -> list[list[Node]]:
    """The same nodes `n` times, each time with every n-th row, and without reports."""
    divided_rows = [{name: _every(rows, n) for name, rows in changes.rows.items()} for _, changes in nodes]
    return [
        [
            (size, Changes({name: of[i] for name, of in rows.items()}, changes.lost, ()))
            for (size, changes), rows in zip(nodes, divided_rows, strict=True)
        ]
        for i in range(n)
    ]


def _every(rows: AxisStats, n: int) -> list[AxisStats]:
    """The rows whose ids leave 0, 1, ... when divided by n: of any ids, about as many."""
    ids = np.arange(len(rows.values), dtype=np.int32) if rows.ids is None else rows.ids
    owner = ids % n
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner, np.arange(n + 1), sorter=order)
    return [AxisStats(ids[order[a:b]], rows.values[order[a:b]]) for a, b in pairwise(ends)]


def whole(sums: Sequence[Changes]) -> Changes:
    """All rows of a sum, by increasing ids, from those that each worker has added."""
    rows = {name: _together([one.rows[name] for one in sums]) for name in sums[0].rows}
    return Changes(rows, sums[0].lost, tuple(report for one in sums for report in one.reports))


def _together(some: Sequence[AxisStats]) -> AxisStats:
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
