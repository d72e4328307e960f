"""Infinite latent state replication (ILR) of the dual topic model: the limit of `dual_cgs` for infinitely many labels.

For each entry, of row d and column c with count n, and its responsibilities r, a number for each pair of topics:

    a_k   = (beta_r + D_dk - r_k.) / (n_rows beta_r + P_k. - r_k.)
    b_j   = (beta_c + W_cj - r_.j) / (n_columns beta_c + P_.j - r_.j)
    s_kj  = a_k b_j (alpha + P_kj - r_kj) ;  s <- s / sum(s)
    D_dk += n (s_k. - r_k.) ;  W_cj += n (s_.j - r_.j) ;  P_kj += n (s_kj - r_kj) ;  r <- s

D, W and P are the expected counts of `dual_cgs`; one record's own share r is excluded. Entries are visited in storage
order, each sees the newest counts. The rows of a slice see each other's responsibilities, and the responsibilities of
other slices as they were when the params were read. A new entry begins with all of its records in one pair, drawn as by
`dual_cgs`: equal responsibilities would stay equal forever. Where the run began with given topics, it begins with the
s_kj that follow from these and from what has been counted before it. Statistics: by how much the counts have changed.

The state are numbers in proportion to r; they are rounded first and divided by their sum afterwards, so that
all counts agree with the state.

Cost: entries x row topics x column topics, a few operations each. Space: as many numbers on disk, twice; `dual_mf`
needs row topics + column topics for each entry.

Reference: Rugeles et al., "Infinite latent state replication", equation 5.12, with the marginals of r in D and W.
"""

from __future__ import annotations

import numpy as np

from bigtopic.kernels.support.dual import (
    AXES,
    FLOOR,
    VIEWS,
    counts_of,
    first_pair,
    moved,
    padded,
    records_scratch,
    starts,
)
from bigtopic.kernels.support.entry import State, csr, frozen, inline, uncounted
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import (
    HALF,
    LANES,
    QUARTER,
    double,
    larger,
    load,
    load_part,
    prefetch,
    quarter,
    single,
    spread,
    store,
    total,
    totals,
)
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_AHEAD, _LINE = 2, 8  # entries, and numbers of counts in a cache line
_LARGEST = 1e30  # of s before it is divided by its sum, in single precision

# Rows of tables of pairs, and what has a number for each topic, are padded to whole vectors, of HALF where they are of
# row topics: with zeros, and totals with infinity. The sum of a row of pairs is added up as QUARTER numbers, which
# `totals` adds to one, for four rows at a time.


@inline
def _ask(earlier, columns, words, i):
    """Prefetch the remembered shares of an entry, and its column."""
    ahead = min(i, words.shape[0] - 1)
    for first in range(0, earlier.shape[1], 2 * _LINE):
        prefetch(earlier, ahead, first)
    for k in range(0, columns.shape[1], _LINE):
        prefetch(columns, words[ahead], k)


@inline
def _add_up(own, parts, k, begun):
    """Add a vector of a row of pairs to the parts of the sum of this row, unless it is the first of the row."""
    store(parts, (k, 0), quarter(own) + load(parts, (k, 0), QUARTER) if begun else quarter(own))


@inline
def _sums(parts, out):
    """Fill `out` with the sums of rows."""
    for k in range(0, out.shape[0], QUARTER):
        a, b = load(parts, (k, 0), QUARTER), load(parts, (k + 1, 0), QUARTER)
        c, d = load(parts, (k + 2, 0), QUARTER), load(parts, (k + 3, 0), QUARTER)
        store(out, k, totals(a, b, c, d))


@inline
def _recall(share, n, parts, old, by_row, by_column):
    """Fill `old` with the remembered shares, and their sums over column topics and row topics; returns the total."""
    known = spread(0.0)
    for first in range(0, by_column.shape[0], LANES):
        sums = spread(0.0)
        for k in range(old.shape[0]):
            own = double(load_part(share, k * n + first, n - first))
            store(old, (k, first), own)
            _add_up(own, parts, k, first > 0)
            sums = sums + own
        store(by_column, first, sums)
        known = known + sums
    _sums(parts, by_row)
    return total(known)


@inline
def _ratios(known, scale, weights, totals, own, out):
    """`scale` times weights[k] / totals[k], both without the share of one record: `own`, divided by `known`."""
    whole, factor, least = spread(known, HALF), spread(scale, HALF), spread(known * FLOOR, HALF)
    for k in range(0, out.shape[0], HALF):
        gone = load(own, k, HALF)
        weight = larger(whole * load(weights, k, HALF) - gone, least)
        store(out, k, factor * weight / larger(whole * load(totals, k, HALF) - gone, weight))


