"""Compiled loops over the params: gather of views, scatter of statistics, the topics' part of the bound.

Memory-bound loops over rows of `n_columns` values (components padded to a multiple of 16); none of them costs more
than the rows it is given.
"""

import numpy as np
from numba import njit

from bigtopic.kernels.support.math import digamma, exp_digamma, lgamma
from bigtopic.kernels.support.vector import prefetch

__all__ = [
    "axis_bound",
    "clear_columns",
    "column_sums",
    "decay_rows",
    "expected_log_rows",
    "fold_scale",
    "gather_linear",
    "gather_with_priors",
    "move_sums",
    "scatter_add",
    "scatter_part",
]

FLOOR = 1e-12
LINE = 64  # bytes of a cache line
AHEAD = 6  # rows
PLACES = 8192  # rows that `scatter_part` looks through at once: 64 KB
TINY_WEIGHT = np.float32(0.25)
TINIEST_WEIGHT = np.float32(1e-30)
FARTHEST = 45.0  # totals: exp(-45) of a weight of 0.25 is far above the least exp_digamma


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def gather_linear(raw, factor, offset, floor, ids, out):
    """out[i, k] = max(raw[ids[i], k] * factor[k] + offset[k], floor[k]), in the precision of `out`."""
    n_columns = out.shape[1] // 16 * 16
    last = len(ids) - 1
    for i in range(len(ids)):
        for k in range(0, n_columns, LINE // raw.itemsize):
            prefetch(raw, ids[min(i + AHEAD, last)], k)
        source, target = raw[ids[i]], out[i]
        for k in range(n_columns):
            target[k] = max(source[k] * factor[k] + offset[k], floor[k])


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def gather_with_priors(raw, factor, prior, prior_factor, floor, n_components, ids, out):
    """The same where each row has its own prior, (n_rows, 1 or n_components): offset = prior * prior_factor."""
    for i in range(len(ids)):
        row = ids[i]
        for k in range(out.shape[1]):
            offset = prior[row, min(k, prior.shape[1] - 1)] * prior_factor[k] if k < n_components else 0.0
            out[i, k] = max(raw[row, k] * factor[k] + offset, floor[k])


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def expected_log_rows(rows, log_total, inverse, n_components, shift):
    """rows[i, k] <- exp(psi(rows[i, k]) - log_total[k] - shift[i]); shift[i] is the row's largest exponent.

    Without logarithms, and not below 4e-30, where the row's largest weight is not tiny and totals are not far apart.
    `inverse` is exp(-(log_total - its minimum)), zero in the padding, where rows are zero.
    """
    n_columns = rows.shape[1] // 16 * 16
    base = log_total.min()
    far = log_total.max() - base > FARTHEST
    for i in range(len(rows)):
        row = rows[i]
        most = row[0]
        for k in range(n_columns):
            most = max(most, row[k])
        if far or most < TINY_WEIGHT:
            shift[i] = _expected_log_in_logs(row, log_total, n_components)
            continue
        for k in range(n_columns):  # not with the maximum: that loop would not be vectorised
            row[k] = exp_digamma(max(row[k], TINIEST_WEIGHT)) * inverse[k]
        top = rows.dtype.type(0)
        for k in range(n_columns):
            top = max(top, row[k])
        shift[i] = np.log(top) - base
        share = rows.dtype.type(1) / top
        for k in range(n_columns):
            row[k] *= share


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def _expected_log_in_logs(row, log_total, n_components):
    exponents = np.empty(n_components)
    for k in range(n_components):
        exponents[k] = digamma(np.float64(row[k])) - log_total[k]
    top = exponents.max()
    for k in range(n_components):
        row[k] = np.exp(exponents[k] - top)
    return top


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def scatter_add(raw, ids, values, factor, sums):
    """raw[ids[i], k] += values[i, k] * factor[k]; sums[i // 16, k] = sum of values[i, k] over sixteen rows.

    ids are distinct.
    """
    n_columns = values.shape[1] // 16 * 16
    last = len(ids) - 1
    for first in range(0, len(ids), 16):
        part = sums[first // 16]
        part[:] = 0
        for i in range(first, min(first + 16, len(ids))):
            for k in range(0, n_columns, LINE // raw.itemsize):
                prefetch(raw, ids[min(i + AHEAD, last)], k)
            target, source = raw[ids[i]], values[i]
            for k in range(n_columns):
                target[k] += source[k] * factor[k]
                part[k] += source[k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=True)
def scatter_part(raw, ids, values, factor, part, n_parts, places):
    """raw[ids[i]] += values[i] * factor in the rows that equal `part` modulo `n_parts`, a power of two.

    ids are distinct; `places` is scratch memory, int64 (at most PLACES,). Allocates nothing: without memory for it, a
    part would be lost, and with it the params.
    """
    n_columns = values.shape[1] // 16 * 16
    for first in range(0, len(ids), len(places)):
        n = 0
        for i in range(first, min(first + len(places), len(ids))):
            places[n] = i
            n += ids[i] & (n_parts - 1) == part
        for j in range(n):
            ahead = places[min(j + AHEAD, n - 1)]
            for k in range(0, n_columns, LINE // raw.itemsize):
                prefetch(raw, ids[ahead], k)
                if n_parts > 1:  # the next row of `values` is found without being asked for
                    prefetch(values, ahead, k)
            target, source = raw[ids[places[j]]], values[places[j]]
            for k in range(n_columns):
                target[k] += source[k] * factor[k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def move_sums(scale, sums, added, weights, decays, factors, least_scale, least, most):
    """scale *= decays[i] and sums = sums * decays[i] + added[i] * weights[i] for each i in order; factors[i] becomes
    the factor of the rows to be added.

    Returns whether all scales are at least `least_scale`, and all sums from `least` to `most`; it stops at others.
    """
    for i in range(len(added)):
        for k in range(len(scale)):
            sums[k] = decays[i] * sums[k] + weights[i] * added[i, k]
            scale[k] = decays[i] * scale[k]
            factors[i, k] = weights[i] / scale[k]
            if not (scale[k] >= least_scale and least <= sums[k] <= most):
                return False
    return True


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def decay_rows(raw, ids, decay, lost):
    """raw[ids[i]] *= decay[i], adding the loss up by column in float64."""
    for i in range(len(ids)):
        row, gone = raw[ids[i]], 1.0 - decay[i]
        for k in range(row.shape[0]):
            value = np.float64(row[k])
            lost[k] += gone * value
            row[k] = value * decay[i]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def fold_scale(raw, scale, start, stop, sums):
    """raw[start:stop] *= scale, adding the new values up by column in float64."""
    for i in range(start, stop):
        row = raw[i]
        for k in range(raw.shape[1]):
            row[k] *= scale[k]
            sums[k] += row[k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def clear_columns(raw, clear):
    """raw[:, k] = 0 where clear[k]."""
    for i in range(raw.shape[0]):
        for k in range(raw.shape[1]):
            if clear[k]:
                raw[i, k] = 0.0


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def column_sums(values, sums):
    """sums[k] += sum_i values[i, k], in float64."""
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            sums[k] += values[i, k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def axis_bound(raw, scale, prior, log_total, start, stop, n_components):
    """sum over rows start:stop of (eta - w) E[log beta] + lgamma(w) - lgamma(eta): the topics' part of the bound."""
    total = 0.0
    for i in range(start, stop):
        p = i if prior.shape[0] > 1 else 0
        for k in range(n_components):
            eta = prior[p, k if prior.shape[1] > 1 else 0]
            weight = raw[i, k] * scale[k] + eta
            total += (eta - weight) * (digamma(weight) - log_total[k]) + lgamma(weight)
            if eta > 0:
                total -= lgamma(eta)
    return total
