"""Compiled loops over sparse rows: lists of columns, ascending, and their values, in one pool.

Row i is `columns[starts[i] : starts[i] + lengths[i]]` with `values` likewise; it has room for `rooms[i]`.
"""

import numpy as np
from numba import njit

__all__ = [
    "add_rows",
    "column_sums",
    "compact",
    "copy_from",
    "copy_rows",
    "extremes",
    "fill_rows",
    "first_out_of_order",
    "fold_rows",
]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def add_rows(
    first, ids, indptr, new_columns, new_values, factor, least,
    starts, lengths, rooms, columns, values, end, row_columns, row_values, lost,
):  # fmt: skip
    """values[ids[i], k] += new_values[i, k] * factor[k] for the rows from `first` on, which are written anew, without
    what is below `least[k]`; that is added to `lost`.

    `end` (1,), where the pool ends, is brought up to date here: a signal may come before a caller would have done so.

    Returns
    -------
    the row of `new_values` for which the pool has no room
    """
    for i in range(first, len(ids)):
        row, stop = ids[i], indptr[i + 1]
        at, last = starts[row], starts[row] + lengths[row]
        most = min(lengths[row] + stop - indptr[i], len(row_columns))
        if most > rooms[row] and end[0] + most + most // 4 > len(columns):
            return i
        n = 0
        for j in range(indptr[i], stop + 1):
            k = new_columns[j] if j < stop else row_columns.shape[0]
            while at < last and columns[at] < k:
                row_columns[n], row_values[n] = columns[at], values[at]
                if values[at] >= least[columns[at]]:
                    n += 1
                else:
                    lost[columns[at]] += values[at]
                at += 1
            if j == stop:
                break
            value = new_values[j] * factor[k]
            if at < last and columns[at] == k:
                value += values[at]
                at += 1
            if value >= least[k]:
                row_columns[n], row_values[n] = k, value
                n += 1
            else:
                lost[k] += value
        if n > rooms[row]:
            starts[row], rooms[row] = end[0], min(n + n // 4, len(row_columns))
            end[0] += rooms[row]
        columns[starts[row] : starts[row] + n] = row_columns[:n]
        values[starts[row] : starts[row] + n] = row_values[:n]
        lengths[row] = n
    return len(ids)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def compact(order, starts, lengths, rooms, columns, values):
    """Move the rows, in the order of their starts, to the beginning of the pool; returns where the last room ends."""
    end = 0
    for row in order:
        start = starts[row]
        for t in range(lengths[row]):
            columns[end + t], values[end + t] = columns[start + t], values[start + t]
        starts[row] = end
        rooms[row] = min(rooms[row], lengths[row] + lengths[row] // 4)
        end += rooms[row]
    return end


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def copy_rows(ids, starts, lengths, columns, values, out_columns, out_values):
    """The lists of the rows, one after another."""
    n = 0
    for row in ids:
        for t in range(starts[row], starts[row] + lengths[row]):
            out_columns[n], out_values[n] = columns[t], values[t]
            n += 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def fill_rows(ids, starts, lengths, columns, values, factor, offset, floor, out):
    """out[i, k] = max(row[k] * factor[k] + offset[k], floor[k])."""
    for i in range(len(ids)):
        start, target = starts[ids[i]], out[i]
        for k in range(out.shape[1]):
            target[k] = max(offset[k], floor[k])
        for t in range(start, start + lengths[ids[i]]):
            k = columns[t]
            target[k] = max(values[t] * factor[k] + offset[k], floor[k])


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def fold_rows(starts, lengths, columns, values, scale, sums):
    """Multiply the values by `scale[k]`, adding them up by column."""
    for row in range(len(starts)):
        for t in range(starts[row], starts[row] + lengths[row]):
            k = columns[t]
            values[t] *= scale[k]
            sums[k] += values[t]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def column_sums(starts, lengths, columns, values, sums):
    """sums[k] += the values of column k, in float64."""
    for row in range(len(starts)):
        for t in range(starts[row], starts[row] + lengths[row]):
            sums[columns[t]] += values[t]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def copy_from(row, before, first, starts, lengths, pool, out):
    """out <- what the pool has of the rows, one after another, from number `first` on; `before` precede `row`."""
    n = 0
    while n < len(out):
        start, stop = starts[row] + max(first - before, 0), starts[row] + lengths[row]
        for t in range(start, min(stop, start + len(out) - n)):
            out[n] = pool[t]
            n += 1
        before += lengths[row]
        row += 1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def first_out_of_order(starts, lengths, columns, n_components):
    """The first row whose columns do not ascend from 0 to below `n_components`; -1 if there is none."""
    for row in range(len(starts)):
        last = -1
        for t in range(starts[row], starts[row] + lengths[row]):
            if columns[t] <= last or columns[t] >= n_components:
                return row
            last = columns[t]
    return -1


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def extremes(starts, lengths, values):
    """The least and the largest value, both NaN if one is; 0 where there are none."""
    least, most, n = np.inf, -np.inf, 0
    for row in range(len(starts)):
        for t in range(starts[row], starts[row] + lengths[row]):
            if np.isnan(values[t]):
                return np.nan, np.nan
            least, most = min(least, values[t]), max(most, values[t])
        n += lengths[row]
    return (least, most) if n > 0 else (0.0, 0.0)
