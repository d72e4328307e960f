"""Logarithms of gamma-distributed numbers: their distribution for small and large shapes, and the reference."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit
from scipy.stats import kstest, loggamma

from bigtopic.kernels.support.random import gamma_room, log_gammas

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

REFERENCE = case.reference("cdf")


@njit
def _draw(shapes, key, first, out, room):
    log_gammas(shapes, key, first, out, room)


def drawn(shapes: float | np.ndarray, key: int, n: int) -> np.ndarray:
    """Of neighbouring keys."""
    out = np.empty(n)
    _draw(np.broadcast_to(np.float64(shapes), n).copy(), np.uint64(key), 3, out, gamma_room(n))
    return out


@pytest.mark.parametrize("shape", [0.001, 0.03, 0.7, 1.0, 1.3, 40.0, 1e6])
def test_they_have_their_distribution(shape):
    assert kstest(drawn(shape, 17, 20_000), loggamma(shape).cdf).pvalue > 1e-3


@pytest.mark.parametrize("shape", [1e-30, 0.2, 1.0, 3.5, 1e24])
def test_against_the_reference(shape):
    expected = [REFERENCE["log_gamma"](shape, REFERENCE["_bits"](5, 3 + i)) for i in range(200)]
    np.testing.assert_allclose(drawn(shape, 5, 200), expected, rtol=1e-12, atol=1e-12)


def test_neighbours_do_not_matter():
    """A row of all kinds of shapes has the numbers of each shape."""
    shapes = np.array([0.0, 1e-30, 0.3, 1.0, 7.5, 1e24])
    rows = [drawn(shape, 5, 600) for shape in shapes]
    mixed = np.arange(600) % len(shapes)
    np.testing.assert_array_equal(drawn(shapes[mixed], 5, 600), np.choose(mixed, rows))


def test_none_is_lost():
    """Numbers of a shape of 1e-30 are around exp(-1e30); of a shape of 0 they are 0."""
    assert np.isfinite(drawn(1e-30, 3, 1000)).all() and np.median(drawn(1e-30, 3, 1000)) < -1e29
    assert (drawn(0.0, 3, 10) == -np.inf).all()
