"""Sweeps over the documents of one call, on counts of their own.

A streaming kernel remembers documents for one minibatch only: within the call it sweeps over them as a collapsed kernel
does from pass to pass. The weights of a sweep are those of the params plus what the sweeps before it have counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.support.entry import UNCOUNTED, frozen
from bigtopic.types import CallSize, Docs, Hyper, KernelResult, KernelRun, View

__all__ = ["Sweep", "counts_scratch", "sweeps"]


class Sweep(NamedTuple):
    """What is known after a sweep; the arrays are the next sweep's, too.

    result : of the kernel that swept
    counts : (n_words, n_columns), the tokens of these documents
    view : the params' weights and these counts, with their totals
    """

    result: KernelResult
    counts: np.ndarray
    view: View


@njit(**UNCOUNTED)
def _add(changes, before, counts, weights, totals):
    """counts += changes, weights <- before + counts, totals += sums of the columns of counts; in one pass."""
    for v in range(counts.shape[0]):
        change, past, own, row = changes[v], before[v], counts[v], weights[v]
        for k in range(own.shape[0]):
            own[k] += change[k]
            row[k] = past[k] + own[k]
            totals[k] += own[k]


def sweeps(run: KernelRun, docs: Docs, view: View, hyper: Hyper, seed: int) -> Iterator[Sweep]:
    """Sweep without end with a kernel that remembers these documents; sweep s = 0, 1, ... has the seed `seed` + s.

    Parameters
    ----------
    run : of a kernel whose statistics are what a sweep changes; the first one counts every token
    view : "topic_words" as "counts", which these documents are not among

    Everything is float64, whatever the view is: taken out of counts that hundreds of sweeps have added up, the share
    of a token must leave a word's past, which can be a millionth of it.
    """
    before, totals = frozen(view.arrays["topic_words"], np.float64), view.totals["topic_words"]
    counts, weights = buffers.zeros(before.shape, np.float64), buffers.empty(before.shape, np.float64)
    view, state = View({"topic_words": before}, {"topic_words": totals}), None
    for sweep in count():
        result = run(docs, view, hyper, seed + sweep, state)
        state = result.state
        counted = np.zeros(before.shape[1])
        _add(frozen(result.stats["topic_words"], np.float64), before, counts, weights, counted)
        view = View({"topic_words": weights}, {"topic_words": totals + counted})
        yield Sweep(result, counts, view)


def counts_scratch(size: CallSize) -> list[int]:
    """Bytes of the weights, and of what two sweeps have changed."""
    return [size.rows["topic_words"] * size.columns["topic_words"] * 8] * 3
