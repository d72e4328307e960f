"""Mean-field inference of the dual topic model: `dual_ilr` with memory that is linear in the topics, not quadratic.

Records and the joint distribution are independent in the posterior, so that an entry need not take its own share out of
P, and what is remembered of it are the marginals u, of row topics, and v, of column topics:

    a_k   = (beta_r + D_dk - u_k) / (n_rows beta_r + D_.k - u_k)
    b_j   = (beta_c + W_cj - v_j) / (n_columns beta_c + W_.j - v_j)
    s_kj  = a_k b_j (alpha + P_kj) ;  s <- s / sum(s)
    D_dk += n (s_k. - u_k) ;  W_cj += n (s_.j - v_j) ;  u_k <- s_k. ;  v_j <- s_.j

D and W are those of `dual_ilr`, as are starts and the order of visits. Statistics: by how much D and W have changed,
and the expected counts P of these rows.

Cost: entries x row topics x column topics, a few operations each. Space: entries x (row topics + column topics) numbers
on disk, twice.

References: those of `dual_ilr`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numba import njit

from bigtopic import buffers
from bigtopic.kernels.support.dual import (
    AXES,
    FAST,
    FLOOR,
    VIEWS,
    counts_of,
    first_pair,
    moved,
    ratios,
    recall,
)
from bigtopic.kernels.support.entry import INLINE, INNER, UNCOUNTED, csr, frozen
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import LANES, larger, load, spread, store, total
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = ["KERNEL", "run"]

# What has a number for each column topic is padded with zeros to whole vectors.


@njit(**INLINE)
def _conditional(by_row, by_column, joint, fresh, new_row, new_column):
    """Fill s and its marginals; returns its sum before they are divided by that."""
    least, whole = spread(FLOOR), 0.0
    new_row[:] = 0.0
    for first in range(0, by_column.shape[0], LANES):
        factor, sums = load(by_column, first), spread(0.0)
        for k in range(by_row.shape[0]):
            new = spread(by_row[k]) * factor * larger(load(joint, (k, first)), least)
            store(fresh, (k, first), new)
            new_row[k] += total(new)
            sums = sums + new
        store(new_column, first, sums)
        whole += total(sums)
    return whole


@njit(**INLINE)
def _add(unit, fresh, counted):
    """counted <- with unit s."""
    for k in range(fresh.shape[0]):
        for first in range(0, fresh.shape[1], LANES):
            new = spread(unit) * load(fresh, (k, first))
            store(counted, (k, first), load(counted, (k, first)) + new)


@njit(**INNER | {"fastmath": FAST})
def _move(count, new, share, old, weights, totals):
    """Remember a marginal, and move the counts by what will be recalled of it; returns how many tokens moved."""
    for k in range(share.shape[0]):
        share[k] = new[k]
    recall(share, new)
    n_moved = 0.0
    for k in range(share.shape[0]):
        change = count * (new[k] - old[k])
        weights[k] += change
        totals[k] += change
        n_moved += abs(change)
    return n_moved


@njit(**UNCOUNTED)
def _sweep(
    indptr, words, counts, ids, seed, row_shares, column_shares, rows, columns, joint, row_totals, column_totals,
    old_row, old_column, by_row, by_column, new_row, new_column, fresh, counted,
):  # fmt: skip
    n_moved = 0.0
    for d in range(ids.shape[0]):
        row, row_key = rows[d], key(seed, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            column, count = columns[words[i]], counts[i]
            known = recall(row_shares[i], old_row)
            recall(column_shares[i], old_column)
            ratios(row, old_row, row_totals, by_row)
            ratios(column, old_column, column_totals, by_column)
            whole = _conditional(by_row, by_column, joint, fresh, new_row, new_column)
            if not known:
                k, j = first_pair(
                    uniform(row_key, i - indptr[d]), row_totals.shape[0], column_totals.shape[0]
                )
                fresh[:], new_row[:], new_column[:], whole = 0.0, 0.0, 0.0, 1.0
                fresh[k, j] = new_row[k] = new_column[j] = 1.0
            _add(count / whole, fresh, counted)
            n_moved += _move(count, new_row, row_shares[i], old_row, row, row_totals)
            n_moved += _move(count, new_column, column_shares[i], old_column, column, column_totals)
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
        name: buffers.empty((len(docs.words), n), np.float32)
        for name, n in (("row_shares", n_row_topics), ("column_shares", n_column_topics))
    }
    for name, shares in kept.items():
        shares[:] = 0 if state is None else state[name]
    widths = n_row_topics, now.columns.shape[1]
    joint, fresh, counted = (np.zeros(widths) for _ in range(3))
    joint[:, :n_column_topics] = now.joint
    n_moved = _sweep(
        *csr(docs, np.dtype(np.float64)),
        frozen(docs.rows, np.int64),
        int(seed),
        *kept.values(),
        now.rows,
        now.columns,
        joint,
        now.row_totals,
        now.column_totals,
        *(np.zeros(width) for _ in range(3) for width in widths),
        fresh,
        counted,
    )
    stats = moved(now, view)
    stats["joint"][:] = 0.0
    stats["joint"][:, :n_column_topics] = counted[:, :n_column_topics]
    return KernelResult(stats, None, kept, {"moved_tokens": float(n_moved)})


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
