"""Compiled loops over statistics: the sum of two, and the change of topics."""

from numba import njit

__all__ = ["add_rows", "join_ids", "topic_change"]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def join_ids(ids_a, ids_b, lookup, ids, places):
    """The ids of a, then those only in b, and the place of each in b, or -1. Returns their number.

    `lookup` covers the ids and holds -1 everywhere, before and after.
    """
    n = len(ids_a)
    for i in range(n):
        lookup[ids_a[i]] = i
        ids[i], places[i] = ids_a[i], -1
    for j in range(len(ids_b)):
        i = lookup[ids_b[j]]
        if i < 0:
            i, n = n, n + 1
            ids[i] = ids_b[j]
        places[i] = j
    for i in range(len(ids_a)):
        lookup[ids_a[i]] = -1
    return n


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def add_rows(a, b, places, start, stop, out):
    """out[i] = a[i] + b[places[i]] for rows start:stop; a row beyond the end of a, or without a place in b, adds 0."""
    n_columns = out.shape[1]
    for i in range(start, stop):
        target, j = out[i], places[i]
        if i >= len(a):
            for k in range(n_columns):
                target[k] = b[j, k]
        elif j < 0:
            for k in range(n_columns):
                target[k] = a[i, k]
        else:
            for k in range(n_columns):
                target[k] = a[i, k] + b[j, k]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def topic_change(before, now, change):
    """change[k] += sum_i |before[i, k] - now[i, k]|: distance of probability rows, by topic."""
    for i in range(before.shape[0]):
        for k in range(before.shape[1]):
            change[k] += abs(before[i, k] - now[i, k])
