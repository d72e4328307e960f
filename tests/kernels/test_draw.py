"""Draws of a topic: the one at which the running sum passes u, never one without weight, however u is rounded."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from bigtopic.kernels.support.draw import ENDS, find, scan

draw = runpy.run_path(str(Path(__file__).parents[1] / "reference" / "gibbs.py"))["_draw"]


@njit
def _draws(u, weights, ones, out):
    n_columns = weights.shape[0]
    sums, targets = np.empty_like(weights), np.empty_like(weights)
    ends = np.zeros(ENDS, weights.dtype)
    for i in range(len(u)):
        lane = scan(u[i], 0, 0, n_columns, ones, weights, sums, ends, targets)
        out[i] = find(lane, 0, 0, n_columns, ones, weights, sums, ends, targets)


def topics(u, weights, dtype):
    padded = np.zeros(-(-len(weights) // 16) * 16, dtype)
    padded[: len(weights)] = weights
    out = np.empty(len(u), np.int64)
    _draws(u, padded, np.ones_like(padded), out)
    return out


@pytest.mark.parametrize("n_components", [1, 3, 16, 40, 100, 1000])
def test_running_sum(n_components):
    rng = np.random.default_rng(n_components)
    weights, u = rng.gamma(0.3, size=n_components), rng.random(2000)
    np.testing.assert_array_equal(topics(u, weights, np.float64), [draw(weights, x) for x in u])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_components", [1, 3, 17, 40, 1000])
def test_extremes_have_weight(n_components, dtype):
    """Numbers next to 0, to 1 and to the running sums themselves."""
    rng, near_one = np.random.default_rng(7), 1 - 2.0 ** -np.arange(20, 54)
    for _ in range(50):
        weights = rng.gamma(0.1, size=n_components) * (rng.random(n_components) < 0.4)
        weights[rng.integers(n_components)] += 1e-3
        weights = weights.astype(dtype)
        order = np.argsort(np.arange(n_components) % 16, kind="stable")
        sums = np.cumsum(weights[order].astype(float)) / weights.sum(dtype=float)
        close = np.clip(np.concatenate([sums, sums - 1e-9, sums + 1e-9]), 2.0**-54, 1 - 2.0**-54)
        chosen = topics(np.concatenate([[2.0**-54, 1e-12], near_one, close]), weights, dtype)
        assert (chosen < n_components).all() and (weights[chosen] > 0).all()


def test_nothing_has_weight():
    assert 0 <= topics(np.array([0.5]), np.zeros(20), np.float32)[0] < 32
