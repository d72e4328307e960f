"""Replicas: copies of the params that learn side by side, each from its own share of the minibatches.

All begin with the same params x. Replica r takes the rows that its minibatches need, makes its updates on them one
after the other, and moves x to x_r = d_r x + a_r, with a factor d_r for each column and changes a_r in a few rows. The
changes x_r - x are added:

    x  <-  x + sum_r (x_r - x)  =  (1 - sum_r (1 - d_r)) x + sum_r a_r

The steps have the numbers that they have in a serial run, but none is larger than 1 / (updates of all replicas), so
that the factor of x does not fall below 0. Counts are added as they are, as in AD-LDA, but more often than once a pass.

Cost: the rows of a share, copied twice; their changes, computed and added once; and four bytes for each word of the
vocabulary.

References: Newman, Asuncion, Smyth, Welling (2009), "Distributed algorithms for topic models"; Ma et al. (2015),
"Adding vs. averaging in distributed primal-dual optimization"; Stich (2019), "Local SGD converges fast and communicates
little".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from sys import getsizeof

import numpy as np

from bigtopic import buffers
from bigtopic.learning.estep import evaluate, look_up
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.reduce import Tree, add_axis, in_order
from bigtopic.learning.remembering import remembering
from bigtopic.learning.rounds import Settings, moved_arrays, round_stats, step
from bigtopic.learning.share_documents import ShareDocuments
from bigtopic.learning.work import Iteration
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.slices import Round, SliceRef
from bigtopic.state.contract.scheme_steps import check_moved
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.overlay import Overlay
from bigtopic.state.params import Params
from bigtopic.state.running_mean import RunningMean
from bigtopic.types import AxisStats, Block, Stats

__all__ = ["Changes", "Share", "add_changes", "changes_of", "joined", "share_changes", "share_documents"]

Start = Mapping[str, LazyArray]
Arrays = Mapping[str, LazyArray | Overlay]
Read = Callable[[SliceRef], Block]


@dataclass(frozen=True)
class Share:
    """What one replica does between two exchanges: at least one round, with the cursor of each.

    n_updates : of all replicas together
    """

    rounds: Sequence[Round]
    cursors: Sequence[Cursor]
    n_updates: int


@dataclass(frozen=True)
class Changes:
    """What some replicas change, in the order of their rounds.

    arrays : {name: the sum of their a_r}; lost : {name: the sum of their 1 - d_r, float64 (n_columns,)}
    """

    arrays: Mapping[str, AxisStats]
    lost: Mapping[str, np.ndarray]
    reports: tuple[RoundReport, ...]

    def __sizeof__(self) -> int:
        return sum(map(getsizeof, self.arrays.values()))


def joined(a: Changes, b: Changes) -> Changes:
    """The sum; neither argument is changed."""
    return Changes(
        {name: add_axis(a.arrays[name], b.arrays[name]) for name in a.arrays},
        {name: a.lost[name] + b.lost[name] for name in a.lost},
        a.reports + b.reports,
    )


def share_changes(run: Run, share: Share, read: Read, arrays: Start) -> Changes:
    """What a replica changes. Pure; its documents' state is written.

    Parameters
    ----------
    read : gives the documents of a slice
    arrays : those that all replicas begin with; they stay as they are
    """
    return changes_of(run, share, share_documents(run, share, read), arrays)


def share_documents(run: Run, share: Share, read: Read) -> ShareDocuments:
    """The documents of a share, of which none is prepared yet."""
    return ShareDocuments([ref for rnd in share.rounds for ref in rnd.slices], read, run.work)


def changes_of(run: Run, share: Share, documents: ShareDocuments, arrays: Start) -> Changes:
    """The same as `share_changes`, of documents some of which may be prepared."""
    documents.prepare_all(arrays)
    replica = _Replica(run, share, documents, arrays)
    try:
        return replica.changes(share)
    finally:
        replica.remembering.close()


class _Replica:
    """The rows of the params that a share needs, as arrays of their own, and its documents with ids of these rows."""

    def __init__(self, run: Run, share: Share, documents: ShareDocuments, arrays: Start) -> None:
        self._ids, self._documents = documents.ids, documents.prepared
        self._start = {name: _copied(array, self._ids.get(array.axis)) for name, array in arrays.items()}
        sizes = {array.axis: array.n_rows for array in arrays.values()}
        self._work = replace(run.work, hyper=run.work.hyper._replace(axis_sizes=sizes))
        self._settings = replace(run.settings, average=0.0, largest_step=1.0 / share.n_updates)
        self.remembering = remembering(run.work)
        for ref in self._documents:
            self.remembering.prefetch(ref, share.cursors[0].pass_number)

    def changes(self, share: Share) -> Changes:
        """Make the updates of the share."""
        moved = moved_arrays(self._settings.schemes)
        params = Params({**self._start, **{name: _moving(self._start[name]) for name in moved}})
        reports = [
            self._update(params, rnd, cursor) for rnd, cursor in zip(share.rounds, share.cursors, strict=True)
        ]
        rows = {name: self._change(name, params[name]) for name in moved}
        return Changes(rows, {name: 1.0 - params[name].scale for name in moved}, tuple(reports))

    def _update(self, params: Params, rnd: Round, cursor: Cursor) -> RoundReport:
        stats = round_stats(params, rnd, cursor, self._settings, self._map_reduce)
        return step(params, cursor, stats, self._settings)

    def _map_reduce(self, rnd: Round, arrays: Arrays, iteration: Iteration) -> Stats:
        tree = Tree(len(rnd.slices))
        for ref in rnd.slices:
            gathered = look_up(self._documents[ref], arrays, self._work)
            tree.push(evaluate(ref, gathered, self._work, iteration, self.remembering))
        self.remembering.flush()
        total: Stats = tree.result()
        return total

    def _change(self, name: str, now: LazyArray) -> AxisStats:
        """a_r, since the scale was 1 at the start and is d_r now."""
        values = buffers.empty(now.raw.shape, now.dtype)
        np.subtract(now.raw, self._start[name].raw, out=values)
        values *= now.scale.astype(now.dtype)
        return AxisStats(self._ids.get(now.axis), values)


def _copied(array: LazyArray, ids: np.ndarray | None) -> LazyArray:
    """These rows as an array of their own, of scale 1, whose totals are those of the whole axis."""
    ids = array.rows_of(ids)
    raw = buffers.empty((len(ids), array.n_columns), array.dtype)
    np.take(array.raw, ids, axis=0, out=raw, mode="clip")  # the only mode that needs no further copy
    raw *= array.scale.astype(array.dtype)
    prior = array.prior if len(array.prior) == 1 else array.prior[ids]
    return replace(array, raw=raw, prior=prior, scale=np.ones(array.n_columns), sums=array.sums.copy())


def _moving(start: LazyArray) -> LazyArray:
    raw = buffers.empty(start.raw.shape, start.dtype)
    raw[:] = start.raw
    return replace(start, raw=raw, scale=start.scale.copy(), sums=start.sums.copy())


def add_changes(params: Params, changes: Changes, settings: Settings) -> None:
    """Add what all replicas changed to the params that they began with. Means count an exchange as one update."""
    means = {}
    if settings.average and settings.averages(changes.reports[-1].cursor.step + 1):
        means = {name: RunningMean.of(params.arrays, name) for name in settings.schemes}
    for name, rows in changes.arrays.items():
        # by rounding, it may be a little less than 0
        means.get(name, params[name]).add(in_order(rows), decay=np.maximum(1.0 - changes.lost[name], 0.0))
        check_moved({name: params[name]}, params.arrays.get(DOC_TOPIC_PRIOR))
    for mean in means.values():
        mean.count()
