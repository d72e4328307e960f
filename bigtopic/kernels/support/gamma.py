"""Logarithms of gamma-distributed numbers, for compiled loops: those of small shapes are far below the smallest number.

For a shape a >= 1, with d = a - 1/3, a normal x, and v = (1 + x / sqrt(9 d))^3, which must be positive,

    d v  is accepted if  log u < x^2 / 2 + d - d v + d log v

and for a < 1 from one of shape a + 1:  log g(a) = log g(a + 1) + log(u) / a.

Each number has a key of its own (`_random`), because a rejection takes one more uniform number than another.

Reference: Marsaglia and Tsang (2000), "A simple method for generating gamma variables", sections 5 and 6.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import INNER
from bigtopic.kernels.support.random import uniform

__all__ = ["log_gamma"]


@njit(**INNER)
def _normal(own_key, draw):
    """From two uniform numbers (Box and Muller)."""
    return np.sqrt(-2.0 * np.log(uniform(own_key, draw))) * np.cos(2.0 * np.pi * uniform(own_key, draw + 1))


@njit(**INNER)
def log_gamma(shape, own_key):
    """The logarithm of a Gamma(shape, 1) number of this key; minus infinity for a shape of 0."""
    if not shape > 0.0:
        return -np.inf
    d = shape + 2.0 / 3.0 if shape < 1.0 else shape - 1.0 / 3.0
    c, draw = 1.0 / np.sqrt(9.0 * d), 1
    while True:
        x = _normal(own_key, draw)
        v, u = 1.0 + c * x, uniform(own_key, draw + 2)
        v, squared, draw = v * v * v, x * x, draw + 3
        # the first bound is inside the second, and needs no logarithm
        if u < 1.0 - 0.0331 * squared * squared and v > 0.0:
            break
        if v > 0.0 and np.log(u) < 0.5 * squared + d * (1.0 - v + np.log(v)):
            break
    found = np.log(d * v)
    return found + np.log(uniform(own_key, 0)) / shape if shape < 1.0 else found
