"""Updates of a replica that stay in compiled code, several in a call. In Python, threads would wait for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from bigtopic.kernels.support.entry import frozen, padded_prior
from bigtopic.kernels.support.slice_loop import address, address_of
from bigtopic.learning.estep import Prepared, with_params
from bigtopic.learning.replicas import _kernels
from bigtopic.learning.rounds import factors_of, iteration_of, knows_factors
from bigtopic.learning.run import Settings, Work
from bigtopic.parallel.prometheus import count
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.slices import Round, SliceRef
from bigtopic.state.lazy_array import SMALLEST_SCALE, USUAL_WEIGHT, LazyArray
from bigtopic.state.views import linear_mean
from bigtopic.support import buffers

__all__ = ["FLOAT", "UpdatesAtOnce", "are_possible", "works_on"]

LARGEST_SUM = 1e37  # of usual statistics: finite in float32
AT_ONCE = 8  # updates in a call, before whose end Ctrl-C is not noticed

Arrays = Mapping[str, LazyArray]
Documents = Mapping[SliceRef, Prepared]


def are_possible(arrays: Arrays, work: Work, settings: Settings) -> bool:
    """Whether steps are known before their statistics, and the kernel has a loop for these arrays."""
    return settings.one_iteration and knows_factors(settings) and works_on(arrays, work)


class UpdatesAtOnce:
    """The updates of a share.

    Parameters
    ----------
    rounds, cursors : of the share
    missed : updates that each of these misses
    arrays : of the replica, which updates move
    documents : of the slices, with ids of these arrays
    work, settings : of the replica; `are_possible` is true
    """

    def __init__(
        self,
        rounds: Sequence[Round],
        cursors: Sequence[Cursor],
        missed: int,
        arrays: Arrays,
        documents: Documents,
        work: Work,
        settings: Settings,
    ) -> None:
        loop = work.kernel.own_loop
        assert loop is not None
        (name,) = work.kernel.views
        array, hyper = arrays[name], with_params(work.hyper, arrays)
        self._array, self._cursors, self._missed, self._settings = array, cursors, missed, settings
        # One slice each; others are merged first
        self._documents = [documents[rnd.slices[0]] if len(rnd.slices) == 1 else None for rnd in rounds]
        seeds = [iteration_of(cursor, 1, settings).seed for cursor in cursors]
        self._table = np.array(
            [_row(one, array, seed) for one, seed in zip(self._documents, seeds, strict=True)]
        )
        self._factors = np.array([self._factor(number) for number in range(len(rounds))]).T.copy()
        self._names, self._figures = loop.figures, np.zeros((len(rounds), len(loop.figures)))
        n_ids = max(0, *self._table[:, _kernels.N_IDS].tolist())
        longest = max((_longest(one) for one in self._documents if one is not None), default=0)
        least = -LARGEST_SUM if array.normalised_over is None else 0.0
        self._given = (
            frozen(array.prior[0], np.float64),
            frozen(array.prior_totals, np.float64),
            np.array([SMALLEST_SCALE, least, LARGEST_SUM, USUAL_WEIGHT]),
            padded_prior(hyper.doc_topic_prior, array.n_columns, FLOAT),
            frozen(loop.options(hyper), np.float64),
            buffers.empty((n_ids, array.n_columns), FLOAT),
            buffers.empty((n_ids, array.n_columns), FLOAT),
            buffers.empty(loop.scratch(longest, array.n_columns), FLOAT),
        )
        self._infer = address_of(loop.infer)

    def make(self, first: int) -> list[RoundReport]:
        """Make updates from the round `first` on, until one is not possible; their reports."""
        array, made = self._array, first
        while made < len(self._table):
            some = slice(made, made + AT_ONCE)
            scale, sums = array.scale.copy(), array.sums.copy()
            table, factors, figures = self._table[some], self._factors[:, some], self._figures[some]
            n = _kernels.update(self._infer, table, *factors, array.raw, scale, sums, *self._given, figures)
            array.scale, array.sums = scale, sums
            made += n
            if n < len(table):
                break
        reports = [self._report(number) for number in range(first, made)]
        count(sum(report.n_tokens for report in reports))
        return reports

    def _factor(self, number: int) -> tuple[float, float]:
        documents, cursor, settings = self._documents[number], self._cursors[number], self._settings
        if documents is None:
            return 0.0, 1.0
        numbers = cursor, documents.docs.n_docs, documents.n_tokens
        return factors_of(*numbers, settings, settings.largest_step, self._missed)

    def _report(self, number: int) -> RoundReport:
        documents = self._documents[number]
        assert documents is not None
        info = dict(zip(self._names, self._figures[number].tolist(), strict=True))
        return RoundReport(self._cursors[number], documents.docs.n_docs, documents.n_tokens, info)


def _row(documents: Prepared | None, array: LazyArray, seed: int) -> list[int]:
    row = [0] * _kernels.N_COLUMNS
    row[_kernels.N_DOCS] = _kernels.NOT_AT_ONCE
    if documents is None:
        return row
    docs, ids = documents.docs, documents.axes[array.axis]
    assert ids is not None
    arrays = {
        _kernels.ROWS: docs.rows,
        _kernels.INDPTR: docs.indptr,
        _kernels.WORDS: docs.words,
        _kernels.COUNTS: docs.counts,
        _kernels.IDS: ids,
    }
    types = {_kernels.ROWS: np.int64, _kernels.INDPTR: np.int64, _kernels.COUNTS: FLOAT}
    for column, values in arrays.items():
        assert values.dtype == types.get(column, np.int32) and values.flags.c_contiguous
        row[column] = address(values)
    sizes = docs.n_docs, len(docs.words), len(ids)
    row[_kernels.SEED], row[_kernels.N_DOCS], row[_kernels.N_ENTRIES], row[_kernels.N_IDS] = seed, *sizes
    return row


def _longest(documents: Prepared) -> int:
    """The most entries of a document."""
    indptr = documents.docs.indptr
    return int((indptr[1:] - indptr[:-1]).max(initial=0))


FLOAT = np.dtype(np.float32)  # of the params that loops read


def works_on(arrays: Mapping[str, LazyArray], work: Work) -> bool:
    """Whether a kernel has a loop that can do rounds on these arrays: if it keeps and derives nothing of documents,
    takes them by slices, reads the means of one array, and returns statistics of that array's words."""
    kernel = work.kernel
    if kernel.own_loop is None or kernel.derives is not None or kernel.state != "none":
        return False
    if kernel.whole_minibatches:
        return False
    if list(kernel.views.values()) not in (["mean"], ["sparse_mean"]) or list(kernel.statistics) != list(
        kernel.views
    ):
        return False
    (array,) = (arrays[name] for name in kernel.views)
    words = array.axis in ("word", "column")
    return words and array.dtype == FLOAT and linear_mean(array) is not None
