"""Random numbers that are functions of (seed, row, draw): no state, so no order of work can change them.

`key` makes a key of (seed, row), from which `bits` and `uniform` (of `bigtopic.support._kernels`) make the draws.
`fill_uniform` and `gamma_room` are for Python, the others for compiled loops; `as_uniform` is for those that are
vectorised.

`log_gammas` draws logarithms of gamma-distributed numbers: for small shapes, the numbers are too small to represent.

For a shape a >= 1, with d = a - 1/3, a normal x, and v = (1 + x / sqrt(9 d))^3, which must be positive,

    d v  is accepted if  log u < x^2 / 2 + d (1 - v + log v)

and for a < 1 from one of shape a + 1:  log g(a) = log g(a + 1) + log(u) / a.

Each number has its own key, because a rejection takes one more uniform number than another. A row of
numbers is drawn together, and those that are rejected, at most one in twenty, are drawn together again. The loops over
a row have no branches, so that they are vectorised, and are short, so that the constants of each stay in registers.

Reference: Marsaglia and Tsang (2000), "A simple method for generating gamma variables", sections 5 and 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from bigtopic.kernels.support.entry import INLINE, OUTER, inner, outer
from bigtopic.kernels.support.math import fast_log
from bigtopic.support._kernels import GOLDEN, bits, mix, uniform

__all__ = ["GammaRoom", "as_uniform", "bits", "fill_uniform", "gamma_room", "key", "log_gammas", "uniform"]


_HIGH, _LOW = (np.float64(2.0**n).view(np.uint64) for n in (84, 52))  # whose last bit is 2^32, or 1
_S11, _S43, _HALF = np.uint64(11), np.uint64(43), np.uint64(0xFFFFFFFF)


@outer
def key(seed, row):
    """The key (uint64) of one row, for integers `seed` and `row`."""
    return mix(mix(np.uint64(seed) + GOLDEN) + (np.uint64(row) + np.uint64(1)) * GOLDEN)


@outer
def fill_uniform(out, seed, rows, low, high):
    """`out[i, j]` <- Uniform(low, high), keyed by (seed, rows[i], j). `rows` int64 (n,), `out` (n, m)."""
    for i in range(out.shape[0]):
        row_key = key(seed, rows[i])
        for j in range(out.shape[1]):
            out[i, j] = low + (high - low) * uniform(row_key, j)


@njit(**OUTER | {"fastmath": {"contract"}})
def as_uniform(word):
    """The number that `uniform` makes of these `bits`, to the last bit.

    AVX2 does not convert whole numbers of 64 bits; here halves of them become the last bits of two floating-point
    numbers.
    """
    high = np.uint64((word >> _S43) | _HIGH).view(np.float64)
    low = np.uint64(((word >> _S11) & _HALF) | _LOW).view(np.float64)
    return ((high - (2.0**84 + 2.0**52)) + low) * 2.0**-53 + 2.0**-54


_fused = njit(**INLINE | {"fastmath": {"contract"}})
_TOGETHER = 8  # numbers in the widest vector
_LEAST = np.finfo(np.float64).tiny
_S = tuple(
    (-1) ** (n // 2) * math.tau**n / math.factorial(n) for n in range(20)
)  # of sin(2 pi s), the odd ones


class GammaRoom(NamedTuple):
    """What `log_gammas` works with, of the numbers that are not yet accepted.

    Attributes
    ----------
    places : int64 (n,), in the row
    keys : uint64 (n,)
    scales : float64 (n,), d
    cubes : float64 (n,), v
    halves : float64 (n,), x^2 / 2
    margins : float64 (n,), above 0 where v is accepted
    logs : float64 (n,), log v
    """

    places: np.ndarray
    keys: np.ndarray
    scales: np.ndarray
    cubes: np.ndarray
    halves: np.ndarray
    margins: np.ndarray
    logs: np.ndarray


def gamma_room(n: int) -> GammaRoom:
    """For rows of at most `n` numbers, in whole vectors."""
    n += -n % _TOGETHER
    return GammaRoom(np.empty(n, np.int64), np.empty(n, np.uint64), *np.empty((5, n)))


@_fused
def _cosine(u):
    """cos(2 pi u) for u from 0 to 1: the sine of a quarter turn less, by its series."""
    s = abs(u - 0.5) - 0.25
    z = s * s
    high = _S[11] + z * (_S[13] + z * (_S[15] + z * (_S[17] + z * _S[19])))
    return s * (_S[1] + z * (_S[3] + z * (_S[5] + z * (_S[7] + z * (_S[9] + z * high)))))


@_fused
def _scale(shape):
    """The d of a shape, or of the next larger one for a shape below 1."""
    return shape + 2.0 / 3.0 if shape < 1.0 else shape - 1.0 / 3.0


@_fused
def _propose(n, draw, room):
    """v, x^2 / 2, and the u that decides; x is normal by Box and Muller."""
    for i in range(n):
        room.cubes[i] = as_uniform(bits(room.keys[i], draw))
        room.halves[i] = as_uniform(bits(room.keys[i], draw + 1))
        room.margins[i] = as_uniform(bits(room.keys[i], draw + 2))
    for i in range(n):
        room.cubes[i] = fast_log(room.cubes[i])
    for i in range(n):
        half, cosine = -room.cubes[i], _cosine(room.halves[i])
        root = 1.0 + cosine * np.sqrt(2.0 * half / (9.0 * room.scales[i]))
        room.cubes[i], room.halves[i] = root * root * root, half * cosine * cosine


@_fused
def _decide(n, room):
    """Which of them are accepted."""
    for i in range(n):
        room.logs[i] = fast_log(max(room.cubes[i], _LEAST))
    for i in range(n):
        room.margins[i] = fast_log(room.margins[i])
    for i in range(n):
        most = room.halves[i] + room.scales[i] * (1.0 - room.cubes[i] + room.logs[i])
        room.margins[i] = min(most - room.margins[i], room.cubes[i])


@_fused
def _keep(n, found, room):
    """Hold log v; returns how many are rejected, which come to stand first."""
    rejected = 0
    for i in range(n):
        place = room.places[i]
        found[place] = room.logs[i]
        room.places[rejected], room.keys[rejected] = place, room.keys[i]
        room.scales[rejected] = room.scales[i]
        rejected += np.int64(not room.margins[i] > 0.0)
    return rejected


@_fused
def _add_scales(shapes, row_key, first, found, room):
    """From log v to the logarithms of the numbers."""
    n = shapes.shape[0]
    for k in range(n):
        room.logs[k] = as_uniform(bits(bits(row_key, first + k), 0))
        found[k] += fast_log(_scale(shapes[k]))
    for k in range(n):
        boost = fast_log(room.logs[k]) / shapes[k]
        found[k] += boost if shapes[k] < 1.0 else 0.0


@inner
def log_gammas(shapes, row_key, first, found, room):
    """found[k] <- the logarithm of a Gamma(shapes[k], 1) number of the key `bits(row_key, first + k)`.

    It is minus infinity for a shape of 0. `shapes` and `found` are float64 (n,); `room` is `gamma_room(n)`.
    """
    n, draw = shapes.shape[0], 1
    for k in range(n):
        room.places[k], room.keys[k], room.scales[k] = k, bits(row_key, first + k), _scale(shapes[k])
    while n > 0:
        whole = n + -n % _TOGETHER  # what is beyond n is not looked at
        _propose(whole, draw, room)
        _decide(whole, room)
        n = _keep(n, found, room)
        draw += 3
    _add_scales(shapes, row_key, first, found, room)
