"""What the collapsed kernels with responsibilities share."""

from __future__ import annotations

from numba import njit

from bigtopic.kernels.support.entry import INNER, OUTER
from bigtopic.kernels.support.random import key, uniform

__all__ = ["begin", "stay"]


@njit(**OUTER)
def begin(indptr, words, counts, rows, seed, n_components, scale, shares, totals, change):
    """All of each entry to a topic at random: `scale` in `shares`, its count in `totals` and `change`."""
    for d in range(rows.shape[0]):
        row_key = key(seed, rows[d])
        for i in range(indptr[d], indptr[d + 1]):
            k = min(int(uniform(row_key, i - indptr[d]) * n_components), n_components - 1)
            shares[i, k] = scale
            totals[k] += counts[i]
            change[words[i], k] += counts[i]


@njit(**INNER)
def stay(old, known, fresh, n_components):
    """An entry whose weights are too small or too large for a number keeps its share, or begins evenly.

    `fresh` becomes `old`, or ones where the entry is not `known` yet; returns the sum.
    """
    whole = fresh.dtype.type(0)
    for k in range(n_components):
        fresh[k] = old[k] if known else 1
        whole += fresh[k]
    return whole
