"""Random numbers that are functions of (seed, row, draw): no state, so no order of work can change them.

`key` makes a key of (seed, row), from which `bits` and `uniform` (of `bigtopic.support._kernels`) make the draws.
`fill_uniform` is for NumPy callers, everything else is for compiled loops; `as_uniform` is for those that are
vectorised.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.support._kernels import GOLDEN, bits, mix, uniform

__all__ = ["as_uniform", "bits", "fill_uniform", "key", "uniform"]

_HIGH, _LOW = (
    np.float64(2.0**84).view(np.uint64),
    np.float64(2.0**52).view(np.uint64),
)  # whose last bit is 2^32, or 1
_S11, _S43, _HALF = np.uint64(11), np.uint64(43), np.uint64(0xFFFFFFFF)


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


@njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract"})
def as_uniform(word):
    """The number that `uniform` makes of these `bits`, to the last bit.

    AVX2 does not convert whole numbers of 64 bits; here halves of them become the last bits of two floating-point
    numbers.
    """
    high = np.uint64((word >> _S43) | _HIGH).view(np.float64)
    low = np.uint64(((word >> _S11) & _HALF) | _LOW).view(np.float64)
    return ((high - (2.0**84 + 2.0**52)) + low) * 2.0**-53 + 2.0**-54
