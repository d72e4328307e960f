"""Infinite latent state replication (ILR) of the dual topic model: the limit of `dual_cgs` for infinitely many labels.

For each entry, of row d and column c with count n, and its responsibilities r, a number for each pair of topics:

    a_k   = (beta_r + D_dk - r_k.) / (n_rows beta_r + P_k. - r_k.)
    b_j   = (beta_c + W_cj - r_.j) / (n_columns beta_c + P_.j - r_.j)
    s_kj  = a_k b_j (alpha + P_kj - r_kj) ;  s <- s / sum(s)
    D_dk += n (s_k. - r_k.) ;  W_cj += n (s_.j - r_.j) ;  P_kj += n (s_kj - r_kj) ;  r <- s

D, W and P are the expected counts of `dual_cgs`; one record's own share r is excluded. Entries are visited in storage
order, each sees the newest counts. The rows of a slice see each other's responsibilities, and those of other slices as
they were when the params were read. A new entry begins with all of its records in one pair, drawn given what has been
counted before it: equal responsibilities would stay equal forever. Statistics: by how much the counts have changed.

What is remembered are numbers in proportion to r; they are rounded first and divided by their sum afterwards, so that
all counts are those of what is remembered.

Cost: entries x row topics x column topics, a few operations each. Space: as many numbers on disk, twice; `dual_mf`
needs row topics + column topics for each entry.

Reference: Rugeles et al., "Infinite latent state replication", equation 5.12, with the marginals of r in D and W.
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

# Tables of pairs are flat, a row of column topics after another. Vectors reach over the end of a row: what they store
# there is overwritten by the next row, and after the last one is room for it. What has a number for each column topic
# is padded to whole vectors, factors with zeros; `lanes` is 1 up to the last column topic.


@njit(**INLINE)
def _marginals(pairs, lanes, by_row, by_column, n):
    """Sums of a table of pairs over column topics, and over row topics."""
    by_row[:] = 0.0
    for first in range(0, lanes.shape[0], LANES):
        inside, whole = load(lanes, first), spread(0.0)
        for k in range(by_row.shape[0]):
            vector = inside * load(pairs, k * n + first)
            by_row[k] += total(vector)
            whole = whole + vector
        store(by_column, first, whole)


@njit(**INLINE)
def _conditional(by_row, by_column, joint, old, fresh, n):
    """Fill s; returns its sum before it is divided by that."""
    whole, least = spread(0.0), spread(FLOOR)
    for k in range(by_row.shape[0]):
        factor = spread(by_row[k])
        for first in range(0, by_column.shape[0], LANES):
            pair = k * n + first
            left = larger(load(joint, pair) - load(old, pair), least)
            new = factor * load(by_column, first) * left
            store(fresh, pair, new)
            whole = whole + new
    return total(whole)


@njit(**INLINE)
def _move(count, old, fresh, joint, lanes, by_row, by_column, n):
    """Move the joint counts to new shares. Fills the marginals of the change; returns how many tokens moved."""
    n_moved, zero = spread(0.0), spread(0.0)
    by_row[:] = 0.0
    for first in range(0, lanes.shape[0], LANES):
        weight, whole = spread(count) * load(lanes, first), zero
        for k in range(by_row.shape[0]):
            pair = k * n + first
            change = weight * (load(fresh, pair) - load(old, pair))
            store(joint, pair, load(joint, pair) + change)
            by_row[k] += total(change)
            whole, n_moved = whole + change, n_moved + larger(change, zero - change)
        store(by_column, first, whole)
    return total(n_moved)


@njit(**INNER | {"fastmath": FAST})
def _remember(unit, fresh, share):
    for p in range(share.shape[0]):
        share[p] = unit * fresh[p]


@njit(**UNCOUNTED)
def _sweep(
    indptr, words, counts, ids, seed, shares, rows, columns, joint, row_totals, column_totals, lanes,
    own_row, own_column, by_row, by_column, old, fresh,
):  # fmt: skip
    n, n_moved = column_totals.shape[0], 0.0
    for d in range(ids.shape[0]):
        row, row_key = rows[d], key(seed, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            share, column = shares[i], columns[words[i]]
            known = recall(share, old)
            _marginals(old, lanes, own_row, own_column, n)
            ratios(row, own_row, row_totals, by_row)
            ratios(column, own_column, column_totals, by_column)
            whole = _conditional(by_row, by_column, joint, old, fresh, n)
            if not known:
                k, j = first_pair(uniform(row_key, i - indptr[d]), own_row.shape[0], n)
                fresh[:] = 0.0
                fresh[k * n + j], whole = 1.0, 1.0
            _remember(1.0 / whole, fresh, share)
            recall(share, fresh)
            n_moved += _move(counts[i], old, fresh, joint, lanes, own_row, own_column, n)
            for k in range(own_row.shape[0]):
                row[k] += own_row[k]
                row_totals[k] += own_row[k]
            for j in range(n):
                column[j] += own_column[j]
                column_totals[j] += own_column[j]
    return n_moved


def run(
    docs: Docs, view: View, hyper: Hyper, seed: int, state: Mapping[str, np.ndarray] | None = None
) -> KernelResult:
    """Update the responsibilities of these rows' entries once; see the module.

    Parameters
    ----------
    docs : rows as documents, columns as words; counts may be weights
    view : "row_topics" (n_docs, n_columns), "column_topics" (n_words, n_columns) and "joint" (n_row_topics, n_columns)
        as "counts", prior included, with their totals; what `state` says is among them
    hyper : no options
    seed : with a row of the source, the key of its start
    state : "shares" (n_entries, n_row_topics, n_column_topics), zeros of entries that are not counted yet; None for new
        rows

    Returns
    -------
    KernelResult
        stats, in the shapes of the view, by how much the expected counts have changed; no doc_topics, which `dual_cvb0`
        infers; state["shares"]; info: "moved_tokens", the sum over entries of n sum_kj |s_kj - r_kj|.
    """
    now = counts_of(view, hyper)
    assert now.columns.shape[1] % LANES == 0, "rows come in whole vectors"
    n_row_topics, n_column_topics = now.joint.shape
    shares = buffers.empty((len(docs.words), n_row_topics, n_column_topics), np.float32)
    shares[:] = 0 if state is None else state["shares"]
    joint, lanes = np.zeros(now.joint.size + LANES), np.zeros(now.columns.shape[1])
    joint[: now.joint.size], lanes[:n_column_topics] = now.joint.reshape(-1), 1.0
    n_moved = _sweep(
        *csr(docs, np.dtype(np.float64)),
        frozen(docs.rows, np.int64),
        int(seed),
        shares.reshape(len(shares), -1),
        now.rows,
        now.columns,
        joint,
        now.row_totals,
        now.column_totals,
        lanes,
        *(np.zeros(n) for _ in range(2) for n in (n_row_topics, len(lanes))),
        *np.zeros((2, len(joint))),
    )
    now.joint[:] = joint[: now.joint.size].reshape(now.joint.shape)
    return KernelResult(moved(now, view), None, {"shares": shares}, {"moved_tokens": float(n_moved)})


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """The counts of the entries."""
    return Scratch([size.n_entries * 8])


KERNEL = Kernel(
    name="dual_ilr",
    run=run,
    views=VIEWS,
    statistics=AXES,
    scratch=_scratch,
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("row_topic", "column_topic"))},
    dtype="float64",
    changes=tuple(AXES),
    paper="Rugeles et al., infinite latent state replication",
)
