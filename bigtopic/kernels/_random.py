"""Random numbers that are functions of (seed, row, draw): no state, so no order of work can change them.

A 64-bit word comes from two rounds of the finaliser of splitmix64 (Steele, Lea, Flood 2014): one makes a key
of (seed, row), one mixes the key with the draw. Uniform numbers have 53 random bits and lie strictly inside
(0, 1). `fill_uniform` is for NumPy callers, everything else is for compiled loops.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["bits", "fill_uniform", "key", "uniform"]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
_S11, _ONE = np.uint64(11), np.uint64(1)


@njit(nogil=True, cache=True, inline="always")
def _mix(word):
    word = (word ^ (word >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    return word ^ (word >> _S31)


@njit(nogil=True, cache=True)
def key(seed, row):
    """The key (uint64) of one row, for integers `seed` and `row`."""
    return _mix(_mix(np.uint64(seed) + _GOLDEN) + (np.uint64(row) + _ONE) * _GOLDEN)


@njit(nogil=True, cache=True)
def bits(row_key, draw):
    """64 random bits: the draw-th of this key."""
    return _mix(row_key + (np.uint64(draw) + _ONE) * _GOLDEN)


@njit(nogil=True, cache=True)
def uniform(row_key, draw):
    """A number strictly between 0 and 1."""
    return (float(bits(row_key, draw) >> _S11) + 0.5) * 2.0**-53


@njit(nogil=True, cache=True)
def fill_uniform(out, seed, rows, low, high):
    """`out[i, j]` <- Uniform(low, high), keyed by (seed, rows[i], j). `rows` int64 (n,), `out` (n, m)."""
    for i in range(out.shape[0]):
        row_key = key(seed, rows[i])
        for j in range(out.shape[1]):
            out[i, j] = low + (high - low) * uniform(row_key, j)
