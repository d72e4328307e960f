"""A replica in compiled code: copy rows, make updates on them, turn them into changes, and add these to the params."""

import numpy as np
from numba import carray, njit

from bigtopic.kernels.support.entry import INNER, OUTER
from bigtopic.kernels.support.slice_loop import add_up, call, pointer
from bigtopic.kernels.support.vector import prefetch
from bigtopic.state._kernels import (
    AHEAD,
    FLOOR,
    LINE,
    PLACES,
    gather_linear,
    move_sums,
    scatter_part,
)

__all__ = [
    "COUNTS",
    "IDS",
    "INDPTR",
    "NOT_AT_ONCE",
    "N_COLUMNS",
    "N_DOCS",
    "N_ENTRIES",
    "N_IDS",
    "ROWS",
    "SEED",
    "WORDS",
    "scaled_rows",
    "scatter_rows",
    "to_changes",
    "update",
]

# Columns of the table of updates: the seed, addresses of the arrays of their documents, and their lengths
SEED, ROWS, INDPTR, WORDS, COUNTS, IDS, N_DOCS, N_ENTRIES, N_IDS, N_COLUMNS = range(10)

NOT_AT_ONCE = -1  # in place of the number of documents


@njit(**OUTER)
def scaled_rows(raw, ids, scale, out):
    """out[i, k] = raw[ids[i], k] * scale[k]."""
    n_columns, last = raw.shape[1], len(ids) - 1
    for i in range(len(ids)):
        for k in range(0, n_columns, LINE // raw.itemsize):
            prefetch(raw, ids[min(i + AHEAD, last)], k)
        source, target = raw[ids[i]], out[i]
        for k in range(n_columns):
            target[k] = source[k] * scale[k]


@njit(**OUTER)
def to_changes(rows, raw, ids, scale, decay):
    """rows[i, k] <- (rows[i, k] - raw[ids[i], k] * scale[k]) * decay[k]."""
    n_columns, last = raw.shape[1], len(ids) - 1
    for i in range(len(ids)):
        for k in range(0, n_columns, LINE // raw.itemsize):
            prefetch(raw, ids[min(i + AHEAD, last)], k)
        source, target = raw[ids[i]], rows[i]
        for k in range(n_columns):
            target[k] = (target[k] - source[k] * scale[k]) * decay[k]


@njit(**OUTER)
def scatter_rows(raw, ids, values, factor):
    """raw[ids[i], k] += values[i, k] * factor[k] for the columns of `values`; rounding does not depend on how many."""
    n_columns, last = values.shape[1], len(ids) - 1
    for i in range(len(ids)):
        for k in range(0, n_columns, LINE // raw.itemsize):
            prefetch(raw, ids[min(i + AHEAD, last)], k)
        source, target = values[i], raw[ids[i]]
        for k in range(n_columns):
            target[k] += source[k] * factor[k]


@njit(**OUTER)
def update(
    infer, table, weights, decays, raw, scale, sums, prior, prior_totals, limits, doc_prior, options,
    rows, stats, scratch, figures,
):  # fmt: skip
    """Make updates one after the other: of each, gather rows, infer documents, and add what follows to the params.

    Parameters
    ----------
    infer : address of the kernel's loop, see `kernels.support.slice_loop`
    table : a row for each update, see `INDPTR` and the others
    weights, decays : of their steps
    raw, scale, sums : of the array, which moves
    prior : of its rows, (1 or n_components,); prior_totals : (n_components,), over its axis
    limits : the least scale, the least and the largest sum, and the largest weight that an update may have here
    doc_prior, options : of the kernel
    rows, stats, scratch : memory for a slice
    figures : of the kernel, for each update

    Returns
    -------
    int
        How many updates were made. `LazyArray.add` must make or refuse the next one, which has changed nothing.
    """
    n_columns, n_components = raw.shape[1], len(prior_totals)
    linear = np.zeros((3, n_columns), raw.dtype)  # factor, offset and floor, see `state.lazy_array.Linear`
    linear[2, :n_components] = FLOOR
    added, factors = np.empty((1, n_columns)), np.empty((1, n_columns), raw.dtype)
    new_scale, new_sums = np.empty(n_columns), np.empty(n_columns)
    places = np.empty(PLACES, np.int64)
    for u in range(len(table)):
        row, weight, decay = table[u], weights[u : u + 1], decays[u : u + 1]
        if row[N_DOCS] == NOT_AT_ONCE or not (abs(weight[0]) < limits[3] and 0.0 < decay[0] <= 1.0):
            return u
        n_entries, n_ids = row[N_ENTRIES], row[N_IDS]
        ids, found = carray(pointer(row[IDS]), n_ids, np.int32), stats[:n_ids]
        _linear_mean(scale, sums, prior, prior_totals, linear)
        gather_linear(raw, linear[0], linear[1], linear[2], ids, rows[:n_ids])
        arguments = (
            row[SEED], carray(pointer(row[ROWS]), row[N_DOCS], np.int64),
            carray(pointer(row[INDPTR]), row[N_DOCS] + 1, np.int64),
            carray(pointer(row[WORDS]), n_entries, np.int32), carray(pointer(row[COUNTS]), n_entries, np.float32),
            rows[:n_ids], doc_prior, options, scratch, found, figures[u],
        )  # fmt: skip
        call(infer, arguments)
        added[0, :] = 0.0
        add_up(found, added[0])
        new_scale[:], new_sums[:] = scale, sums
        if not move_sums(new_scale, new_sums, added, weight, decay, factors, limits[0], limits[1], limits[2]):
            return u
        scale[:], sums[:] = new_scale, new_sums
        scatter_part(raw, ids, found, factors[0], 0, 1, places)
    return len(table)


@njit(**INNER)
def _linear_mean(scale, sums, prior, prior_totals, linear):
    """The factor and the offset of `state.views.linear_mean`."""
    for k in range(len(prior_totals)):
        inverse = 1.0 / max(sums[k] + prior_totals[k], 1e-30)
        linear[0, k] = scale[k] * inverse
        linear[1, k] = prior[min(k, len(prior) - 1)] * inverse
