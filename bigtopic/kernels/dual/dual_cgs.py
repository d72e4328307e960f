"""Collapsed Gibbs sampling of the dual topic model, and its replicated form.

Each record, a token of column c in row d, has R labels, each a pair of a row topic k and a column topic j and worth 1/R
of it. In its turn all of them are removed at once, and R are drawn from one conditional:

    p_kj  prop. to  (beta_r + D_dk) / (n_rows beta_r + P_k.) (beta_c + W_cj) / (n_columns beta_c + P_.j) (alpha + P_kj)

D, W and P count the records of a row topic in a row, of a column topic in a column, and of a pair; P_k. and P_.j are
marginals of P. R = 1 is collapsed Gibbs sampling; as R grows, it comes to be the kernel `dual_ilr`. The rows of a slice
see each other's newest labels, and the labels of other slices as they were when the params were read. A record without
a label, of a row that is new, gets a pair at random, one of row topic t and column topic t, or of a given joint
distribution; where the run began with given topics, one drawn from p_kj. Statistics: by how much the labels have
changed the counts.

Taken out of a sum, a lone record leaves nothing of a tiny prior. So beta_r + D_dk and beta_c + W_cj are at least 1e-10,
and what they are divided by is at least as large.

How it is computed: with b_j the middle factor, sum_j b_j (alpha + P_kj) is found for all k together, a vector for each
j; a draw finds the row topic first, among running sums, and then the column topic among the sums of its pairs, for
which P is kept with the row topics first, too. Up to 16 topics are one vector, which stays in registers.

Cost of a record: row topics x column topics, a multiply-add each. 4 bytes per label on disk, twice.

Reference: Rugeles et al., "Infinite latent state replication", equations 4.5 and 5.9.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bigtopic.kernels.support.draw import n_reached, running
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
from bigtopic.kernels.support.entry import (
    State,
    frozen,
    inline,
    outer,
    uncounted,
    whole_number,
)
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.tokens import whole_counts
from bigtopic.kernels.support.vector import HALF, LANES, larger, load, n_lanes, prefetch, spread, store
from bigtopic.support import buffers
from bigtopic.types import Docs, Hyper, Kernel, KernelResult, StateSpec, View

__all__ = ["KERNEL", "run"]

_CHAINS = 4  # sums over column topics that are added up side by side
_AHEAD, _LINE = np.uint64(2), np.uint64(8)  # entries, and numbers in a cache line
_ZERO, _ONE, _TWO, _THREE, _FOUR = (np.uint64(n) for n in range(5))
_HALF, _LANES, _LANE = np.uint64(HALF), np.uint64(LANES), np.uint64(HALF - 1)

# Indices are unsigned: nothing is then done for those that count from the end. What has a number for each topic is
# padded to whole vectors of HALF, of column topics at least one of LANES: with zeros, and totals with infinity. `zero`
# is a vector, as long as the vectors of a loop.


class _Room(NamedTuple):
    """What a sweep changes, and works with: float64.

    Attributes
    ----------
    rows, columns : (n_docs, n_columns), (n_words, n_columns)
    row_totals, column_totals : (width of row topics,), (width of column topics,)
    joint : (n_row_topics, width of column topics), alpha + P
    transposed : (column topics in groups of _CHAINS, width of row topics), the same
    by_row, by_column : the factor of each row topic, and b
    row_sums, column_sums : HALF numbers, of which the last is zero, and the running sums of row topics, and of the
        column topics of a row topic
    one_hot : (HALF * HALF,)
    """

    rows: np.ndarray
    columns: np.ndarray
    row_totals: np.ndarray
    column_totals: np.ndarray
    joint: np.ndarray
    transposed: np.ndarray
    by_row: np.ndarray
    by_column: np.ndarray
    row_sums: np.ndarray
    column_sums: np.ndarray
    one_hot: np.ndarray


@inline
def _add(values, place, change, hot):
    """Add to one number. The next record loads the vector that it is in while it is still on its way to the cache."""
    store(values, place, load(values, place, HALF) + spread(change, HALF) * hot)


@inline
def _count(label, share, of_row, of_column, d, word, room):
    k, j = of_row[np.uint64(label)], of_column[np.uint64(label)]
    hot, first = load(room.one_hot, (k & _LANE) * _HALF, HALF), k & ~_LANE
    _add(room.rows, (d, first), share, hot)
    _add(room.row_totals, first, share, hot)
    _add(room.transposed, (j, first), share, hot)
    hot, first = load(room.one_hot, (j & _LANE) * _HALF, HALF), j & ~_LANE
    _add(room.columns, (word, first), share, hot)
    _add(room.column_totals, first, share, hot)
    _add(room.joint, (k, first), share, hot)


@inline
def _product(j, first, room, zero):
    return spread(room.by_column[j], zero) * load(room.transposed, (j, first), zero)


@inline
def _ratio(weights, place, totals, first, zero):
    """Weights divided by their totals; see the module for how small they may be."""
    weight = larger(load(weights, (place, first), zero), spread(FLOOR, zero))
    return weight / larger(load(totals, first, zero), weight)


@inline
def _weigh(d, word, zero_row, zero_column, row_width, column_width, room):
    """Fill b_j, the factor of each row topic, and the sums of p_kj over j and all row topics up to k."""
    for first in range(_ZERO, column_width, n_lanes(zero_column)):
        store(room.by_column, first, _ratio(room.columns, word, room.column_totals, first, zero_column))
    before = 0.0
    for first in range(_ZERO, row_width, n_lanes(zero_row)):
        a = b = c = e = zero_row
        factor = _ratio(room.rows, d, room.row_totals, first, zero_row)
        for j in range(_ZERO, np.uint64(room.transposed.shape[0]), _FOUR):
            a, b = a + _product(j, first, room, zero_row), b + _product(j + _ONE, first, room, zero_row)
            c, e = (
                c + _product(j + _TWO, first, room, zero_row),
                e + _product(j + _THREE, first, room, zero_row),
            )
        store(room.by_row, first, factor)
        before = _sum_up(factor * ((a + b) + (c + e)), before, first, room.row_sums)


@inline
def _sum_up(vector, before, first, sums):
    """Running sums of a vector and the sum of those `before` it; returns the last."""
    store(sums, _HALF + first, running(vector) + spread(before, vector))
    return sums[_LANE + first + n_lanes(vector)]


@inline
def _reached(rest, sums, n, zero, width):
    """The first of n topics whose running sum exceeds `rest`; rounding may leave the last."""
    k = _ZERO
    for first in range(_ZERO, width, n_lanes(zero)):
        k += np.uint64(n_reached(load(sums, _HALF + first, zero), rest))
    return min(k, n - _ONE)


@inline
def _pick(u, n_row_topics, n_column_topics, zero_row, zero_column, row_width, column_width, room):
    """The label at which the sums of p_kj exceed u times all of them."""
    rest = u * room.row_sums[_LANE + row_width]
    k = _reached(rest, room.row_sums, n_row_topics, zero_row, row_width)
    rest -= room.row_sums[_LANE + k]
    before, factor = 0.0, spread(room.by_row[k], zero_column)
    for first in range(_ZERO, column_width, n_lanes(zero_column)):
        weight = factor * load(room.by_column, first, zero_column)
        before = _sum_up(weight * load(room.joint, (k, first), zero_column), before, first, room.column_sums)
    j = _reached(rest, room.column_sums, n_column_topics, zero_column, column_width)
    return k * n_column_topics + j


@inline
def _sweep_records(
    n_replicas, zero_row, zero_column, row_width, column_width,
    indptr, words, counts, ids, n_row_topics, n_column_topics, seed, given, pairs, labels, of_row, of_column, room,
):  # fmt: skip
    token, last = _ZERO, np.uint64(words.shape[0] - 1)
    share = 1.0 / n_replicas
    for d in range(np.uint64(ids.shape[0])):
        row_key, draw = key(seed, ids[d]), 0
        for i in range(np.uint64(indptr[d]), np.uint64(indptr[d + _ONE])):
            word, ahead = np.uint64(words[i]), words[min(i + _AHEAD, last)]
            for k in range(_ZERO, column_width, _LINE):
                prefetch(room.columns, ahead, k)
            for _ in range(counts[i]):
                new = labels[token, 0] < 0
                at_random = new and not given
                if not new:
                    for r in range(n_replicas):
                        _count(labels[token, r], -share, of_row, of_column, d, word, room)
                if not at_random:
                    _weigh(d, word, zero_row, zero_column, row_width, column_width, room)
                for r in range(n_replicas):
                    u = uniform(row_key, draw)
                    if at_random:
                        k, j = first_pair(u, n_row_topics, n_column_topics, pairs)
                        labels[token, r] = k * n_column_topics + j
                    else:
                        labels[token, r] = _pick(
                            u, np.uint64(n_row_topics), np.uint64(n_column_topics), zero_row, zero_column,
                            row_width, column_width, room,
                        )  # fmt: skip
                    draw += 1
                for r in range(n_replicas):
                    _count(labels[token, r], share, of_row, of_column, d, word, room)
                token += _ONE


@outer
def _round(change, n_replicas):
    """Equivalent to `change[:] = np.rint(change * n_replicas) / n_replicas`."""
    for i in range(change.shape[0]):
        for k in range(change.shape[1]):
            change[i, k] = np.rint(change[i, k] * n_replicas) / n_replicas


@uncounted
def _sweep(
    indptr, words, counts, ids, n_row_topics, n_column_topics, seed, given, pairs, labels, of_row, of_column, room
):  # fmt: skip
    half, whole, n_replicas = spread(0.0, HALF), spread(0.0, LANES), labels.shape[1]
    n, m = np.uint64(room.row_totals.shape[0]), np.uint64(room.column_totals.shape[0])
    # of constant numbers, loops over vectors and labels cost nothing
    if n_replicas == 1 and n == _HALF and m == _LANES:
        _sweep_records(
            1, half, whole, _HALF, _LANES,
            indptr, words, counts, ids, n_row_topics, n_column_topics, seed, given, pairs, labels, of_row, of_column,
            room,
        )  # fmt: skip
    elif n_replicas == 1 and n == _LANES and m == _LANES:
        _sweep_records(
            1, whole, whole, _LANES, _LANES,
            indptr, words, counts, ids, n_row_topics, n_column_topics, seed, given, pairs, labels, of_row, of_column,
            room,
        )  # fmt: skip
    else:
        _sweep_records(
            n_replicas, half, half, n, m,
            indptr, words, counts, ids, n_row_topics, n_column_topics, seed, given, pairs, labels, of_row, of_column,
            room,
        )  # fmt: skip


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Draw the labels of these rows' records once more, or for the first time; see the module.

    Parameters
    ----------
    docs : rows as documents, columns as words; counts are whole numbers
    view : "row_topics" (n_docs, n_columns), "column_topics" (n_words, n_columns) and "joint" (n_row_topics, n_columns)
        as "counts", prior included, with their totals; the labels in `state` are among them
    hyper : for its options see `KERNEL`
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
    n_replicas, counts = whole_number(hyper.options, "replicas", 1), whole_counts(docs)
    now = counts_of(view, hyper)
    labels = (
        np.full((int(counts.sum()), n_replicas), -1, np.int32) if state is None else state["labels"].copy()
    )
    n_row_topics, n_column_topics = now.joint.shape
    row_width, column_width = (-(-n // HALF) * HALF for n in (n_row_topics, max(n_column_topics, LANES)))
    transposed = buffers.zeros((-(-n_column_topics // _CHAINS) * _CHAINS, row_width), np.float64)
    transposed[:n_column_topics, :n_row_topics] = now.joint.T
    joint = buffers.zeros((n_row_topics, column_width), np.float64)
    joint[:, :n_column_topics] = now.joint
    one_hot = buffers.empty(HALF * HALF, np.float64)
    one_hot[:] = np.eye(HALF).reshape(-1)
    widths = row_width, column_width, HALF + row_width, HALF + column_width
    by_row, by_column, row_sums, column_sums = (buffers.zeros(width, np.float64) for width in widths)
    row_totals, column_totals = padded(now.row_totals, row_width), padded(now.column_totals, column_width)
    room = _Room(
        now.rows, now.columns, row_totals, column_totals, joint, transposed, by_row, by_column, row_sums, column_sums,
        one_hot,
    )  # fmt: skip
    ids, *begun = starts(docs, view, hyper, seed)
    _sweep(
        frozen(docs.indptr, np.int64), frozen(docs.words, np.int32), frozen(counts, np.int64), ids,
        n_row_topics, n_column_topics, *begun, labels,
        *np.divmod(np.arange(now.joint.size, dtype=np.uint64), np.uint64(n_column_topics)), room,
    )  # fmt: skip
    now.joint[:] = joint[:, :n_column_topics]
    stats = moved(now, view)
    for change in stats.values():  # whole labels: what is left over is rounding
        _round(change, n_replicas)
    return KernelResult(stats, None, {"labels": labels}, {})


KERNEL = Kernel(
    name="dual_cgs",
    run=run,
    views=VIEWS,
    statistics=AXES,
    options={"replicas": 1},
    meanings={
        "replicas": "labels of each record, from 1, each of which counts as much less; in the literature R",
    },
    scratch=records_scratch,
    interacts=True,
    state="run",
    remembers={"labels": StateSpec("token", "int32", ("replicas",), missing=-1)},
    dtype="float64",
    changes=tuple(AXES),
    paper="Rugeles et al., infinite latent state replication",
)
