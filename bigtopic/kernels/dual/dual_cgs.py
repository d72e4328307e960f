"""Collapsed Gibbs sampling of the dual topic model, and its replicated form.

Each record, a token of column c in row d, has R labels, each a pair of a row topic k and a column topic j and worth 1/R
of it. In its turn all of them are removed at once, and R are drawn from one conditional:

    p_kj  prop. to  (beta_r + D_dk) / (n_rows beta_r + P_k.) (beta_c + W_cj) / (n_columns beta_c + P_.j) (alpha + P_kj)

D, W and P count the records of a row topic in a row, of a column topic in a column, and of a pair; P_k. and P_.j are
marginals of P. R = 1 is collapsed Gibbs sampling; as R grows, it comes to be the kernel `dual_ilr`. The rows of a slice
see each other's newest labels, and those of other slices as they were when the params were read. A record without a
label, of a row that is new, gets a pair at random, one of row topic t and column topic t. Statistics: by how much the
labels have changed the counts.

How it is computed: with b_j the middle factor, sum_j b_j (alpha + P_kj) is found for all k together, a vector for each
j; a draw finds the row topic first, and then the column topic among the pairs of it.

Cost of a record: row topics x column topics, a multiply-add each. 4 bytes per label on disk, twice.

Reference: Rugeles et al., "Infinite latent state replication", equations 4.5 and 5.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.support.dual import AXES, VIEWS, counts_of, first_pair, moved, padded
from bigtopic.kernels.support.entry import INLINE, UNCOUNTED, frozen, whole_number
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import whole_counts
from bigtopic.kernels.support.vector import HALF, load, spread, store
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = ["KERNEL", "run"]

_HALF, _LANE = np.uint64(HALF), np.uint64(HALF - 1)
_CHAINS = 4  # sums over column topics that are added up side by side


# What has a number for each topic is padded to whole vectors of HALF: with zeros, and totals with infinity.


@njit(**INLINE)
def _add(values, place, change, hot):
    """Add to one number. The next record loads the vector that it is in while it is still on its way to the cache."""
    store(values, place, load(values, place, HALF) + spread(change, HALF) * hot)


@njit(**INLINE)
def _count(label, share, of_row, of_column, one_hot, row, column, pairs, row_totals, column_totals):
    k, j = of_row[np.uint64(label)], of_column[np.uint64(label)]
    hot, first = load(one_hot, (k & _LANE) * _HALF, HALF), k & ~_LANE
    _add(row, first, share, hot)
    _add(row_totals, first, share, hot)
    _add(pairs, (j, first), share, hot)
    hot, first = load(one_hot, (j & _LANE) * _HALF, HALF), j & ~_LANE
    _add(column, first, share, hot)
    _add(column_totals, first, share, hot)


@njit(**INLINE)
def _product(by_column, pairs, j, first):
    return spread(by_column[j], HALF) * load(pairs, (j, first), HALF)


@njit(**INLINE)
def _sum_up(n_row_topics, row, column, pairs, row_totals, column_totals, by_column, by_row, sums):
    """Fill b_j, the factor of each row topic, and the sums of p_kj over j and all row topics up to k."""
    for first in range(0, by_column.shape[0], HALF):
        store(by_column, first, load(column, first, HALF) / load(column_totals, first, HALF))
    for first in range(0, sums.shape[0], HALF):
        a = b = c = d = spread(0.0, HALF)
        factor = load(row, first, HALF) / load(row_totals, first, HALF)
        for j in range(0, pairs.shape[0], _CHAINS):
            a, b = a + _product(by_column, pairs, j, first), b + _product(by_column, pairs, j + 1, first)
            c, d = c + _product(by_column, pairs, j + 2, first), d + _product(by_column, pairs, j + 3, first)
        store(by_row, first, factor)
        store(sums, first, factor * ((a + b) + (c + d)))
    for k in range(1, n_row_topics):
        sums[k] += sums[k - 1]


@njit(**INLINE)
def _pick(rest, n_row_topics, n_column_topics, pairs, by_row, by_column, sums):
    """The pair at which the sums of p_kj exceed `rest`; rounding may leave the last of a row topic."""
    k = 0
    for other in range(n_row_topics - 1):
        k += rest >= sums[other]
    if k > 0:
        rest -= sums[k - 1]
    for j in range(n_column_topics - 1):
        rest -= by_row[k] * by_column[j] * pairs[j, k]
        if rest < 0.0:
            return k * n_column_topics + j
    return k * n_column_topics + n_column_topics - 1


@njit(**UNCOUNTED)
def _sweep(
    indptr, words, counts, ids, n_row_topics, n_column_topics, seed, labels, rows, columns, pairs, row_totals,
    column_totals, by_row, by_column, sums, one_hot, of_row, of_column,
):  # fmt: skip
    n_replicas, token = labels.shape[1], 0
    share, last = 1.0 / n_replicas, n_row_topics - 1
    for d in range(ids.shape[0]):
        row, row_key, draw = rows[d], key(seed, ids[d]), 0
        for i in range(indptr[d], indptr[d + 1]):
            column = columns[words[i]]
            for _ in range(counts[i]):
                own = labels[token]
                new = own[0] < 0
                if not new:
                    for r in range(n_replicas):
                        _count(
                            own[r], -share, of_row, of_column, one_hot, row, column, pairs, row_totals, column_totals
                        )  # fmt: skip
                    _sum_up(
                        n_row_topics, row, column, pairs, row_totals, column_totals, by_column, by_row, sums
                    )
                for r in range(n_replicas):
                    u = uniform(row_key, draw)
                    if new:
                        k, j = first_pair(u, n_row_topics, n_column_topics)
                        own[r] = k * n_column_topics + j
                    else:
                        own[r] = _pick(
                            u * sums[last], n_row_topics, n_column_topics, pairs, by_row, by_column, sums
                        )
                    draw += 1
                for r in range(n_replicas):
                    _count(
                        own[r], share, of_row, of_column, one_hot, row, column, pairs, row_totals, column_totals
                    )  # fmt: skip
                token += 1


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Draw the labels of these rows' records once more, or for the first time; see the module.

    Parameters
    ----------
    docs : rows as documents, columns as words; counts are whole numbers
    view : "row_topics" (n_docs, n_columns), "column_topics" (n_words, n_columns) and "joint" (n_row_topics, n_columns)
        as "counts", prior included, with their totals; the labels in `state` are among them
    hyper : option `replicas` (labels of a record, at least 1)
    seed : with a row of the source and a label's place in it, the key of its draw
    state : "labels" int32 (n_tokens, replicas), k n_column_topics + j, -1 where there is none yet; None for new rows

    Returns
    -------
    KernelResult
        stats, in the shapes of the view, by how many records the labels have changed; no doc_topics, which `dual_cvb0`
        infers; state["labels"]; no info.

    Raises
    ------
    InputError
        When a count is not a whole number.
    SettingError
        When `replicas` is not a whole number of at least 1.
    """
    n_replicas, counts, now = (
        whole_number(hyper.options, "replicas", 1),
        whole_counts(docs),
        counts_of(view, hyper),
    )
    labels = (
        np.full((int(counts.sum()), n_replicas), -1, np.int32) if state is None else state["labels"].copy()
    )
    n_row_topics, n_column_topics = now.joint.shape
    widths = [-(-n // HALF) * HALF for n in now.joint.shape]
    pairs = buffers.zeros((-(-n_column_topics // _CHAINS) * _CHAINS, widths[0]), np.float64)
    pairs[:n_column_topics, :n_row_topics] = now.joint.T
    one_hot = buffers.empty((HALF, HALF), np.float64)
    one_hot[:] = np.eye(HALF)
    _sweep(
        frozen(docs.indptr, np.int64),
        frozen(docs.words, np.int32),
        frozen(counts, np.int64),
        frozen(docs.rows, np.int64),
        n_row_topics,
        n_column_topics,
        int(seed),
        labels,
        now.rows,
        now.columns,
        pairs,
        padded(now.row_totals, widths[0]),
        padded(now.column_totals, widths[1]),
        *(buffers.empty(width, np.float64) for width in (*widths, widths[0])),
        one_hot.reshape(-1),
        *np.divmod(np.arange(now.joint.size, dtype=np.uint64), np.uint64(n_column_topics)),
    )
    now.joint[:] = pairs[:n_column_topics, :n_row_topics].T
    stats = moved(now, view)
    for change in stats.values():  # whole labels: what is left over is rounding
        np.rint(change * n_replicas, out=change)
        change /= n_replicas
    return KernelResult(stats, None, {"labels": labels}, {})


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """The counts of the entries, and a product of the largest array."""
    largest = max(size.rows[name] * size.columns[name] for name in size.rows)
    return Scratch([size.n_entries * 8, largest * 8])


KERNEL = Kernel(
    name="dual_cgs",
    run=run,
    views=VIEWS,
    statistics=AXES,
    options={"replicas": 1},
    scratch=_scratch,
    interacts=True,
    state="run",
    remembers={"labels": StateSpec("token", "int32", ("replicas",), missing=-1)},
    dtype="float64",
    changes=tuple(AXES),
    paper="Rugeles et al., infinite latent state replication",
)
