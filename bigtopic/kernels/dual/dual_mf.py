"""Mean-field inference of the dual topic model: `dual_ilr` with memory that is linear in the topics, not quadratic.

Records and the joint distribution are independent in the posterior, so that an entry need not take its own share out of
P, and its state are the marginals u, of row topics, and v, of column topics:

    a_k   = (beta_r + D_dk - u_k) / (n_rows beta_r + D_.k - u_k)
    b_j   = (beta_c + W_cj - v_j) / (n_columns beta_c + W_.j - v_j)
    s_kj  = a_k b_j (alpha + P_kj) ;  s <- s / sum(s)
    D_dk += n (s_k. - u_k) ;  W_cj += n (s_.j - v_j) ;  u_k <- s_k. ;  v_j <- s_.j

D, W, starts and the order of visits are as in `dual_ilr`. Statistics: by how much D and W have changed,
and the expected counts P of these rows.

How it is computed: only s_k. and s_.j are, as a_k sum_j b_j (alpha + P_kj) and b_j sum_k a_k (alpha + P_kj). Divided by
alpha + P_kj, the expected counts of pairs are sums of a_k b_j over entries, which are added four entries at a time. Up
to 16 topics are one vector, which stays in registers.

Cost: entries x row topics x column topics, three multiply-adds each. Space: entries x (row topics + column topics)
numbers on disk, twice.

References: as for `dual_ilr`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bigtopic.kernels.support.dual import (
    AXES,
    FLOOR,
    VIEWS,
    counts_of,
    first_pair,
    moved,
    padded,
    starts,
)
from bigtopic.kernels.support.entry import State, csr, frozen, inline, uncounted
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import (
    HALF,
    LANES,
    double,
    larger,
    load,
    load_part,
    n_lanes,
    prefetch,
    single,
    spread,
    store,
    total,
)
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_AHEAD, _LINE = np.uint64(2), np.uint64(8)  # entries, and numbers in a cache line
_GROUP = 4  # entries whose pairs are counted together
_CHAINS = 4  # sums that are added up side by side; half as many of LANES, because registers hold no more
_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint64(n) for n in range(5))
_HALF, _LANES = np.uint64(HALF), np.uint64(LANES)

# Indices are unsigned: nothing is then done for those that count from the end. What has a number for each topic is
# padded with zeros to whole vectors of HALF, of column topics at least one of LANES, but totals with infinity. `zero`
# is a vector, as long as the vectors of a loop.


class _Side(NamedTuple):
    """The row topics or the column topics: what a sweep changes, and works with.

    Attributes
    ----------
    earlier, shares : float32 (n_entries, n_topics), the remembered shares of each entry, and the shares to remember
    weights : float64 (n_docs or n_words, n_columns)
    totals : float64 (width,)
    joint : float64 (n_others, width), alpha + P, with a row for each topic of the other side, in groups of _CHAINS, at
        least HALF
    old, new : float64 (width,), the marginal of an entry
    factors : float64 (_GROUP, width), a or b of entries whose pairs are counted together
    """

    earlier: np.ndarray
    shares: np.ndarray
    weights: np.ndarray
    totals: np.ndarray
    joint: np.ndarray
    old: np.ndarray
    new: np.ndarray
    factors: np.ndarray


@inline
def _recall(i, side, zero, width):
    """Fill `side.old` with the remembered shares of an entry; returns their sum."""
    sums, n = zero, np.uint64(side.earlier.shape[1])
    for k in range(_ZERO, width, n_lanes(zero)):
        if k + n_lanes(zero) <= n:
            own = double(load(side.earlier, (i, k), zero))
        else:
            own = double(load_part(side.earlier, (i, k), n - k, zero))
        store(side.old, k, own)
        sums = sums + own
    return total(sums)


@inline
def _ratios(known, place, m, side, zero, width):
    """factors[m, k] = weights[place, k] / totals[k], both without the share of one record: `old` / `known`."""
    whole, least = spread(known, zero), spread(known * FLOOR, zero)
    for k in range(_ZERO, width, n_lanes(zero)):
        gone = load(side.old, k, zero)
        weight = larger(whole * load(side.weights, (place, k), zero) - gone, least)
        store(side.factors, (m, k), weight / larger(whole * load(side.totals, k, zero) - gone, weight))


@inline
def _product(others, m, j, first, joint, zero):
    return spread(others[m, j], zero) * load(joint, (j, first), zero)


@inline
def _marginal(others, m, n_others, side, zero, width):
    """Fill `side.new` with what will be recalled of the marginal of s over the `others`; returns its sum."""
    sums, joint = zero, side.joint
    for first in range(_ZERO, width, n_lanes(zero)):
        a = b = c = d = zero
        for j in range(_ZERO, n_others, _FOUR):
            a = a + _product(others, m, j, first, joint, zero)
            b = b + _product(others, m, j + _ONE, first, joint, zero)
            if n_lanes(zero) == _HALF:
                c = c + _product(others, m, j + _TWO, first, joint, zero)
                d = d + _product(others, m, j + _THREE, first, joint, zero)
            else:
                a = a + _product(others, m, j + _TWO, first, joint, zero)
                b = b + _product(others, m, j + _THREE, first, joint, zero)
        kept = double(single(load(side.factors, (m, first), zero) * ((a + b) + (c + d))))
        store(side.new, first, kept)
        sums = sums + kept
    return total(sums)


@inline
def _scale(values, m, unit, zero, width):
    for k in range(_ZERO, width, n_lanes(zero)):
        store(values, (m, k), spread(unit, zero) * load(values, (m, k), zero))


@inline
def _add(by_row, by_column, width, counted):
    """Count s of a group of entries, each divided by the joint and multiplied by its unit, as `by_row` is."""
    for first in range(_ZERO, width, _HALF):
        a, b = load(by_column, (_ZERO, first), HALF), load(by_column, (_ONE, first), HALF)
        c, d = load(by_column, (_TWO, first), HALF), load(by_column, (_THREE, first), HALF)
        for k in range(np.uint64(counted.shape[0])):
            sums = load(counted, (k, first), HALF) + spread(by_row[_ZERO, k], HALF) * a
            sums = sums + spread(by_row[_ONE, k], HALF) * b + spread(by_row[_TWO, k], HALF) * c
            store(counted, (k, first), sums + spread(by_row[_THREE, k], HALF) * d)


@inline
def _move(unit, old_unit, i, place, side, zero, width, n_moved):
    """Remember a marginal, and move the counts from the old one, `old_unit` times `side.old`, to `unit` times
    `side.new`; returns `n_moved` and the tokens moved.

    What a vector writes beyond its row is overwritten with the next one; after the last row of all is room for it.
    """
    share, gone = spread(unit, zero), spread(old_unit, zero)
    for k in range(_ZERO, width, n_lanes(zero)):
        kept = load(side.new, k, zero)
        change = share * kept - gone * load(side.old, k, zero)
        store(side.weights, (place, k), load(side.weights, (place, k), zero) + change)
        store(side.totals, k, load(side.totals, k, zero) + change)
        store(side.shares, (i, k), single(kept))
        n_moved = n_moved + larger(change, zero - change)
    return n_moved


@inline
def _sweep_entries(
    zero_row, zero_column, row_width, column_width, n_rows,
    indptr, words, counts, ids, seed, given, pairs, rows, columns, counted, begun,
):  # fmt: skip
    n_columns = np.uint64(rows.joint.shape[0])
    in_rows, in_columns, m, last = zero_row, zero_column, _ZERO, np.uint64(words.shape[0] - 1)
    for d in range(np.uint64(ids.shape[0])):
        first, row_key = np.uint64(indptr[d]), key(seed, ids[d])
        for i in range(first, np.uint64(indptr[d + _ONE])):
            word, count, ahead = np.uint64(words[i]), np.float64(counts[i]), words[min(i + _AHEAD, last)]
            for k in range(_ZERO, column_width, _LINE):
                prefetch(columns.weights, ahead, k)
            of_row = _recall(i, rows, zero_row, row_width)
            of_column = _recall(i, columns, zero_column, column_width)
            if of_row > 0.0 or given:
                if not of_row > 0.0:
                    of_row = of_column = 1.0
                old_row, old_column = count / of_row, count / of_column
                _ratios(of_row, d, m, rows, zero_row, row_width)
                _ratios(of_column, word, m, columns, zero_column, column_width)
                column = count / _marginal(rows.factors, m, n_rows, columns, zero_column, column_width)
                row = count / _marginal(columns.factors, m, n_columns, rows, zero_row, row_width)
                _scale(rows.factors, m, row, zero_row, row_width)
                m += _ONE
                if m == _FOUR:
                    _add(rows.factors, columns.factors, column_width, counted)
                    m = _ZERO
            else:
                k, j = first_pair(uniform(row_key, i - first), begun.shape[0], begun.shape[1], pairs)
                row, column, old_row, old_column = count, count, 0.0, 0.0
                rows.new[:], columns.new[:] = 0.0, 0.0
                rows.new[k] = columns.new[j] = 1.0
                begun[k, j] += count
            in_rows = _move(row, old_row, i, d, rows, zero_row, row_width, in_rows)
            in_columns = _move(column, old_column, i, word, columns, zero_column, column_width, in_columns)
    rows.factors[m:] = 0.0
    _add(rows.factors, columns.factors, column_width, counted)
    return total(in_rows) + total(in_columns)


@uncounted
def _sweep(indptr, words, counts, ids, seed, given, pairs, rows, columns, counted, begun):
    half, whole = spread(0.0, HALF), spread(0.0, LANES)
    n, m = np.uint64(rows.totals.shape[0]), np.uint64(columns.totals.shape[0])
    n_rows = np.uint64(columns.joint.shape[0])
    if n == _HALF and m == _LANES:  # of a constant number, loops cost nothing
        return _sweep_entries(
            half, whole, _HALF, _LANES, _HALF,
            indptr, words, counts, ids, seed, given, pairs, rows, columns, counted, begun,
        )  # fmt: skip
    if n == _LANES and m == _LANES:
        return _sweep_entries(
            whole, whole, _LANES, _LANES, n_rows,
            indptr, words, counts, ids, seed, given, pairs, rows, columns, counted, begun,
        )  # fmt: skip
    return _sweep_entries(
        half, half, n, m, n_rows,
        indptr, words, counts, ids, seed, given, pairs, rows, columns, counted, begun,
    )  # fmt: skip


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
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
    joint = np.maximum(now.joint, FLOOR)
    rows, columns = (
        _side(frozen(earlier[name], np.float32), kept[name], weights, totals, of_others, least)
        for name, weights, totals, of_others, least in (
            ("row_shares", now.rows, now.row_totals, joint.T, HALF),
            ("column_shares", now.columns, now.column_totals, joint, LANES),
        )
    )
    counted, begun = buffers.zeros((n_row_topics, len(columns.totals)), np.float64), np.zeros(joint.shape)
    n_moved = _sweep(
        *csr(docs, np.dtype(np.float32)), *starts(docs, view, hyper, seed), rows, columns, counted, begun
    )
    stats = moved(now, view)
    stats["joint"][:] = 0.0
    stats["joint"][:, :n_column_topics] = begun + joint * counted[:, :n_column_topics]
    return KernelResult(stats, None, kept, {"moved_tokens": float(n_moved)})


def _side(
    earlier: np.ndarray,
    shares: np.ndarray,
    weights: np.ndarray,
    totals: np.ndarray,
    joint: np.ndarray,
    least: int,
) -> _Side:
    """`least` is the least width."""
    width = _whole(max(len(totals), least), HALF)
    others = buffers.zeros((_whole(max(len(joint), HALF), _CHAINS), width), np.float64)
    others[: len(joint), : len(totals)] = joint
    work = buffers.zeros((2 + _GROUP, width), np.float64)
    return _Side(earlier, shares, weights, padded(totals, width), others, work[0], work[1], work[2:])


def _whole(number: int, group: int) -> int:
    return -(-number // group) * group


KERNEL = Kernel(
    name="dual_mf",
    run=run,
    views=VIEWS,
    statistics=AXES,
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
