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
from bigtopic.kernels.support.dual import AXES, FLOOR, VIEWS, counts_of, first_pair, moved, ratios
from bigtopic.kernels.support.entry import INNER, OUTER, csr, frozen
from bigtopic.kernels.support.random import key, uniform
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = ["KERNEL", "run"]

_FAST = {"reassoc", "arcp", "nsz"}  # not "contract": a lone record's share, taken out, must leave nothing


@njit(**INNER | {"fastmath": _FAST})
def _marginals(pairs, by_row, by_column):
    """Sums of a flat table of pairs over column topics, and over row topics."""
    n = by_column.shape[0]
    by_column[:] = 0.0
    for k in range(by_row.shape[0]):
        own, whole = pairs[k * n : (k + 1) * n], 0.0
        for j in range(n):
            whole += own[j]
            by_column[j] += own[j]
        by_row[k] = whole


@njit(**INNER | {"fastmath": _FAST})
def _conditional(by_row, by_column, joint, old, fresh):
    """Fill s; returns its sum before it is divided by that."""
    n, whole = by_column.shape[0], 0.0
    for k in range(by_row.shape[0]):
        pairs, own, new, factor = (
            joint[k * n : (k + 1) * n],
            old[k * n : (k + 1) * n],
            fresh[k * n : (k + 1) * n],
            by_row[k],
        )
        for j in range(n):
            new[j] = factor * by_column[j] * max(pairs[j] - own[j], FLOOR)
            whole += new[j]
    return whole


@njit(**OUTER | {"fastmath": _FAST})
def _sweep(
    indptr, words, counts, ids, seed, shares, rows, columns, joint, row_totals, column_totals, own_row, own_column,
    by_row, by_column, old, fresh,
):  # fmt: skip
    n_pairs, all_moved = joint.shape[0], 0.0
    for d in range(ids.shape[0]):
        row, row_key = rows[d], key(seed, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            share, column, count, known = shares[i], columns[words[i]], counts[i], 0.0
            for p in range(n_pairs):
                known += share[p]
            unit = 1.0 / known if known > 0.0 else 0.0
            for p in range(n_pairs):
                old[p] = unit * share[p]
            _marginals(old, own_row, own_column)
            ratios(row, own_row, row_totals, by_row)
            ratios(column, own_column, column_totals, by_column)
            whole = _conditional(by_row, by_column, joint, old, fresh)
            if known == 0.0:
                k, j = first_pair(uniform(row_key, i - indptr[d]), own_row.shape[0], own_column.shape[0])
                fresh[:] = 0.0
                fresh[k * own_column.shape[0] + j], whole = 1.0, 1.0
            known = 0.0
            for p in range(n_pairs):
                share[p] = fresh[p] / whole
                known += share[p]
            for p in range(n_pairs):
                old[p] = count * (share[p] / known - old[p])
                all_moved += abs(old[p])
                joint[p] += old[p]
            _marginals(old, own_row, own_column)
            for k in range(own_row.shape[0]):
                row[k] += own_row[k]
                row_totals[k] += own_row[k]
            for j in range(own_column.shape[0]):
                column[j] += own_column[j]
                column_totals[j] += own_column[j]
    return all_moved


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
    n_row_topics, n_column_topics = now.joint.shape
    shares = buffers.empty((len(docs.words), n_row_topics, n_column_topics), np.float32)
    shares[:] = 0 if state is None else state["shares"]
    n_moved = _sweep(
        *csr(docs, np.dtype(np.float64)),
        frozen(docs.rows, np.int64),
        int(seed),
        shares.reshape(len(shares), -1),
        now.rows,
        now.columns,
        now.joint.reshape(-1),
        now.row_totals,
        now.column_totals,
        np.empty(n_row_topics),
        np.empty(n_column_topics),
        np.empty(n_row_topics),
        np.empty(n_column_topics),
        np.empty(now.joint.size),
        np.empty(now.joint.size),
    )
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
