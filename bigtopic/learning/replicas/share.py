"""One replica's share of an exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bigtopic.kernels.support.entry import frozen
from bigtopic.learning.remembering import remembering
from bigtopic.learning.replicas import _kernels
from bigtopic.learning.replicas.at_once import UpdatesAtOnce, are_possible
from bigtopic.learning.replicas.changes import Changes
from bigtopic.learning.rounds import moved_arrays, round_stats, step
from bigtopic.learning.rows import Read, map_reduce_of, needed
from bigtopic.learning.run import Run
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.slices import Round
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.support import buffers
from bigtopic.types import AxisStats

__all__ = ["Share", "share_changes"]

Start = Mapping[str, LazyArray]


@dataclass(frozen=True)
class Share:
    """At least one round, with the cursor of each.

    n_updates : of all replicas together
    """

    rounds: Sequence[Round]
    cursors: Sequence[Cursor]
    n_updates: int

    def missed(self, n_steps: int | None) -> int:
        """Updates of other replicas that each update here compensates for: half of them, which would on average come
        before it. 0 in the second half of a run of `n_steps`, where larger steps would leave noise, and in a stream,
        whose length is unknown."""
        late = n_steps is None or 2 * self.cursors[0].step >= n_steps
        return 0 if late else (self.n_updates - len(self.rounds)) // 2


def share_changes(run: Run, share: Share, read: Read, arrays: Start) -> Changes:
    """The changes of a replica. Any worker may compute them again: it writes nothing but the state of its documents,
    for the next pass.

    Parameters
    ----------
    read : reads the documents of a slice
    arrays : the params that all replicas begin with; they stay as they are
    """
    replica = _Replica(run, share, read, arrays)
    try:
        return replica.changes()
    finally:
        replica.remembering.close()


class _Replica:
    """The rows of the params that a share needs, as separate arrays, and its documents with ids of these rows."""

    def __init__(self, run: Run, share: Share, read: Read, arrays: Start) -> None:
        self._share, self._start = share, arrays
        self._missed = share.missed(run.settings.n_steps)
        refs = [ref for rnd in share.rounds for ref in rnd.slices]
        rows = needed(refs, read, arrays, run.work)
        self._ids, self._documents = rows.ids, rows.documents
        self._params = Params({name: _copied(array, self._rows(array)) for name, array in arrays.items()})
        sizes = {array.axis: array.n_rows for array in arrays.values()}
        self._work = replace(run.work, hyper=run.work.hyper._replace(axis_sizes=sizes))
        self._settings = replace(run.settings, average=0.0, largest_step=1.0 / share.n_updates)
        self.remembering = remembering(run.work)
        self._map_reduce = map_reduce_of(rows.documents, self._work, self.remembering)
        for ref in self._documents:
            self.remembering.prefetch(ref, share.cursors[0].pass_number)

    def changes(self) -> Changes:
        """Make the updates of the share."""
        reports = self._reports()
        moved = moved_arrays(self._settings.schemes)
        rows = {name: self._change(name) for name in moved}
        sums = {name: self._change_of_sums(name) for name in moved}
        return Changes(rows, sums, {name: 1.0 - self._params[name].scale for name in moved}, tuple(reports))

    def _reports(self) -> list[RoundReport]:
        """Make the updates: as many at once as possible, and others one by one."""
        arrays, rounds, cursors = self._params.arrays, self._share.rounds, self._share.cursors
        at_once = None
        if are_possible(arrays, self._work, self._settings):
            at_once = UpdatesAtOnce(
                rounds, cursors, self._missed, arrays, self._documents, self._work, self._settings
            )
        reports: list[RoundReport] = []
        while len(reports) < len(rounds):
            if at_once is not None:
                reports += at_once.make(len(reports))
            if len(reports) < len(rounds):
                reports.append(self._update(rounds[len(reports)], cursors[len(reports)]))
        return reports

    def _update(self, rnd: Round, cursor: Cursor) -> RoundReport:
        stats = round_stats(self._params, rnd, cursor, self._settings, self._map_reduce)
        return step(self._params, cursor, stats, self._settings, missed=self._missed)

    def _change(self, name: str) -> AxisStats:
        """a_r, since the scale was 1 at the start and is d_r now; in place of the rows, which are no longer needed."""
        start, now = self._start[name], self._params[name]
        scales = start.scale.astype(now.dtype), now.scale.astype(now.dtype)
        _kernels.to_changes(now.raw, frozen(start.raw, start.dtype), self._rows(start), *scales)
        return AxisStats(self._ids.get(now.axis), now.raw)

    def _change_of_sums(self, name: str) -> np.ndarray:
        """The column sums of a_r."""
        start, now = self._start[name], self._params[name]
        sums: np.ndarray = now.sums - now.scale * start.sums
        return sums

    def _rows(self, array: LazyArray) -> np.ndarray:
        """The rows of an array of the start that the share needs."""
        return array.rows_of(self._ids.get(array.axis))


def _copied(array: LazyArray, ids: np.ndarray) -> LazyArray:
    """These rows as a separate array of scale 1, which is not folded; its totals cover the whole axis."""
    raw = buffers.empty((len(ids), array.n_columns), array.dtype)
    _kernels.scaled_rows(frozen(array.raw, array.dtype), ids, array.scale.astype(array.dtype), raw)
    prior = array.prior if len(array.prior) == 1 else array.prior[ids]
    scale, sums = np.ones(array.n_columns), array.sums.copy()
    return replace(array, raw=raw, prior=prior, scale=scale, sums=sums, keeps_scale=True)
