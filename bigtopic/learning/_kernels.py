"""Compiled loops over statistics: the merge of two, the change of topics."""

from numba import njit

__all__ = ["merge_rows", "topic_change"]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def merge_rows(ids_a, a, ids_b, b, lookup, out_ids, out):
    """Add two sets of rows; the result has the rows of a, then those only in b. Returns the number of rows."""
    n_columns = a.shape[1]
    n = len(ids_a)
    for i in range(n):
        lookup[ids_a[i]] = i
        out_ids[i] = ids_a[i]
        target, source = out[i], a[i]
        for k in range(n_columns):
            target[k] = source[k]
    for j in range(len(ids_b)):
        source = b[j]
        i = lookup[ids_b[j]]
        if i >= 0:
            target = out[i]
            for k in range(n_columns):
                target[k] += source[k]
        else:
            target = out[n]
            for k in range(n_columns):
                target[k] = source[k]
            out_ids[n] = ids_b[j]
            n += 1
    for i in range(len(ids_a)):
        lookup[ids_a[i]] = -1
    return n


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def topic_change(before, now, change):
    """change[k] += sum_i |before[i, k] - now[i, k]|: distance of probability rows, by topic."""
    for i in range(before.shape[0]):
        for k in range(before.shape[1]):
            change[k] += abs(before[i, k] - now[i, k])
