"""Mean-field inference of the dual topic model: `dual_ilr` with memory that is linear in the topics, not quadratic.

Records and the joint distribution are independent in the posterior, so that an entry need not take its own share out of
P, and what is remembered of it are the marginals u, of row topics, and v, of column topics:

    a_k   = (beta_r + D_dk - u_k) / (n_rows beta_r + D_.k - u_k)
    b_j   = (beta_c + W_cj - v_j) / (n_columns beta_c + W_.j - v_j)
    s_kj  = a_k b_j (alpha + P_kj) ;  s <- s / sum(s)
    D_dk += n (s_k. - u_k) ;  W_cj += n (s_.j - v_j) ;  u_k <- s_k. ;  v_j <- s_.j

D and W are those of `dual_ilr`, as are starts and the order of visits. Statistics: by how much D and W have changed,
and the expected counts P of these rows.

How it is computed: only s_k. and s_.j are, as a_k sum_j b_j (alpha + P_kj) and b_j sum_k a_k (alpha + P_kj). Divided by
alpha + P_kj, the expected counts of pairs are sums of a_k b_j over entries, which are added four entries at a time.

Cost: entries x row topics x column topics, three multiply-adds each. Space: entries x (row topics + column topics)
numbers on disk, twice.

References: those of `dual_ilr`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.support.dual import AXES, FLOOR, VIEWS, counts_of, first_pair, moved, padded
from bigtopic.kernels.support.entry import INLINE, UNCOUNTED, csr, frozen
from bigtopic.kernels.support.memory import prefetch
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import (
    HALF,
    LANES,
    double,
    larger,
    load,
    load_part,
    single,
    spread,
    store,
    total,
)
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = ["KERNEL", "run"]

_AHEAD, _LINE = 2, 8  # entries, and numbers in a cache line
_GROUP = 4  # entries whose pairs are counted together
_CHAINS = 4  # sums that are added up side by side

# What has a number for each topic is padded with zeros to whole vectors of HALF, but totals with infinity.


@njit(**INLINE)
def _recall(share, out):
    """Fill `out` with what is remembered; returns its sum."""
    sums, n = spread(0.0, HALF), share.shape[0]
    for k in range(0, out.shape[0], HALF):
        own = double(load(share, k, HALF) if k + HALF <= n else load_part(share, k, n - k, HALF))
        store(out, k, own)
        sums = sums + own
    return total(sums)


@njit(**INLINE)
def _ratios(known, weights, own, totals, out):
    """out[k] = weights[k] / totals[k], both without the share of one record: `own`, divided by `known`."""
    whole, least = spread(known, HALF), spread(known * FLOOR, HALF)
    for k in range(0, out.shape[0], HALF):
        gone = load(own, k, HALF)
        weight = larger(whole * load(weights, k, HALF) - gone, least)
        store(out, k, weight / larger(whole * load(totals, k, HALF) - gone, weight))


@njit(**INLINE)
def _marginal(own, others, joint, out):
    """The marginal of s over the `others`, rows of the joint in groups of _CHAINS; returns its sum."""
    sums = spread(0.0, HALF)
    for first in range(0, out.shape[0], HALF):
        a = b = c = d = spread(0.0, HALF)
        for j in range(0, joint.shape[0], _CHAINS):
            a = a + spread(others[j], HALF) * load(joint, (j, first), HALF)
            b = b + spread(others[j + 1], HALF) * load(joint, (j + 1, first), HALF)
            c = c + spread(others[j + 2], HALF) * load(joint, (j + 2, first), HALF)
            d = d + spread(others[j + 3], HALF) * load(joint, (j + 3, first), HALF)
        new = load(own, first, HALF) * ((a + b) + (c + d))
        store(out, first, new)
        sums = sums + new
    return total(sums)


@njit(**INLINE)
def _add(units, by_row, by_column, counted):
    """Count s of a group of entries, each divided by the joint and multiplied by its unit."""
    for k in range(counted.shape[0]):
        f0, f1 = spread(units[0] * by_row[0, k], HALF), spread(units[1] * by_row[1, k], HALF)
        f2, f3 = spread(units[2] * by_row[2, k], HALF), spread(units[3] * by_row[3, k], HALF)
        for first in range(0, counted.shape[1], HALF):
            sums = load(counted, (k, first), HALF) + f0 * load(by_column, (0, first), HALF)
            sums = sums + f1 * load(by_column, (1, first), HALF) + f2 * load(by_column, (2, first), HALF)
            store(counted, (k, first), sums + f3 * load(by_column, (3, first), HALF))


@njit(**INLINE)
def _move(count, new, share, known, old, weights, totals):
    """Remember a marginal, and move the counts by what will be recalled of it; returns how many tokens moved.

    What a vector writes beyond its row is overwritten with the next one; after the last row of all is room for it.
    """
    sums, n_moved, zero = spread(0.0, HALF), spread(0.0, HALF), spread(0.0, HALF)
    for k in range(0, new.shape[0], HALF):
        rounded = single(load(new, k, HALF))
        kept = double(rounded)
        store(share, k, rounded)
        store(new, k, kept)
        sums = sums + kept
    unit, gone = spread(count / total(sums), HALF), spread(count / known if known > 0.0 else 0.0, HALF)
    for k in range(0, new.shape[0], HALF):
        change = unit * load(new, k, HALF) - gone * load(old, k, HALF)
        store(weights, k, load(weights, k, HALF) + change)
        store(totals, k, load(totals, k, HALF) + change)
        n_moved = n_moved + larger(change, zero - change)
    return total(n_moved)


@njit(**UNCOUNTED)
def _sweep(
    indptr, words, counts, ids, seed, earlier_rows, earlier_columns, row_shares, column_shares, rows, columns, joint,
    transposed, row_totals, column_totals, old_row, old_column, of_rows, of_columns, new_row, new_column, units,
    counted, begun,
):  # fmt: skip
    n_moved, m = 0.0, 0
    for d in range(ids.shape[0]):
        row, row_key = rows[d], key(seed, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            column, count, ahead = columns[words[i]], counts[i], words[min(i + _AHEAD, words.shape[0] - 1)]
            for k in range(0, columns.shape[1], _LINE):
                prefetch(columns, ahead, k)
            by_row, by_column = of_rows[m], of_columns[m]
            of_row, of_column = _recall(earlier_rows[i], old_row), _recall(earlier_columns[i], old_column)
            if of_row > 0.0:
                _ratios(of_row, row, old_row, row_totals, by_row)
                _ratios(of_column, column, old_column, column_totals, by_column)
                whole = _marginal(by_row, by_column, transposed, new_row)
                _marginal(by_column, by_row, joint, new_column)
                units[m] = count / whole
                m += 1
                if m == _GROUP:
                    _add(units, of_rows, of_columns, counted)
                    m = 0
            else:
                k, j = first_pair(uniform(row_key, i - indptr[d]), begun.shape[0], begun.shape[1])
                new_row[:], new_column[:] = 0.0, 0.0
                new_row[k] = new_column[j] = 1.0
                begun[k, j] += count
            n_moved += _move(count, new_row, row_shares[i], of_row, old_row, row, row_totals)
            n_moved += _move(
                count, new_column, column_shares[i], of_column, old_column, column, column_totals
            )
    units[m:] = 0.0
    _add(units, of_rows, of_columns, counted)
    return n_moved


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Update the responsibilities of these rows' entries once; see the module.

    Parameters
    ----------
    docs, view, hyper, seed : as for `dual_ilr`
    state : "row_shares" (n_entries, n_row_topics) and "column_shares" (n_entries, n_column_topics), zeros of entries
        that are not counted yet; None for rows that are new

    Returns
    -------
    KernelResult
        stats in the shapes of the view: by how much "row_topics" and "column_topics" have changed, and the expected
        counts of "joint"; no doc_topics, which `dual_cvb0` infers; state as given; info: "moved_tokens", the sum over
        entries of n (sum_k |s_k. - u_k| + sum_j |s_.j - v_j|).
    """
    now = counts_of(view, hyper)
    assert now.columns.shape[1] % LANES == 0, "rows come in whole vectors"
    n_row_topics, n_column_topics = now.joint.shape
    kept = {
        name: buffers.empty(len(docs.words) * n + LANES, np.float32)[:-LANES].reshape(-1, n)
        for name, n in (("row_shares", n_row_topics), ("column_shares", n_column_topics))
    }
    for shares in kept.values() if state is None else ():
        shares[:] = 0
    earlier: Mapping[str, np.ndarray] = kept if state is None else state
    widths = [_whole(n, HALF) for n in now.joint.shape]
    joint, transposed, counted = (
        buffers.zeros((n, width), np.float64)
        for n, width in (
            (_whole(n_row_topics, _CHAINS), widths[1]),
            (_whole(n_column_topics, _CHAINS), widths[0]),
            (n_row_topics, widths[1]),
        )
    )
    joint[:n_row_topics, :n_column_topics] = np.maximum(now.joint, FLOOR)
    transposed[:n_column_topics, :n_row_topics] = joint[:n_row_topics, :n_column_topics].T
    begun = np.zeros(now.joint.shape)
    n_moved = _sweep(
        *csr(docs, np.dtype(np.float64)),
        frozen(docs.rows, np.int64),
        int(seed),
        *(frozen(earlier[name], np.float32) for name in kept),
        *kept.values(),
        now.rows,
        now.columns,
        joint,
        transposed,
        padded(now.row_totals, widths[0]),
        padded(now.column_totals, widths[1]),
        *(buffers.zeros(width, np.float64) for width in widths),
        *(buffers.zeros((_GROUP, width), np.float64) for width in widths),
        *(buffers.zeros(width, np.float64) for width in widths),
        np.zeros(_GROUP),
        counted,
        begun,
    )
    stats = moved(now, view)
    stats["joint"][:] = 0.0
    stats["joint"][:, :n_column_topics] = begun + (joint[:n_row_topics] * counted)[:, :n_column_topics]
    return KernelResult(stats, None, kept, {"moved_tokens": float(n_moved)})


def _whole(number: int, group: int) -> int:
    return -(-number // group) * group


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """The counts of the entries."""
    return Scratch([size.n_entries * 8])


KERNEL = Kernel(
    name="dual_mf",
    run=run,
    views=VIEWS,
    statistics=AXES,
    scratch=_scratch,
    interacts=True,
    state="run",
    remembers={
        "row_shares": StateSpec("entry", "float32", ("row_topic",)),
        "column_shares": StateSpec("entry", "float32", ("column_topic",)),
    },
    dtype="float64",
    changes=("row_topics", "column_topics"),
    paper="Rugeles et al., infinite latent state replication, its joint distribution in mean field",
)
