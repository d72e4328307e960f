"""Random numbers that are functions of (seed, row, draw): no state, so no order of work can change them.

`key` makes a key of (seed, row), from which `bits` and `uniform` (of `bigtopic._kernels`) make the draws.
`fill_uniform` is for NumPy callers, everything else is for compiled loops.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic._kernels import GOLDEN, bits, mix, uniform

__all__ = ["bits", "fill_uniform", "key", "uniform"]


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def key(seed, row):
    """The key (uint64) of one row, for integers `seed` and `row`."""
    return mix(mix(np.uint64(seed) + GOLDEN) + (np.uint64(row) + np.uint64(1)) * GOLDEN)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def fill_uniform(out, seed, rows, low, high):
    """`out[i, j]` <- Uniform(low, high), keyed by (seed, rows[i], j). `rows` int64 (n,), `out` (n, m)."""
    for i in range(out.shape[0]):
        row_key = key(seed, rows[i])
        for j in range(out.shape[1]):
            out[i, j] = low + (high - low) * uniform(row_key, j)