@inline
def _conditional(unit, by_row, by_column, joint, old, n, parts, share, fresh, new_row, new_column):
    """Remember s, where `unit` times `old` are r, and fill `fresh` with what will be recalled of it, and its sums;
    returns the sum of all.

    Last columns come first: what a vector writes beyond its row is overwritten with the next one. After the last row of
    all is room for it.
    """
    whole, gone, least, last = spread(0.0), spread(unit), spread(FLOOR), by_column.shape[0] - LANES
    for first in range(last, -1, -LANES):
        sums, factor = spread(0.0), load(by_column, first)
        for k in range(old.shape[0]):
            rest = larger(load(joint, (k, first)) - gone * load(old, (k, first)), least)
            rounded = single(spread(by_row[k]) * (factor * rest))
            store(share, k * n + first, rounded)
            new = double(rounded)
            store(fresh, (k, first), new)
            _add_up(new, parts, k, first < last)
            sums = sums + new
        store(new_column, first, sums)
        whole = whole + sums
    _sums(parts, new_row)
    return total(whole)


@inline
def _move_pairs(count, unit, old_unit, old, fresh, joint):
    """Move the counts of pairs from old shares, `old_unit` times `old`, to new ones, `unit` times `fresh`; returns how
    many tokens moved."""
    share, gone, zero, n_moved = spread(count * unit), spread(count * old_unit), spread(0.0), spread(0.0)
    for k in range(fresh.shape[0]):
        for first in range(0, fresh.shape[1], LANES):
            change = share * load(fresh, (k, first)) - gone * load(old, (k, first))
            store(joint, (k, first), load(joint, (k, first)) + change)
            n_moved = n_moved + larger(change, zero - change)
    return total(n_moved)


@inline
def _move(count, unit, old_unit, old, new, weights, totals):
    """Likewise the counts of the row or of the column."""
    share, gone = spread(count * unit, HALF), spread(count * old_unit, HALF)
    for k in range(0, new.shape[0], HALF):
        change = share * load(new, k, HALF) - gone * load(old, k, HALF)
        store(weights, k, load(weights, k, HALF) + change)
        store(totals, k, load(totals, k, HALF) + change)


@uncounted
def _sweep(
    indptr, words, counts, ids, seed, given, pairs, scale, earlier, shares, rows, columns, joint, row_totals,
    column_totals, n, old_row, old_column, new_row, new_column, by_row, by_column, old, fresh, parts,
):  # fmt: skip
    n_moved = 0.0
    for d in range(ids.shape[0]):
        row, row_key = rows[d], key(seed, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            column, count = columns[words[i]], counts[i]
            _ask(earlier, columns, words, i + _AHEAD)
            known = _recall(earlier[i], n, parts, old, old_row, old_column)
            gone = 1.0 / known if known > 0.0 else 0.0
            if known > 0.0 or given:
                known = known if known > 0.0 else 1.0
                _ratios(known, scale, column, column_totals, old_column, by_column)
                _ratios(known, 1.0, row, row_totals, old_row, by_row)
                whole = _conditional(
                    gone, by_row, by_column, joint, old, n, parts, shares[i], fresh, new_row, new_column
                )
            else:
                k, j = first_pair(uniform(row_key, i - indptr[d]), old.shape[0], n, pairs)
                shares[i] = 0.0
                shares[i, k * n + j] = 1.0
                whole = _recall(shares[i], n, parts, fresh, new_row, new_column)
            unit = 1.0 / whole
            n_moved += _move_pairs(count, unit, gone, old, fresh, joint)
            _move(count, unit, gone, old_row, new_row, row, row_totals)
            _move(count, unit, gone, old_column, new_column, column, column_totals)
    return n_moved


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
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
    now, n_entries = counts_of(view, hyper), len(docs.words)
    assert now.columns.shape[1] % LANES == 0, "rows come in whole vectors"
    (n_row_topics, n_column_topics), n_pairs = now.joint.shape, now.joint.size
    widths = -(-n_row_topics // HALF) * HALF, now.columns.shape[1]
    room = buffers.empty(n_entries * n_pairs + LANES, np.float32)
    if state is None:
        room[:] = 0
    shares = room[:-LANES].reshape(n_entries, n_pairs)
    joint = buffers.zeros((n_row_topics, widths[1]), np.float64)
    joint[:, :n_column_topics] = now.joint
    usual = now.row_totals.mean() * now.column_totals.mean() / now.joint.mean()
    n_moved = _sweep(
        *csr(docs, np.dtype(np.float64)), *starts(docs, view, hyper, seed), min(usual, _LARGEST / now.joint.max()),
        frozen(shares if state is None else state["shares"], np.float32).reshape(n_entries, n_pairs), shares,
        now.rows, now.columns, joint, padded(now.row_totals, widths[0]), padded(now.column_totals, widths[1]),
        n_column_topics, *(buffers.zeros(width, np.float64) for _ in range(3) for width in widths),
        *buffers.zeros((2, *joint.shape), np.float64), buffers.zeros((widths[0], QUARTER), np.float64),
    )  # fmt: skip
    now.joint[:] = joint[:, :n_column_topics]
    kept = shares.reshape(n_entries, n_row_topics, n_column_topics)
    return KernelResult(moved(now, view), None, {"shares": kept}, {"moved_tokens": float(n_moved)})


KERNEL = Kernel(
    name="dual_ilr",
    run=run,
    views=VIEWS,
    statistics=AXES,
    scratch=records_scratch,
    interacts=True,
    state="run",
    remembers={"shares": StateSpec("entry", "float32", ("row_topic", "column_topic"))},
    dtype="float64",
    changes=tuple(AXES),
    paper="Rugeles et al., infinite latent state replication",
)
