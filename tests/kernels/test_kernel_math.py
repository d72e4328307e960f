"""Special functions against scipy, over the range a topic model meets."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy import special

from bigtopic.kernels.support import math as _math

POSITIVE = np.geomspace(1e-3, 1e6, 5000)


@njit
def _exp_digamma(x, out):
    for i in range(len(x)):
        out[i] = _math.exp_digamma(x[i])


@njit
def _fast_exp(x, out):
    for i in range(len(x)):
        out[i] = _math.fast_exp(x[i])


def each(function, values):
    return np.array([function(x) for x in values])


@pytest.mark.parametrize("function", [_math.digamma, _math.fast_digamma])
def test_digamma(function):
    # beside its root at 1.46 the difference of two rounded numbers decides: an absolute error there
    np.testing.assert_allclose(each(function, POSITIVE), special.psi(POSITIVE), rtol=1e-12, atol=2e-15)


def test_lgamma():
    values = each(_math.lgamma, POSITIVE)
    np.testing.assert_allclose(values, special.gammaln(POSITIVE), rtol=1e-12, atol=5e-14)


@pytest.mark.parametrize(
    ("dtype", "least", "tolerance"),
    [(np.float32, 0.5, 1e-6), (np.float64, 0.5, 1e-14), (np.float64, 2e-3, 1e-12)],
)
def test_exp_digamma(dtype, least, tolerance):
    x = POSITIVE[least <= POSITIVE].astype(dtype)
    out = np.empty_like(x)
    _exp_digamma(x, out)
    np.testing.assert_allclose(out, np.exp(special.psi(x.astype(float))), rtol=tolerance)


def test_exp_digamma_float32_fades_but_never_vanishes():
    x = np.geomspace(1e-3, 0.5, 500).astype(np.float32)
    out = np.empty_like(x)
    _exp_digamma(x, out)
    true = np.exp(special.psi(x.astype(float)))
    above = true > 1e-29
    np.testing.assert_array_less(np.abs(out - true)[above] / true[above], (1e-6 + 2e-7 / x)[above])
    assert (out[~above] > 1e-30).all() and (out[~above] < 1e-28).all()


@pytest.mark.parametrize(
    ("dtype", "limit", "epsilon"), [(np.float32, 85, 1.2e-7), (np.float64, 700, 2.3e-16)]
)
def test_fast_exp(dtype, limit, epsilon):
    x = np.linspace(-limit, limit, 3001).astype(dtype)
    out = np.empty_like(x)
    _fast_exp(x, out)
    true = np.exp(x.astype(np.longdouble))
    np.testing.assert_array_less(np.abs(out / true - 1), 1.5 * epsilon * (2 + np.abs(x)))


def test_fast_exp_is_clipped_to_normal_numbers():
    x = np.array([-1e4, 1e4], np.float32)
    out = np.empty_like(x)
    _fast_exp(x, out)
    assert 0 < out[0] < 1e-37 and 1e37 < out[1] < np.inf
