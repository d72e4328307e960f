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
from bigtopic.kernels.support.dual import AXES, FLOOR, VIEWS, counts_of, first_pair, moved, padded
from bigtopic.kernels.support.entry import INLINE, UNCOUNTED, csr, frozen
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import (
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

# Rows of tables of pairs, and what has a number for each column topic, are padded to whole vectors: with zeros, and
# totals with infinity. What has a number for each row topic is read and written number by number alone: a vector that
# is read just after its numbers were written would wait for them.


@njit(**INLINE)
def _recall(share, n, old, by_row, by_column):
    """Fill `old` with what is remembered, and its sums over column topics and row topics; returns the sum of all."""
    known = 0.0
    for first in range(0, by_column.shape[0], LANES):
        sums = spread(0.0)
        for k in range(by_row.shape[0]):
            own = double(load_part(share, k * n + first, n - first))
            store(old, (k, first), own)
            by_row[k] = total(own) + (by_row[k] if first > 0 else 0.0)
            sums = sums + own
        store(by_column, first, sums)
        known += total(sums)
    return known


@njit(**INLINE)
def _of_column(unit, column, totals, own, out):
    """b_j, where `unit` times `own` are the marginals of r, which become their own."""
    share, least = spread(unit), spread(FLOOR)
    for first in range(0, out.shape[0], LANES):
        gone = share * load(own, first)
        weight = larger(load(column, first) - gone, least)
        store(own, first, gone)
        store(out, first, weight / larger(load(totals, first) - gone, weight))


@njit(**INLINE)
def _conditional(unit, row, totals, own, by_column, joint, old, fresh):
    """Fill s, where `unit` times `old` are r and `unit` times `own` its marginals, which become their own; returns the
    sum of s before it is divided by that."""
    share, whole, least = spread(unit), spread(0.0), spread(FLOOR)
    for k in range(own.shape[0]):
        own[k] *= unit
        weight = max(row[k] - own[k], FLOOR)
        factor = spread(weight / max(totals[k] - own[k], weight))
        for first in range(0, by_column.shape[0], LANES):
            gone = share * load(old, (k, first))
            new = factor * load(by_column, first) * larger(load(joint, (k, first)) - gone, least)
            store(old, (k, first), gone)
            store(fresh, (k, first), new)
            whole = whole + new
    return total(whole)


@njit(**INLINE)
def _round(unit, fresh, by_row, by_column):
    """`fresh` becomes `unit` times s as it is remembered. Fills its sums; returns the sum of all."""
    factor, known = spread(unit), 0.0
    for first in range(0, by_column.shape[0], LANES):
        sums = spread(0.0)
        for k in range(by_row.shape[0]):
            new = double(single(factor * load(fresh, (k, first))))
            store(fresh, (k, first), new)
            by_row[k] = total(new) + (by_row[k] if first > 0 else 0.0)
            sums = sums + new
        store(by_column, first, sums)
        known += total(sums)
    return known


@njit(**INLINE)
def _remember(fresh, n, share):
    """Keep what has been rounded. What a vector writes beyond its row is overwritten with the next one; after the last
    row of all is room for it."""
    for k in range(fresh.shape[0]):
        for first in range(0, fresh.shape[1], LANES):
            store(share, k * n + first, single(load(fresh, (k, first))))


@njit(**INLINE)
def _move(count, unit, old, fresh, old_row, new_row, joint, row, totals):
    """Move the counts of pairs and of the row to new shares, `unit` times `fresh`; returns how many tokens moved."""
    weight, share, zero, n_moved = spread(count), spread(unit), spread(0.0), spread(0.0)
    for k in range(new_row.shape[0]):
        for first in range(0, fresh.shape[1], LANES):
            change = weight * (share * load(fresh, (k, first)) - load(old, (k, first)))
            store(joint, (k, first), load(joint, (k, first)) + change)
            n_moved = n_moved + larger(change, zero - change)
        grown = count * (unit * new_row[k] - old_row[k])
        row[k] += grown
        totals[k] += grown
    return total(n_moved)


@njit(**INLINE)
def _move_column(count, unit, old, new, column, totals):
    """Likewise the counts of the column."""
    weight, share = spread(count), spread(unit)
    for first in range(0, new.shape[0], LANES):
        change = weight * (share * load(new, first) - load(old, first))
        store(column, first, load(column, first) + change)
        store(totals, first, load(totals, first) + change)


@njit(**UNCOUNTED)
def _sweep(
    indptr, words, counts, ids, seed, earlier, shares, rows, columns, joint, row_totals, column_totals, n,
    old_row, old_column, new_row, new_column, by_column, old, fresh,
):  # fmt: skip
    n_moved = 0.0
    for d in range(ids.shape[0]):
        row, row_key = rows[d], key(seed, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            column, count = columns[words[i]], counts[i]
            known = _recall(earlier[i], n, old, old_row, old_column)
            unit = 1.0 / known if known > 0.0 else 0.0
            _of_column(unit, column, column_totals, old_column, by_column)
            whole = _conditional(unit, row, row_totals, old_row, by_column, joint, old, fresh)
            if not known > 0.0:
                k, j = first_pair(uniform(row_key, i - indptr[d]), old_row.shape[0], n)
                fresh[:] = 0.0
                fresh[k, j], whole = 1.0, 1.0
            unit = 1.0 / _round(1.0 / whole, fresh, new_row, new_column)
            _remember(fresh, n, shares[i])
            n_moved += _move(count, unit, old, fresh, old_row, new_row, joint, row, row_totals)
            _move_column(count, unit, old_column, new_column, column, column_totals)
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
    flat, width = (len(docs.words), now.joint.size), now.columns.shape[1]
    room = buffers.empty(flat[0] * flat[1] + LANES, np.float32)
    if state is None:
        room[:] = 0
    shares = room[:-LANES].reshape(flat[0], n_row_topics, n_column_topics)
    joint = buffers.zeros((n_row_topics, width), np.float64)
    joint[:, :n_column_topics] = now.joint
    n_moved = _sweep(
        *csr(docs, np.dtype(np.float64)),
        frozen(docs.rows, np.int64),
        int(seed),
        frozen(shares if state is None else state["shares"], np.float32).reshape(flat),
        shares.reshape(flat),
        now.rows,
        now.columns,
        joint,
        now.row_totals,
        padded(now.column_totals, width),
        n_column_topics,
        *(buffers.zeros(n, np.float64) for _ in range(2) for n in (n_row_topics, width)),
        buffers.zeros(width, np.float64),
        *(buffers.zeros(joint.shape, np.float64) for _ in range(2)),
    )
    now.joint[:] = joint[:, :n_column_topics]
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
