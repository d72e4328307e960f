"""Pulls and pushes: a minibatch learns on a copy of the rows that it needs, and its statistics come back whenever they
are ready. Rows travel, not the whole of the params.

Gao, Chen and Zhu (2016), "Streaming Gibbs sampling for LDA model", Algorithm 4: a worker copies rows (*pull*), infers
the topics of a minibatch, and sends what it counted (*push*). The *staleness* of a push is the number of updates
between its pull and its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace

import numpy as np

from bigtopic.learning.remembering import remembering
from bigtopic.learning.rounds import round_stats
from bigtopic.learning.rows import Needed, Read, map_reduce_of, needed
from bigtopic.learning.run import Run
from bigtopic.learning.tasks import packed
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import Round
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.types import AxisStats, Stats

__all__ = ["READ_AHEAD", "Minibatch", "Push", "Shape", "pulled", "pushed", "read_minibatch", "shapes_of"]

READ_AHEAD = 2  # minibatches that are read, besides those in flight


@dataclass(frozen=True)
class Shape:
    """The axis of an array's rows, and how many there are."""

    axis: str
    n_rows: int


@dataclass(frozen=True)
class Minibatch(Needed):
    """The documents of a round, where they are read.

    rnd : the round
    sizes : {axis: rows of the params}
    seconds : that reading took
    """

    rnd: Round
    sizes: Mapping[str, int]
    seconds: float

    def __sizeof__(self) -> int:
        """Bytes of the documents. Dask computes what needs them where they are."""
        arrays = (array for one in self.documents.values() for array in (one.docs.words, one.docs.counts))
        return sum(array.nbytes for array in arrays)


@dataclass(frozen=True)
class Push:
    """What a minibatch adds.

    stats, n_bytes : its statistics, with ids of the params, `packed`
    worker, n_threads : where they were computed, for people, and how many threads are there
    seconds : that took
    """

    stats: Stats
    n_bytes: int
    worker: str
    n_threads: int
    seconds: float

    def __sizeof__(self) -> int:
        return self.n_bytes


def shapes_of(params: Params) -> dict[str, Shape]:
    """What a worker needs to know of the params to read documents."""
    return {name: Shape(a.axis, a.n_rows) for name, a in params.without_means().arrays.items()}


def read_minibatch(run: Run, rnd: Round, shapes: Mapping[str, Shape], read: Read) -> Minibatch:
    """The documents of a round; `read` reads a slice."""
    begun = time.perf_counter()
    found = needed(rnd.slices, read, shapes, run.work)
    sizes = {shape.axis: shape.n_rows for shape in shapes.values()}
    return Minibatch(found.ids, found.documents, rnd, sizes, time.perf_counter() - begun)


def pulled(params: Params, ids: Mapping[str, np.ndarray]) -> dict[str, LazyArray]:
    """A copy of the rows that a minibatch needs."""
    return {name: _rows(array, ids.get(array.axis)) for name, array in params.without_means().arrays.items()}


def _rows(array: LazyArray, ids: np.ndarray | None) -> LazyArray:
    if ids is None:
        return array.copy()
    return array.local(ids)


def pushed(
    run: Run,
    minibatch: Minibatch,
    arrays: Mapping[str, LazyArray],
    cursor: Cursor,
    here: Callable[[], tuple[str, int]],
) -> Push:
    """The statistics of a minibatch. Any worker may compute them again: nothing is written but the state of its
    documents, for the next pass.

    Parameters
    ----------
    arrays : as `pulled`
    cursor : of the round
    here : the name of the worker, and how many threads it has
    """
    begun = time.perf_counter()
    work = replace(run.work, hyper=run.work.hyper._replace(axis_sizes=dict(minibatch.sizes)))
    with closing(remembering(run.work)) as remembered:
        map_reduce = map_reduce_of(minibatch.documents, work, remembered)
        stats = round_stats(Params(dict(arrays)), minibatch.rnd, cursor, run.settings, map_reduce)
    known = {
        name: _of_params(one, minibatch.ids.get(arrays[name].axis)) for name, one in stats.arrays.items()
    }
    thin = packed(replace(stats, arrays=known))
    return Push(*thin, *here(), minibatch.seconds + time.perf_counter() - begun)


def _of_params(stats: AxisStats, ids: np.ndarray | None) -> AxisStats:
    """The same statistics, with ids of the params in place of positions."""
    if ids is None or stats.ids is None:
        return stats
    return AxisStats(ids[stats.ids], stats.values).summed(stats.sums)
