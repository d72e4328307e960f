"""Compiled functions for all layers: random numbers that are functions of (key, draw).

A key and a draw are mixed by the finaliser of splitmix64 (Steele, Lea, Flood 2014), as `bigtopic.corpus.order.mix` does
with arrays. Uniform numbers have 53 random bits and lie strictly inside (0, 1).
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["GOLDEN", "bits", "mix", "uniform"]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_S27, _S30, _S31 = np.uint64(27), np.uint64(30), np.uint64(31)
_S11, _ONE = np.uint64(11), np.uint64(1)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False, inline="always")
def mix(word):
    """The finaliser of splitmix64: uint64 -> uint64, a bijection."""
    word = (word ^ (word >> _S30)) * _FIRST
    word = (word ^ (word >> _S27)) * _SECOND
    return word ^ (word >> _S31)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def bits(key, draw):
    """64 random bits: the draw-th of this key."""
    return mix(key + (np.uint64(draw) + _ONE) * GOLDEN)


@njit(nogil=True, cache=True, error_model="numpy", fastmath=False)
def uniform(key, draw):
    """A number strictly between 0 and 1."""
    return (float(bits(key, draw) >> _S11) + 0.5) * 2.0**-53
