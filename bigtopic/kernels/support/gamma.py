"""Logarithms of gamma-distributed numbers, for compiled loops: those of small shapes are far below the smallest number.

For a shape a >= 1, with d = a - 1/3, a normal x, and v = (1 + x / sqrt(9 d))^3, which must be positive,

    d v  is accepted if  log u < x^2 / 2 + d - d v + d log v ,  which is so if  u < 1 - 0.0331 x^4

and for a < 1 from one of shape a + 1:  log g(a) = log g(a + 1) + log(u) / a.

Each number has a key of its own (`_random`), because a rejection takes one more uniform number than another. A row of
numbers is drawn in two loops. The first has no branches, so that it is vectorised, and accepts by the second bound; the
few numbers it leaves are drawn by the second loop, one by one.

Reference: Marsaglia and Tsang (2000), "A simple method for generating gamma variables", sections 5 and 6.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import INLINE, INNER
from bigtopic.kernels.support.logarithm import fast_log
from bigtopic.kernels.support.random import bits, uniform

__all__ = ["log_gammas"]

_LEAST = np.finfo(np.float64).tiny
_S = tuple(
    (-1) ** (n // 2) * math.tau**n / math.factorial(n) for n in range(20)
)  # of sin(2 pi s), the odd ones


@njit(**INLINE)
def _cosine(u):
    """cos(2 pi u) for u from 0 to 1: the sine of a quarter turn less, by its series."""
    s = abs(u - 0.5) - 0.25
    z = s * s
    high = _S[11] + z * (_S[13] + z * (_S[15] + z * (_S[17] + z * _S[19])))
    return s * (_S[1] + z * (_S[3] + z * (_S[5] + z * (_S[7] + z * (_S[9] + z * high)))))


@njit(**INLINE)
def _scale(shape):
    """The d of a shape, or of the next larger one for a shape below 1."""
    return shape + 2.0 / 3.0 if shape < 1.0 else shape - 1.0 / 3.0


@njit(**INLINE)
def _boost(shape, own_key):
    """What turns the logarithm of a number of the next larger shape into that of a shape below 1."""
    return fast_log(uniform(own_key, 0)) / shape if shape < 1.0 else 0.0


@njit(**INLINE)
def _propose(d, own_key, draw):
    """v, x^2, and the u that decides; x is normal by Box and Muller."""
    squared_radius, cosine = -2.0 * fast_log(uniform(own_key, draw)), _cosine(uniform(own_key, draw + 1))
    root = 1.0 + cosine * np.sqrt(squared_radius / (9.0 * d))
    return root * root * root, squared_radius * cosine * cosine, uniform(own_key, draw + 2)


@njit(**INNER)
def _log_gamma(shape, own_key):
    d, draw = _scale(shape), 1
    while True:
        v, squared, u = _propose(d, own_key, draw)
        if v > 0.0 and np.log(u) < 0.5 * squared + d * (1.0 - v + np.log(v)):
            return fast_log(d * v) + _boost(shape, own_key)
        draw += 3


@njit(**INNER)
def log_gammas(shapes, row_key, first, found):
    """found[k] <- the logarithm of a Gamma(shapes[k], 1) number of the key `bits(row_key, first + k)`.

    It is minus infinity for a shape of 0. All arrays are float64 (n,).
    """
    for k in range(shapes.shape[0]):
        own_key, d = bits(row_key, first + k), _scale(shapes[k])
        v, squared, u = _propose(d, own_key, 1)
        number = fast_log(d * max(v, _LEAST)) + _boost(shapes[k], own_key)
        found[k] = number if v > 0.0 and u < 1.0 - 0.0331 * squared * squared else np.inf
    for k in range(shapes.shape[0]):
        if found[k] == np.inf:
            found[k] = _log_gamma(shapes[k], bits(row_key, first + k))
