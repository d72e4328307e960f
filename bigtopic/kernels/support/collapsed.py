"""What the collapsed kernels with responsibilities share."""

from __future__ import annotations

from bigtopic.kernels.support.entry import inline, inner, outer
from bigtopic.kernels.support.random import key, uniform
from bigtopic.kernels.support.vector import LANES, double, load, load_part, prefetch, store, store_part

__all__ = ["ask", "begin", "keep", "remembered", "stay"]

_LINE = 8  # numbers in a cache line


@outer
def begin(indptr, words, counts, rows, seed, n_components, scale, shares, totals, change):
    """All of each entry to a topic at random: `scale` in `shares`, its count in `totals` and `change`."""
    for d in range(rows.shape[0]):
        row_key = key(seed, rows[d])
        for i in range(indptr[d], indptr[d + 1]):
            k = min(int(uniform(row_key, i - indptr[d]) * n_components), n_components - 1)
            shares[i, k] = scale
            totals[k] += counts[i]
            change[words[i], k] += counts[i]


@inner
def stay(old, known, fresh, n_components):
    """An entry whose weights are too small or too large for a number keeps its share, or begins evenly.

    `fresh` becomes `old`, or ones where the entry is not `known` yet; returns the sum.
    """
    whole = fresh.dtype.type(0)
    for k in range(n_components):
        fresh[k] = old[k] if known else 1
        whole += fresh[k]
    return whole


@inline
def ask(table, row, k):
    """For LANES columns of a row of float64, ahead of its turn."""
    for line in range(0, LANES, _LINE):
        prefetch(table, row, k + line)


@inline
def remembered(row, k, n):
    """The remembered shares of an entry from topic k on, LANES numbers; zeros beyond the last of n topics."""
    return double(load(row, k) if k + LANES <= n else load_part(row, k, n - k))


@inline
def keep(row, k, n, numbers):
    """Remember LANES numbers from topic k on, as far as there are topics."""
    if k + LANES <= n:
        store(row, k, numbers)
    else:
        store_part(row, k, n - k, numbers)
